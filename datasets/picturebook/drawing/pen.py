"""Pens, colors and styles: the shapes that the pictures are drawn with.

A `Pen` draws on one canvas; `Pen.of` gives a pen for one thing, whose unit is the height of the
thing's box: x runs from -w/2 to w/2 (w: width over height), y from 0 (top) to 1 (foot).
"""

from __future__ import annotations

import colorsys
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from PIL import ImageDraw

from revise_captions.picturebook.world.scene import Thing

RGB = tuple[int, int, int]
RGBA = tuple[int, int, int, int]
Point = tuple[float, float]

#: The ten named colors. Apart in lightness as well as hue, so that JPEG does not mix them.
PALETTE: dict[str, RGB] = {
    "red": (214, 36, 44),
    "orange": (247, 137, 20),
    "yellow": (252, 214, 44),
    "green": (52, 152, 66),
    "blue": (36, 104, 214),
    "purple": (128, 62, 176),
    "pink": (252, 152, 192),
    "brown": (126, 78, 44),
    "white": (250, 249, 245),
    "black": (42, 42, 48),
}
INK: RGB = (58, 44, 52)


@dataclass(frozen=True, slots=True)
class Style:
    """How a picture is drawn, independent of its content. Lengths are in canvas widths."""

    seed: int
    outline: float  # 0: only white things have one
    toned: bool  # outlines are a darker tone of the fill, or else ink
    wobble: float
    waves: tuple[float, float, float, float]
    grain: int  # 0 to 3
    colors: dict[str, RGB]

    def rng(self, name: str) -> random.Random:
        """A random stream for one part of the picture, independent of what is drawn elsewhere."""
        return random.Random(f"{self.seed}.{name}")


def style_of(seed: int) -> Style:
    """The drawing style for a scene's `style` number."""
    rng = random.Random(f"style.{seed}")
    colors = {}
    for name, (r, g, b) in PALETTE.items():
        h, s, v = colorsys.rgb_to_hsv(r / 255, g / 255, b / 255)
        h = (h + rng.uniform(-0.010, 0.010)) % 1
        s = min(1.0, s * rng.uniform(0.93, 1.05))
        v = min(1.0, v * rng.uniform(0.95, 1.04))
        colors[name] = _rgb(*colorsys.hsv_to_rgb(h, s, v))
    return Style(
        seed=seed,
        outline=rng.choice((0.0, 0.0045, 0.006, 0.008)),
        toned=rng.random() < 0.5,
        wobble=rng.choice((0.0, 0.0, 0.0015, 0.0028)),
        waves=(rng.uniform(60, 110), rng.uniform(60, 110), rng.uniform(0, 6), rng.uniform(0, 6)),
        grain=rng.randrange(4),
        colors=colors,
    )


def _rgb(r: float, g: float, b: float) -> RGB:
    return round(r * 255), round(g * 255), round(b * 255)


def mix(a: RGB, b: RGB, share: float) -> RGB:
    """`a` with `share` of `b` in it."""
    return (
        round(a[0] + (b[0] - a[0]) * share),
        round(a[1] + (b[1] - a[1]) * share),
        round(a[2] + (b[2] - a[2]) * share),
    )


def darker(color: RGB, share: float = 0.25) -> RGB:
    return mix(color, (24, 14, 30), share)


def lighter(color: RGB, share: float = 0.35) -> RGB:
    return mix(color, (255, 255, 255), share)


def is_dark(color: RGB) -> bool:
    return 0.3 * color[0] + 0.59 * color[1] + 0.11 * color[2] < 80


def is_black(color: RGB) -> bool:
    return max(color) < 56


def is_light(color: RGB) -> bool:
    return min(color) > 200


@cache
def _circle(steps: int) -> tuple[Point, ...]:
    turn = 2 * math.pi / steps
    return tuple((math.cos(i * turn), math.sin(i * turn)) for i in range(steps))


@cache
def _rounded(points: tuple[Point, ...], rounds: int, closed: bool) -> tuple[Point, ...]:
    """Chaikin's corner cutting: every corner becomes an arc."""
    for _ in range(rounds):
        cut: list[Point] = []
        pairs = zip(points, points[1:] + points[:1], strict=True)
        for (ax, ay), (bx, by) in list(pairs)[: None if closed else -1]:
            cut.append((ax * 0.75 + bx * 0.25, ay * 0.75 + by * 0.25))
            cut.append((ax * 0.25 + bx * 0.75, ay * 0.25 + by * 0.75))
        points = tuple(cut) if closed else (points[0], *cut, points[-1])
    return points


@cache
def _softened(points: tuple[Point, ...], radius: float) -> tuple[Point, ...]:
    """A polygon whose corners are arcs that begin `radius` away from the corner."""
    soft: list[Point] = []
    for i, (x, y) in enumerate(points):
        ends = []
        for nx, ny in (points[i - 1], points[(i + 1) % len(points)]):
            length = math.hypot(nx - x, ny - y) or 1.0
            share = min(0.5, radius / length)
            ends.append((x + (nx - x) * share, y + (ny - y) * share))
        (ax, ay), (bx, by) = ends
        for t in (0.0, 0.25, 0.5, 0.75, 1.0):
            u = 1 - t
            soft.append((u * u * ax + 2 * u * t * x + t * t * bx,
                         u * u * ay + 2 * u * t * y + t * t * by))  # fmt: skip
    return tuple(soft)


@dataclass(frozen=True, slots=True)
class Pen:
    """Draws shapes in a thing's own units. `pixels` is the canvas's width and height."""

    draw: ImageDraw.ImageDraw  # opaque
    veil: ImageDraw.ImageDraw  # blends translucent colors
    pixels: int
    style: Style
    night: bool
    dull: bool = False  # cloudy or rainy
    indoors: bool = False
    x: float = 0.0  # of the origin, on the unit canvas
    y: float = 0.0
    unit: float = 1.0
    half: float = 0.5  # half the thing's width, in units
    flip: int = 1

    def of(self, thing: Thing) -> Pen:
        x0, y0, x1, y1 = thing.box
        return replace(
            self,
            x=(x0 + x1) / 2,
            y=y0,
            unit=y1 - y0,
            half=(x1 - x0) / (y1 - y0) / 2,
            flip=-1 if thing.flipped else 1,
        )

    def moved(self, dx: float, dy: float, scale: float = 1.0) -> Pen:
        """The same pen with its origin moved, in its own units, and its unit scaled."""
        return replace(
            self,
            x=self.x + dx * self.unit * self.flip,
            y=self.y + dy * self.unit,
            unit=self.unit * scale,
            half=self.half / scale,
        )

    def color(self, name: str) -> RGB:
        return self.style.colors[name]

    def ink(self, fill: RGB) -> RGB:
        if self.night and is_black(fill):
            return (178, 182, 214)
        if self.style.toned:
            return darker(fill, 0.30 if is_light(fill) else 0.42)
        return INK

    def line_width(self, fill: RGB) -> float:
        """Outline width in pixels for a fill; without outlines, white and night-black keep one."""
        width = self.style.outline * self.pixels
        if width == 0 and (is_light(fill) or (self.night and is_black(fill))):
            return 0.003 * self.pixels
        return width

    def at(self, points: Sequence[Point]) -> list[Point]:
        """Canvas pixels of points in the thing's units, wobbled as the style wants."""
        scale = self.unit * self.pixels
        sx, x, y = scale * self.flip, self.x * self.pixels, self.y * self.pixels
        placed = [(x + px * sx, y + py * scale) for px, py in points]
        if not self.style.wobble:
            return placed
        fx, fy, p, q = self.style.waves
        fx, fy, size = fx / self.pixels, fy / self.pixels, self.style.wobble * self.pixels
        sin = math.sin
        return [(px + size * sin(py * fy + p), py + size * sin(px * fx + q)) for px, py in placed]

    def _fill(self, points: list[Point], fill: RGB, line: bool) -> None:
        width = self.line_width(fill) if line else 0.0
        self.draw.polygon(points, fill=fill)
        if width:
            ring = [*points, points[0], points[1]]
            joint = "curve" if len(points) < 20 else None  # many corners, each of them blunt
            self.draw.line(ring, fill=self.ink(fill), width=max(1, round(width)), joint=joint)

    def poly(
        self,
        points: Sequence[Point],
        fill: RGB,
        rounds: int = 0,
        line: bool = True,
        soft: float = 0.0,
    ) -> None:
        """A filled polygon, made organic by rounds of corner cutting or with soft corners."""
        corners = tuple(points)
        corners = _softened(corners, soft) if soft else _rounded(corners, rounds, True)
        self._fill(self.at(corners), fill, line)

    def rect(
        self, x0: float, y0: float, x1: float, y1: float, fill: RGB, line: bool = True
    ) -> None:
        """A box with soft corners."""
        soft = min(0.06, 0.3 * min(x1 - x0, y1 - y0))
        self.poly(((x0, y0), (x1, y0), (x1, y1), (x0, y1)), fill, 0, line, soft)

    def oval(
        self,
        x: float,
        y: float,
        rx: float,
        ry: float,
        fill: RGB,
        turn: float = 0.0,
        line: bool = True,
    ) -> None:
        """An ellipse, turned by `turn` radians."""
        radius = max(rx, ry) * self.unit * self.pixels
        circle = _circle(12 if radius < 8 else 20 if radius < 30 else 32 if radius < 90 else 48)
        if turn:
            c, s = math.cos(turn), math.sin(turn)
            points = [(x + px * rx * c - py * ry * s, y + px * rx * s + py * ry * c)
                      for px, py in circle]  # fmt: skip
        else:
            points = [(x + px * rx, y + py * ry) for px, py in circle]
        self._fill(self.at(points), fill, line)

    def cluster(self, ovals: Sequence[tuple[float, float, float, float]], fill: RGB) -> None:
        """Ovals (x, y, rx, ry) that make one shape with one outline around all of them."""
        grow = self.line_width(fill) / self.unit / self.pixels / 1.2
        if grow:
            for x, y, rx, ry in ovals:
                self.oval(x, y, rx + grow, ry + grow, self.ink(fill), line=False)
        for x, y, rx, ry in ovals:
            self.oval(x, y, rx, ry, fill, line=False)

    def stroke(
        self, points: Sequence[Point], width: float, fill: RGB, rounds: int = 0, line: bool = False
    ) -> None:
        """A line with round ends, `width` in the thing's units; with `line`, outlined."""
        path = self.at(_rounded(tuple(points), rounds, False))
        thick = width * self.unit * self.pixels
        edge = self.line_width(fill) if line else 0.0
        if edge:
            self._path(path, thick + 1.7 * edge, self.ink(fill))
        self._path(path, thick, fill)

    def _path(self, path: list[Point], thick: float, fill: RGB) -> None:
        self.draw.line(path, fill=fill, width=max(1, round(thick)), joint="curve")
        if thick > 3:
            r = thick / 2
            for x, y in (path[0], path[-1]):
                self.draw.ellipse((x - r, y - r, x + r, y + r), fill=fill)

    def glaze(self, x: float, y: float, rx: float, ry: float, fill: RGBA) -> None:
        """A translucent oval: a shadow, a glow, a highlight."""
        cx, cy = (self.x + x * self.unit * self.flip), self.y + y * self.unit
        n, rx, ry = self.pixels, rx * self.unit, ry * self.unit
        box = ((cx - rx) * n, (cy - ry) * n, (cx + rx) * n, (cy + ry) * n)
        self.veil.ellipse(box, fill=fill)

    def shadow(self, rx: float, y: float = 1.0) -> None:
        """The soft shadow under a thing that stands on the ground."""
        self.glaze(0, y - 0.01, rx, min(0.05, 0.012 / self.unit), (20, 16, 40, 46))

    def smile(self, x: float, y: float, width: float, thick: float, fill: RGB = INK) -> None:
        half = width / 2
        points = ((x - half, y), (x - half * 0.4, y + half * 0.75),
                  (x + half * 0.4, y + half * 0.75), (x + half, y))  # fmt: skip
        self.stroke(points, thick, fill, 2)
