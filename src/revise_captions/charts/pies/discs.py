"""Discs that are cut into slices: where they are, and at which angles each slice lies."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from revise_captions.charts.canvas import Canvas
from revise_captions.charts.chart import Box

#: Circles are looked for in the image reduced to so many pixels on its longer side.
_LOOK = 400
#: A pie's radius, as a share of the image's shorter side.
_LEAST_RADIUS, _MOST_RADIUS = 0.12, 0.55
#: So many circles are tried, the ones with the most edges first.
_TRIED = 6
#: A circle has an edge along this share of its circumference, so many of its radius off at most.
_ROUND, _OFF = 0.8, 0.015
#: Text is no higher than so many heights of the image's text.
_LARGE = 4.0
#: A blob has this share of the image.
_LARGE_BLOB = 0.04
#: Of the colors on either side of an edge, in RGB.
_EDGE = 20.0
#: Angles at which a disc is looked at.
_ANGLES = 720
#: Slices are of the same color near the rim and farther in, at this share of the angles.
_RADIAL = 0.8
#: Lines between slices are no wider, in pixels; slices in the background's color are wider.
_SEPARATOR, _PALE = 4.5, 9.0
#: Stands for letters among indexes of colors.
_TEXT = -2
#: A slice is at least so wide at the rim, in pixels.
_LEAST_SLICE = 2.8
_MOST_SLICES = 24


@dataclass(frozen=True, slots=True)
class Slice:
    """A sector of a disc.

    Attributes:
        color: Index in the canvas's palette.
        start: Degrees clockwise from the top, in [0, 360).
        sweep: Degrees.
    """

    color: int
    start: float
    sweep: float

    @property
    def middle(self) -> float:
        """Its bisector, in degrees clockwise from the top."""
        return (self.start + self.sweep / 2) % 360


@dataclass(frozen=True, slots=True)
class Disc:
    """A pie, or a donut if it has a hole.

    Attributes:
        x: Of its center, in pixels.
        y: Of its center, in pixels.
        radius: In pixels.
        hole: The hole's radius; 0 for a pie.
        slices: Clockwise from the top.
    """

    x: float
    y: float
    radius: float
    hole: float
    slices: tuple[Slice, ...]

    @property
    def box(self) -> Box:
        """Its bounding box."""
        x0, y0 = round(self.x - self.radius), round(self.y - self.radius)
        return x0, y0, round(self.x + self.radius) + 1, round(self.y + self.radius) + 1

    def polar(self, x: float, y: float) -> tuple[float, float]:
        """(degrees clockwise from the top, distance from the center in radii) of a point."""
        angle = np.degrees(np.arctan2(x - self.x, self.y - y)) % 360
        return float(angle), float(np.hypot(x - self.x, y - self.y) / self.radius)

    def point(self, angle: float, radii: float) -> tuple[float, float]:
        """The opposite of `polar`."""
        radians = np.radians(angle)
        return (
            float(self.x + radii * self.radius * np.sin(radians)),
            float(self.y - radii * self.radius * np.cos(radians)),
        )


def find_discs(canvas: Canvas) -> list[Disc]:
    """The pies and donuts of an image, largest first."""
    found: list[Disc] = []
    for x, y, radius in _circles(canvas):
        if any(np.hypot(x - d.x, y - d.y) < d.radius + 0.5 * radius for d in found):
            continue
        fitted = _fitted(canvas, x, y, radius)
        disc = _disc(canvas, *fitted) if fitted is not None else None
        if disc is not None:
            found.append(disc)
    return sorted(found, key=lambda disc: -disc.radius)


def has_blob(canvas: Canvas) -> bool:
    """Whether there is a large elliptic shape of several colors, such as a pie in depth."""
    import cv2

    mask = (canvas.index != 0).astype(np.uint8)
    # letters and leader lines fall away, and slices that stand apart are one
    for step, size in ((cv2.MORPH_OPEN, 5), (cv2.MORPH_CLOSE, 9)):
        mask = np.asarray(cv2.morphologyEx(mask, step, np.ones((size, size), dtype=np.uint8)))
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    if not contours:
        return False
    largest = max(contours, key=cv2.contourArea)
    hull = cv2.convexHull(largest)
    area = cv2.contourArea(hull)
    if len(hull) < 12 or area < _LARGE_BLOB * mask.size:
        return False
    _, axes, _ = cv2.fitEllipse(hull)
    shares = (area / (np.pi * axes[0] * axes[1] / 4), cv2.contourArea(largest) / area)
    x, y, width, height = cv2.boundingRect(hull)
    part = canvas.index[y : y + height, x : x + width]
    counts = np.bincount(part[part > 0], minlength=2)
    return abs(shares[0] - 1) < 0.07 and shares[1] > 0.85 and (counts > 0.04 * area).sum() >= 2


def text_boxes(canvas: Canvas) -> list[Box]:
    """Where text stands; OCR takes a donut for the letter O, which is no text."""
    most = _LARGE * canvas.text_height
    return [line.box for line in canvas.lines if line.box[3] - line.box[1] <= most]


def _circles(canvas: Canvas) -> Iterator[tuple[float, float, float]]:
    """(x, y, radius) of what may be circles, by the edges in a reduced image."""
    import cv2

    factor = min(1.0, _LOOK / max(canvas.height, canvas.width))
    size = (max(1, round(factor * canvas.width)), max(1, round(factor * canvas.height)))
    small = cv2.resize(canvas.pixels, size, interpolation=cv2.INTER_AREA)
    edges = cv2.Canny(small, 30, 90)
    for box in text_boxes(canvas):
        x0, y0, x1, y1 = (round(factor * one) for one in box)
        edges[max(0, y0) : y1, max(0, x0) : x1] = 0
    short = min(size)
    circles = cv2.HoughCircles(
        cv2.GaussianBlur(edges, (3, 3), 0), cv2.HOUGH_GRADIENT, dp=2, minDist=0.1 * short,
        param1=120, param2=30, minRadius=int(_LEAST_RADIUS * short),
        maxRadius=int(_MOST_RADIUS * short),
    )  # fmt: skip
    if circles is None:
        return
    for x, y, radius in np.reshape(circles, (-1, 3))[:_TRIED]:
        yield float(x / factor), float(y / factor), float(radius / factor)


def _fitted(canvas: Canvas, x: float, y: float, radius: float) -> tuple[float, float, float] | None:
    """The circle moved onto the edges next to it, or onto a wider one around the same center.

    None if too little of it is an edge.
    """
    for spread in (0.1, 0.04, 0.03):
        fitted = _on_edges(canvas, x, y, radius, spread)
        if fitted is None:
            return None
        x, y, radius, share = fitted
        if spread == 0.04:
            radius = _outermost(canvas, x, y, radius)
    return (x, y, radius) if share >= _ROUND else None


def _on_edges(
    canvas: Canvas, x: float, y: float, radius: float, spread: float
) -> tuple[float, float, float, float] | None:
    """(x, y, radius) of the circle through the edges near one, and the share of it that has some.

    An outline has two edges: the outer one counts.
    """
    radians = np.linspace(0, 2 * np.pi, _ANGLES, endpoint=False)
    reach = max(4.0, spread * radius)
    radii = np.arange(max(2.0, radius - reach), radius + reach)
    steps = _steps(canvas, x, y, radians, radii)
    high = steps.max(axis=1)
    strong = high > _EDGE
    if strong.mean() < 0.5:
        return None
    clear = steps >= 0.6 * high[:, None]
    far = radii[steps.shape[1] - clear[:, ::-1].argmax(axis=1)]
    near = strong & (np.abs(far - np.median(far[strong])) <= max(3.0, 0.6 * reach))
    px, py = x + far * np.sin(radians), y - far * np.cos(radians)
    a = np.stack([2 * px[near], 2 * py[near], np.ones(near.sum())], axis=1)
    (x, y, c), *_ = np.linalg.lstsq(a, px[near] ** 2 + py[near] ** 2, rcond=None)
    radius = float(np.sqrt(max(1.0, c + x**2 + y**2)))
    off = np.abs(np.hypot(px - x, py - y) - radius)
    share = (strong & (off <= max(1.6, _OFF * radius))).mean()
    return float(x), float(y), radius, float(share)


def _outermost(canvas: Canvas, x: float, y: float, radius: float) -> float:
    """The radius of the widest circle around a center that is an edge, as a donut has two."""
    radians = np.linspace(0, 2 * np.pi, 180, endpoint=False)
    room = min(x, y, canvas.width - x, canvas.height - y)
    if room <= 1.1 * radius:
        return radius
    radii = np.arange(radius, room)
    edge = _steps(canvas, x, y, radians, radii) > _EDGE
    # an edge within two pixels
    near = np.stack([np.roll(edge, k, axis=1) for k in (-2, -1, 0, 1, 2)]).any(axis=0)
    wide = np.flatnonzero(near.mean(axis=0) >= _ROUND)
    return float(radii[wide[-1] + 1]) if len(wide) else radius


def _steps(
    canvas: Canvas, x: float, y: float, radians: NDArray[np.float64], radii: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How much colors change across circles of these radii but the first and last."""
    pixels = _sampled(canvas.pixels, x, y, radians, radii).astype(np.float64)
    steps: NDArray[np.float64] = np.linalg.norm(pixels[:, 2:] - pixels[:, :-2], axis=2)
    return steps


def _sampled(
    values: NDArray[Any], x: float, y: float, radians: NDArray[np.float64],
    radii: NDArray[np.float64],
) -> NDArray[Any]:  # fmt: skip
    """What an image shows at the points of a polar grid: (angles, radii, …)."""
    height, width = values.shape[:2]
    columns = np.rint(x + np.sin(radians)[:, None] * radii).astype(int)
    rows = np.rint(y - np.cos(radians)[:, None] * radii).astype(int)
    return values[np.clip(rows, 0, height - 1), np.clip(columns, 0, width - 1)]


def _disc(canvas: Canvas, x: float, y: float, radius: float) -> Disc | None:
    """The slices of a circle; None if it is not cut into sectors."""
    radians = np.linspace(0, 2 * np.pi, _ANGLES, endpoint=False)
    radii = np.linspace(0.04, 0.96, 47) * radius
    seen = _sampled(_without_text(canvas), x, y, radians, radii)
    hole = _hole(seen)
    depth = len(radii) - hole
    outer = _majority(seen[:, hole + depth // 2 :], len(canvas.palette))
    inner = _majority(seen[:, hole + depth // 8 : hole + depth // 2], len(canvas.palette))
    known = (outer >= 0) & (inner >= 0)
    if known.mean() < 0.6 or (outer == inner)[known].mean() < _RADIAL:
        return None
    slices = _slices(outer, radius, canvas)
    if not 2 <= len(slices) <= _MOST_SLICES or len({one.color for one in slices}) < 2:
        return None
    return Disc(x, y, radius, float(radii[hole]) if hole else 0.0, tuple(slices))


def _without_text(canvas: Canvas) -> NDArray[np.int16]:
    """The canvas's index, `_TEXT` where there may be letters."""
    index = canvas.index.copy()
    for x0, y0, x1, y1 in text_boxes(canvas):
        index[max(0, y0) : y1, max(0, x0) : x1] = _TEXT
    return index


def _hole(seen: NDArray[Any]) -> int:
    """How many radii from the center on show the color of the background alone."""
    bare = (seen <= 0).mean(axis=0) > 0.93
    count = int(np.argmin(np.append(bare, False)))
    return count if (seen[:, :count] == 0).any() else 0


def _majority(seen: NDArray[Any], colors: int) -> NDArray[np.int64]:
    """The most frequent color at each angle, -1 where none is seen, `_TEXT` where letters are."""
    counts = np.stack([(seen == color).sum(axis=1) for color in range(colors)], axis=1)
    none = np.where((seen == _TEXT).all(axis=1), _TEXT, -1)
    return np.where(counts.max(axis=1) > 0, counts.argmax(axis=1), none)


def _slices(ring: NDArray[np.int64], radius: float, canvas: Canvas) -> list[Slice]:
    """Runs of a color around the rim; thin ones between are lines or edges and fall away."""
    step = 360 / _ANGLES
    pixels = np.radians(step) * 0.75 * radius
    dark = canvas.palette.max(axis=1) < 70
    kept: list[tuple[int, int, int]] = []
    for color, start, count in _runs(ring):
        wide = count * pixels
        if color < 0 or wide < _LEAST_SLICE or (color == 0 and wide < _PALE):
            continue
        if wide < _SEPARATOR and dark[color]:
            continue
        kept.append((color, start, count))
    joined = _joined(kept, {start for color, start, _ in _runs(ring) if color == _TEXT})
    found = []
    for k, (color, start, count) in enumerate(joined):
        _, before, length = joined[k - 1]
        _, after, _ = joined[(k + 1) % len(joined)]
        # a line between two slices is shared by both
        first = start - ((start - before - length) % _ANGLES) / 2
        last = start + count + ((after - start - count) % _ANGLES) / 2
        found.append(Slice(color, first * step % 360, (last - first) * step))
    return sorted(found, key=lambda one: (one.start + 1.5) % 360)


def _runs(ring: NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """(color, first, length) of the runs of a closed ring."""
    changes = np.flatnonzero(ring != np.roll(ring, 1))
    if not len(changes):
        return [(int(ring[0]), 0, len(ring))]
    lengths = np.diff(np.append(changes, changes[0] + len(ring)))
    return [(int(ring[c]), int(c), int(n)) for c, n in zip(changes, lengths, strict=True)]


def _joined(
    runs: Sequence[tuple[int, int, int]], hidden: Collection[int]
) -> list[tuple[int, int, int]]:
    """Runs of a color that are next to each other, or parted by letters only, are one.

    Args:
        runs: As `_runs` has them.
        hidden: Where letters begin to hide what is below them.
    """
    found: list[tuple[int, int, int]] = []
    for color, start, count in runs:
        if found and _continues(found[-1], color, start, hidden):
            found[-1] = (color, found[-1][1], start + count - found[-1][1])
        else:
            found.append((color, start, count))
    if len(found) > 1 and _continues(found[-1], *found[0][:2], hidden):
        (color, start, count), (_, before, _) = found[0], found[-1]
        found = [*found[1:-1], (color, before, (start - before) % _ANGLES + count)]
    return found


def _continues(run: tuple[int, int, int], color: int, start: int, hidden: Collection[int]) -> bool:
    last, before, length = run
    end = (before + length) % _ANGLES
    return last == color and (end == start or end in hidden)
