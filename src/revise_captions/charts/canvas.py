"""An image prepared for measuring: flat colors, and what text stands where."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from revise_captions.charts.chart import Box
from revise_captions.charts.numerals import Numeral, parse
from revise_captions.charts.ocr import Pixels, TextLine

#: Colors nearer than this (Euclidean, RGB) are one.
_SAME = 26.0
#: Share of the image's pixels, and pixels, that a color must have.
_LEAST_SHARE, _LEAST_PIXELS = 0.0004, 40
_MOST_COLORS = 40
_BITS = 5
#: How deep an image's edges are, as a share of its shorter side.
_EDGE = 0.03
#: A field behind marks is no farther from the background, and has at least this share of the image.
_PALE, _FIELD = 60.0, 0.02
#: One less the cosine up to which two colors are of one hue, seen from the background, and how
#: much farther from it a text may be than a mark of its color.
_TURNED, _DARKER = 0.025, 1.15


@dataclass(frozen=True, slots=True)
class Canvas:
    """An image as flat colors and lines of text.

    Attributes:
        pixels: uint8 (height, width, 3).
        palette: float (colors, 3); the background is the first.
        index: int16 (height, width), the color of each pixel, -1 for none of the palette.
        lines: The text.
        numerals: The numbers among words and lines.
    """

    pixels: Pixels
    palette: NDArray[np.float64]
    index: NDArray[np.int16]
    lines: tuple[TextLine, ...]
    numerals: tuple[Numeral, ...]

    @property
    def height(self) -> int:
        """In pixels."""
        return int(self.index.shape[0])

    @property
    def width(self) -> int:
        """In pixels."""
        return int(self.index.shape[1])

    @property
    def text_height(self) -> float:
        """The median height of horizontal lines, in pixels."""
        heights = [line.box[3] - line.box[1] for line in self.lines if abs(line.angle) < 10]
        return float(np.median(heights)) if heights else max(8.0, self.height / 40)

    def transposed(self) -> Canvas:
        """The image mirrored at its diagonal, without its text."""
        return Canvas(self.pixels.transpose(1, 0, 2), self.palette, self.index.T, (), ())

    def hex(self, color: int) -> str:
        """A color of the palette as "#rrggbb"."""
        return "#" + "".join(f"{round(c):02x}" for c in self.palette[color])

    def ink(self, box: Box) -> NDArray[np.float64] | None:
        """The color of a text less the background's, None if it stands on a mark.

        The edges of thin letters are paler than their ink, but lie in its direction from the
        background.
        """
        part = self.pixels[box[1] : box[3], box[0] : box[2]].reshape(-1, 3).astype(np.float64)
        if not len(part) or np.linalg.norm(np.median(part, axis=0) - self.palette[0]) >= _SAME:
            return None
        away = part - self.palette[0]
        lengths = np.linalg.norm(away, axis=1)
        return np.asarray(away[lengths >= np.quantile(lengths, 0.93)].mean(axis=0))

    def ink_among(self, box: Box, colors: Collection[int]) -> int:
        """Which of some colors a text is set in, -1 for none."""
        ink = self.ink(box)
        if ink is None:
            return -1
        most = float(np.linalg.norm(ink))
        costs = {}
        for color in colors:
            wanted = self.palette[color] - self.palette[0]
            far = float(np.linalg.norm(wanted))
            if min(most, far) >= _SAME and most <= _DARKER * far:
                turned = 1 - float(ink @ wanted) / (most * far)
                if turned < _TURNED:
                    costs[color] = turned + 0.05 * (1 - min(most, far) / max(most, far))
        return min(costs, key=lambda color: costs[color]) if costs else -1


def prepare(pixels: Pixels, lines: Sequence[TextLine]) -> Canvas:
    """Finds the colors of an image; anti-aliased edges belong to none.

    Args:
        pixels: uint8 (height, width, 3).
        lines: Its text.
    """
    coarse = (pixels >> (8 - _BITS)).astype(np.int32)
    bins = (coarse[..., 0] << (2 * _BITS)) | (coarse[..., 1] << _BITS) | coarse[..., 2]
    flat = bins.ravel()
    counts = np.bincount(flat, minlength=1 << (3 * _BITS)).astype(np.float64)
    colors = pixels.reshape(-1, 3)
    means = (
        np.stack([np.bincount(flat, colors[:, k], minlength=len(counts)) for k in range(3)], axis=1)
        / np.maximum(counts, 1)[:, None]
    )
    palette = _palette(counts, means)
    used = np.flatnonzero(counts)
    distance = np.linalg.norm(means[used][:, None, :] - palette[None], axis=2)
    nearest = np.full(len(counts), -1, dtype=np.int16)
    best = distance.argmin(axis=1)
    nearest[used] = np.where(distance.min(axis=1) < _SAME, best, -1)
    index = nearest[bins]
    first = _at_edges(index, len(palette))
    order = [first, *(k for k in range(len(palette)) if k != first)]
    ranks = np.append(np.argsort(order), -1).astype(np.int16)
    return Canvas(pixels, palette[order], ranks[index], tuple(lines), tuple(_numerals(lines)))


def without_panel(canvas: Canvas) -> Canvas:
    """The image with the pale gray field that marks stand on as a part of the background."""
    import cv2

    for color in range(1, len(canvas.palette)):
        away = float(np.linalg.norm(canvas.palette[color] - canvas.palette[0]))
        mask = canvas.index == color
        if away > _PALE or np.ptp(canvas.palette[color]) > 24 or mask.mean() < _FIELD:
            continue
        # without the edges of letters
        solid = cv2.erode(mask.astype(np.uint8), np.ones((5, 5), dtype=np.uint8)).astype(np.bool_)
        columns, rows = np.flatnonzero(solid.any(axis=0)), np.flatnonzero(solid.any(axis=1))
        if not len(rows):
            continue
        field = mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        # marks leave its upper edge to be seen, but for grid lines
        if field.shape[1] > 0.3 * mask.shape[1] and field[: len(field) // 40 + 3].mean() > 0.7:
            index = np.where(mask, np.int16(0), canvas.index)
            return replace(canvas, index=index)
    return canvas


def _at_edges(index: NDArray[np.int16], colors: int) -> int:
    """The background: what most of the image's edges show, as large marks may fill its middle."""
    deep = max(2, round(_EDGE * min(index.shape)))
    inner = np.zeros(index.shape, dtype=np.bool_)
    inner[deep:-deep, deep:-deep] = True
    edge = index[~inner & (index >= 0)]
    return int(np.bincount(edge, minlength=colors).argmax()) if len(edge) else 0


def _palette(counts: NDArray[np.float64], means: NDArray[np.float64]) -> NDArray[np.float64]:
    least = max(_LEAST_PIXELS, _LEAST_SHARE * counts.sum())
    chosen: list[NDArray[np.float64]] = []
    for color in np.argsort(-counts):
        if len(chosen) == _MOST_COLORS or (counts[color] < least and chosen):
            break
        if all(np.linalg.norm(means[color] - other) >= _SAME for other in chosen):
            chosen.append(means[color])
    return np.array(chosen)


def _numerals(lines: Sequence[TextLine]) -> Iterator[Numeral]:
    """A line that is a number, or else those of its words that are, if all are."""
    for line in lines:
        whole = parse(line.text, line.box, line.angle, line.height)
        parts = [parse(word.text, word.box, line.angle, line.height) for word in line.words]
        if len(parts) > 1 and all(part is not None for part in parts):
            yield from (part for part in parts if part is not None)
        elif whole is not None:
            yield whole


def inside(box: Box, outer: Box) -> bool:
    """Whether a box's center lies in another."""
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return outer[0] <= x <= outer[2] and outer[1] <= y <= outer[3]
