"""What series of bars are called by the text around them: headings above, words in their color."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from revise_captions.charts import labels
from revise_captions.charts.bars.rectangles import ChartBar
from revise_captions.charts.canvas import Canvas, inside
from revise_captions.charts.chart import Box, ChartSeries
from revise_captions.charts.ocr import TextLine, TextWord

#: Headings side by side have a gap between them that is wider than a space, in heights of text.
_GAP = 0.7
#: The gap between a heading's lines, and how far less than that it is away from the bars.
_LEADING, _FIRST = 0.5, -0.7
#: Columns of headings are this far apart, in heights of text, and by so much more than words are.
_COLUMN, _CLEARLY = 0.35, 1.4
#: How far from its bar a heading's column may be, in heights of text.
_ASIDE = 1.0

NamedBars = list[tuple[list[ChartBar], ChartSeries]]


def named_by_color(
    series: NamedBars, lines: Sequence[TextLine], canvas: Canvas
) -> tuple[NamedBars, set[Box]]:
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
    return renamed(series, [labels.joined(names[bars[0].color]) for bars, _ in series]), used


def named_by_headings(
    series: NamedBars,
    lines: Sequence[TextLine],
    canvas: Canvas,
    upper: float,
    grouped: bool,
) -> tuple[NamedBars, set[Box]]:
    """Names from the text above each series' first bar, and the boxes of that text.

    Series of upright bars in groups, which repeat their labels, have theirs above the group.
    """
    height = canvas.text_height
    boxes = [min((bar.box for bar in bars), key=lambda box: box[1]) for bars, _ in series]
    if grouped:
        boxes = [(bars[0].box[0], round(upper), bars[-1].box[2], 0) for bars, _ in series]
        upper -= height
    else:
        found, used = named_by_columns(series, lines, canvas, upper)
        if used:
            return found, used
    near = _above(lines, canvas, upper)
    owned = _headings(near, boxes, upper, height, False)
    if not all(owned):
        parts = _headings(near, boxes, upper, height, True)
        owned = parts if all(parts) else owned
    used = {line.box for own in owned for _, line in own}
    names = [
        one.name or labels.joined_words([word for word, _ in own], height)
        for (_, one), own in zip(series, owned, strict=True)
    ]
    return renamed(series, names), used


def named_by_columns(
    series: NamedBars, lines: Sequence[TextLine], canvas: Canvas, upper: float
) -> tuple[NamedBars, set[Box]]:
    """Names from headings above, if they stand in as many columns as there are series."""
    height = canvas.text_height
    boxes = [min((bar.box for bar in bars), key=lambda box: box[1]) for bars, _ in series]
    owned = _in_columns(_above(lines, canvas, upper), boxes, upper, height)
    if not owned:
        return series, set()
    names = [labels.joined_words([word for word, _ in own], height) for own in owned]
    if len(set(names)) < len(names):
        return series, set()
    return renamed(series, names), {line.box for own in owned for _, line in own}


def _above(lines: Sequence[TextLine], canvas: Canvas, upper: float) -> list[TextLine]:
    """The lines that may be headings of what begins at a row of pixels."""
    height = canvas.text_height
    return [
        line
        for line in lines
        if upper - 5 * height <= line.box[1]
        and line.box[3] <= upper + 0.4 * height
        and line.box[2] - line.box[0] < 0.6 * canvas.width
    ]


def _in_columns(
    near: Sequence[TextLine], boxes: Sequence[Box], upper: float, height: float
) -> list[list[tuple[TextWord, TextLine]]]:
    """The headings of series whose columns of words are parted by clear gaps, one a series; [] if
    they are not.

    Wrapped headings stand apart in all of their lines together, where those of one line may not.
    """
    order = sorted(range(len(boxes)), key=lambda k: boxes[k][0])
    above = upper + _FIRST * height
    words: list[tuple[TextWord, TextLine]] = []
    found: list[list[tuple[TextWord, TextLine]]] = []
    for row in _rows([line for line in near if len(line.text) > 1]):
        asks = any(line.text.endswith("?") for line in row)
        if asks or above - max(line.box[3] for line in row) > _LEADING * height:
            break
        middles = [(line.box[0] + line.box[2]) / 2 for line in row]
        if found and not (
            found[0][0][0].box[0] - height <= min(middles)
            and max(middles) <= _right(found[-1]) + height
        ):
            break
        above = min(above, *(line.box[1] for line in row))
        words += [(word, line) for line in row for word in line.words]
        columns = _columns(words, len(boxes), height)
        if columns and _is_over(columns, [boxes[k] for k in order], height):
            found = columns
        elif found:
            break
    return [found[order.index(k)] for k in range(len(boxes))] if found else []


def _rows(lines: Sequence[TextLine]) -> list[list[TextLine]]:
    """Lines side by side, from the bottom up."""
    rows: list[list[TextLine]] = []
    for line in sorted(lines, key=lambda line: -(line.box[1] + line.box[3])):
        if rows and (line.box[1] + line.box[3]) / 2 > rows[-1][0].box[1]:
            rows[-1].append(line)
        else:
            rows.append([line])
    return rows


def _is_over(
    columns: Sequence[Sequence[tuple[TextWord, TextLine]]], boxes: Sequence[Box], height: float
) -> bool:
    """Whether each column of words is near its bar; where nothing but single words stand there,
    which may be one heading's, over it."""
    reach = 0.0 if all(len(own) == 1 for own in columns) else _ASIDE * height
    return all(
        max(box[0] - _right(own), own[0][0].box[0] - box[2]) <= reach
        for box, own in zip(boxes, columns, strict=True)
    )


def _right(column: Sequence[tuple[TextWord, TextLine]]) -> int:
    return max(word.box[2] for word, _ in column)


def _columns(
    words: Sequence[tuple[TextWord, TextLine]], count: int, height: float
) -> list[list[tuple[TextWord, TextLine]]]:
    """Words in so many columns, left to right; [] if no gaps between them are clearly wider."""
    columns: list[list[tuple[TextWord, TextLine]]] = []
    for word, line in sorted(words, key=lambda pair: pair[0].box[0]):
        if columns and word.box[0] <= _right(columns[-1]):
            columns[-1].append((word, line))
        else:
            columns.append([(word, line)])
    gaps = [after[0][0].box[0] - _right(before) for before, after in pairwise(columns)]
    widest = sorted(gaps, reverse=True)
    cut, rest = widest[: count - 1], widest[count - 1 :]
    if len(cut) < count - 1 or cut[-1] < max(_COLUMN * height, _CLEARLY * max(rest, default=0)):
        return []
    found = columns[:1]
    for gap, column in zip(gaps, columns[1:], strict=True):
        if gap >= cut[-1]:
            found.append(column)
        else:
            found[-1] = [*found[-1], *column]
    return found


def named_inside(series: NamedBars, lines: Sequence[TextLine]) -> tuple[NamedBars, set[Box]]:
    """Names from the words that stand in bars, the same in all bars of a series that have some."""
    names, used = [], set()
    for bars, _ in series:
        own = [line for bar in bars for line in lines if inside(line.box, bar.box)]
        words = {labels.words_of(line) for line in own} - {""}
        if len(words) != 1:
            return series, set()
        names.append(words.pop())
        used |= {line.box for line in own}
    if len(set(names)) < len(names):
        return series, set()
    return renamed(series, names), used


def renamed(series: NamedBars, names: Sequence[str]) -> NamedBars:
    """The series with other names."""
    both = zip(series, names, strict=True)
    return [(bars, replace(one, name=name)) for (bars, one), name in both]


def named_beside(
    series: NamedBars, lines: Sequence[TextLine], height: float
) -> tuple[NamedBars, set[Box]]:
    """Names from the text to the right of upright bars, each level with one segment of the last."""
    last = [max((bar.box for bar in bars), key=lambda box: box[0]) for bars, _ in series]
    right = max(box[2] for box in last)
    beside = [
        line
        for line in lines
        if line.box[0] >= right - 0.3 * height and labels.letters(line.text) > 1
    ]
    blocks: list[list[TextLine]] = []
    for line in sorted(beside, key=lambda line: line.box[1]):
        if blocks and line.box[1] - blocks[-1][-1].box[3] <= _LEADING * height:
            blocks[-1].append(line)
        else:
            blocks.append([line])
    owned: dict[int, list[TextLine]] = {}
    for block in blocks:
        middle = (block[0].box[1] + block[-1].box[3]) / 2
        level = [k for k, box in enumerate(last) if box[1] <= middle <= box[3]]
        owned.update(dict.fromkeys(level, block))
    if not len(owned) == len(blocks) == len(series):
        return series, set()
    names = [labels.joined(owned[k]) for k in range(len(series))]
    return renamed(series, names), {line.box for block in blocks for line in block}


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
