"""Reads the charts of an image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from revise_captions.charts import bar_chart, curve_chart, labels, scales, shapes
from revise_captions.charts.canvas import Canvas, prepare
from revise_captions.charts.chart import Box, Chart, ChartAxis
from revise_captions.charts.ocr import Pixels, TextLine, TextWord, text_lines
from revise_captions.charts.printed_bars import axis_of, bars_chart, printed_bars
from revise_captions.charts.scales import FittedScale

#: An image needs this many pixels on its shorter side.
_LEAST_SIDE = 48


def read(pixels: Pixels) -> tuple[Chart, ...]:
    """The charts in an RGB image, top to bottom.

    What could not be read is said in `Chart.unread`; a chart of which nothing could be has the kind
    "unknown".

    Args:
        pixels: uint8 (height, width, 3); transparency already laid on white.

    Raises:
        ModuleNotFoundError: The extra `charts` is not installed.
    """
    if min(pixels.shape[:2]) < _LEAST_SIDE:
        return (_unknown(pixels, "the image is too small"),)
    return read_lines(pixels, text_lines(pixels))


def read_lines(pixels: Pixels, lines: Sequence[TextLine]) -> tuple[Chart, ...]:
    """As `read`, with the text already recognized."""
    if not lines:
        return (_unknown(pixels, "there is no text"),)
    canvas = prepare(pixels, lines)
    return tuple(_charts(canvas))


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
    vertical = scales.value_scales(canvas, True)
    flat = scales.value_scales(canvas, False)
    if vertical and (not flat or len(vertical[0].ticks) >= len(flat[0].ticks) - 1):
        plot = _upright_plot(canvas, vertical[0])
        chart = _bars_on_axis(canvas, plot, False) or _curves_on_axis(canvas, plot)
        if chart is not None:
            return [chart]
    if flat:
        chart = _bars_on_axis(canvas, _lying_plot(canvas, flat[0]), True)
        if chart is not None:
            return [chart]
    return printed_bars(canvas) or [_unknown(canvas.pixels, "no axis and no marks were found")]


def _upright_plot(canvas: Canvas, scale: FittedScale) -> _Plot:
    first, last = scale.span
    step = (last - first) / max(1, len(scale.ticks) - 1)
    right = max(tick.box[2] for tick in scale.ticks) + 2
    zero = scale.pixel(0.0)
    base = zero if first - 2 <= zero <= last + 2 else last
    bottom = min(canvas.height, round(last) + 3)
    return _Plot(scale, (right, max(0, round(first - step)), canvas.width, bottom), base)


def _lying_plot(canvas: Canvas, scale: FittedScale) -> _Plot:
    first, last = scale.span
    step = (last - first) / max(1, len(scale.ticks) - 1)
    top = min(tick.box[1] for tick in scale.ticks)
    low = max(tick.box[3] for tick in scale.ticks)
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
    found = [
        bar
        for color in colors
        for bar in shapes.bars(canvas, color, plot.region)
        if _stands(frame, bar, plot)
    ]
    if not found:
        return None
    thick = float(np.median([frame.thickness(bar.box) for bar in found]))
    found = [bar for bar in found if abs(frame.thickness(bar.box) - thick) <= 0.25 * thick + 2]
    extent = (
        (plot.region[2] - plot.region[0]) if not horizontal else plot.region[3] - plot.region[1]
    )
    if not found or (len(found) == 1 and thick > 0.8 * extent):
        return None
    rows = bar_chart.rows_of(frame, found)
    if len(rows) < 2 and thick > 0.5 * extent:
        return None
    return _bar_chart(canvas, frame, rows, plot.scale)


def _stands(frame: bar_chart.Frame, bar: shapes.ChartBar, plot: _Plot) -> bool:
    """Whether a bar touches the axis, rather than being a part of a curve."""
    along = frame.along(bar.box)
    base = plot.base if frame.horizontal else -plot.base
    return min(abs(along[0] - base), abs(along[1] - base)) <= 5


def _bar_chart(
    canvas: Canvas, frame: bar_chart.Frame, rows: list[bar_chart.BarRow], scale: FittedScale
) -> Chart:
    bars = [bar for row in rows for bar in row.bars]
    names, boxes = labels.legend(canvas, {bar.color for bar in bars})
    foot = labels.foot_of(canvas.lines, max(bar.box[3] for bar in bars))
    return bars_chart(canvas, frame, rows, scale, names, boxes, 0, foot)


def _texts(canvas: Canvas) -> list[Box]:
    return [line.box for line in canvas.lines]


def _curves_on_axis(canvas: Canvas, plot: _Plot) -> Chart | None:
    found = _curves(canvas, plot.region, plot.base)
    if not found:
        return None
    extent = min(c.extent[0] for c in found), max(c.extent[1] for c in found)
    band = _axis_labels(canvas, plot.region[3], plot.scale)
    places = curve_chart.stations(band, extent)
    names, legend_boxes = labels.legend(canvas, {one.color for one in found})
    marks = curve_chart.measured(found, places, plot.scale)
    notes, source, _ = labels.foot_of(canvas.lines, plot.region[3])
    used = legend_boxes | {tick.box for tick in plot.scale.ticks}
    top = min(min(one.ys) for one in found)
    return Chart(
        kind="area" if all(one.filled for one in found) else "line",
        title=labels.title_of(canvas.lines, max(top, plot.region[1]), used),
        x=ChartAxis("", "", tuple(word.text for word, _ in band)),
        y=axis_of(plot.scale),
        series=curve_chart.series(found, marks, names, canvas),
        notes=notes,
        source=source,
        box=(0, 0, canvas.width, canvas.height),
    )


def _curves(canvas: Canvas, region: Box, base: float) -> list[shapes.Curve]:
    """Lines and areas, by color; shades of one line count once."""
    texts = _texts(canvas)
    found: list[shapes.Curve] = []
    for color in shapes.mark_colors(canvas, region, texts):
        mask = shapes.without_grid(shapes.color_mask(canvas, color, region), canvas)
        for x0, y0, x1, y1 in texts:
            mask[
                max(0, y0 - region[1]) : max(0, y1 - region[1]),
                max(0, x0 - region[0]) : max(0, x1 - region[0]),
            ] = False
        one = shapes.curve(mask, (region[0], region[1]), color, base)
        if one is not None and not any(shapes.same_curve(one, other) for other in found):
            found.append(one)
    return found


def _axis_labels(canvas: Canvas, base: float, scale: FittedScale) -> list[tuple[TextWord, float]]:
    taken = {tick.box for tick in scale.ticks}
    height = canvas.text_height
    lines = [
        line
        for line in canvas.lines
        if line.box not in taken and base - 0.5 * height <= line.box[1] <= base + 9 * height
    ]
    return labels.axis_labels(lines, height)
