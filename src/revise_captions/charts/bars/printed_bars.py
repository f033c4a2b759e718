"""Bar charts without an axis, whose values are printed at the bars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from revise_captions.charts import labels, legends
from revise_captions.charts.bars import bar_chart
from revise_captions.charts.bars.bar_chart import BarRow, Frame
from revise_captions.charts.bars.bar_series import repeated, split_series
from revise_captions.charts.bars.headings import (
    NamedBars,
    named_beside,
    named_by_color,
    named_by_columns,
    named_by_headings,
    named_inside,
    renamed,
)
from revise_captions.charts.bars.rectangles import ChartBar, filled_rectangles
from revise_captions.charts.canvas import Canvas, inside
from revise_captions.charts.chart import Box, Chart, ChartAxis
from revise_captions.charts.ocr import TextLine
from revise_captions.charts.scales import FittedScale

#: Marks whose median length is less than this, in heights of text, are dashes.
_SHORT = 0.35
#: Pixels that the blurred edge of a bar is long.
_SLIVER = 2
#: An axis has so many labels, or else they may be values.
_TICKS = 4
#: Headings part rows into sections of more than one row on average.
_HEADED = 0.5


def find_bars(canvas: Canvas, crossed: bool) -> list[ChartBar]:
    """Rectangles that may be bars, wherever they are: no rules, no letters, no background.

    Args:
        canvas: The image.
        crossed: Whether grid lines may be drawn over them.
    """
    whole = (0, 0, canvas.width, canvas.height)
    height = canvas.text_height
    found = []
    for bar in filled_rectangles(canvas, range(1, len(canvas.palette)), whole, 2, crossed):
        large = bar.width * bar.height > 0.4 * canvas.width * canvas.height
        thin = max(bar.width, bar.height) < 0.5 * height or min(bar.width, bar.height) < 2
        rule = min(bar.width, bar.height) <= 3 and max(bar.width, bar.height) > 4 * height
        if not (large or thin or rule or _is_letter(canvas, bar)):
            found.append(bar)
    return found


def _is_letter(canvas: Canvas, bar: ChartBar) -> bool:
    """Whether a small rectangle is a stroke of a word, or a letter of a bold one, and no bar that
    a word stands in."""
    thin = min(bar.width, bar.height) <= 0.35 * canvas.text_height
    return any(
        inside(bar.box, line.box)
        and bar.box[2] <= line.box[2] + canvas.text_height
        and labels.letters(line.text) > 1
        and (thin or bar.height <= line.box[3] - line.box[1] - 2)
        for line in canvas.lines
    )


def printed_bars(canvas: Canvas, scales: Sequence[FittedScale]) -> list[Chart]:
    """The charts of an image, one for each section of rows that a heading parts; [] if no bars
    have printed values.

    Args:
        canvas: The image.
        scales: Its axes: grid lines may be drawn over the bars, and tick labels are no values.
    """
    found = find_bars(canvas, bool(scales))
    samples = set(legends.swatch_boxes(canvas, {bar.color for bar in found}))
    frame, group = bar_chart.orientation([bar for bar in found if bar.box not in samples])
    lengths = sorted(frame.length(bar.box) for bar in group)
    if len(group) < 2 or lengths[len(group) // 2] < _SHORT * canvas.text_height:
        return []
    if not frame.horizontal and not bar_chart.stand(frame, group):
        return []
    rows = bar_chart.rows_of(frame, _without_slivers(frame, group))
    ticks = [tick for one in scales if len(one.ticks) >= _TICKS for tick in one.ticks]
    printed = bar_chart.printed_values(frame, rows, canvas, ticks)
    if len(printed) < 0.4 * len(group):
        return []
    marks = {bar.box for bar in printed}
    legend_names, legend_boxes = legends.legend(canvas, {bar.color for bar in group}, marks)
    beside = [one for one in scales if one.vertical is not frame.horizontal]
    taken = legend_boxes | {tick.box for one in beside for tick in one.ticks}
    foot = labels.foot_of(canvas.lines, max(bar.box[3] for bar in group))
    sections = _sections(frame, rows, canvas) if frame.horizontal else [rows]
    charts: list[Chart] = []
    top = 0.0
    above: list[str] = []
    for section in sections:
        chart = bars_chart(canvas, frame, section, None, legend_names, taken, top, foot, above)
        if chart.readable:
            charts.append(chart)
            names = [one.name for one in chart.series]
            above = names if all(names) else above
            top = max(bar.box[3] for row in section for bar in row.bars)
    return charts


def _without_slivers(frame: Frame, group: Sequence[ChartBar]) -> list[ChartBar]:
    """Bars without the blurred ends of others, in a color that no other bar has."""
    colors = Counter(bar.color for bar in group)
    ends = {frame.along(bar.box)[1] for bar in group}
    return [
        bar
        for bar in group
        if frame.length(bar.box) > _SLIVER
        or colors[bar.color] > 1
        or frame.along(bar.box)[0] not in ends
    ]


def _sections(frame: Frame, rows: Sequence[BarRow], canvas: Canvas) -> list[list[BarRow]]:
    """Rows that follow each other without a heading between them."""
    left = min(bar.box[0] for row in rows for bar in row.bars)
    sections = [[rows[0]]]
    for before, row in pairwise(rows):
        y0, y1 = before.bars[0].box[3], row.bars[0].box[1]
        between = [
            line
            for line in canvas.lines
            if y0 - 2 <= (line.box[1] + line.box[3]) / 2 <= y1 + 2
            and line.box[2] > left + 2 * canvas.text_height
            and labels.letters(line.text) > 2
        ]
        if between and y1 - y0 > 1.2 * canvas.text_height:
            sections.append([row])
        else:
            sections[-1].append(row)
    # what stands above most single bars is their labels
    single = all(len(row.bars) == 1 for row in rows)
    return [list(rows)] if single and len(sections) > max(2, _HEADED * len(rows)) else sections


def bars_chart(
    canvas: Canvas,
    frame: Frame,
    rows: Sequence[BarRow],
    scale: FittedScale | None,
    names: dict[int, str],
    taken: set[Box],
    top: float,
    foot: tuple[tuple[str, ...], str, float],
    above: Sequence[str] = (),
) -> Chart:
    """A chart of bars that are found.

    Args:
        canvas: The image.
        frame: Which way bars grow.
        rows: The bars.
        scale: The value axis, None if values are printed only.
        names: Of colors, from the legend.
        taken: Text of the legend and of value axes.
        top: No title stands above this row of pixels.
        foot: Notes, source, and where they begin.
        above: The names of the series in the section above.
    """
    bars = [bar for row in rows for bar in row.bars]
    upper = min(bar.box[1] for bar in bars)
    ticks = scale.ticks if scale else ()
    printed = bar_chart.printed_values(frame, rows, canvas, ticks)
    rows, printed = bar_chart.without_tracks(frame, rows, printed, canvas)
    taken = taken | {tick.box for tick in ticks} | {one.box for one in printed.values()}
    every = [line for line in canvas.lines if top <= line.box[1] < foot[2]]
    lines = [line for line in every if line.box not in taken]
    categories, used = _categories(frame, rows, bars, lines, canvas)
    marks = bar_chart.values(frame, rows, printed, scale)
    series = split_series(frame, rows, categories, marks, names, canvas)
    lines = [line for line in lines if line.box not in used]
    grouped = not frame.horizontal and repeated(categories) > 0
    series, heads = _named(frame, series, lines, canvas, upper, grouped, above)
    if len(series) > 1 and frame.horizontal and not all(one.name for _, one in series):
        # letters of headings in the colors of bars were taken for a legend
        found, boxes = named_by_columns(series, every, canvas, upper)
        series, heads = (found, boxes) if boxes else (series, heads)
    stacked = max(len(row.bars) for row in rows) > 1
    axis = axis_of(scale)
    return Chart(
        kind="stacked bar" if stacked else "bar",
        title=labels.title_of(lines, upper, taken | heads | used),
        x=axis if frame.horizontal else ChartAxis(),
        y=ChartAxis() if frame.horizontal else axis,
        series=tuple(one for _, one in series),
        notes=foot[0],
        source=foot[1],
        box=(0, int(top), canvas.width, canvas.height),
        horizontal=frame.horizontal,
    )


def _categories(
    frame: Frame,
    rows: Sequence[BarRow],
    bars: Sequence[ChartBar],
    lines: Sequence[TextLine],
    canvas: Canvas,
) -> tuple[list[str], set[Box]]:
    """What stands beside rows of horizontal bars, or below upright ones, and which boxes that took.

    `bars`: the tracks that rows no longer have included.
    """
    groups = bar_chart.groups_of(frame, rows)
    if frame.horizontal:
        left = min(bar.box[0] for bar in bars)
        return labels.row_labels(rows, groups, lines, canvas, left)
    base = max(bar.box[3] for bar in bars)
    return labels.column_labels(rows, groups, lines, canvas, base)


def _named(
    frame: Frame,
    series: NamedBars,
    lines: Sequence[TextLine],
    canvas: Canvas,
    upper: float,
    grouped: bool,
    above: Sequence[str],
) -> tuple[NamedBars, set[Box]]:
    """Series with the names that stand in, above or beside their bars, and the boxes of these.

    Where not all of a section's columns have own headings, those of the section above hold.
    """
    if len(series) < 2 or all(one.name for _, one in series):
        return series, set()
    found, heads = named_inside(series, lines)
    if not heads and (frame.horizontal or grouped):
        if len(above) == len(series):
            found, heads = named_by_columns(series, lines, canvas, upper)
            return (found, heads) if heads else (renamed(series, above), set())
        found, heads = named_by_headings(series, lines, canvas, upper, grouped)
    elif not heads:
        found, heads = named_beside(series, lines, canvas.text_height)
    if not any(one.name for _, one in found):
        found, heads = named_by_color(series, lines, canvas)
    return found, heads


def axis_of(scale: FittedScale | None) -> ChartAxis:
    """The axis that a scale describes."""
    if scale is None:
        return ChartAxis()
    unit = next((tick.unit for tick in scale.ticks if tick.unit), "")
    texts = tuple(tick.text for tick in scale.ticks)
    return ChartAxis("", unit, texts[::-1] if scale.vertical else texts, (scale.a, scale.b))
