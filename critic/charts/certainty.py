"""Whether a fix may be written without a person's look: what speaks against it, in a few words.

A fix is certain where nothing does. The rule was fitted on CHOCOLATE's development half by reading
rewrites beside their charts (`scripts/research/chart_critic/read_rewrites.py`).
"""

from __future__ import annotations

import itertools
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from revise_captions.charts import Chart, ChartMark
from revise_captions.charts.claims import ChartCheck, ChartClaim, ClaimOutcome, check_sentence
from revise_captions.charts.claims.directions import directions_in
from revise_captions.charts.claims.edits import with_fixes
from revise_captions.charts.claims.grid import FoundMark, marks_of, year_of
from revise_captions.charts.claims.mentions import NamedLabel, Number, fold, numbers_in
from revise_captions.charts.claims.sentence import all_labels, printed_numbers
from revise_captions.charts.claims.vocabulary import HIGHEST, LOWEST, STEADILY, STRONG, verb_of
from revise_captions.critic.charts.places import NumberPlace
from revise_captions.critic.charts.words import function_words, subject_stems, words_of
from revise_captions.records import Box, Fix

#: Kinds of claims whose fixes may be certain.
_TRUSTED = frozenset(
    (ChartClaim.VALUE, ChartClaim.EXTREME, ChartClaim.TREND, ChartClaim.COMPARISON,
     ChartClaim.RATIO, ChartClaim.CHANGE)
)  # fmt: skip
#: How far from the chart's value a number must be: (share of the axis, share of the value).
_EXACT, _HEDGED, _PRINTED = (0.05, 0.11), (0.08, 0.17), (0.0, 0.08)
#: By what a number is multiplied where the chart says that it counts these.
_SCALES = {1e-3: "thousand|1,?000", 1e-6: "million|1,?000,?000", 1e-9: "billion", 0.01: "share"}
#: Words of any sentence about a chart, beside those that `words` takes for such.
_PLAIN = frozenset(
    ("till", "find", "finds", "short", "longe", "think", "belie", "expre", "view", "views", "side",
     "secto", "agree", "zero", "frequ", "best", "makes", "unite", "ameri", "membe",
     "asked", "chose", "hit")
)  # fmt: skip
#: What is said of no mark of the chart.
_UNREAL = re.compile(
    r"\b(?:project(?:ed|ions?)|expected|estimated|forecasts?|predict\w*|would|if|despite|although"
    r"|except|not|no longer|never|neither|nor|without|average|mean|median|total|sum|combined"
    r"|together|difference|gap|people who|those who|(?:a|an|the|its) (?:new )?(?:low|high)|up|down"
    r"|followed by|among the|one of|beginning|starts?|started|begins|began|final|ends?|ended)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
#: Names of what is no one thing.
_WHOLE = re.compile(r"\b(?:total|all|average|overall|other|others|net|none|median)\b", re.I)
#: Names of nothing but these may be words of any sentence.
_COMMON = function_words() | {"lot", "good", "bad", "fair", "high", "low", "yes", "total"}
#: Kinds of charts that have values between their marks, too.
CURVES = ("line", "area")
#: Fewer marks than this are no chart, but what is left of one.
FEW_MARKS = 3
#: A share of the axis by which something rises or falls for certain.
_CLEAR_CHANGE = 0.08


@dataclass(frozen=True, slots=True)
class ReadChart:
    """What certainty is judged by.

    Attributes:
        charts: What was read in the image.
        lines: Its lines of text.
        marks: Every mark with a value.
        places: Where numbers stand in it.
    """

    charts: tuple[Chart, ...]
    lines: tuple[str, ...]
    marks: tuple[FoundMark, ...]
    places: tuple[NumberPlace, ...] = ()

    @property
    def letters(self) -> str:
        """All letters in the image, in lower case, without what is between them."""
        return re.sub(r"\d", "", fold(" ".join(self.lines)))


def read_chart(
    charts: Sequence[Chart], lines: Sequence[str], places: Sequence[NumberPlace] = ()
) -> ReadChart:
    """What `doubts` asks for."""
    return ReadChart(tuple(charts), tuple(lines), tuple(marks_of(charts)), tuple(places))


def doubts(sentence: str, check: ChartCheck, chart: ReadChart) -> list[str]:
    """What speaks against a claim's fix.

    Args:
        sentence: What the claim stands in.
        check: The claim, refuted.
        chart: What was read.

    Returns:
        Reasons, each in a few words; [] where the fix is certain.
    """
    if check.claim is ChartClaim.UNIT and check.edits:
        return ["several panels"] if len(chart.charts) > 1 else []
    if check.claim is ChartClaim.SUBJECT and all(_YEAR.fullmatch(e.right) for e in check.edits):
        return [] if check.edits else ["no other words are known to be right"]
    labels = all_labels(sentence, chart.charts)
    numbers = numbers_in(sentence, labels)
    after = with_fixes(sentence, [Fix(one.span, one.right) for one in check.edits])
    found = [m for m in chart.marks if m.cell in check.cells]
    reasons = [
        (check.claim not in _TRUSTED, "a claim of this kind is not mended surely"),
        (not check.edits, "no other words are known to be right"),
        (bool(check.doubt), check.doubt),
        (len(chart.marks) < FEW_MARKS, "hardly any marks were read"),
        (len(chart.charts) > 1, "several panels"),
        (any(one.unread for one in chart.charts), "part of the chart was not read"),
        (
            is_unreal(sentence, check, chart),
            "it may be about something else than marks",
        ),
        (_nearly_right(check, numbers, found), "the number is nearly right"),
        (_is_ranked(sentence, check, chart), "it may be another that ranks there"),
        (_is_zero(check, found), "a measured zero may be an end that was missed"),
        (not _is_unit_known(check, chart), "told in another unit than the chart's"),
        (_is_printed(check, found, chart), "the number is printed in the image, the value is not"),
    ]
    return [
        *(text for holds, text in reasons if holds),
        *_of_names(sentence, check, found, labels, numbers, chart),
        *_of_direction(sentence, check, found, chart),
        *_of_two(check, found),
        *_of_words(after, chart),
    ]


_RANKED = re.compile(rf"\b(?:{HIGHEST}|{LOWEST}|record)\b", re.IGNORECASE)


def _is_ranked(sentence: str, check: ChartCheck, chart: ReadChart) -> bool:
    """Whether the mark of a wrong value is also said to be the highest or lowest, and is not known
    to be."""
    if check.claim is not ChartClaim.VALUE or not _RANKED.search(sentence):
        return False
    return not any(
        one.claim is ChartClaim.EXTREME
        and one.outcome is ClaimOutcome.TRUE
        and {*one.cells} & {*check.cells}
        for one in check_sentence(sentence, chart.charts, chart.lines)
    )


def _of_two(check: ChartCheck, found: Sequence[FoundMark]) -> list[str]:
    """Whether two marks may be as near to each other as they may be misread, or a difference was
    not told between printed values."""
    if check.claim not in (ChartClaim.COMPARISON, ChartClaim.RATIO, ChartClaim.CHANGE):
        return []
    if len(found) != 2:
        return ["not between two marks"]
    one, other = found
    if one.mark.printed and other.mark.printed:
        return []
    if check.claim is ChartClaim.CHANGE or one.cell[0] != other.cell[0]:
        return ["a difference of measured values"]
    close = abs(one.value - other.value) < _CLEAR_CHANGE * one.extent
    low = min(one.value, other.value) < _CLEAR_CHANGE * one.extent
    return ["two values are near each other, or near zero"] if close or low else []


def _is_zero(check: ChartCheck, found: Sequence[FoundMark]) -> bool:
    """Whether a direction rests on a mark of no height: curves are cut at their ends."""
    return check.claim is ChartClaim.TREND and any(
        not one.mark.printed and abs(one.value) < _ZERO * one.extent for one in found
    )


#: A share of the axis.
_ZERO = 0.01


#: Words of `_UNREAL` that a claim of a change is told by.
_GAP = re.compile(r"\b(?:difference|gap|up|down)\b", re.IGNORECASE)


def is_unreal(sentence: str, check: ChartCheck, chart: ReadChart) -> bool:
    """Whether it speaks of what no mark shows, and what the chart does not call its subject."""
    subject = fold(" ".join(f"{one.title} {one.x.label} {one.y.label}" for one in chart.charts))
    plain = _GAP.sub("", sentence) if check.claim is ChartClaim.CHANGE else sentence
    return any(fold(found[0]) not in subject for found in _UNREAL.finditer(plain))


def _is_unit_known(check: ChartCheck, chart: ReadChart) -> bool:
    """Whether the sentence counts as the chart does, or the chart says what it counts."""
    shares = all(0 <= mark.value <= 1 for mark in chart.marks)
    if check.scale == 1 or (shares and abs(check.scale / 0.01 - 1) < 0.01):  # "16%" of 0.16
        return True
    named = next(
        (text for scale, text in _SCALES.items() if abs(check.scale / scale - 1) < 0.01), ""
    )
    said = " ".join(f"{one.title} {one.x.label} {one.y.label}" for one in chart.charts)
    return bool(named) and bool(re.search(named, said, re.IGNORECASE))


def _is_printed(check: ChartCheck, found: Sequence[FoundMark], chart: ReadChart) -> bool:
    """Whether a refuted number stands in the image, and no tick is it, and the mark's value was
    measured."""
    if check.stated is None or all(mark.mark.printed for mark in found):
        return False
    ticks = {float(t.replace(",", "")) for one in chart.charts for axis in (one.x, one.y)
             for tick in axis.ticks for t in _DIGITS.findall(tick)}  # fmt: skip
    return check.stated in printed_numbers(chart.charts, chart.lines) - ticks


_DIGITS = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


def _nearly_right(check: ChartCheck, numbers: Sequence[Number], found: Sequence[FoundMark]) -> bool:
    """Whether a refuted value is within what a reading, or a caption, may be off by."""
    if check.stated is None or len(found) != 1:
        return False
    (mark,), start = found, check.edits[0].span.start if check.edits else 0
    one = next((n for n in numbers if n.end > start), None)
    gap = abs(check.stated - mark.value)
    of_axis, of_value = _HEDGED if one is None or one.hedged else _EXACT
    if mark.mark.printed:
        of_axis, of_value = _PRINTED if of_value == _HEDGED[1] else (0.0, 0.0)
    return gap < of_value * abs(mark.value) or gap < of_axis * mark.extent


def _is_common(sentence: str, label: NamedLabel) -> bool:
    """Whether a name stands there as words of any sentence do: "a lot", "No one"."""
    said = sentence[label.start : label.end]
    words = {*words_of(said.lower())}
    return bool(words) and words <= _COMMON and (label.start == 0 or said.islower())


def _of_names(
    sentence: str,
    check: ChartCheck, found: Sequence[FoundMark], labels: Sequence[NamedLabel],
    numbers: Sequence[Number], chart: ReadChart,
) -> list[str]:  # fmt: skip
    """How the claim was bound to the marks."""
    series = {(m.cell[0], m.cell[1]) for m in chart.marks}
    named = {fold(label.name) for label in labels if label.series and label.literal}
    categories = {label.name for label in labels if not label.series}
    values = [one for one in numbers if not one.change]
    of_value = check.claim is ChartClaim.VALUE
    odd = [one.right for one in check.edits if _is_odd(one.right, chart)]
    reasons = [
        (
            len(series) > 1 and not all(fold(m.series) in named for m in found),
            "the sentence does not name the series",
        ),
        (any(not label.literal for label in labels), "a name was told by one of its words"),
        (
            of_value and len(categories) > len(values) and not _is_next(sentence, check),
            "several names for one number",
        ),
        (any(_is_common(sentence, label) for label in labels), "a name of common words"),
        (check.claim is ChartClaim.EXTREME and bool(odd), "a name that may be misread"),
        (check.claim is ChartClaim.EXTREME and _has_gaps(chart), "a mark was not read"),
    ]
    return [text for holds, text in reasons if holds]


def _is_next(sentence: str, check: ChartCheck) -> bool:
    """Whether the name stands right behind the number: "to 6.8% in 2019"."""
    if check.named is None or not check.edits:
        return False
    between = sentence[check.edits[-1].span.end : check.named.start]
    return bool(_NEXT.fullmatch(between))


_NEXT = re.compile(r"[ \w.%$€£]{0,40}\b(?:in|for|among)(?: the)? ")


def _has_gaps(chart: ReadChart) -> bool:
    """Whether a category has no value: one that was not seen may be the lowest."""
    for one in chart.charts:
        marks = [mark for series in one.series for mark in series.marks]
        named = {fold(mark.category) for mark in marks if mark.value is not None}
        ticks = {fold(tick) for tick in (one.y if one.horizontal else one.x).ticks}
        if len(named) < len(ticks) or any(mark.value is None for mark in marks):
            return True
        if one.kind in CURVES and _skips_years(marks):
            return True
        if len(one.series) == 1 and _is_uneven(one.horizontal, [mark.box for mark in marks]):
            return True
    return False


def _skips_years(marks: Sequence[ChartMark]) -> bool:
    """Whether a curve was measured only every so many years: it may go higher between them."""
    years = [year for mark in marks if not mark.printed and (year := year_of(mark.category))]
    return any(abs(b - a) > 1 for a, b in itertools.pairwise(years))


def _is_uneven(horizontal: bool, boxes: Sequence[Box | None]) -> bool:
    """Whether a place in a row of bars is empty."""
    side = 1 if horizontal else 0
    centers = sorted(box[side] + box[side + 2] for box in boxes if box is not None)
    steps = [b - a for a, b in itertools.pairwise(centers)]
    return len(steps) > 1 and max(steps) > _UNEVEN * statistics.median(steps)


#: Times the usual step from one bar to the next.
_UNEVEN = 1.6


def _is_odd(right: str, chart: ReadChart) -> bool:
    """Whether what would be put in is a name that is no line of the image's text, or very short."""
    name = fold(right)
    if not any(c.isalpha() for c in right) or "about " in right:
        years = [int(year) for line in chart.lines for year in _YEAR.findall(line)]
        beyond = bool(_YEAR.fullmatch(right)) and bool(years) and int(right) > max(years)
        return "*" in right or beyond
    whole = any(fold(line) == name for line in chart.lines)
    return len(name) < 3 or right[0].islower() or not whole or bool(_WHOLE.search(right))


def _of_direction(
    sentence: str, check: ChartCheck, found: Sequence[FoundMark], chart: ReadChart
) -> list[str]:
    """Whether it hardly goes any way, a direction's word also says how far, or "steadily" stays
    where there are setbacks."""
    if check.claim is not ChartClaim.TREND:
        return []
    values = [one.value for one in found]
    if not values or max(values) - min(values) < _CLEAR_CHANGE * found[0].extent:
        return ["it hardly changes"]
    verbs = [verb_of(one.span.of(sentence)) for one in check.edits]
    strong = any(verb is not None and verb.base in STRONG for verb in verbs)
    reasons = ["the other direction may be less strong"] if strong else []
    if _STEADY.search(sentence) and _turns(found, chart):
        reasons.append("it does not go one way")
    return reasons


_STEADY = re.compile(rf"\b(?:{STEADILY})\b", re.IGNORECASE)


def _turns(ends: Sequence[FoundMark], chart: ReadChart) -> bool:
    """Whether a series between two of its marks goes both ways, by more than it may be misread."""
    first, last = min(one.cell for one in ends), max(one.cell for one in ends)
    part = [one for one in chart.marks if first <= one.cell <= last]
    steps = [b.value - a.value for a, b in itertools.pairwise(part)]
    least = 0.01 * part[0].extent
    return any(step > least for step in steps) and any(step < -least for step in steps)


def _of_words(sentence: str, chart: ReadChart) -> list[str]:
    """What the sentence speaks of that the image does not show."""
    said = subject_stems(sentence) - _PLAIN
    absent = [stem for stem in said if fold(stem) not in chart.letters]
    return [f"not in the image: {', '.join(sorted(absent))}"] if absent else []


def others_hold(sentence: str, fixes: Sequence[Fix], chart: ReadChart) -> bool:
    """Whether, after the fixes, the chart bears out every claim, direction and number."""
    text = with_fixes(sentence, fixes)
    checks = check_sentence(text, chart.charts, chart.lines)
    labels = all_labels(text, chart.charts)
    trends = sum(check.claim is ChartClaim.TREND for check in checks)
    return (
        bool(checks)
        and all(_holds(check) for check in checks)
        and trends >= len(directions_in(text, labels))
        and sum(one.change for one in numbers_in(text, labels))
        <= sum(check.claim is ChartClaim.CHANGE for check in checks)
    )


def _holds(check: ChartCheck) -> bool:
    """Whether a claim is borne out, or as near as a value may be read."""
    if check.claim is ChartClaim.EXTREME:
        return check.outcome is ClaimOutcome.TRUE and check.off == 0
    near = check.claim is ChartClaim.VALUE and check.off < _NEAR
    return check.outcome is ClaimOutcome.TRUE or (near and check.outcome is ClaimOutcome.UNDECIDED)


#: Times the tolerance.
_NEAR = 1.5
