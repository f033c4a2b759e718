"""Which refuted claims of a sentence the chart refutes for sure.

A claim is not held against a sentence where what it says is printed beside the name that it gives,
or where a curve's years would decide it, which are measured where ticks are few.
"""

from __future__ import annotations

from collections.abc import Sequence

from revise_captions.charts.claims import ChartCheck, ChartClaim, ClaimOutcome
from revise_captions.charts.claims.check import Cell
from revise_captions.charts.claims.grid import FoundMark, year_of
from revise_captions.critic.charts.certainty import CURVES, ReadChart
from revise_captions.critic.charts.places import numbers_of, support, words_and_years

#: A share of the step from one year to the next by which a curve's years may be misplaced.
_MISPLACED = 0.5
#: A chart may print in thousands or millions what a sentence says in full.
_SCALES = (1.0, 1e3, 1e6)


def without_doubtful(
    sentence: str, checks: Sequence[ChartCheck], chart: ReadChart
) -> tuple[ChartCheck, ...]:
    """The claims of a sentence, without those that are refuted, but not for sure."""
    printed = {c for one in checks if _stands_there(sentence, one, chart) for c in one.cells}
    return tuple(
        one
        for one in checks
        if one.outcome is not ClaimOutcome.FALSE
        or not (_is_of_column(one, printed) or _is_steep(one, chart) or _is_next_year(one, chart))
    )


def _stands_there(sentence: str, check: ChartCheck, chart: ReadChart) -> bool:
    """Whether a refuted value is printed beside the name that the sentence gives it: a reading that
    has another there is no better than the print, or of another column."""
    if check.claim is not ChartClaim.VALUE or not check.edits or check.named is None:
        return False
    stated = numbers_of(check.edits[0].span.of(sentence))
    name = words_and_years(check.named.of(sentence))
    return len(stated) == 1 and any(
        support(stated[0] / scale, name, chart.places) == 1.0 for scale in _SCALES
    )


def _is_of_column(check: ChartCheck, printed: set[Cell]) -> bool:
    """Whether a claim is of a mark whose value is printed elsewhere: what ranks highest in that
    column was not read."""
    of_mark = check.claim in (ChartClaim.VALUE, ChartClaim.EXTREME)
    return of_mark and bool(printed & {*check.cells[:1]})


def _is_steep(check: ChartCheck, chart: ReadChart) -> bool:
    """Whether a measured curve has a refuted value within half a year of the year that is named."""
    found = [mark for mark in chart.marks if mark.cell in check.cells]
    if check.stated is None or len(found) != 1 or found[0].mark.printed:
        return False
    (mark,) = found
    if chart.charts[mark.cell[0]].kind not in CURVES or year_of(mark.mark.category) is None:
        return False
    steps = [abs(one.value - mark.value) for one in _run(mark, chart) if _is_next(one, mark)]
    return abs(check.stated - mark.value) < _MISPLACED * max(steps, default=0.0)


def _is_next_year(check: ChartCheck, chart: ReadChart) -> bool:
    """Whether a measured curve is highest or lowest a year from where the sentence says."""
    found = [mark for mark in chart.marks if mark.cell in check.cells]
    if check.claim is not ChartClaim.EXTREME or len(found) != 2:
        return False
    one, other = (year_of(mark.mark.category) for mark in found)
    measured = not all(mark.mark.printed for mark in found)
    curve = measured and chart.charts[found[0].cell[0]].kind in CURVES
    return curve and one is not None and other is not None and abs(one - other) == 1


def _is_next(one: FoundMark, other: FoundMark) -> bool:
    return abs(one.cell[2] - other.cell[2]) == 1


def _run(mark: FoundMark, chart: ReadChart) -> list[FoundMark]:
    """The marks of a mark's series."""
    return [one for one in chart.marks if one.cell[:2] == mark.cell[:2]]
