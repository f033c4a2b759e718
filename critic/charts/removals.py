"""Whether a sentence that no other words in its place would mend may go without a person's look.

The limits were chosen on CHOCOLATE's development half, as those of `certainty` were.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from revise_captions.charts import Chart
from revise_captions.charts.claims import ChartClaim, ClaimOutcome, check_sentence
from revise_captions.charts.claims.amounts import is_printed
from revise_captions.charts.claims.mentions import Number, fold, numbers_in, years_in
from revise_captions.charts.claims.sentence import all_labels, printed_numbers
from revise_captions.charts.claims.shares import is_derived
from revise_captions.critic.charts.binding import misnamed
from revise_captions.critic.charts.certainty import CURVES, FEW_MARKS, ReadChart, is_unreal
from revise_captions.critic.charts.evidence import OF_THE_CHART, REPORTED
from revise_captions.critic.charts.garbled import contradicts_itself
from revise_captions.critic.charts.refuted import without_doubtful
from revise_captions.critic.charts.support import absent_names, is_supported
from revise_captions.critic.charts.words import subject_stems

#: Of sentences that no other words in their place would mend.
NOT_SAID = "The chart does not say this."
CONTRADICTORY = "The sentence contradicts itself."
MISNAMED = "The chart has a number of it, but at other names."
#: Fewer words than this may be a heading, a list's number, or a row.
_FEWEST = 5
#: A row of empty cells in a word's place, as captioners write that do not stop.
_RUN_ON = re.compile(r"\w\|{5,}")
_LAYOUT = re.compile(r"^\s*[|#>*-]|[|*:]\s*$|\*\*|\n|\|[^|]+\|")
#: Words for its subject that a sentence about something else has at least, and if all are absent.
_SUBJECT, _ABSENT = 3, 2
#: A chart of which this share of the marks has its value beside it shows numbers by printing them.
_PRINTED = 0.8
#: P(factual) below which a sentence is removed: if every claim in it is refuted, by marks that it
#: names, if it has a number that is printed nowhere in such a chart, or if nothing in it is borne
#: out and a number or a claim is refuted; if it reports something with a name that the image lacks;
#: if nothing in it is borne out and it is not about the chart; if other names have its number.
_REFUTED, _REPORT, _UNLIKELY, _MISNAMED = 0.35, 0.2, 0.15, 0.15
#: If a number is printed nowhere in a chart that prints most values; if it is about nothing shown.
_NOWHERE, _ELSEWHERE = 0.2, 0.2
#: And where most of its caption is wrong, too.
_AMONG_WRONG = 0.2
#: How much better other marks than the number's are named, to say so.
_OTHER = 0.35
#: The mean of a caption below which most of it is wrong.
_POOR = 0.4


def removal_doubts(sentence: str, foreign: bool, chart: ReadChart) -> list[str]:
    """What speaks against removing a sentence.

    Args:
        sentence: What would be removed.
        foreign: Whether it is about something that the chart does not show, rather than garbled.
        chart: What was read.

    Returns:
        Reasons, each in a few words; [] where the removal is certain: a sentence goes where it is
        long enough for one, no layout, and, if it is foreign, none of its subject's words are in
        the image, or at most half of them, and it has names or numbers that the image lacks.
    """
    if _may_be_layout(sentence):
        return ["it may be a heading, a list's item, or a row"]
    if not foreign:
        return []
    hard = bool(unprinted(sentence, chart) or absent_names(sentence, chart.charts, chart.lines))
    subject = subject_stems(sentence)
    shown = sum(fold(stem) in chart.letters for stem in subject)
    if not shown and len(subject) >= _ABSENT:
        return []
    if len(subject) < _SUBJECT or 2 * shown > len(subject) or not hard:
        return ["it may be a remark on the chart"]
    return []


def _may_be_layout(sentence: str) -> bool:
    return len(sentence.split()) < _FEWEST or (
        bool(_LAYOUT.search(sentence)) and not _RUN_ON.search(sentence)
    )


def unprinted(sentence: str, chart: ReadChart) -> list[Number]:
    """The numbers of a sentence that stand nowhere in the image."""
    printed = printed_numbers(chart.charts, chart.lines)
    return [n for n in numbers_in(sentence, years_in(sentence)) if not is_printed(n, printed)]


def why_remove(sentence: str, chart: ReadChart, p: float, rest: float) -> tuple[str, str]:
    """Why a flagged sentence may go that no fix would mend for certain.

    Args:
        sentence: The sentence.
        chart: What was read.
        p: P(factual) of it.
        rest: The mean of that of the caption's other sentences: if they are borne out, it takes
            more to remove one of them.

    Returns:
        What is wrong with it, and what that rests on; ("", "") where it stays.
    """
    if p >= _REFUTED or _may_be_layout(sentence):
        return "", ""
    checks = without_doubtful(sentence, check_sentence(sentence, chart.charts, chart.lines), chart)
    outcomes = {one.outcome for one in checks}
    numbers = any(one.claim is ChartClaim.NUMBER for one in checks)  # of no mark in particular
    unreal = any(is_unreal(sentence, one, chart) for one in checks)
    few = len(chart.marks) < FEW_MARKS
    bound = not numbers and not unreal and not few and _is_bound(sentence, chart)
    if outcomes == {ClaimOutcome.FALSE} and bound:
        return NOT_SAID, "every claim is refuted"
    if contradicts_itself(sentence):
        return CONTRADICTORY, "its own numbers"
    exact = [n for n in unprinted(sentence, chart) if _is_exact(n) and not _is_cut(n, chart)]
    found = () if _is_curve(chart) else exact  # which has what is between its marks, too
    invented = [n for n in found if not is_derived(n.value, chart.marks, chart.marks)]
    if invented and _prints_values(chart):
        return _not_shown(sentence, invented), "a number that is printed nowhere"
    if p < _NOWHERE and exact and _is_mostly_printed(chart):  # whatever it may be derived from
        return _not_shown(sentence, exact), "a number that is printed nowhere"
    if p < _ELSEWHERE and not is_supported(sentence, checks, chart.charts, chart.lines):
        return NOT_SAID, "text read by OCR"
    if p < _MISNAMED and _is_misnamed(sentence, chart):
        return MISNAMED, "a number of it is at other names"
    reported = p < _REPORT and rest < _POOR and REPORTED.search(sentence)
    if reported and absent_names(sentence, chart.charts, chart.lines):
        return NOT_SAID, "a report, with a name that stands nowhere in the image"
    if ClaimOutcome.TRUE in outcomes:
        return "", ""
    if invented:
        return _not_shown(sentence, invented), "nothing in it is borne out"
    if ClaimOutcome.FALSE in outcomes and not few and (rest < _POOR or _is_bound(sentence, chart)):
        return NOT_SAID, "every claim is refuted"
    limit = _UNLIKELY if rest >= _POOR else _AMONG_WRONG
    unlikely = p < limit and not OF_THE_CHART.search(sentence)
    return (NOT_SAID, "nothing in it is borne out") if unlikely else ("", "")


def _not_shown(sentence: str, numbers: Sequence[Number]) -> str:
    said = " or ".join(dict.fromkeys(sentence[n.start : n.end] for n in numbers))
    return f"The chart does not show {said}."


def _is_bound(sentence: str, chart: ReadChart) -> bool:
    """Whether what is refuted is sure to be about what was read: no remark on the chart itself, no
    name that was told by one of its words."""
    names = all_labels(sentence, chart.charts)
    return not OF_THE_CHART.search(sentence) and all(label.literal for label in names)


def _is_exact(number: Number) -> bool:
    """Whether a number can only be one that the chart has, and that OCR would not overlook: no
    difference, no bound, and of more than one digit."""
    return not (number.change or number.hedged or number.bound) and len(number.said.strip("%")) > 1


def _is_misnamed(sentence: str, chart: ReadChart) -> bool:
    """Whether a number that is printed at other names is in it; what was measured is not exact
    enough to tell."""
    other = misnamed(sentence, chart.charts, chart.marks, chart.lines)
    return _is_mostly_printed(chart) and other > _OTHER


def _is_mostly_printed(chart: ReadChart) -> bool:
    """Whether most marks have their value beside them."""
    return 2 * sum(found.mark.printed for found in chart.marks) >= len(chart.marks)


def _is_curve(chart: ReadChart) -> bool:
    """Whether what was read was measured along a curve."""
    curves = any(one.kind in CURVES for one in chart.charts)
    return curves and not _is_mostly_printed(chart)


def _prints_values(chart: ReadChart) -> bool:
    """Whether the chart shows its values by printing them."""
    if any(is_ragged(one) for one in chart.charts):
        return False
    printed = sum(found.mark.printed for found in chart.marks)
    return len(chart.marks) >= FEW_MARKS and printed >= _PRINTED * len(chart.marks)


def is_ragged(chart: Chart) -> bool:
    """Whether a series lacks a category that another has: a value was not read."""
    sizes = {sum(m.value is not None for m in one.marks) for one in chart.series}
    return len(sizes) > 1 or any(m.value is None for one in chart.series for m in one.marks)


def _is_cut(one: Number, chart: ReadChart) -> bool:
    """Whether OCR may have lost a digit of a number: 7 of 77."""
    said = f"{one.value:g}"
    printed = (f"{found.value:g}" for found in chart.marks if found.mark.printed)
    return any(
        len(said) == len(left) + 1 and (said.startswith(left) or said.endswith(left))
        for left in printed
    )
