"""Figures of several panels, each with the labels of the others below it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from revise_captions.charts.canvas import Canvas, prepare
from revise_captions.charts.chart import Box, Chart, ChartAxis, ChartSeries
from revise_captions.charts.labels import foot_of, joined
from revise_captions.charts.numerals import date_of
from revise_captions.charts.ocr import TextLine, TextWord


def read_panels(canvas: Canvas, read: Callable[[Canvas], list[Chart]]) -> list[Chart]:
    """The charts of a figure's panels, [] if it is one chart or a panel cannot be read.

    Args:
        canvas: The figure.
        read: Reads a panel.
    """
    boxes = panel_boxes(canvas)
    foot = foot_of(canvas.lines, 0.3 * canvas.height)[2]
    charts: list[Chart] = []
    for box in boxes:
        own = [line for line in canvas.lines if _is_in(line.box, box)]
        over = [line for line in canvas.lines if _crosses(line.box, box) and line.box[1] < foot]
        part = prepare(
            canvas.pixels[box[1] : box[3], box[0] : box[2]],
            [_moved_line(line, -box[0], -box[1]) for line in own],
        )
        found = read(part)
        heading = joined(over)
        if any(not chart.readable or chart.horizontal for chart in found):
            return []
        titled = (replace(one, title=f"{heading} {one.title}".strip()) for one in found)
        charts += [_moved(one, box[0], box[1]) for one in titled]
    return charts


def panel_boxes(canvas: Canvas) -> list[Box]:
    """The parts of the image between rows of labels that repeat themselves, or [] if none do.

    The labels are years or other texts with digits, as below axes.
    """
    rows = _label_rows(canvas)
    for row in rows:
        cuts = _restarts(row)
        if cuts:
            edges = [0, *cuts, canvas.width]
            return [(left, 0, right, canvas.height) for left, right in pairwise(edges)]
    alike: list[list[TextWord]] = []
    for row in rows:
        if not alike or (_texts(row) == _texts(alike[0]) and _places_differ(row, alike[0]) < 12):
            alike.append(row)
    if len(alike) < 2:
        return []
    low = [max(word.box[3] for word in row) + round(0.4 * canvas.text_height) for row in alike]
    edges = [0, *low[:-1], canvas.height]
    return [(0, top, canvas.width, bottom) for top, bottom in pairwise(edges)]


def _label_rows(canvas: Canvas) -> list[list[TextWord]]:
    """Rows of at least two labels with digits and nothing else, top to bottom."""
    foot = foot_of(canvas.lines, 0.3 * canvas.height)[2]
    flat = [line for line in canvas.lines if abs(line.angle) < 10 and line.box[3] < foot]
    rows: list[list[TextLine]] = []
    for line in sorted(flat, key=lambda line: line.box[1] + line.box[3]):
        last = rows[-1][-1].box if rows else (0, 0, 0, 0)
        if rows and abs(sum(line.box[1::2]) - sum(last[1::2])) < 0.7 * canvas.text_height:
            rows[-1].append(line)
        else:
            rows.append([line])
    found = []
    for row in rows:
        words = [word for line in row for word in line.words]
        if len(words) > 1 and all(_is_label(word.text) for word in words):
            found.append(sorted(words, key=lambda word: word.box[0]))
    return found


def _is_label(text: str) -> bool:
    """Whether a text is a date or a range such as `18-29` or `65+`."""
    return date_of(text) is not None or (
        text[:1].isdigit() and (text.endswith("+") or "-" in text[1:] or "–" in text[1:])
    )


def _texts(row: Sequence[TextWord]) -> list[str]:
    return [word.text for word in row]


def _places_differ(row: Sequence[TextWord], other: Sequence[TextWord]) -> float:
    """By how many pixels labels of two rows that say the same are off each other."""
    return max(abs(a.box[0] - b.box[0]) for a, b in zip(row, other, strict=True))


def _restarts(row: Sequence[TextWord]) -> list[int]:
    """The columns between the panels of a row whose dates begin anew, each with two at least."""
    dates = [date_of(word.text) for word in row]
    known = [(date, word.box) for date, word in zip(dates, row, strict=True) if date is not None]
    if len(known) < len(row):
        return []
    cuts = [k for k in range(1, len(known)) if known[k][0] <= known[k - 1][0]]
    sizes = [b - a for a, b in pairwise([0, *cuts, len(known)])]
    if not cuts or min(sizes) < 2:
        return []
    return [(known[k - 1][1][2] + known[k][1][0]) // 2 for k in cuts]


def _is_in(box: Box, panel: Box) -> bool:
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    inner = panel[0] <= x < panel[2] and panel[1] <= y < panel[3]
    return inner and not _crosses(box, panel)


def _crosses(box: Box, panel: Box) -> bool:
    """Whether a text reaches over a panel's side, as the title of all panels does."""
    out = max(panel[0] - box[0], box[2] - panel[2])
    return out > 0.25 * (box[2] - box[0]) and box[0] < panel[2] and box[2] > panel[0]


def _moved_line(line: TextLine, x: int, y: int) -> TextLine:
    words = tuple(TextWord(word.text, _moved_box(word.box, x, y)) for word in line.words)
    return replace(line, box=_moved_box(line.box, x, y), words=words)


def _moved_box(box: Box, x: int, y: int) -> Box:
    return box[0] + x, box[1] + y, box[2] + x, box[3] + y


def _moved(chart: Chart, x: int, y: int) -> Chart:
    """A panel's chart in the figure's pixels."""
    series = tuple(
        ChartSeries(
            one.name,
            one.color,
            tuple(
                replace(mark, box=_moved_box(mark.box, x, y)) if mark.box else mark
                for mark in one.marks
            ),
        )
        for one in chart.series
    )
    box = _moved_box(chart.box, x, y)
    return replace(chart, series=series, box=box, x=_shifted(chart.x, x), y=_shifted(chart.y, y))


def _shifted(axis: ChartAxis, by: int) -> ChartAxis:
    if axis.scale is None:
        return axis
    return replace(axis, scale=(axis.scale[0], axis.scale[1] - axis.scale[0] * by))
