"""Tables of text: rows and columns of numbers, with names beside and above them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from revise_captions.charts import labels
from revise_captions.charts.canvas import Canvas, inside
from revise_captions.charts.chart import Box, Chart, ChartAxis, ChartMark, ChartSeries
from revise_captions.charts.numerals import Numeral, parse
from revise_captions.charts.ocr import TextLine, TextWord

#: A table has so many rows; so many of its cells have a number, so many of its rows a name.
_LEAST_ROWS, _FILLED, _NAMED = 3, 0.75, 0.8
#: What is drawn beside text, rules and tinted rows: at most this share of the image.
_DRAWN = 0.003
#: A rule is no thicker, in pixels; a tinted row takes in the names and this share of the width.
_RULE, _ROW = 5, 0.8
#: Words of a cell are no farther apart, in heights of text.
_SPACE = 0.9
#: A head stands above the first row with no more between them, in heights of text.
_ABOVE = 1.6


@dataclass(frozen=True, slots=True)
class _Row:
    """Numbers on one level, by column, and the name to the left of them."""

    cells: dict[int, Numeral]
    name: str
    boxes: tuple[Box, ...]

    @property
    def level(self) -> float:
        """The pixel row of its numbers."""
        return float(np.mean([cell.center[1] for cell in self.cells.values()]))


def text_table(canvas: Canvas) -> Chart | None:
    """The table of text that an image is; None if it is none.

    Its first column has the names of its rows. The head of a table's only column of numbers is the
    label of the axis, that of several the names of series.
    """
    height = canvas.text_height
    cells = [cell for line in canvas.lines for cell in _cells(line, height)]
    numerals = [cell for cell in cells if isinstance(cell, Numeral)]
    words = [cell for cell in cells if isinstance(cell, TextWord)]
    levels = _levels(numerals, height)
    if len(levels) < _LEAST_ROWS:
        return None
    dated = len(levels[0]) > 1 and all(cell.is_year for cell in levels[0])
    years = levels.pop(0) if dated else []
    columns = _columns(levels)
    rows = _rows(levels, columns, words, height)
    names = {row.name for row in rows if row.name}
    filled = sum(len(row.cells) for row in rows)
    used = {k for row in rows for k in row.cells}
    if len(rows) < _LEAST_ROWS or filled < _FILLED * len(rows) * len(used):
        return None
    if len(names) < _NAMED * len(rows) or _drawn(canvas, rows) > _DRAWN:
        return None
    return _chart(canvas, rows, columns, words, years)


def _cells(line: TextLine, height: float) -> list[Numeral | TextWord]:
    """What a line says, cut at wide gaps."""
    if abs(line.angle) > 10:
        return []
    groups: list[list[TextWord]] = [[]]
    for word in line.words or (TextWord(line.text, line.box),):
        if groups[-1] and word.box[0] - groups[-1][-1].box[2] > _SPACE * height:
            groups.append([])
        groups[-1].append(word)
    found: list[Numeral | TextWord] = []
    for group in groups:
        parts = [group]
        if all(parse(word.text) is not None for word in group):
            parts = [[word] for word in group]
        for part in parts:
            text = " ".join(word.text for word in part) if len(groups) > 1 else line.text
            text = part[0].text if len(parts) > 1 else text
            box = _around([word.box for word in part])
            found.append(parse(text, box, 0.0, line.height) or TextWord(text, box))
    return found


def _around(boxes: Sequence[Box]) -> Box:
    x0, y0, x1, y1 = (list(ends) for ends in zip(*boxes, strict=True))
    return min(x0), min(y0), max(x1), max(y1)


def _levels(numerals: Sequence[Numeral], height: float) -> list[list[Numeral]]:
    """Numbers on the same level, top to bottom."""
    found: list[list[Numeral]] = []
    for one in sorted(numerals, key=lambda one: one.center[1]):
        if found and one.center[1] - found[-1][-1].center[1] <= 0.5 * height:
            found[-1].append(one)
        else:
            found.append([one])
    return found


def _columns(levels: Sequence[Sequence[Numeral]]) -> list[tuple[int, int]]:
    """Ranges of pixel columns in which most levels have a number, left to right."""
    spans = sorted((cell.box[0], cell.box[2]) for level in levels for cell in level)
    joined: list[list[tuple[int, int]]] = []
    for span in spans:
        if joined and span[0] < max(end for _, end in joined[-1]):
            joined[-1].append(span)
        else:
            joined.append([span])
    return [
        (min(start for start, _ in group), max(end for _, end in group))
        for group in joined
        if len(group) >= _FILLED * len(levels) - 1
    ]


def _rows(
    levels: Sequence[Sequence[Numeral]], columns: Sequence[tuple[int, int]],
    words: Sequence[TextWord], height: float,
) -> list[_Row]:  # fmt: skip
    """The levels that have numbers in columns, with names; years in the first column are names."""
    rows = []
    for level in levels:
        own = {
            k: cell
            for cell in level
            for k, (start, end) in enumerate(columns)
            if start <= cell.center[0] <= end
        }
        if own:
            rows.append(_Row(own, "", tuple(cell.box for cell in own.values())))
    if len(columns) > 1 and all(0 in row.cells and row.cells[0].is_year for row in rows):
        return [
            replace(row, name=row.cells[0].text, cells={k: c for k, c in row.cells.items() if k})
            for row in rows
            if len(row.cells) > 1
        ]
    left = min((start for start, _ in columns), default=0)
    beside = [word for word in words if word.box[2] <= left + 0.3 * height]
    pitch = float(np.median(np.diff([row.level for row in rows]))) if len(rows) > 1 else height
    named = []
    for row in rows:
        own_words = [
            word
            for word in beside
            if abs(_middle(word) - row.level) <= min(0.62 * pitch, 1.2 * height)
            and row is min(rows, key=lambda other: abs(other.level - _middle(word)))
        ]
        name = labels.joined_words(own_words, height)
        boxes = (*row.boxes, *(word.box for word in own_words))
        named.append(replace(row, name=name if any(map(str.isalnum, name)) else "", boxes=boxes))
    return named


def _middle(word: TextWord) -> float:
    return (word.box[1] + word.box[3]) / 2


def _drawn(canvas: Canvas, rows: Sequence[_Row]) -> float:
    """Share of the image that is neither background, text, a rule nor a tinted row."""
    import cv2

    index = canvas.index.copy()
    for line in canvas.lines:
        x0, y0, x1, y1 = line.box
        part = index[max(0, y0) : y1, max(0, x0) : x1]
        part[...] = np.bincount(part[part >= 0].ravel(), minlength=1).argmax()
    mask = (index != 0).astype(np.uint8)
    thick = cv2.morphologyEx(mask, cv2.MORPH_OPEN, np.ones((_RULE, _RULE), dtype=np.uint8))
    long = round(2.5 * canvas.text_height)
    straight = [
        cv2.morphologyEx(mask, cv2.MORPH_OPEN, np.ones(shape, dtype=np.uint8)) > 0
        for shape in ((1, long), (long, 1))
    ]
    mask[(straight[0] | straight[1]) & (thick == 0)] = 0
    _, _, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
    large = stats[1:][stats[1:, cv2.CC_STAT_AREA] > 12]
    boxes = [box for row in rows for box in row.boxes]
    left, right = min(box[0] for box in boxes), max(box[2] for box in boxes)
    rest = ~((large[:, 0] <= left + 3) & (large[:, cv2.CC_STAT_WIDTH] >= _ROW * (right - left)))
    marks = large[rest]
    return float(marks[:, cv2.CC_STAT_AREA].sum() / mask.size)


def _chart(
    canvas: Canvas,
    rows: Sequence[_Row],
    columns: Sequence[tuple[int, int]],
    words: Sequence[TextWord],
    years: Sequence[Numeral],
) -> Chart:
    used = sorted({k for row in rows for k in row.cells})
    spans = [columns[k] for k in used]
    boxes = [box for row in rows for box in row.boxes]
    top, bottom = min(box[1] for box in boxes), max(box[3] for box in boxes)
    step = float(np.median(np.diff([row.level for row in rows])))
    levels = _head_levels(words, spans, top, step, canvas.text_height)
    heads = _heads([*(word for level in levels for word in level), *years], spans, canvas)
    several = len(spans) > 1
    series = tuple(
        ChartSeries(head if several else "", "", _marks(rows, k))
        for head, k in zip(heads[1:], used, strict=True)
    )
    notes, source, _ = labels.foot_of(canvas.lines, bottom)
    units = {cell.unit for row in rows for cell in row.cells.values()} - {""}
    start = min((word.box[1] for level in levels for word in level), default=top)
    return Chart(
        kind="table",
        title=labels.title_of(canvas.lines, start, ()),
        x=ChartAxis(heads[0]),
        y=ChartAxis("" if several else heads[1], min(units, default="")),
        series=series,
        notes=notes,
        source=source,
        box=(0, 0, canvas.width, canvas.height),
    )


def _head_levels(
    words: Sequence[TextWord],
    spans: Sequence[tuple[int, int]],
    top: int,
    step: float,
    height: float,
) -> list[list[TextWord]]:
    """Up to three lines of heads, bottom to top; a title begins left of the numbers and ends far
    beyond where they do."""
    found: list[list[TextWord]] = []
    left = spans[0][0]
    above = sorted((word for word in words if word.box[3] <= top + 4), key=lambda w: -w.box[3])
    reach = max(_ABOVE * height, step)
    for _ in range(3):
        level = [word for word in above if above[0].box[3] - word.box[3] <= 0.6 * height]
        if not level or top - level[0].box[3] > reach:
            break
        if any(word.box[0] < 0.6 * left and word.box[2] > left for word in level):
            break
        if all(word.box[2] < left for word in level) and len(level) > 1:
            break
        found.append(level)
        top, reach = min(word.box[1] for word in level), 0.7 * height
        above = [word for word in above if word not in level]
    return found


def _heads(
    words: Sequence[TextWord | Numeral], spans: Sequence[tuple[int, int]], canvas: Canvas
) -> list[str]:
    """The heads of the column of names and of each column of numbers."""
    centers = np.array([(start + end) / 2 for start, end in spans])
    owned: list[list[TextWord]] = [[] for _ in range(len(spans) + 1)]
    for word in words:
        parts = [TextWord(word.text, word.box)]
        if sum(word.box[0] <= center <= word.box[2] for center in centers) > 1:
            parts = [
                part for line in canvas.lines for part in line.words if inside(part.box, word.box)
            ]
        for part in parts:
            x = (part.box[0] + part.box[2]) / 2
            beside = part.box[2] < spans[0][0] and x < spans[0][0] - (centers[0] - spans[0][0])
            owned[0 if beside else 1 + int(np.abs(centers - x).argmin())].append(part)
    return [labels.joined_words(own, canvas.text_height) for own in owned]


def _marks(rows: Sequence[_Row], column: int) -> tuple[ChartMark, ...]:
    """The cells of a column."""
    cells = [(row.name, row.cells[column]) for row in rows if column in row.cells]
    return tuple(
        ChartMark(name, cell.value, True, cell.step / 2, 0.0, cell.box) for name, cell in cells
    )
