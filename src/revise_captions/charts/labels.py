"""Which text says what: categories, legends, titles, notes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

import numpy as np

from revise_captions.charts.bars.bar_chart import BarRow
from revise_captions.charts.canvas import Canvas
from revise_captions.charts.chart import Box
from revise_captions.charts.numerals import parse
from revise_captions.charts.ocr import TextLine, TextWord
from revise_captions.charts.scales import anchor

_FOOT = re.compile(
    r"(notes?|sources?|question|survey|based on|figures|pew research|q\d|data:?|total |"
    r"numbers? may|percentages|\*|†|“|\")",
    re.IGNORECASE,
)
_SOURCE = re.compile(r"sources?\b|pew research", re.IGNORECASE)
#: From this share of bars with a label of their own on, groups have none.
_EACH = 0.8
#: The gap between lines of a label, in heights of text.
_LEADING = 0.4
SWATCH = "■□▪•●◆▲—–-口ロ◼◻ "


def is_number(line: TextLine) -> bool:
    """Whether a line is nothing but numbers."""
    return all(parse(word.text) is not None for word in line.words) or (
        parse(line.text) is not None
    )


def foot_of(lines: Sequence[TextLine], below: float) -> tuple[tuple[str, ...], str, float]:
    """Notes, the source, and the pixel row where they begin.

    Args:
        lines: All text.
        below: No note begins above this row.
    """
    flat = [line for line in lines if abs(line.angle) < 10 and line.box[1] >= below]
    starts = [line.box[1] for line in flat if _FOOT.match(line.text) and not is_number(line)]
    if not starts:
        return (), "", float("inf")
    top = min(starts)
    notes: list[str] = []
    for line in sorted(flat, key=lambda line: (line.box[1], line.box[0])):
        if line.box[1] < top - 2:
            continue
        if notes and not _FOOT.match(line.text):
            notes[-1] += f" {line.text}"
        else:
            notes.append(line.text)
    source = " ".join(note for note in notes if _SOURCE.match(note))
    return tuple(note for note in notes if not _SOURCE.match(note)), source, float(top)


def title_of(lines: Sequence[TextLine], above: float, used: Collection[Box]) -> str:
    """The lines from the top down to the first mark, but legends and tick labels."""
    found = [
        line
        for line in lines
        if abs(line.angle) < 10
        and line.box[3] <= above + 0.3 * (line.box[3] - line.box[1])
        and line.box not in used
    ]
    texts = [line for line in found if not is_number(line) and letters(line.text) >= 2]
    # a number alone belongs to a title whose last line it is
    texts += [
        line
        for line in found
        if is_number(line) and any(0 <= line.box[1] - other.box[3] + 12 <= 24 for other in texts)
    ]
    return " ".join(line.text for line in _reading_order(texts))


def letters(text: str) -> int:
    """How many letters a text has."""
    return sum(letter.isalpha() for letter in text)


def words_of(line: TextLine) -> str:
    """A line without its numbers."""
    return " ".join(word.text for word in line.words if letters(word.text))


def _reading_order(lines: Sequence[TextLine]) -> list[TextLine]:
    """Top to bottom, and left to right where lines share a row."""
    rows: list[list[TextLine]] = []
    for line in sorted(lines, key=lambda line: line.box[1] + line.box[3]):
        middle = (line.box[1] + line.box[3]) / 2
        if rows and middle < rows[-1][0].box[3] - 0.25 * (line.box[3] - line.box[1]):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [line for row in rows for line in sorted(row, key=lambda line: line.box[0])]


def row_labels(
    rows: Sequence[BarRow],
    groups: Sequence[Sequence[int]],
    lines: Sequence[TextLine],
    canvas: Canvas,
    right: float,
) -> tuple[list[str], set[Box]]:
    """What stands to the left of each row of horizontal bars, and which boxes that took.

    A label beside several rows, those of a group, is each one's.

    Args:
        rows: Top to bottom.
        groups: Indexes of rows that stand together.
        lines: The text that may be labels.
        canvas: The image.
        right: Labels end to the left of this column.
    """
    height = canvas.text_height
    centers = [row.place for row in rows]
    pitch = _pitch(centers, height)
    left = [
        (line, _beside(line))
        for line in lines
        if abs(line.angle) < 80
        and line.box[2] <= right + 0.5 * height
        and (abs(line.angle) < 15 or right - line.box[2] <= 3 * height)
    ]
    slack = 0.75 * pitch
    left = [pair for pair in left if centers[0] - slack <= pair[1] <= centers[-1] + slack]
    texts = _nearest_labels(left, centers, max(0.62 * pitch, 0.9 * height))
    few = sum(map(bool, texts)) < _EACH * len(rows) or _blocks(left, height) == len(groups)
    if len(groups) < len(rows) and few:
        middles = [float(np.mean([centers[k] for k in group])) for group in groups]
        names = _nearest_labels(left, middles, 0.62 * _pitch(middles, height))
        texts = [name for name, group in zip(names, groups, strict=True) for _ in group]
    bearing = [k for k, text in enumerate(texts) if text]
    if bearing:
        for k, text in enumerate(texts):
            if not text:
                nearest = min(bearing, key=lambda other: abs(centers[other] - centers[k]))
                texts[k] = texts[nearest]
    elif len(rows) == 1 and len(rows[0].bars) > 1:
        return [""], set()
    else:
        texts, over = _labels_above(rows, lines, height)
        return texts, {line.box for line in over}
    return texts, {line.box for line, _ in left}


def _nearest_labels(
    left: Sequence[tuple[TextLine, float]], centers: Sequence[float], reach: float
) -> list[str]:
    """The lines that are nearest to each place, within reach of it."""
    owned: list[list[TextLine]] = [[] for _ in centers]
    for line, place in left:
        off = [abs(place - center) for center in centers]
        if min(off) <= reach:
            owned[int(np.argmin(off))].append(line)
    names = [_named(group) for group in owned]
    texts = [joined(group) for group in names]
    if any(len(group) < len(own) for group, own in zip(names, owned, strict=True)):
        texts = [_without_value(text) for text in texts]
    return texts


def _blocks(left: Sequence[tuple[TextLine, float]], height: float) -> int:
    """How many labels there are, whose lines follow each other without a gap."""
    boxes = sorted((line.box for line, _ in left if not is_number(line)), key=lambda box: box[1])
    gaps = (after[1] - before[3] for before, after in pairwise(boxes))
    return sum(gap > _LEADING * height for gap in gaps) + bool(boxes)


def _without_value(text: str) -> str:
    """A label without a value that OCR joined to it, such as the other rows have beside theirs."""
    first, _, last = text.rpartition(" ")
    return first if first and parse(last) is not None else text


def _named(group: Sequence[TextLine]) -> Sequence[TextLine]:
    """The lines of a label without the values that stand beside it."""
    words = [line for line in group if not is_number(line)]
    return words or group


def _beside(line: TextLine) -> float:
    """The pixel row that a label to the left of an axis stands for."""
    return anchor(line.box, line.angle, line.height, beside=True)[1]


def clean(text: str) -> str:
    """A label without the tick mark or the grid line that OCR saw beside it.

    >>> clean("2014.-"), clean("Bank of …"), clean("Others...")
    ('2014', 'Bank of …', 'Others...')
    """
    bare = text.strip(SWATCH) if len(text) > 1 else text
    return bare if bare.endswith("..") else bare.rstrip(" .-–—_:")


def _labels_above(
    rows: Sequence[BarRow], lines: Sequence[TextLine], height: float
) -> tuple[list[str], list[TextLine]]:
    """Labels that stand over their bars."""
    texts, used = [], []
    for row in rows:
        x0, y0 = row.bars[0].box[0], row.bars[0].box[1]
        over = [
            line
            for line in lines
            if 0 <= y0 - line.box[3] + 0.4 * height <= 1.4 * height
            and abs(line.box[0] - x0) <= 3 * height
            and not is_number(line)
        ]
        texts.append(joined(over))
        used += over
    return texts, used


def column_labels(
    rows: Sequence[BarRow],
    groups: Sequence[Sequence[int]],
    lines: Sequence[TextLine],
    canvas: Canvas,
    base: float,
) -> tuple[list[str], set[Box]]:
    """What stands below each upright bar or group of bars, and which boxes that took.

    Args:
        rows: The places of bars, left to right.
        groups: Indexes of rows that stand together.
        lines: The text that may be labels.
        canvas: The image.
        base: The pixel row at the foot of the bars.
    """
    height = canvas.text_height
    below = sorted(
        (
            line
            for line in lines
            if line.box[1] >= base - 0.5 * height and line.box[1] < base + 9 * height
        ),
        key=lambda line: line.box[1],
    )
    if not below:
        return ["" for _ in rows], set()
    whole = label_band([(TextWord(line.text, line.box), line.angle) for line in below], height)
    ends = [anchor(word.box, angle, height)[0] for word, angle in whole]
    middles = [float(np.mean([rows[k].place for k in group])) for group in groups]
    each = _off(ends, [row.place for row in rows]) <= _off(ends, middles)
    if len(whole) >= _EACH * len(rows) and each:
        groups = [[k] for k in range(len(rows))]
    centers = np.array([np.mean([rows[k].place for k in group]) for group in groups])
    pitch = _pitch(list(centers), 4 * height)
    words = list(_pieces(below, list(centers)))
    band = label_band(words, height)
    angles = [angle for word, angle in band]
    slanted = np.median(np.abs(angles)) > 10
    anchors = np.array([anchor(word.box, angle, height)[0] for word, angle in band])
    if slanted and len(band) == len(rows):
        order = np.argsort(anchors)
        return [clean(band[k][0].text) for k in order], {word.box for word, _ in band}
    owned: list[list[TextWord]] = [[] for _ in groups]
    for (word, _), place in zip(band, anchors, strict=True):
        off = np.abs(centers - place)
        if off.min() <= 0.8 * pitch:
            owned[int(off.argmin())].append(word)
    names = [joined_words(group, height) for group in owned]
    texts = [name for name, group in zip(names, groups, strict=True) for _ in group]
    places = np.array([row.place for row in rows])
    labeled = [(word, a) for (word, _), a in zip(band, anchors, strict=True)]
    return _of_groups(texts, places, labeled), {word.box for word, _ in band}


def _off(anchors: Sequence[float], places: Sequence[float]) -> float:
    """How far labels are from the places that are nearest to them."""
    return sum(min(abs(one - place) for place in places) for one in anchors)


def joined_words(words: Sequence[TextWord], height: float) -> str:
    """Words in reading order, without tick marks."""
    row = max(1, int(0.6 * height))
    ordered = sorted(words, key=lambda word: (word.box[1] // row, word.box[0]))
    return " ".join(clean(word.text) for word in ordered)


def _of_groups(
    texts: list[str], centers: np.ndarray, labels: Sequence[tuple[TextWord, float]]
) -> list[str]:
    """Bars of a group, of which one bears the label, all get it; others stay empty."""
    bearing = [k for k, text in enumerate(texts) if text]
    if not bearing or len(bearing) > 0.75 * len(texts) or len(labels) < 2:
        return texts
    return [
        text or texts[min(bearing, key=lambda other: abs(centers[other] - centers[k]))]
        for k, text in enumerate(texts)
    ]


def _pieces(lines: Iterable[TextLine], centers: Sequence[float]) -> list[tuple[TextWord, float]]:
    """Lines; those that reach over several places are cut into words."""
    found: list[tuple[TextWord, float]] = []
    for line in lines:
        covered = sum(line.box[0] <= center <= line.box[2] for center in centers)
        if abs(line.angle) < 10 and covered > 1 and len(line.words) > 1:
            found += [(word, 0.0) for word in line.words]
        else:
            found.append((TextWord(line.text, line.box), line.angle))
    return found


def label_band(
    words: Sequence[tuple[TextWord, float]], height: float
) -> list[tuple[TextWord, float]]:
    """The labels next to the axis: those whose tops are near the first one's, and lines right
    below these that continue them."""
    rotated = [pair for pair in words if abs(pair[1]) > 10]
    flat = [pair for pair in words if abs(pair[1]) <= 10]
    if not flat or len(rotated) >= max(2, 0.5 * len(words)):
        return rotated
    top = min(word.box[1] for word, _ in flat)
    band = [pair for pair in flat if pair[0].box[1] <= top + 0.7 * height]
    for _ in range(3):
        bottom = max(word.box[3] for word, _ in band)
        more = [
            pair
            for pair in flat
            if pair not in band
            and pair[0].box[1] <= bottom + 0.35 * height
            and any(_over(pair[0].box, word.box) for word, _ in band)
        ]
        if len(more) < 2 and len(band) > 2:
            break
        band += more
    return band


def _over(box: Box, other: Box) -> bool:
    """Whether two boxes share columns."""
    return box[0] < other[2] and other[0] < box[2]


def _pitch(centers: Sequence[float], default: float) -> float:
    steps = np.diff(np.sort(np.array(centers)))
    steps = steps[steps > 2]
    return float(np.median(steps)) if len(steps) else default


def joined(group: Sequence[TextLine]) -> str:
    """Lines in reading order, without a legend's swatches."""
    ordered = sorted(group, key=lambda line: (line.box[1], line.box[0]))
    return " ".join(clean(line.text) for line in ordered)
