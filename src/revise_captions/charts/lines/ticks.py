"""Where the marks of a horizontal axis are, beside which its labels stand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from revise_captions.charts.canvas import Canvas
from revise_captions.charts.chart import Box
from revise_captions.charts.numerals import date_of, parse
from revise_captions.charts.ocr import TextWord
from revise_captions.charts.shapes import grid_rows, runs

#: Rows of pixels in which a mark is seen, and its greatest width.
_DEEP, _WIDE = 4, 4
#: A label's box begins so many pixels above its digits.
_PADDED = 3
#: Euclidean distance from the background, RGB.
_SEEN = 40.0
#: Of the columns, marks take no more; of the labels, so many have one.
_MOST, _FOUND = 0.15, 0.8


def on_ticks(
    canvas: Canvas, labels: Sequence[tuple[TextWord, float]], region: Box
) -> list[tuple[TextWord, float]]:
    """Labels moved to the columns of their marks or grid lines, if these are seen.

    Slanted labels are off by some pixels; the first and the last one may be moved inward.
    """
    return at_marks(canvas, labels, region) or _unclamped(labels)


def at_marks(
    canvas: Canvas, labels: Sequence[tuple[TextWord, float]], region: Box
) -> list[tuple[TextWord, float]]:
    """Labels in the columns of their marks or grid lines; none if these are not seen.

    Args:
        canvas: The image.
        labels: Left to right, with the column that each seems to stand for.
        region: Of the plot; the axis is at its foot.
    """
    top = min((word.box[1] for word, _ in labels), default=0) + _PADDED
    for ticks in (_marks(canvas, region, top), grid_rows(canvas.transposed(), _turned(region))):
        if len(ticks) < 2 or not labels:
            continue
        places = np.array(ticks)
        moved = []
        for word, x in labels:
            tick = float(places[np.abs(places - x).argmin()])
            if abs(tick - x) <= 0.6 * (word.box[2] - word.box[0]) + 3:
                moved.append((word, tick))
        distinct = len({tick for _, tick in moved}) == len(moved)
        if distinct and len(moved) >= _FOUND * len(labels):
            return moved
    return []


def _unclamped(labels: Sequence[tuple[TextWord, float]]) -> list[tuple[TextWord, float]]:
    """Labels of which the first or last is moved back to where the others' dates or numbers put it.

    Renderers move a label inward that would reach beyond the plot, so that it ends at its mark.
    """
    found = list(labels)
    worth = _worth(labels)
    if len(found) < 4 or None in worth:
        return found
    values = np.array(worth[1:-1], dtype=np.float64)
    slope, offset = np.polyfit(values, [x for _, x in found[1:-1]], 1)
    for k, edge in ((0, 0), (-1, 2)):
        word, x = found[k]
        place = float(slope * np.float64(worth[k] or 0) + offset)
        width = word.box[2] - word.box[0]
        if abs(place - x) > 0.25 * width and abs(place - word.box[edge]) <= 0.25 * width:
            found[k] = (word, place)
    return found


def _worth(labels: Sequence[tuple[TextWord, float]]) -> list[float | None]:
    """What the labels stand for: dates, or else numbers."""
    dates = [date_of(word.text) for word, _ in labels]
    if None not in dates:
        return dates
    numbers = [parse(word.text) for word, _ in labels]
    return [one.value if one else None for one in numbers]


def _turned(region: Box) -> Box:
    return region[1], region[0], region[3], region[2]


def _marks(canvas: Canvas, region: Box, below: int) -> list[float]:
    """The columns of thin upright marks between the axis and the row where labels begin."""
    best: list[float] = []
    slack = round(0.6 * canvas.text_height)
    first, last = max(0, region[3] - slack), min(below, region[3] + slack)
    near = canvas.pixels[first : max(first, last)].astype(np.float64)
    away = np.linalg.norm(near - canvas.palette[0], axis=2) > _SEEN
    left = max(0, region[0] - 2)
    for row in range(last - first - _DEEP + 1):
        full = away[row : row + _DEEP, left : region[2]].all(axis=0)
        if full.mean() > _MOST:
            continue
        found = [(a + b - 1) / 2 + left for a, b in runs(full) if b - a <= _WIDE]
        if len(found) > len(best):
            best = found
    return best
