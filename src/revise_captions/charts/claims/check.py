"""A claim's outcome, and how far from a value a sentence may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from revise_captions.charts.chart import Chart
from revise_captions.records import Span

#: (chart, series, mark): where a mark stands in a reading.
Cell = tuple[int, int, int]


class ChartClaim(StrEnum):
    """What a sentence claims."""

    VALUE = "value"
    NUMBER = "number"
    EXTREME = "extreme"
    TREND = "trend"
    COMPARISON = "comparison"
    CHANGE = "change"
    RATIO = "ratio"
    PERIOD = "period"
    SUM = "sum"
    COUNT = "count"
    RANGE = "range"
    SUBJECT = "subject"
    UNIT = "unit"


class ClaimOutcome(StrEnum):
    """What the reading says of a claim."""

    TRUE = "true"
    FALSE = "false"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class ClaimEdit:
    """What would have to stand in a sentence.

    Attributes:
        span: Half-open, in code points of the sentence.
        right: What would stand there; "" to remove it.
    """

    span: Span
    right: str


@dataclass(frozen=True, slots=True)
class ChartCheck:
    """One claim of a sentence, decided.

    Attributes:
        claim: Its kind.
        outcome: Whether the chart bears it out.
        off: How far it is from the truth, as a share of the axis or of the value: 0 at it.
        rationale: What the chart shows instead; "" unless `outcome` is FALSE.
        cells: The marks that it is about.
        edits: What would make it true, without overlaps; () where nothing known would.
        stated: The value that is refuted, in the chart's units; None where it is none.
        scale: What the sentence's number was multiplied by for that: 0.001 in a chart that counts
            thousands.
        named: The span of the sentence that says which mark is meant; None where it is not one.
        doubt: What speaks against the edits in a few words, though the claim is refuted.
    """

    claim: ChartClaim
    outcome: ClaimOutcome
    off: float = 0.0
    rationale: str = ""
    cells: tuple[Cell, ...] = ()
    edits: tuple[ClaimEdit, ...] = ()
    stated: float | None = None
    scale: float = 1.0
    named: Span | None = None
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """When two values are the same to a careful reader.

    Attributes:
        of_axis: Share of the range of the values that are read.
        of_value: Share of the value.
        hedged: Both are multiplied by this after "about", "nearly" and the like.
    """

    of_axis: float = 0.03
    of_value: float = 0.025
    hedged: float = 1.8

    def width(self, value: float, extent: float, own: float, hedged: bool) -> float:
        """How far from `value` a sentence may be.

        Args:
            value: The value in the chart.
            extent: The range of the chart's values.
            own: The reading's own tolerance.
            hedged: Whether the sentence says "about".
        """
        width = max(self.of_axis * extent, self.of_value * abs(value))
        return own + width * (self.hedged if hedged else 1.0)


def undecided(check: ChartCheck) -> ChartCheck:
    """The same claim, of which the reading says nothing."""
    return replace(check, outcome=ClaimOutcome.UNDECIDED, rationale="", edits=())


def edit(start: int, end: int, right: str) -> tuple[ClaimEdit, ...]:
    """One edit; none where nothing is known to be right."""
    return (ClaimEdit(Span(start, end), right),) if right else ()


def apart(edits: Sequence[ClaimEdit]) -> tuple[ClaimEdit, ...]:
    """The edits in order, without those that overlap one before them in the sequence."""
    found: list[ClaimEdit] = []
    for one in edits:
        if all(one.span.end <= o.span.start or o.span.end <= one.span.start for o in found):
            found.append(one)
    return tuple(sorted(found, key=lambda one: one.span))


def extent_of(chart: Chart) -> float:
    """From the least value, or 0, to the greatest; 1 where nothing was read."""
    values = [m.value for s in chart.series for m in s.marks if m.value is not None]
    return (max(values) - min(0.0, *values) if values else 0.0) or 1.0
