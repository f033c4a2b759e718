"""A claim's outcome, and how far from a value a sentence may be."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from revise_captions.charts.chart import Chart

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


class ClaimOutcome(StrEnum):
    """What the reading says of a claim."""

    TRUE = "true"
    FALSE = "false"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class ChartCheck:
    """One claim of a sentence, decided.

    Attributes:
        claim: Its kind.
        outcome: Whether the chart bears it out.
        off: How far it is from the truth, as a share of the axis or of the value: 0 at it.
        rationale: What the chart shows instead; "" unless `outcome` is FALSE.
        cells: The marks that it is about.
        wrong: The span of the sentence, half-open, that is wrong; None where it is not one span.
        right: What would stand there instead; "" where unknown.
    """

    claim: ChartClaim
    outcome: ClaimOutcome
    off: float = 0.0
    rationale: str = ""
    cells: tuple[Cell, ...] = ()
    wrong: tuple[int, int] | None = None
    right: str = ""


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


def extent_of(chart: Chart) -> float:
    """From the least value, or 0, to the greatest; 1 where nothing was read."""
    values = [m.value for s in chart.series for m in s.marks if m.value is not None]
    return (max(values) - min(0.0, *values) if values else 0.0) or 1.0
