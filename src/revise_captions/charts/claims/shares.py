"""Claims of what several marks make up together."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from revise_captions.charts.chart import number
from revise_captions.charts.claims.check import ChartCheck, ChartClaim, ClaimOutcome, Tolerance
from revise_captions.charts.claims.edits import number_edit
from revise_captions.charts.claims.grid import FoundMark, at_label
from revise_captions.charts.claims.mentions import NamedLabel, Number

_TOGETHER = re.compile(
    r"\b(?:together|combined|altogether|(?:adds?|added|adding) up|the sum of)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class SharesChecked:
    """Claims decided.

    Attributes:
        checks: For each claim.
        rest: The numbers that are about something else.
    """

    checks: tuple[ChartCheck, ...]
    rest: tuple[Number, ...]


def check_shares(
    sentence: str,
    numbers: Sequence[Number],
    labels: Sequence[NamedLabel],
    marks: Sequence[FoundMark],
    tolerance: Tolerance,
) -> SharesChecked:
    """Decides "A and B together make up 57%", where all that is named has one mark each.

    Args:
        sentence: Where the numbers stand.
        numbers: Its amounts; one without a change is the sum.
        labels: What it names.
        marks: What was read.
        tolerance: How far the sum may be off, for each of the marks.
    """
    sums = [one for one in numbers if not one.change]
    named = _named(labels, marks)
    if not _TOGETHER.search(sentence) or len(sums) != 1 or len(named) < 2:
        return SharesChecked((), tuple(numbers))
    (one,) = sums
    rest = tuple(other for other in numbers if other is not one)
    total = sum(found.value for found in named)
    own = sum(found.mark.tolerance for found in named)
    width = tolerance.width(total, named[0].extent, own, one.hedged)
    off = abs(one.value * one.scale - total) / width
    cells = tuple(found.cell for found in named)
    if off <= 1:
        return SharesChecked(
            (ChartCheck(ChartClaim.SUM, ClaimOutcome.TRUE, off, cells=cells),), rest
        )
    if one.scale != 1 or one.bound * (total - one.value) > 0:
        check = ChartCheck(ChartClaim.SUM, ClaimOutcome.UNDECIDED, off, cells=cells)
        return SharesChecked((check,), rest)
    right = number(total, own)
    names = " and ".join(found.name for found in named)
    rationale = f"{names} together are at {right}{one.unit}, not {one.said}."
    edits = (number_edit(sentence, one, right),)
    check = ChartCheck(ChartClaim.SUM, ClaimOutcome.FALSE, off, rationale, cells, edits)
    return SharesChecked((check,), rest)


def _named(labels: Sequence[NamedLabel], marks: Sequence[FoundMark]) -> list[FoundMark]:
    """A mark for each category that is named, or for each series at one category; else none."""
    categories = list({one.name: one for one in labels if not one.series}.values())
    series = list({one.name: one for one in labels if one.series}.values())
    several, other = (categories, series) if len(categories) > 1 else (series, categories)
    if len(other) > 1:
        return []
    pool = at_label(marks, other[0]) if other else list(marks)
    found = [at_label(pool, label) for label in several]
    return [own[0] for own in found] if all(len(own) == 1 for own in found) else []


def is_derived(value: float, row: Sequence[FoundMark], marks: Sequence[FoundMark]) -> bool:
    """Whether a number is what two or more values of a row or column make, or differ by, or what is
    missing to 100."""
    values = {found.cell: found.value for found in marks}
    columns = [
        [other for cell, other in values.items() if cell[:2] == found.cell[:2]] for found in row
    ]
    for part in ([found.value for found in row], *columns):
        sums = [sum(some) for n in (2, 3) for some in itertools.combinations(part[:_MOST], n)]
        gaps = [abs(a - b) for a, b in itertools.combinations(part, 2)]
        if any(abs(value - other) < 1.01 for other in (*sums, *gaps, *(100 - v for v in part))):
            return True
    return False


#: More values than this are hardly added up.
_MOST = 12
