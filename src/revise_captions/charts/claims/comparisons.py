"""Claims that one mark is higher or lower than another, and by how much."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from revise_captions.charts.chart import number
from revise_captions.charts.claims.amounts import scaled
from revise_captions.charts.claims.check import (
    ChartCheck,
    ChartClaim,
    ClaimEdit,
    ClaimOutcome,
    Tolerance,
    edit,
)
from revise_captions.charts.claims.directions import directions_in
from revise_captions.charts.claims.edits import number_edit
from revise_captions.charts.claims.grid import FoundMark, at_label, is_temporal, narrowed
from revise_captions.charts.claims.mentions import NamedLabel, Number
from revise_captions.charts.claims.vocabulary import COMPARED, EXCEEDS, LESS, MORE, TRAILS
from revise_captions.records import Span

_IS = r"(?:(?<=is )|(?<=was )|(?<=are )|(?<=were ))"
_MORE = re.compile(
    rf"\b(?:(?:{MORE})\b(?=.*\bthan\b)|{_IS}(?:ahead of|above)|{EXCEEDS})\b", re.IGNORECASE
)
_LESS = re.compile(
    rf"\b(?:(?:{LESS})\b(?=.*\bthan\b)|{_IS}(?:behind|below)|{TRAILS})\b", re.IGNORECASE
)
#: Beyond what a factor allows by so much, it is wrong.
_CLEARLY = 1.08
#: "More than 40", "exceeding 9%": a bound, no comparison of marks; "than 2014" is one.
_OF_NUMBER = re.compile(
    r"(?:\s+than)?\s+(?:[$€£]|(?:about|around|the|a) )?(?!(?:1[6-9]|20)\d\d\b)"
    r"(?:\d|half\b|twice\b|double\b|\w+ times\b"
    r"|(?:one|two|three|four|five|six|seven|eight|nine)[- ]in[- ])"
)


def check_comparisons(
    sentence: str, labels: Sequence[NamedLabel], marks: Sequence[FoundMark], tolerance: Tolerance
) -> list[ChartCheck]:
    """Decides "A is higher than B" where exactly one thing is named on either side."""
    more, less = _MORE.search(sentence), _LESS.search(sentence)
    if bool(more) == bool(less):
        return []
    word = more or less
    assert word is not None
    if _OF_NUMBER.match(sentence[word.end() :]):
        return []
    before = [label for label in labels if label.end <= word.start()]
    after = [label for label in labels if label.start >= word.end()]
    than = sentence.find(" than ", word.start())
    if not before and than > 0:  # "higher in 2019 than in 2009"
        before = [label for label in after if label.end <= than]
        after = [label for label in after if label.start > than]
    if not before or not after or (is_temporal(marks) and len(labels) > 4):
        return []
    pair = _pair(marks, before, after)
    if pair is None:
        return []
    a, b = pair
    width = 0.4 * tolerance.width(b.value, b.extent, b.mark.tolerance, False)
    ahead = (a.value - b.value) * (1 if more else -1)
    if ahead > 0:
        return [ChartCheck(ChartClaim.COMPARISON, ClaimOutcome.TRUE, 0.0, cells=(a.cell, b.cell))]
    if ahead > -width:
        return [
            ChartCheck(ChartClaim.COMPARISON, ClaimOutcome.UNDECIDED, 1.0, cells=(a.cell, b.cell))
        ]
    rationale = f"{a.name} is at {a.said} and {b.name} at {b.said}."
    edits = edit(*word.span(), COMPARED.get(word[0].lower(), ""))
    off, cells = -ahead / width, (a.cell, b.cell)
    return [ChartCheck(ChartClaim.COMPARISON, ClaimOutcome.FALSE, off, rationale, cells, edits)]


_TIMES = re.compile(
    r"\b(?P<more>(?:more than|less than|over|nearly|almost|about|roughly|around|approximately) )?"
    r"(?P<times>twice|double|(?:two|three|four|five|six|ten|\d+(?:\.\d+)?) times|half)"
    r" (?:as |that of|the|those|higher)",
    re.IGNORECASE,
)
_FACTORS = {"twice": 2.0, "double": 2.0, "half": 0.5, "two": 2.0, "three": 3.0, "four": 4.0,
            "five": 5.0, "six": 6.0, "ten": 10.0}  # fmt: skip


def check_ratios(
    sentence: str, labels: Sequence[NamedLabel], marks: Sequence[FoundMark]
) -> list[ChartCheck]:
    """Decides "A is about twice as high as B"."""
    match = _TIMES.search(sentence)
    if match is None:
        return []
    before = [label for label in labels if label.end <= match.start()]
    after = [label for label in labels if label.start >= match.end()]
    if not before and len(after) == 2 and " as " in sentence[after[0].end : after[1].start]:
        before, after = after[:1], after[1:]  # "twice as many Poles as Indians"
    pair = _pair(marks, before, after) if before and after else None
    if pair is None or pair[1].value <= 0:
        return []
    a, b = pair
    word = match["times"].lower().split()[0]
    said = _FACTORS[word] if word in _FACTORS else float(word)
    more = (match["more"] or "").lower().strip()
    low, high = said * (0.95 if more in _OVER else 0.88), math.inf if more in _OVER else said * 1.12
    if more == _UNDER:
        low, high = 0.0, said * 1.05
    edits = edit(match.start(), match.end("times"), f"about {_factor(a, b)} times")
    return [_proportion(a, b, (low, high), edits)]


def _factor(a: FoundMark, b: FoundMark) -> str:
    """How many times B it is, to one decimal."""
    return f"{a.value / b.value:.1f}".removesuffix(".0")


#: Of fewer marks some were hardly read.
_FEW = 3
#: Words after which a factor is the least that may be meant.
_OVER = ("more than", "over")
#: And the most.
_UNDER = "less than"
_DEGREE = re.compile(
    r"\b(?:(?P<little>slightly|marginally|a little|somewhat|just)|(?P<much>considerably|much|far"
    r"|significantly|substantially|notably)) (?:higher|more|greater|larger|lower|less|smaller"
    r"|fewer)\b(?=.*\bthan\b)",
    re.IGNORECASE,
)


def check_degrees(
    sentence: str, labels: Sequence[NamedLabel], marks: Sequence[FoundMark]
) -> list[ChartCheck]:
    """Decides "A is slightly higher than B": not by half as much again, nor by next to nothing."""
    match = _DEGREE.search(sentence)
    if match is None or _OF_NUMBER.match(sentence, match.end()):
        return []
    before = [label for label in labels if label.end <= match.start()]
    after = [label for label in labels if label.start >= match.end()]
    pair = _pair(marks, before, after) if before and after else None
    if pair is None:
        return []
    b, a = sorted(pair, key=lambda found: found.value)
    if b.value <= 0:
        return []
    group = "little" if match["little"] else "much"
    edits = (ClaimEdit(Span(match.start(group), match.end(group)), ""),)
    return [_proportion(a, b, (0.0, 1.45) if match["little"] else (1.1, math.inf), edits)]


def _proportion(
    a: FoundMark, b: FoundMark, within: tuple[float, float], edits: tuple[ClaimEdit, ...]
) -> ChartCheck:
    """Whether A is so many times B, for any two values that the reading's tolerance allows."""
    least = max(0.0, a.value - a.mark.tolerance) / (b.value + b.mark.tolerance)
    most = (a.value + a.mark.tolerance) / max(b.value - b.mark.tolerance, 1e-9)
    low, high = within
    if least <= high and most >= low:
        return ChartCheck(ChartClaim.RATIO, ClaimOutcome.TRUE, 0.0, cells=(a.cell, b.cell))
    off = low / max(most, 1e-9) if most < low else least / high
    ratio = a.value / b.value
    rationale = f"{a.name} is at {a.said} and {b.name} at {b.said}: {ratio:.1f} times as high."
    outcome = ClaimOutcome.FALSE if off > _CLEARLY else ClaimOutcome.UNDECIDED
    return ChartCheck(ChartClaim.RATIO, outcome, off, rationale, (a.cell, b.cell), edits)


def _pair(
    marks: Sequence[FoundMark], before: Sequence[NamedLabel], after: Sequence[NamedLabel]
) -> tuple[FoundMark, FoundMark] | None:
    """One mark on either side: what a side does not say, it shares with the other."""
    sides = []
    for own, other in ((before, after), (after, before)):
        found = _meeting(marks, own)
        if len(found) > 1:
            found = _meeting(found, [x for x in other if x.series != own[0].series]) or found
        sides.append(found)
    if all(len(side) == 1 for side in sides) and sides[0][0].cell != sides[1][0].cell:
        return sides[0][0], sides[1][0]
    return None


def _meeting(marks: Sequence[FoundMark], labels: Sequence[NamedLabel]) -> list[FoundMark]:
    """The marks that all the labels name."""
    found = list(marks)
    for label in labels:
        found = at_label(found, label)
    return found if labels else []


def check_change(
    sentence: str,
    one: Number,
    marks: Sequence[FoundMark],
    labels: Sequence[NamedLabel],
    tolerance: Tolerance,
) -> ChartCheck:
    """A difference: between the two categories that are named, else between two series of the one
    that is, unless something rises or falls."""
    pool = narrowed(marks, labels)
    categories = list({x.name: x for x in labels if not x.series}.values())
    if len(categories) == 2:
        firsts, seconds = (at_label(pool, label) for label in categories)
        pairs = [
            (a, b)
            for a in firsts
            for b in seconds
            if a.cell[:2] == b.cell[:2] or len(firsts) == len(seconds) == 1
        ]
    elif len(categories) == 1 and not directions_in(sentence, ()):
        of_named = len({found.series for found in pool}) > 1
        same = at_label(pool if of_named else marks, categories[0])
        pairs = [(a, b) for a in same for b in same if a.cell < b.cell]
    else:
        pairs = []
    if not pairs:
        return _beyond(one, marks, tolerance)
    relative = one.percent and "point" not in one.unit
    gaps = [(abs(a.value - b.value), a, b) for a, b in pairs]
    shares = [(100 * gap / abs(a.value), a, b) for gap, a, b in gaps if a.value and relative]
    gap, a, b = min([*gaps, *shares], key=lambda g: abs(scaled(one, g[0]) - g[0]))
    width = 1.5 * tolerance.width(gap, a.extent, a.mark.tolerance, one.hedged)
    off = abs(scaled(one, gap) - gap) / max(width, 1e-9)
    if off <= 1:
        return ChartCheck(ChartClaim.CHANGE, ClaimOutcome.TRUE, off, cells=(a.cell, b.cell))
    difference = number(gap, a.mark.tolerance)
    rationale = (
        f"{a.name} is at {a.said} and {b.name} at {b.said}: the difference is "
        f"{difference}{one.unit}, not {one.said}."
    )
    edits, cells = (number_edit(sentence, one, difference),), (a.cell, b.cell)
    return ChartCheck(ChartClaim.CHANGE, ClaimOutcome.FALSE, off, rationale, cells, edits)


def _beyond(one: Number, marks: Sequence[FoundMark], tolerance: Tolerance) -> ChartCheck:
    """A difference of which it is not known between what: none is greater than that of the highest
    and the lowest."""
    check = ChartCheck(ChartClaim.CHANGE, ClaimOutcome.UNDECIDED)
    relative = one.percent and "point" not in one.unit
    if relative or len(marks) < _FEW or len({found.cell[0] for found in marks}) > 1:
        return check
    low, *_, high = sorted(marks, key=lambda found: found.value)
    gap = high.value - low.value
    width = 3 * tolerance.width(gap, high.extent, high.mark.tolerance, one.hedged)
    stated = scaled(one, gap)
    if stated <= gap + width:
        return check
    rationale = f"From {low.said} to {high.said}, nothing differs by {one.said}."
    off, cells = (stated - gap) / width, (low.cell, high.cell)
    return ChartCheck(ChartClaim.CHANGE, ClaimOutcome.FALSE, off, rationale, cells)
