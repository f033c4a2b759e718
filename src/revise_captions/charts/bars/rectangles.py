"""Bars: the filled rectangles of a color, under the grid lines and numbers that stand on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from revise_captions.charts.canvas import Canvas
from revise_captions.charts.chart import Box
from revise_captions.charts.shapes import GRAY, Mask, color_mask

#: A bar fills this share of its bounding box, printed numbers in it included.
_FILLED = 0.88
#: A grid line that is drawn over bars, its pale edges included, is no thicker than so many pixels.
_CUT = 4
#: Between bars, so many pixels of its row are seen, and this share of them is drawn.
_BESIDE, _CROSSED = 4, 0.6
#: A contour of fewer pixels encloses no bar: there and back along a side of 5.
_SPECK = 8
#: Grid lines and numbers leave so much of a bar's box in its color.
_OWN = 0.4
#: The box of a number is higher than its digits by so many pixels above and below.
_INSET = 2


@dataclass(frozen=True, slots=True)
class ChartBar:
    """A filled rectangle.

    Attributes:
        box: Where it is.
        color: Its index in the canvas's palette.
    """

    box: Box
    color: int

    @property
    def width(self) -> int:
        """In pixels."""
        return self.box[2] - self.box[0]

    @property
    def height(self) -> int:
        """In pixels."""
        return self.box[3] - self.box[1]

    @property
    def center(self) -> tuple[float, float]:
        """(x, y)."""
        return (self.box[0] + self.box[2]) / 2, (self.box[1] + self.box[3]) / 2


def filled_rectangles(
    canvas: Canvas, colors: Iterable[int], region: Box, least: int = 3, crossed: bool = True
) -> list[ChartBar]:
    """The filled rectangles of some colors, by their bounding boxes, color by color.

    Args:
        canvas: The image.
        colors: Indices in its palette.
        region: Where to look.
        least: The shorter side of a bar, in pixels.
        crossed: Whether grid lines may be drawn over bars.
    """
    part = canvas.index[region[1] : region[3], region[0] : region[2]]
    counts = np.bincount(part[part >= 0], minlength=1 + len(canvas.palette))
    found = []
    for color in colors:
        if not counts[color]:
            continue
        others = counts.copy()
        others[color] = 0
        beside = int(others.argmax()) if crossed else None
        found += _bars_of_color(canvas, color, _around(canvas, color, region), least, beside)
    return found


def _around(canvas: Canvas, color: int, region: Box) -> Box:
    """The part of a region that a color is in, with room for whatever may be printed at its edge:
    beyond it, nothing depends on the color."""
    mask = color_mask(canvas, color, region)
    ends = [np.flatnonzero(mask.any(axis=k))[[0, -1]].tolist() for k in (0, 1)]
    sides = [side for n in canvas.numerals for side in (n.box[2] - n.box[0], n.box[3] - n.box[1])]
    room = max([_CUT + 2, *sides]) + 2
    (left, right), (top, bottom) = ends
    return (
        max(region[0], region[0] + left - room),
        max(region[1], region[1] + top - room),
        min(region[2], region[0] + right + 1 + room),
        min(region[3], region[1] + bottom + 1 + room),
    )


def _bars_of_color(
    canvas: Canvas, color: int, region: Box, least: int, beside: int | None
) -> list[ChartBar]:
    """`beside`: the most frequent other color, where grid lines may be drawn over bars."""
    import cv2

    plain = color_mask(canvas, color, region)
    mask = _behind_numbers(plain, canvas, region)
    if beside is not None:
        mask |= _mended(plain, canvas, region, beside)
    whole = _rectangles(mask, plain, least)
    # an axis in a shade of the bars joins them
    kernel = np.ones((_CUT, _CUT), dtype=np.uint8)
    thick = np.asarray(cv2.morphologyEx(mask, cv2.MORPH_OPEN, kernel), dtype=np.uint8)
    apart = _rectangles(thick, plain, least) if thick.any() else []
    boxes = whole + [box for box in apart if not any(_overlap(box, other) for other in whole)]
    found = [
        ChartBar((x0 + region[0], y0 + region[1], x1 + region[0], y1 + region[1]), color)
        for x0, y0, x1, y1 in boxes
    ]
    return sorted(found, key=lambda bar: (bar.box[1], bar.box[0]))


def _rectangles(mask: NDArray[np.uint8], plain: Mask, least: int) -> list[Box]:
    """The filled rectangles of a mask, of which enough have the color itself."""
    import cv2

    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    found = []
    for contour in contours:
        if len(contour) < _SPECK:
            continue
        x, y, width, height = cv2.boundingRect(contour)
        if min(width, height) < least or width * height < 25:
            continue
        # a contour runs through the centers of pixels, which leaves out half a pixel all around
        area = cv2.contourArea(contour) + width + height - 1
        own = plain[y : y + height, x : x + width].mean()
        if area >= _FILLED * width * height and own >= _OWN:
            found.append((x, y, x + width, y + height))
    return found


def _overlap(box: Box, other: Box) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]


def _behind_numbers(mask: Mask, canvas: Canvas, region: Box) -> NDArray[np.uint8]:
    """A color's mask without the gaps of numbers that are printed over bars and their ends."""
    import cv2

    x0, y0, x1, y1 = region
    found = mask.astype(np.uint8)
    for one in canvas.numerals:
        left, top, right, bottom = (c - (x0, y0)[k % 2] for k, c in enumerate(one.box))
        if right <= 0 or left >= x1 - x0 or bottom <= 0 or top >= y1 - y0:
            continue
        size = max(bottom - top, right - left) | 1
        first, start = max(0, top - size), max(0, left - size)
        around = mask[first : bottom + size, start : right + size].astype(np.uint8)
        rows = slice(top + _INSET - first, bottom - _INSET - first)
        columns = slice(left - start, right - start)
        # what has this color in the box alone is the number itself
        if around.sum() <= 1.2 * around[max(0, top - first) : bottom - first, columns].sum():
            continue
        # across rows only, so that the gap between two segments stays
        kernel = np.ones((size, 1), dtype=np.uint8)
        padded = np.zeros((around.shape[0] + 2 * size, around.shape[1]), dtype=np.uint8)
        padded[size:-size] = around
        closed = np.asarray(cv2.morphologyEx(padded, cv2.MORPH_CLOSE, kernel), dtype=np.uint8)
        closed = closed[size:-size]
        around[rows, columns] |= closed[rows, columns]
        found[first : bottom + size, start : right + size] |= around
    return found


def _mended(mask: Mask, canvas: Canvas, region: Box, beside: int) -> NDArray[np.uint8]:
    """A color's mask without the gaps of grid lines that are drawn over bars."""
    part = canvas.index[region[1] : region[3], region[0] : region[2]]
    empty = (part == 0) | (part == beside)
    grays = np.append(np.ptp(canvas.palette, axis=1) <= GRAY, False)
    lines = grays[part] & ~empty & ~mask
    rows = _gaps(mask, empty, lines)
    columns = _gaps(mask.T, empty.T, lines.T).T
    return (mask | rows | columns).astype(np.uint8)


def _gaps(mask: Mask, empty: Mask, lines: Mask) -> Mask:
    """Narrow gaps of rows in which gray lines run beside the mask, too, rather than background."""
    import cv2

    kernel = np.ones((_CUT + 1, 1), dtype=np.uint8)
    closed = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_CLOSE, kernel).astype(np.bool_)
    gaps = closed & ~mask & ~empty
    columns = np.flatnonzero(mask.any(axis=0))
    rows = np.flatnonzero(gaps.any(axis=1))
    inner = slice(columns[0], columns[-1] + 1)
    beside = ~closed[rows, inner]
    ruled, bare = ((one[rows, inner] & beside).sum(axis=1) for one in (lines, empty))
    gaps[rows[ruled < np.maximum(_BESIDE, _CROSSED * (ruled + bare))]] = False
    return gaps
