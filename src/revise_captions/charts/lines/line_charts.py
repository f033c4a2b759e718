"""Line and area charts, on a value axis or with values printed at the points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from revise_captions.charts import labels, legends, shapes
from revise_captions.charts.axis_labels import axis_labels, axis_row
from revise_captions.charts.bars.printed_bars import axis_of
from revise_captions.charts.canvas import Canvas
from revise_captions.charts.chart import Box, Chart, ChartAxis
from revise_captions.charts.lines import curve_chart
from revise_captions.charts.lines.curve_chart import Station
from revise_captions.charts.lines.curve_names import curve_names, values_beside_names
from revise_captions.charts.lines.ticks import on_ticks
from revise_captions.charts.numerals import Numeral
from revise_captions.charts.ocr import TextWord
from revise_captions.charts.scales import FittedScale
from revise_captions.charts.shapes import Curve

#: A color of which this share lies along curves that are found is a shade of theirs.
_SHADE = 0.6
#: A band around a line is so much paler than it.
_PALE = 0.5
#: The channels of a gray differ by no more.
_GRAY = 14
#: Fewer numbers than this are not taken for values if there is an axis.
_FEW = 3


def curves_on_axis(canvas: Canvas, scale: FittedScale, region: Box, base: float) -> Chart | None:
    """The lines or areas in a region, measured on its axis; printed values are preferred.

    Args:
        canvas: The image.
        scale: The value axis.
        region: Where the curves are.
        base: The pixel row of zero, or of the axis's lower end.
    """
    found = _without_grid_lines(canvas, find_curves(canvas, region, base))
    if not found:
        return None
    taken = {tick.box for tick in scale.ticks}
    height = canvas.text_height
    below = [
        line
        for line in canvas.lines
        if line.box not in taken
        and region[3] - 0.5 * height <= line.box[1] <= region[3] + 9 * height
    ]
    band = on_ticks(canvas, axis_labels(below, height), region)
    return _chart(canvas, found, band, scale, max(min(min(one.ys) for one in found), region[1]))


def _without_grid_lines(canvas: Canvas, found: list[Curve]) -> list[Curve]:
    """The curves without what grid lines leave around the outline of an area: gray, not filled."""
    if not any(one.filled for one in found):
        return found
    return [one for one in found if one.filled or np.ptp(canvas.palette[one.color]) > _GRAY]


def printed_curves(canvas: Canvas) -> Chart | None:
    """A line chart without a value axis, of whose points most have their values printed."""
    foot = labels.foot_of(canvas.lines, 0.4 * canvas.height)[2]
    row = axis_row(canvas.lines, canvas, foot)
    if not row:
        return None
    top_row = min(line.box[1] for line in row)
    boxes = {line.box for line in row}
    at_ends = [line for line in canvas.lines if line.box[0] > 0.4 * canvas.width]
    numerals = [*canvas.numerals, *values_beside_names(at_ends)]
    numerals = [one for one in numerals if one.box[3] <= top_row and not one.is_year]
    if len(numerals) < 2:
        return None
    upper = max(0, round(min(one.box[1] for one in numerals) - 2 * canvas.text_height))
    region = (0, upper, canvas.width, top_row - 1)
    found = find_curves(canvas, region, top_row)
    # a line on an area repeats its edge
    found = [one for one in found if not one.filled] or found[:1]
    found = [one for one in found if one.extent[1] - one.extent[0] >= 0.25 * canvas.width]
    if not found:
        return None
    band = axis_labels([line for line in canvas.lines if line.box in boxes], canvas.text_height)
    chart = _chart(canvas, found, band, None, upper)
    share = sum(mark.printed for one in chart.series for mark in one.marks)
    return chart if share >= 2 else None


def find_curves(canvas: Canvas, region: Box, base: float) -> list[Curve]:
    """Lines and areas, by color; shades of one line, as its edges have them, count once."""
    import cv2

    texts = [line.box for line in canvas.lines]
    found: list[tuple[Curve, shapes.Mask]] = []
    colors = shapes.mark_colors(canvas, region, texts)
    inks = {box: canvas.ink_among(box, colors) for box in texts}
    colored = [box for box in texts if inks[box] >= 0]
    samples = [_widened(box) for box in legends.swatch_boxes(canvas, colors)]
    for color in colors:
        mask = shapes.without_grid(shapes.color_mask(canvas, color, region), canvas, color)
        gray = np.ptp(canvas.palette[color]) <= _GRAY
        # text of another color may stand on a curve and leaves most of it to be seen
        own = [box for box in texts if gray or inks[box] == color]
        mask = shapes.without_specks(_cleared(mask, own + samples, region))
        bare = _cleared(mask, colored, region)
        near = [wide for one, wide in found if not _is_band(canvas, one, color)]
        shaded = np.logical_or.reduce([np.zeros_like(mask), *near]) & bare
        if not mask.any() or shaded.sum() > _SHADE * bare.sum():
            continue
        parts = [
            one
            for part in shapes.apart(mask, round(0.8 * canvas.text_height))
            if (one := shapes.curve(part, (region[0], region[1]), color, base)) is not None
        ]
        if not parts:
            continue
        alike = [other for other, _ in found if shapes.same_curve(parts[0], other)]
        if any(one.filled or not _is_band(canvas, one, color) for one in alike):
            continue
        wide = cv2.dilate(mask.astype(np.uint8), np.ones((5, 5), dtype=np.uint8)).astype(np.bool_)
        found = [pair for pair in found if all(pair[0] is not one for one in alike)]
        found += [(one, wide) for one in parts]
    return [one for one, _ in found]


def _cleared(mask: shapes.Mask, boxes: Sequence[Box], region: Box) -> shapes.Mask:
    """A mask of a region without what is in some boxes of the image."""
    kept = mask.copy()
    for x0, y0, x1, y1 in boxes:
        rows = slice(max(0, y0 - region[1]), max(0, y1 - region[1]))
        kept[rows, max(0, x0 - region[0]) : max(0, x1 - region[0])] = False
    return kept


def _is_band(canvas: Canvas, one: Curve, color: int) -> bool:
    """Whether a curve is the pale band of uncertainty around a line of a color."""
    away = np.linalg.norm(canvas.palette[[one.color, color]] - canvas.palette[0], axis=1)
    return bool(away[0] < _PALE * away[1])


def _widened(box: Box) -> Box:
    """A box with its pale edges."""
    return box[0] - 2, box[1] - 2, box[2] + 2, box[3] + 2


def _chart(
    canvas: Canvas,
    found: Sequence[Curve],
    band: Sequence[tuple[TextWord, float]],
    scale: FittedScale | None,
    upper: float,
) -> Chart:
    extent = min(one.extent[0] for one in found), max(one.extent[1] for one in found)
    ticks = {tick.box for tick in scale.ticks} if scale else set()
    taken = ticks | {word.box for word, _ in band}
    low = max((word.box[1] for word, _ in band), default=canvas.height)
    numerals = [
        one
        for one in canvas.numerals
        if one.box not in taken
        and not one.is_year
        and upper - 2 * canvas.text_height <= one.box[1] < low
    ]
    rest = [line for line in canvas.lines if line.box not in taken and line.box[1] < low]
    numerals += values_beside_names([line for line in rest if line.box[3] > upper])
    if scale is not None and len(numerals) < _FEW:
        numerals = []
    places = curve_chart.bends(found, curve_chart.stations(band, extent))
    if numerals:
        places = curve_chart.with_dates(found, places, band, numerals)
    numbers = curve_chart.printed(found, places, canvas, numerals)
    level = scale or curve_chart.calibrated(found, places, numbers)
    if level is not None:
        numbers = curve_chart.printed(found, places, canvas, numerals, level)
    marks = _marks(found, places, numbers, scale, level)
    notes, source, foot = labels.foot_of(canvas.lines, low)
    names, boxes = curve_names(canvas, found, [line for line in rest if line.box[1] < foot])
    used = boxes | taken | {one.box for own in numbers for one in own.values()}
    top = float(min(one.ys.min() for one in found)) - 0.5 * canvas.text_height
    return Chart(
        kind="area" if all(one.filled for one in found) else "line",
        title=labels.title_of(canvas.lines, top, used),
        x=ChartAxis("", "", tuple(word.text for word, _ in band)),
        y=axis_of(scale),
        series=curve_chart.series(found, marks, names, canvas),
        notes=notes,
        source=source,
        box=(0, 0, canvas.width, canvas.height),
    )


def _marks(
    found: Sequence[Curve],
    places: Sequence[Station],
    numbers: Sequence[dict[int, Numeral]],
    scale: FittedScale | None,
    level: FittedScale | None,
) -> list[list[curve_chart.ChartMark]]:
    """Printed values, and measured ones: on the axis's scale, or on one that printed values fit."""
    if scale is not None and not any(numbers):
        return curve_chart.measured(found, places, scale)
    if level is not None:
        numbers = curve_chart.agreeing(found, places, numbers, level)
    return [
        curve_chart.with_printed(one, places, own, level)
        for one, own in zip(found, numbers, strict=True)
    ]
