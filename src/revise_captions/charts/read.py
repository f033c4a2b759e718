"""Reads the charts of an image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from revise_captions.charts import labels, legends, scales, shapes
from revise_captions.charts.axis_labels import axis_labels
from revise_captions.charts.bars import bar_chart
from revise_captions.charts.bars.printed_bars import bars_chart, printed_bars
from revise_captions.charts.bars.rectangles import ChartBar, filled_rectangles
from revise_captions.charts.canvas import Canvas, prepare, without_panel
from revise_captions.charts.chart import Box, Chart
from revise_captions.charts.damage import damage, without_guesses
from revise_captions.charts.lines.line_charts import curves_on_axis, printed_curves
from revise_captions.charts.lines.ticks import at_marks, on_ticks
from revise_captions.charts.numerals import date_of
from revise_captions.charts.ocr import Pixels, TextLine, TextWord, text_lines, with_turned
from revise_captions.charts.panels import read_panels
from revise_captions.charts.pies.discs import has_blob
from revise_captions.charts.pies.pie_chart import pie_charts
from revise_captions.charts.scales import FittedScale
from revise_captions.charts.text_tables import text_table

#: Changes whenever an image could be read otherwise.
VERSION = "reader-6"
#: An image needs this many pixels on its shorter side.
_LEAST_SIDE = 48
#: Its longer side is at most so many times as long.
_MOST_ASPECT = 30
#: A second value axis has at least so many labels.
_SECOND = 4
#: Tick marks are at equal steps but for so many pixels.
_OFF_MARKS = 1.5
_NOTHING = "no axis and no marks were found"
#: Degrees by which the labels of an axis may be turned, those first that occur most.
_TURNS = ((0, -45, 45), (60, -60, 90, -90))


def read(pixels: Pixels) -> tuple[Chart, ...]:
    """The charts in an RGB image, top to bottom.

    What could not be read is said in `Chart.unread`; a chart of which nothing could be has the kind
    "unknown".

    Args:
        pixels: uint8 (height, width, 3); transparency already laid on white.

    Raises:
        ModuleNotFoundError: The extra `charts` is not installed.
    """
    if not has_room(pixels):
        return (_unknown(pixels, "the image is too small"),)
    lines = text_lines(pixels)
    charts = read_lines(pixels, lines)
    if charts[0].unread != (_NOTHING,):
        return charts
    for angles in _TURNS:
        found = max((with_turned(pixels, lines, a) for a in angles), key=partial(_ticks, pixels))
        again = read_lines(pixels, found)
        if again[0].readable and _ticks(pixels, found) > 2:
            return again
    return charts


def _ticks(pixels: Pixels, lines: Sequence[TextLine]) -> int:
    """How many labels the image's longest value axis has."""
    canvas = prepare(pixels, lines)
    found = scales.value_scales(canvas, True) + scales.value_scales(canvas, False)
    return max((len(scale.ticks) for scale in found), default=0)


def has_room(pixels: Pixels) -> bool:
    """Whether an image can hold a chart; OCR fails on those that are as narrow as a line."""
    short, long = sorted(pixels.shape[:2])
    return short >= _LEAST_SIDE and long <= _MOST_ASPECT * short


def read_lines(pixels: Pixels, lines: Sequence[TextLine]) -> tuple[Chart, ...]:
    """As `read`, with the text already recognized."""
    if not lines:
        return (_unknown(pixels, "there is no text"),)
    title = labels.title_of(lines, pixels.shape[0], ())
    if _foreign(lines):
        return (_unknown(pixels, "its text is not in Latin letters", title),)
    if reason := damage(pixels):
        return (_unknown(pixels, reason, title),)
    canvas = prepare(pixels, lines)
    return without_guesses(pixels, read_panels(canvas, _charts) or _charts(canvas))


def _foreign(lines: Sequence[TextLine]) -> bool:
    """Whether most letters are of another script, which would be read as noise."""
    letters = [c for line in lines for c in line.text if c.isalpha()]
    # what OCR takes squares and icons for
    other = sum(ord(c) > 0x24F and c not in "口日田ロ" for c in letters)
    return other > 0.3 * max(1, len(letters))


def _unknown(pixels: Pixels, reason: str, title: str = "") -> Chart:
    box = (0, 0, int(pixels.shape[1]), int(pixels.shape[0]))
    return Chart("unknown", title, box=box, unread=(reason,))


@dataclass(frozen=True, slots=True)
class _Plot:
    """A value axis and the region of the image that its marks are in."""

    scale: FittedScale
    region: Box
    base: float


def _charts(canvas: Canvas) -> list[Chart]:
    pies = pie_charts(canvas)
    if pies:
        return pies
    table = text_table(canvas)
    if table is not None:
        return [table]
    canvas = without_panel(canvas)
    vertical = scales.value_scales(canvas, True)
    flat = scales.value_scales(canvas, False)
    bars = printed_bars(canvas, [*vertical, *flat])
    if bars and sum(_printed(chart) for chart in bars) >= 3:
        return bars
    reason = _no_plain_axis(vertical, flat)
    if vertical and not reason:
        plot = _upright_plot(canvas, vertical[0])
        stacked = _has_room(plot.region) and shapes.areas_on_areas(canvas, plot.region, plot.base)
        reason = "stacked areas" if stacked else ""
    if reason:
        return [_unknown(canvas.pixels, reason, labels.title_of(canvas.lines, canvas.height, ()))]
    chart = _on_axis(canvas, vertical, flat) or printed_curves(canvas)
    if chart is not None:
        return [chart]
    if bars:
        return bars
    pie = "a pie in depth, in pieces, or without names" if has_blob(canvas) else ""
    return [_unknown(canvas.pixels, pie or _NOTHING)]


def _on_axis(canvas: Canvas, vertical: list[FittedScale], flat: list[FittedScale]) -> Chart | None:
    if vertical and (not flat or len(vertical[0].ticks) >= len(flat[0].ticks) - 1):
        plot = _upright_plot(canvas, vertical[0])
        if _has_room(plot.region):
            chart = _bars_on_axis(canvas, plot, False) or curves_on_axis(
                canvas, plot.scale, plot.region, plot.base
            )
            if chart is not None and chart.readable:
                return chart
    lying = _lying_plot(canvas, flat[0]) if flat else None
    if lying is None or not _has_room(lying.region):
        return None
    return _bars_on_axis(canvas, lying, True)


def _has_room(region: Box) -> bool:
    """Whether marks fit between an axis and the image's edge, where numbers may stand in vain."""
    return min(region[2] - region[0], region[3] - region[1]) >= 8


def _no_plain_axis(vertical: list[FittedScale], flat: list[FittedScale]) -> str:
    """Why values cannot be told from the axes; "" if they can."""
    first = [scales_[0] for scales_ in (vertical, flat) if scales_]
    if any(scale.logarithmic for scale in first):
        return "a logarithmic axis"
    if len(vertical) > 1 and min(len(scale.ticks) for scale in vertical[:2]) >= _SECOND:
        left, right = sorted(vertical[:2], key=lambda scale: scale.ticks[0].box[0])
        low, high = left.span
        level = abs(right.span[0] - low) + abs(right.span[1] - high) < 0.25 * (high - low)
        apart = right.ticks[0].box[0] - left.ticks[0].box[2]
        ends = [(one.value(low), one.value(high)) for one in (left, right)]
        differ = any(
            abs(a - b) > 0.02 * abs(ends[0][1] - ends[0][0]) for a, b in zip(*ends, strict=True)
        )
        if level and differ and apart > 0.5 * (high - low):
            return "two value axes"
    return ""


def _printed(chart: Chart) -> int:
    return sum(mark.printed for one in chart.series for mark in one.marks)


def _snapped(canvas: Canvas, scale: FittedScale, region: Box) -> FittedScale:
    """The scale moved onto the grid lines that its tick labels stand beside.

    Labels, above all slanted ones, may be off by some pixels, all alike; lines are not.
    """
    if not scale.vertical:
        turned = canvas.transposed()
        box = (region[1], region[0], region[3], region[2])
        lines = shapes.grid_rows(turned, box)
    else:
        lines = shapes.grid_rows(canvas, region)
    if not lines:
        return scale
    offs = []
    for tick in scale.ticks:
        place = scale.pixel(tick.value)
        offs.append(min((line - place for line in lines), key=abs))
    shift = float(np.median(offs))
    near = sum(abs(off - shift) <= 2 for off in offs)
    if abs(shift) > 0.7 * canvas.text_height or near < 0.5 * len(offs):
        return scale
    return replace(scale, b=scale.b - scale.a * shift)


def _on_marks(canvas: Canvas, scale: FittedScale, region: Box) -> FittedScale | None:
    """A scale through the marks or grid lines of its labels; None if none are seen.

    Vega-Lite moves the labels at the ends of a horizontal axis inward; slanted ones are off.
    """
    boxes = [tick.box for tick in scale.ticks]
    if scale.vertical:
        canvas, (region, *boxes) = _laid(canvas, (region, *boxes))
    worth = {box: tick.value for box, tick in zip(boxes, scale.ticks, strict=True)}
    named = [
        (TextWord(tick.text, box), scales.place(tick, scale.vertical))
        for box, tick in zip(boxes, scale.ticks, strict=True)
    ]
    level = not scale.vertical and all(abs(tick.angle) < 10 for tick in scale.ticks)
    moved = (on_ticks if level else at_marks)(canvas, named, region)
    if len(moved) < 2 or moved == named:
        return None
    found = scales.through([x for _, x in moved], [worth[word.box] for word, _ in moved], scale)
    off = max(abs(found.pixel(worth[word.box]) - x) for word, x in moved)
    return found if off <= _OFF_MARKS else None


def _laid(canvas: Canvas, boxes: Sequence[Box]) -> tuple[Canvas, list[Box]]:
    """The image, and boxes in it, turned so that its left is below and its top on the left."""
    pixels, index = canvas.pixels.transpose(1, 0, 2)[::-1], canvas.index.T[::-1]
    wide = canvas.width
    return replace(canvas, pixels=pixels, index=index), [
        (top, wide - right, bottom, wide - left) for left, top, right, bottom in boxes
    ]


def _upright_plot(canvas: Canvas, scale: FittedScale) -> _Plot:
    first, last = scale.span
    step = (last - first) / max(1, len(scale.ticks) - 1)
    # a unit behind one label may reach into the plot
    right = round(float(np.median([tick.box[2] for tick in scale.ticks]))) + 2
    above = max(0, round(first - step))
    region = (right, above, canvas.width, min(canvas.height, round(last) + 12))
    scale = _on_marks(canvas, scale, region) or _snapped(canvas, scale, region)
    first, last = scale.span
    zero = scale.pixel(0.0)
    base = zero if first - 2 <= zero <= last + 2 else last
    bottom = min(canvas.height, round(last) + 3)
    above = max(0, min(above, round(first - step)))
    return _Plot(scale, (right, above, canvas.width, bottom), base)


def _lying_plot(canvas: Canvas, scale: FittedScale) -> _Plot:
    first, last = scale.span
    step = (last - first) / max(1, len(scale.ticks) - 1)
    top = min(tick.box[1] for tick in scale.ticks)
    low = max(tick.box[3] for tick in scale.ticks)
    left = max(0, round(first) - 12)
    region = (left, 0, min(canvas.width, round(last + step)), top - 1)
    scale = _on_marks(canvas, scale, region) or _snapped(canvas, scale, region)
    first, last = scale.span
    zero = scale.pixel(0.0)
    base = zero if first - 2 <= zero <= last + 2 else first
    # labels may stand below the bars or above them
    above = (max(0, round(first) - 3), 0, min(canvas.width, round(last + step)), top - 1)
    below = (above[0], low + 1, above[2], canvas.height)
    region = above if _weight(canvas, above) >= _weight(canvas, below) else below
    return _Plot(scale, region, base)


def _weight(canvas: Canvas, region: Box) -> int:
    part = canvas.index[region[1] : region[3], region[0] : region[2]]
    return int((part > 0).sum())


def _bars_on_axis(canvas: Canvas, plot: _Plot, horizontal: bool) -> Chart | None:
    colors = shapes.mark_colors(canvas, plot.region, _texts(canvas))
    frame = bar_chart.Frame(horizontal)
    every = _within(frame, filled_rectangles(canvas, colors, plot.region), plot.region)
    plot = _on_feet(canvas, frame, plot, every)
    slack = 3 + 0.2 * canvas.text_height
    found = bar_chart.stacked_on(frame, every, lambda bar: _stands(frame, bar, plot, slack))
    if not found:
        return None
    thick = _thickness(frame, found)
    found = [bar for bar in found if abs(frame.thickness(bar.box) - thick) <= 0.25 * thick + 2]
    extent = (
        (plot.region[2] - plot.region[0]) if not horizontal else plot.region[3] - plot.region[1]
    )
    if not found or (len(found) == 1 and thick > 0.8 * extent):
        return None
    rows = bar_chart.rows_of(frame, found)
    if len(rows) < 2 and thick > 0.5 * extent:
        return None
    if not horizontal and _lacks_dates(canvas, len(rows), plot.base):
        return None
    chart = _bar_chart(canvas, frame, rows, plot.scale)
    # what has no name at all is something else, such as the buttons of a window
    named = any(one.name or mark.category for one in chart.series for mark in one.marks)
    return chart if named else None


def _within(frame: bar_chart.Frame, bars: Sequence[ChartBar], region: Box) -> list[ChartBar]:
    """Without those that run from one end of the plot to the other: a step longer than the axis,
    they are parts of what is around it, such as a window's frame."""
    first, last = frame.along(region)
    ends = [frame.along(bar.box) for bar in bars]
    return [
        bar for bar, (start, end) in zip(bars, ends, strict=True) if start > first or end < last
    ]


def _thickness(frame: bar_chart.Frame, bars: Sequence[ChartBar]) -> float:
    """How thick bars are: the median of their area, as strips of a field between them are many."""
    order = sorted(bars, key=lambda bar: frame.thickness(bar.box))
    areas = np.cumsum([(b.box[2] - b.box[0]) * (b.box[3] - b.box[1]) for b in order])
    return float(frame.thickness(order[int(np.searchsorted(areas, areas[-1] / 2))].box))


def _on_feet(
    canvas: Canvas, frame: bar_chart.Frame, plot: _Plot, every: Sequence[ChartBar]
) -> _Plot:
    """The plot with its scale moved to where most bars begin, if labels are a little off."""
    starts = [abs(frame.along(bar.box)[0]) for bar in every]
    if len(starts) < 3:
        return plot
    foot = float(np.median(starts))
    shift = foot - plot.base
    alike = sum(abs(start - foot) <= 2 for start in starts)
    if alike < 0.8 * len(starts) or not 3 < abs(shift) <= 0.7 * canvas.text_height:
        return plot
    return replace(
        plot, scale=replace(plot.scale, b=plot.scale.b - plot.scale.a * shift), base=foot
    )


def _lacks_dates(canvas: Canvas, rows: int, base: float) -> bool:
    """Whether there are far fewer bars than dates on the axis, as when they are parts of a line."""
    height = canvas.text_height
    below = [line for line in canvas.lines if 0 <= line.box[1] - base + 0.5 * height < 9 * height]
    dates = [x for word, x in axis_labels(below, height) if date_of(word.text) is not None]
    return len(dates) >= 3 and rows < 0.5 * len(dates)


def _stands(frame: bar_chart.Frame, bar: ChartBar, plot: _Plot, slack: float) -> bool:
    """Whether a bar touches the axis, rather than being a part of a curve."""
    along = frame.along(bar.box)
    base = plot.base if frame.horizontal else -plot.base
    return min(abs(along[0] - base), abs(along[1] - base)) <= slack


def _bar_chart(
    canvas: Canvas, frame: bar_chart.Frame, rows: list[bar_chart.BarRow], scale: FittedScale
) -> Chart:
    bars = [bar for row in rows for bar in row.bars]
    names, boxes = legends.legend(canvas, {bar.color for bar in bars})
    foot = labels.foot_of(canvas.lines, max(bar.box[3] for bar in bars))
    return bars_chart(canvas, frame, rows, scale, names, boxes, 0, foot)


def _texts(canvas: Canvas) -> list[Box]:
    return [line.box for line in canvas.lines]
