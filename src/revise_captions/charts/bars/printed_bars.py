"""Bar charts without an axis, whose values are printed at the bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from revise_captions.charts import labels, legends, shapes
from revise_captions.charts.bars import bar_chart
from revise_captions.charts.bars.bar_chart import BarRow, Frame
from revise_captions.charts.bars.bar_series import repeated, split_series
from revise_captions.charts.canvas import Canvas, inside
from revise_captions.charts.chart import Box, Chart, ChartAxis, ChartSeries
from revise_captions.charts.ocr import TextLine, TextWord
from revise_captions.charts.scales import FittedScale
from revise_captions.charts.shapes import ChartBar

#: Headings side by side have a gap between them that is wider than a space, in heights of text.
_GAP = 0.7
#: Marks whose median length is less than this, in heights of text, are dashes.
_SHORT = 0.35
#: An axis has so many labels, or else they may be values.
_TICKS = 4
#: Headings part rows into sections of more than one row on average.
_HEADED = 0.5
#: The gap between a heading's lines, and how far less than that it is away from the bars.
_LEADING, _FIRST = 0.5, -0.7


def find_bars(canvas: Canvas, crossed: bool) -> list[ChartBar]:
    """Rectangles that may be bars, wherever they are: no rules, no letters, no background.

    Args:
        canvas: The image.
        crossed: Whether grid lines may be drawn over them.
    """
    whole = (0, 0, canvas.width, canvas.height)
    height = canvas.text_height
    found = []
    for color in range(1, len(canvas.palette)):
        for bar in shapes.bars(canvas, color, whole, 2, crossed):
            large = bar.width * bar.height > 0.4 * canvas.width * canvas.height
            thin = max(bar.width, bar.height) < 0.5 * height or min(bar.width, bar.height) < 2
            rule = min(bar.width, bar.height) <= 3 and max(bar.width, bar.height) > 4 * height
            if not (large or thin or rule or _is_letter(canvas, bar)):
                found.append(bar)
    return found


def _is_letter(canvas: Canvas, bar: ChartBar) -> bool:
    """Whether a small rectangle is a stroke of a word, or a letter of a bold one."""
    thin = min(bar.width, bar.height) <= 0.35 * canvas.text_height
    return any(
        inside(bar.box, line.box)
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
    rows = bar_chart.rows_of(frame, group)
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
    for section in sections:
        chart = bars_chart(canvas, frame, section, None, legend_names, taken, top, foot)
        if chart.readable:
            charts.append(chart)
            top = max(bar.box[3] for row in section for bar in row.bars)
    return charts


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
    """
    bars = [bar for row in rows for bar in row.bars]
    left, upper = min(bar.box[0] for bar in bars), min(bar.box[1] for bar in bars)
    base = max(bar.box[3] for bar in bars)
    ticks = scale.ticks if scale else ()
    printed = bar_chart.printed_values(frame, rows, canvas, ticks)
    rows, printed = bar_chart.without_tracks(frame, rows, printed, canvas)
    taken = taken | {tick.box for tick in ticks} | {one.box for one in printed.values()}
    lines = [
        line for line in canvas.lines if line.box not in taken and top <= line.box[1] < foot[2]
    ]
    groups = bar_chart.groups_of(frame, rows)
    if frame.horizontal:
        categories, used = labels.row_labels(rows, groups, lines, canvas, left)
    else:
        categories, used = labels.column_labels(rows, groups, lines, canvas, base)
    marks = bar_chart.values(frame, rows, printed, scale)
    series = split_series(frame, rows, categories, marks, names, canvas)
    lines = [line for line in lines if line.box not in used]
    grouped = not frame.horizontal and repeated(categories) > 0
    if len(series) > 1 and (frame.horizontal or grouped) and not all(s.name for _, s in series):
        series, heads = _named_by_headings(series, lines, canvas, upper, grouped)
        taken = taken | heads
    if len(series) > 1 and not any(one.name for _, one in series):
        series, heads = _named_by_color(series, lines, canvas)
        taken = taken | heads
    stacked = max(len(row.bars) for row in rows) > 1
    axis = axis_of(scale)
    return Chart(
        kind="stacked bar" if stacked else "bar",
        title=labels.title_of(lines, upper, taken | used),
        x=axis if frame.horizontal else ChartAxis(),
        y=ChartAxis() if frame.horizontal else axis,
        series=tuple(one for _, one in series),
        notes=foot[0],
        source=foot[1],
        box=(0, int(top), canvas.width, canvas.height),
        horizontal=frame.horizontal,
    )


def _named_by_color(
    series: list[tuple[list[ChartBar], ChartSeries]], lines: Sequence[TextLine], canvas: Canvas
) -> tuple[list[tuple[list[ChartBar], ChartSeries]], set[Box]]:
    """Names from text above the bars' feet that is set in the colors of series, if each has some.

    The lines nearest to the feet count: a title may be nearly of a bar's color.
    """
    colors = [bars[0].color for bars, _ in series]
    base = max(bar.box[3] for bars, _ in series for bar in bars)
    names: dict[int, list[TextLine]] = {}
    for line in sorted(lines, key=lambda line: -line.box[3]):
        color = canvas.ink_among(line.box, colors)
        if color < 0 or line.box[3] > base or labels.letters(line.text) < 2:
            continue
        own = names.setdefault(color, [])
        if not own or own[-1].box[1] - line.box[3] <= _LEADING * canvas.text_height:
            own.append(line)
    if len(set(colors)) < len(colors) or len(names) < len(colors):
        return series, set()
    used = {line.box for own in names.values() for line in own}
    named = [replace(one, name=labels.joined(names[bars[0].color])) for bars, one in series]
    return [(bars, one) for (bars, _), one in zip(series, named, strict=True)], used


def _named_by_headings(
    series: list[tuple[list[ChartBar], ChartSeries]],
    lines: Sequence[TextLine],
    canvas: Canvas,
    upper: float,
    grouped: bool,
) -> tuple[list[tuple[list[ChartBar], ChartSeries]], set[Box]]:
    """Names from the text above each series' first bar, and the boxes of that text.

    Series of upright bars in groups, which repeat their labels, have theirs above the group.
    """
    height = canvas.text_height
    boxes = [min((bar.box for bar in bars), key=lambda box: box[1]) for bars, _ in series]
    if grouped:
        boxes = [(bars[0].box[0], round(upper), bars[-1].box[2], 0) for bars, _ in series]
        upper -= height
    near = [
        line
        for line in lines
        if upper - 5 * height <= line.box[1]
        and line.box[3] <= upper + 0.4 * height
        and line.box[2] - line.box[0] < 0.6 * canvas.width
    ]
    owned = _headings(near, boxes, upper, height, False)
    if not all(owned):
        cut = _headings(near, boxes, upper, height, True)
        owned = cut if all(cut) else owned
    used = {line.box for own in owned for _, line in own}
    named = [
        (
            bars,
            replace(one, name=one.name or labels.joined_words([word for word, _ in own], height)),
        )
        for (bars, one), own in zip(series, owned, strict=True)
    ]
    return named, used


def _headings(
    near: Sequence[TextLine], boxes: Sequence[Box], upper: float, height: float, cut: bool
) -> list[list[tuple[TextWord, TextLine]]]:
    """For each bar of the first row, the words that stand over it, with their lines.

    A heading's lines follow each other without a gap, so that no title above them is a part of it.
    """
    owned: list[list[tuple[TextWord, TextLine]]] = [[] for _ in boxes]
    for line in sorted(near, key=lambda line: -line.box[3]):
        for word in _parts(line, boxes, height, cut):
            gaps = [_distance(word.box, box) for box in boxes]
            best = min(range(len(boxes)), key=lambda k: gaps[k])
            own = owned[best]
            above = min((one.box[1] for one, _ in own), default=upper + _FIRST * height)
            if gaps[best] <= 2.5 * height and above - word.box[3] <= _LEADING * height:
                own.append((word, line))
    return owned


def _parts(line: TextLine, boxes: Sequence[Box], height: float, cut: bool) -> list[TextWord]:
    """A line over one series; one over several is cut at gaps, or else into as many words.

    With `cut`, it is cut between the words that meet where one series' bar ends, too. A line over
    more than two that cannot be cut is no heading.
    """
    over = [box for box in boxes if line.box[0] < box[2] and box[0] < line.box[2]]
    whole = [TextWord(line.text, line.box)]
    if len(over) < 2 or len(line.words) < 2:
        return whole
    ends = [box[2] for box in sorted(over)[:-1]] if cut else []
    parts = [line.words[0]]
    for word in line.words[1:]:
        last = parts[-1]
        at_end = any(last.box[2] - height <= end <= word.box[0] + height for end in ends)
        if word.box[0] - last.box[2] <= _GAP * height and not at_end:
            box = (last.box[0], last.box[1], word.box[2], word.box[3])
            parts[-1] = TextWord(f"{last.text} {word.text}", box)
        else:
            parts.append(word)
    if len(parts) > 1:
        return parts
    if len(line.words) == len(over):
        return list(line.words)
    return whole if len(over) == 2 else []


def _distance(box: Box, bar: Box) -> float:
    """How far apart the columns of two boxes are; overlapping ones differ by their centers."""
    apart = max(bar[0] - box[2], box[0] - bar[2], 0)
    centers = abs((box[0] + box[2]) / 2 - (bar[0] + bar[2]) / 2)
    edges = abs(box[0] - bar[0])
    return apart + 0.1 * min(centers, edges)


def axis_of(scale: FittedScale | None) -> ChartAxis:
    """The axis that a scale describes."""
    if scale is None:
        return ChartAxis()
    unit = next((tick.unit for tick in scale.ticks if tick.unit), "")
    texts = tuple(tick.text for tick in scale.ticks)
    return ChartAxis("", unit, texts[::-1] if scale.vertical else texts, (scale.a, scale.b))
