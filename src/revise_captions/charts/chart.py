"""What is read off a chart: its kind, texts, axes, and series of marks with their values."""

from __future__ import annotations

from dataclasses import dataclass, field

from revise_captions.records import Box

#: What `Chart.kind` may be. "unknown" has no series.
KINDS = ("bar", "stacked bar", "line", "area", "pie", "table", "unknown")


@dataclass(frozen=True, slots=True)
class ChartMark:
    """One bar, point of a line or area, segment, slice, or cell of a table.

    Attributes:
        category: The tick label, row or slice that it stands at, as printed or, for a year between
            two labels, interpolated.
        value: In the units of the value axis; None where it could not be read.
        printed: Whether the value stands in the chart as a number, rather than being measured.
        tolerance: Half the width of the interval that the value lies in, in its own units: half of
            the last digit if printed, `pixels` on the axis's scale if measured.
        pixels: Error of the measurement in pixels; 0 if printed.
        box: Where the mark is, None for a printed number whose mark was not found.
    """

    category: str
    value: float | None
    printed: bool = True
    tolerance: float = 0.0
    pixels: float = 0.0
    box: Box | None = None


@dataclass(frozen=True, slots=True)
class ChartSeries:
    """Marks of one color or one legend entry, in the order in which the chart shows them.

    Attributes:
        name: From the legend or a label beside the marks; "" for a chart's only series.
        color: "#rrggbb", "" if unknown.
        marks: Left to right, or top to bottom.
    """

    name: str
    color: str
    marks: tuple[ChartMark, ...]


@dataclass(frozen=True, slots=True)
class ChartAxis:
    """An axis as drawn.

    Attributes:
        label: Its title without the unit, "" if it has none.
        unit: `%`, `$`, `million`, … as its title or its tick labels say.
        ticks: The tick labels, left to right or bottom to top.
        scale: (a, b), so that a value is a · pixel + b on a value axis; None for categories.
    """

    label: str = ""
    unit: str = ""
    ticks: tuple[str, ...] = ()
    scale: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart of an image; a figure of several panels is several charts.

    Attributes:
        kind: One of `KINDS`.
        title: Title and subtitle.
        x: The horizontal axis.
        y: The vertical axis. Values are on `x` if `horizontal`, else on `y`.
        series: What was read; empty if `unread` says why there is nothing.
        notes: Footnotes.
        source: The source line.
        box: The chart's part of the image.
        unread: What could not be read, each in a few words, such as "logarithmic axis".
        horizontal: Whether values run from left to right.
    """

    kind: str
    title: str = ""
    x: ChartAxis = field(default_factory=ChartAxis)
    y: ChartAxis = field(default_factory=ChartAxis)
    series: tuple[ChartSeries, ...] = ()
    notes: tuple[str, ...] = ()
    source: str = ""
    box: Box = (0, 0, 0, 0)
    unread: tuple[str, ...] = ()
    horizontal: bool = False

    @property
    def readable(self) -> bool:
        """Whether there is any value to judge a sentence by."""
        return any(mark.value is not None for one in self.series for mark in one.marks)


def number(value: float | None, tolerance: float = 0.0) -> str:
    """A value with as many digits as its tolerance warrants, and no trailing zeros; "?" for None.

    >>> number(254.318, 2.1), number(1234567.0), number(0.12345, 0.001), number(None)
    ('254', '1234567', '0.123', '?')
    """
    if value is None:
        return "?"
    places = 0
    while places < 6 and 10.0**-places > max(tolerance, 1e-6) * 2:
        places += 1
    text = f"{value:.{places}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text
