"""Marks as shapes of one color in a part of the image: areas and lines; what is a mark at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from revise_captions.charts.canvas import Canvas
from revise_captions.charts.chart import Box

Mask = NDArray[np.bool_]

#: A row or column of pixels of which a color has this share is a grid line or frame.
_FULL = 0.55
#: A grid line behind bars shows at least this share of itself.
_CROSSING = 0.3
#: Grid lines are gray: their red, green and blue differ by no more than this.
GRAY = 24
#: Pieces of a curve's color that are smaller than this share of the largest are no part of it.
_SPECK = 0.03
#: A curve has pixels in this share of the columns that it spans, or else they are dots or letters.
_SOLID = 0.6
#: The share of a color's pixels that must lie along its curve.
_EXPLAINED = 0.5
#: What is deeper than this share of the plot's height is no line.
_DEEP = 0.12
#: An area's foot may be so far from the axis, as a share of the height of the plot; from so far on
#: it floats.
_SLACK, _FLOATS = 0.05, 0.08
#: No grid line is thicker, as a share of the image's longer side.
_THICK = 0.008


def color_mask(canvas: Canvas, color: int, region: Box) -> Mask:
    """Where a color is in a region, (height, width) of the region."""
    x0, y0, x1, y1 = region
    return canvas.index[y0:y1, x0:x1] == color


def without_grid(mask: Mask, canvas: Canvas, color: int) -> Mask:
    """A gray color's mask without thin rows and columns that cross most of it."""
    if np.ptp(canvas.palette[color]) > GRAY:
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


def without_specks(mask: Mask) -> Mask:
    """A curve's mask without the specks that other curves' edges leave, if most of it is whole."""
    import cv2

    _, labels, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)
    areas = stats[1:, cv2.CC_STAT_AREA]
    if not len(areas) or stats[1:, cv2.CC_STAT_WIDTH].max() < 0.5 * np.ptp(
        np.flatnonzero(mask.any(axis=0))
    ):
        return mask
    kept = np.concatenate([[False], areas >= _SPECK * areas.max()])
    return np.asarray(kept[labels])


def grid_rows(canvas: Canvas, region: Box) -> list[float]:
    """Where thin horizontal lines of a gray color cross a good part of a region, as pixel rows."""
    x0, y0, x1, y1 = region
    part = canvas.index[y0:y1, x0:x1]
    background = background_color(canvas, region)
    found = []
    for color in range(len(canvas.palette)):
        if color == background or np.ptp(canvas.palette[color]) > GRAY:
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

    def nearest(self, x: float) -> float:
        """The column of the curve that is nearest to one."""
        first, end = self.extent
        return min(max(x, first), end - 1)

    def at(self, x: float) -> float | None:
        """Its height at a column, interpolated over gaps; None beyond its ends."""
        first, end = self.extent
        slack = 0.02 * (end - first) + 2
        if not first - slack <= x <= end + slack:
            return None
        return float(np.interp(x, self.xs, self.ys))


def apart(mask: Mask, gap: int) -> list[Mask]:
    """The curves of one color that run above each other, or else the whole mask.

    Args:
        mask: Of the color.
        gap: In pixels, what markers may hide of a curve.
    """
    import cv2

    wide = cv2.dilate(mask.astype(np.uint8), np.ones((gap | 1, gap | 1), dtype=np.uint8))
    _, labels, stats, _ = cv2.connectedComponentsWithStats(wide, connectivity=8)
    columns = np.flatnonzero(mask.any(axis=0))
    long = [k for k in range(1, len(stats)) if stats[k, cv2.CC_STAT_WIDTH] > 0.6 * np.ptp(columns)]
    return [mask & (labels == k) for k in long] if len(long) > 1 else [mask]


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
    # the labels that the axis's scale is fitted to may all be off by some pixels
    slack = max(6, _SLACK * mask.shape[0])
    filled = bool(np.median(depth / reach) > 0.6 and np.median(bottom) >= base - origin[1] - slack)
    ys = top.astype(np.float64) if filled else _middles(mask, columns)
    if not filled and _along(mask[:, columns], ys, depth) < _EXPLAINED:
        return None
    return Curve(columns + origin[0], ys + origin[1], color, filled)


def areas_on_areas(canvas: Canvas, region: Box, base: float) -> bool:
    """Whether a color fills a wide part of a plot and does not reach down to the axis."""
    texts = [line.box for line in canvas.lines]
    for color in mark_colors(canvas, region, texts):
        mask = color_mask(canvas, color, region)
        spans = runs(np.asarray(mask.any(axis=0)))
        start, end = max(spans, key=lambda span: span[1] - span[0])
        if end - start < 0.8 * (spans[-1][1] - spans[0][0]) or end - start < 0.3 * mask.shape[1]:
            continue
        part = mask[:, start:end]
        bottom = mask.shape[0] - part[::-1].argmax(axis=0)
        above = np.median(bottom) < base - region[1] - _FLOATS * mask.shape[0]
        if above and np.median(part.sum(axis=0)) > _DEEP * mask.shape[0]:
            return True
    return False


def _along(mask: Mask, ys: NDArray[np.float64], depth: NDArray[np.int64]) -> float:
    """The share of a mask that lies along a curve, which is little of a dotted grid."""
    near = np.abs(np.arange(mask.shape[0])[:, None] - ys) <= depth + 2
    return float((mask & near).sum() / max(1, mask.sum()))


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
