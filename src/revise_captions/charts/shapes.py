"""Marks as shapes of one color in a part of the image: bars, areas and lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from revise_captions.charts.canvas import Canvas
from revise_captions.charts.chart import Box

Mask = NDArray[np.bool_]

#: A bar fills this share of its bounding box, printed numbers in it included.
_FILLED = 0.88
#: A row or column of pixels of which a color has this share is a grid line or frame.
_FULL = 0.55
#: A grid line behind bars shows at least this share of itself.
_CROSSING = 0.3
#: Grid lines are gray: their red, green and blue differ by no more than this.
_GRAY = 24
#: A curve has pixels in this share of the columns that it spans, or else they are dots or letters.
_SOLID = 0.6
#: No grid line is thicker, as a share of the image's longer side.
_THICK = 0.008


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


def color_mask(canvas: Canvas, color: int, region: Box) -> Mask:
    """Where a color is in a region, (height, width) of the region."""
    x0, y0, x1, y1 = region
    return canvas.index[y0:y1, x0:x1] == color


def without_grid(mask: Mask, canvas: Canvas, color: int) -> Mask:
    """A gray color's mask without thin rows and columns that cross most of it."""
    if np.ptp(canvas.palette[color]) > _GRAY:
        return mask.copy()
    thick = max(4, int(_THICK * max(canvas.width, canvas.height)))
    kept = mask.copy()
    for across in (mask, mask.T):
        held = kept if across is mask else kept.T
        columns = np.flatnonzero(across.any(axis=0))
        if not len(columns):
            continue
        full = across[:, columns[0] : columns[-1] + 1].mean(axis=1) > _FULL
        for start, end in runs(full):
            if end - start <= thick:
                held[start:end] = False
    return kept


def grid_rows(canvas: Canvas, region: Box) -> list[float]:
    """Where thin horizontal lines of a gray color cross a good part of a region, as pixel rows."""
    x0, y0, x1, y1 = region
    part = canvas.index[y0:y1, x0:x1]
    background = background_color(canvas, region)
    found = []
    for color in range(len(canvas.palette)):
        if color == background or np.ptp(canvas.palette[color]) > _GRAY:
            continue
        mask = part == color
        columns = np.flatnonzero(mask.any(axis=0))
        if not len(columns) or len(columns) < 0.2 * part.shape[1]:
            continue
        full = mask[:, columns[0] : columns[-1] + 1].mean(axis=1) > _CROSSING
        found += [y0 + (start + end - 1) / 2 for start, end in runs(full) if end - start <= 4]
    return sorted(found)


def runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Half-open ranges in which flags are set."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def bars(canvas: Canvas, color: int, region: Box, least: int = 3) -> list[ChartBar]:
    """The filled rectangles of a color, by their bounding boxes.

    Args:
        canvas: The image.
        color: Index in its palette.
        region: Where to look.
        least: The shorter side of a bar, in pixels.
    """
    import cv2

    mask = color_mask(canvas, color, region).astype(np.uint8)
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    found = []
    for contour in contours:
        x, y, width, height = cv2.boundingRect(contour)
        if min(width, height) < least or width * height < 25:
            continue
        # a contour runs through the centers of pixels, which leaves out half a pixel all around
        area = cv2.contourArea(contour) + width + height - 1
        if area >= _FILLED * width * height:
            box = (region[0] + x, region[1] + y, region[0] + x + width, region[1] + y + height)
            found.append(ChartBar(box, color))
    return sorted(found, key=lambda bar: (bar.box[1], bar.box[0]))


@dataclass(frozen=True, slots=True)
class Curve:
    """A line or the upper edge of an area.

    Attributes:
        xs: Columns of the image, ascending.
        ys: Where the line's middle, or the area's edge, is in each.
        color: Index in the palette.
        filled: Whether it is an area.
    """

    xs: NDArray[np.int64]
    ys: NDArray[np.float64]
    color: int
    filled: bool

    @property
    def extent(self) -> tuple[int, int]:
        """Its first column and the one after its last."""
        return int(self.xs[0]), int(self.xs[-1]) + 1

    def at(self, x: float) -> float | None:
        """Its height at a column, interpolated over gaps; None beyond its ends."""
        first, end = self.extent
        slack = 0.02 * (end - first) + 2
        if not first - slack <= x <= end + slack:
            return None
        return float(np.interp(x, self.xs, self.ys))


def same_curve(one: Curve, other: Curve) -> bool:
    """Whether a curve runs along another one, as an edge or a darker line on an area does."""
    shared = np.intersect1d(one.xs, other.xs)
    if len(shared) < 0.5 * len(one.xs):
        return False
    mine, theirs = (c.ys[np.searchsorted(c.xs, shared)] for c in (one, other))
    return bool(np.median(np.abs(mine - theirs)) <= 6)


def curve(mask: Mask, origin: tuple[int, int], color: int, base: float) -> Curve | None:
    """The line or area that a mask shows; None if it spans too few columns.

    Args:
        mask: Of one color.
        origin: (x, y) of the mask's corner in the image.
        color: Index in the palette.
        base: The pixel row of the axis: an area reaches down to it.
    """
    columns = np.flatnonzero(mask.any(axis=0))
    if len(columns) < max(8, 0.12 * mask.shape[1]):
        return None
    if len(columns) < _SOLID * (columns[-1] - columns[0] + 1):
        return None
    depth = mask.sum(axis=0)[columns]
    top = mask[:, columns].argmax(axis=0)
    bottom = mask.shape[0] - mask[::-1, columns].argmax(axis=0)
    reach = np.maximum(base - origin[1] - top, 1)
    filled = bool(np.median(depth / reach) > 0.6 and np.median(bottom) >= base - origin[1] - 6)
    ys = top.astype(np.float64) if filled else _middles(mask, columns)
    return Curve(columns + origin[0], ys + origin[1], color, filled)


def _middles(mask: Mask, columns: NDArray[np.int64]) -> NDArray[np.float64]:
    """The middle of a line in each column, where its run of pixels is nearest to the last one."""
    middles: list[float] = []
    for column in columns:
        found = [(start + end - 1) / 2 for start, end in runs(mask[:, column])]
        last = middles[-1] if middles else float(np.median(found))
        middles.append(min(found, key=lambda middle: abs(middle - last)))
    return np.array(middles)


def mark_colors(canvas: Canvas, region: Box, texts: Sequence[Box]) -> list[int]:
    """Colors of marks in a region, those with most pixels first: no background, no grid."""
    x0, y0, x1, y1 = region
    part = canvas.index[y0:y1, x0:x1].copy()
    for box in texts:
        part[
            max(0, box[1] - y0) : max(0, box[3] - y0), max(0, box[0] - x0) : max(0, box[2] - x0)
        ] = -1
    counts = np.bincount(part[part >= 0].ravel(), minlength=len(canvas.palette))
    background = background_color(canvas, region)
    found = []
    for color in np.argsort(-counts):
        if counts[color] < 25:
            break
        if color == background:
            continue
        rest = int(without_grid(part == color, canvas, int(color)).sum())
        if rest >= 0.25 * counts[color] and rest >= 25:
            found.append(int(color))
    return found


def background_color(canvas: Canvas, region: Box) -> int:
    """What most of a region's border and corners show, else the whole image's background."""
    x0, y0, x1, y1 = region
    part = canvas.index[y0:y1, x0:x1]
    # above the marks: the upper tenth, and the right and left edges
    edge = np.concatenate([part[: max(2, part.shape[0] // 10)].ravel(), part[:, -2:].ravel()])
    counts = np.bincount(edge[edge >= 0], minlength=len(canvas.palette))
    whole = np.bincount(part[part >= 0].ravel(), minlength=len(canvas.palette))
    if whole[0] >= 0.05 * part.size:
        return 0
    return int(counts.argmax())
