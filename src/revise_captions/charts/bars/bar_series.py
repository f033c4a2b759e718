"""Which bars form a series, and what it is called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from revise_captions.charts.bars.bar_chart import BarRow, Frame
from revise_captions.charts.bars.rectangles import ChartBar
from revise_captions.charts.canvas import Canvas
from revise_captions.charts.chart import ChartMark, ChartSeries


def split_series(
    frame: Frame,
    rows: Sequence[BarRow],
    categories: Sequence[str],
    marks: dict[ChartBar, ChartMark],
    names: dict[int, str],
    canvas: Canvas,
) -> list[tuple[list[ChartBar], ChartSeries]]:
    """Series by color, by the column that bars start in, or by their order in a stack.

    Args:
        frame: Which way bars grow.
        rows: In order across.
        categories: Of each row.
        marks: Of each bar, without a category.
        names: Of colors, from the legend.
        canvas: The image.

    Returns:
        Each series with its bars; a name is "" unless the legend gives it.
    """
    keys = _keys(frame, rows, categories, names)
    series: dict[int, list[tuple[str, ChartBar]]] = {}
    for row, category in zip(rows, categories, strict=True):
        for bar in row.bars:
            series.setdefault(keys[bar], []).append((category, bar))
    found = []
    for key in sorted(series):
        members = series[key]
        colors = {bar.color for _, bar in members}
        name = names.get(members[0][1].color, "") if len(colors) == 1 and len(series) > 1 else ""
        own = tuple(replace(marks[bar], category=category) for category, bar in members)
        color = canvas.hex(members[0][1].color)
        found.append(([bar for _, bar in members], ChartSeries(name, color, own)))
    return found


def repeated(categories: Sequence[str]) -> int:
    """How many categories come before the first one again, if all repeat in this order; else 0.

    >>> repeated(["Men", "Women", "Men", "Women"]), repeated(["Men", "Men", "Women"])
    (2, 0)
    """
    period = next((k for k in range(1, len(categories)) if categories[k] == categories[0]), 0)
    if period < 2 or len(categories) % period or not all(categories):
        return 0
    return (
        period if list(categories) == list(categories[:period]) * (len(categories) // period) else 0
    )


def _keys(
    frame: Frame, rows: Sequence[BarRow], categories: Sequence[str], names: dict[int, str]
) -> dict[ChartBar, int]:
    """A number for each bar's series."""
    bars = [bar for row in rows for bar in row.bars]
    colors = list(dict.fromkeys(bar.color for bar in bars))
    by_color = {bar: colors.index(bar.color) for bar in bars}
    most = max(len(row.bars) for row in rows)
    if most == 1:
        period = repeated(categories)
        if period:
            return {row.bars[0]: k // period for k, row in enumerate(rows)}
        grouped = len(set(categories)) <= 0.75 * len(rows) or len(set(colors) & set(names)) >= 2
        return by_color if grouped and len(colors) > 1 else dict.fromkeys(bars, 0)
    columns = _columns(frame, rows)
    if columns is not None:
        return columns
    orders = [tuple(bar.color for bar in row.bars) for row in rows]
    if len(colors) <= most + 1 and all(len(set(order)) == len(order) for order in orders):
        longest = max(rows, key=lambda row: len(row.bars))
        first = [bar.color for bar in longest.bars]
        rank = {color: k for k, color in enumerate(dict.fromkeys([*first, *colors]))}
        return {bar: rank[bar.color] for bar in bars}
    return {bar: k for row in rows for k, bar in enumerate(row.bars)}


def _columns(frame: Frame, rows: Sequence[BarRow]) -> dict[ChartBar, int] | None:
    """Columns of bars that start at the same place and do not touch, as small multiples do."""
    bars = [bar for row in rows for bar in row.bars]
    starts: list[list[ChartBar]] = []
    for bar in sorted(bars, key=lambda bar: frame.along(bar.box)[0]):
        if starts and frame.along(bar.box)[0] - frame.along(starts[-1][-1].box)[0] <= 4:
            starts[-1].append(bar)
        else:
            starts.append([bar])
    if len(starts) != max(len(row.bars) for row in rows) or any(
        len(column) < 0.5 * len(rows) for column in starts
    ):
        return None
    return {bar: k for k, column in enumerate(starts) for bar in column}
