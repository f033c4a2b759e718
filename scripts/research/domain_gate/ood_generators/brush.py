"""A brush for foreign drawings: shapes in local coordinates, in many hands and palettes.

Deliberately unlike the picture-book's own pen: straight polygons, any aspect ratio, fills that are
flat, shaded, hatched or speckled, lines from none to thick.
"""

from __future__ import annotations

import colorsys
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from PIL import Image, ImageChops, ImageDraw

from revise_captions.picturebook.drawing.pen import mix

RGB = tuple[int, int, int]
Point = tuple[float, float]

WHITE, BLACK = (255, 255, 255), (20, 20, 24)
TAU = 2 * math.pi

#: Colours by the names that web pages and drawing libraries know, as simple programs use them.
NAMED: tuple[RGB, ...] = (
    (255, 0, 0), (0, 128, 0), (0, 0, 255), (255, 255, 0), (255, 165, 0), (128, 0, 128),
    (255, 192, 203), (165, 42, 42), (0, 0, 0), (255, 255, 255), (128, 128, 128), (135, 206, 235),
    (34, 139, 34), (139, 69, 19), (255, 215, 0), (0, 100, 0), (70, 130, 180), (178, 34, 34),
    (124, 252, 0), (173, 216, 230), (210, 180, 140), (50, 205, 50), (255, 99, 71), (220, 20, 60),
    (64, 224, 208), (222, 184, 135), (245, 222, 179), (47, 79, 79), (100, 149, 237), (128, 0, 0),
)  # fmt: skip


def hsv(h: float, s: float, v: float) -> RGB:
    r, g, b = colorsys.hsv_to_rgb(h % 1, min(1.0, max(0.0, s)), min(1.0, max(0.0, v)))
    return round(r * 255), round(g * 255), round(b * 255)


def any_color(rng: random.Random) -> RGB:
    return rng.randrange(256), rng.randrange(256), rng.randrange(256)


@dataclass(frozen=True, slots=True)
class Palette:
    """How colours are chosen: by the names above, or in a range of saturation and value."""

    named: bool
    saturation: tuple[float, float]
    value: tuple[float, float]
    hues: tuple[float, float]

    def pick(self, rng: random.Random) -> RGB:
        if self.named:
            return rng.choice(NAMED)
        h, s, v = (rng.uniform(*span) for span in (self.hues, self.saturation, self.value))
        return hsv(h, s, v)

    def near(self, rng: random.Random, color: RGB) -> RGB:
        """What this palette makes of a thing's natural colour: grass is mostly some green."""
        if rng.random() < 0.15:
            return self.pick(rng)
        h, s, v = colorsys.rgb_to_hsv(*(c / 255 for c in color))
        if self.hues[1] - self.hues[0] < 0.9:
            h = rng.uniform(*self.hues)
        spread = rng.uniform(-0.06, 0.06), rng.uniform(0.65, 1.35), rng.uniform(0.75, 1.2)
        low, high = self.saturation
        return hsv(h + spread[0], min(high + 0.1, max(low * 0.6, s * spread[1])), v * spread[2])


def palette(rng: random.Random) -> Palette:
    whole = (0.0, 1.0)
    kind = rng.choices(("named", "any", "bright", "pastel", "muted", "dark", "mono"),
                       (4, 2, 3, 2, 2, 1, 1))[0]  # fmt: skip
    start = rng.random()
    spans = {
        "named": ((0.4, 1.0), (0.3, 1.0), whole),
        "any": (whole, whole, whole),
        "bright": ((0.7, 1.0), (0.8, 1.0), whole),
        "pastel": ((0.15, 0.45), (0.85, 1.0), whole),
        "muted": ((0.1, 0.5), (0.4, 0.8), whole),
        "dark": ((0.3, 0.9), (0.1, 0.45), whole),
        "mono": ((0.1, 0.9), (0.3, 1.0), (start, start + 0.12)),
    }
    return Palette(kind == "named", *spans[kind])


@dataclass(frozen=True, slots=True)
class Hand:
    """How someone draws. Lengths in canvas widths; `line` 0 draws no outlines."""

    line: float
    ink: RGB | None  # None: a darker tone of the fill
    fill: str  # "flat", "shaded", "hatched", "speckled", "hollow"
    wobble: float
    round_steps: int  # corners of an oval


def hand(rng: random.Random) -> Hand:
    fill = rng.choices(("flat", "shaded", "hatched", "speckled", "hollow"), (10, 4, 1, 1, 0.5))[0]
    line = rng.choice((0.0, 0.0, 0.004, 0.007, 0.012, 0.02))
    return Hand(
        line=max(line, 0.006) if fill in ("hatched", "hollow") else line,
        ink=rng.choice(((0, 0, 0), (0, 0, 0), (40, 30, 30), (60, 60, 90), None, None)),
        fill=fill,
        wobble=rng.choice((0.0, 0.0, 0.0, 0.006, 0.012)),
        round_steps=rng.choice((8, 14, 28, 28, 28)),
    )


@dataclass(frozen=True, slots=True)
class Brush:
    """Draws in local units: `at` moves, scales, flips and tilts. y grows downward."""

    image: Image.Image
    rng: random.Random
    palette: Palette
    hand: Hand
    origin: Point = (0.0, 0.0)
    scale: float = 1.0
    flip: float = 1.0
    tilt: float = 0.0
    pen: ImageDraw.ImageDraw = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pen", ImageDraw.Draw(self.image))

    @property
    def aspect(self) -> float:
        return self.image.height / self.image.width

    def at(self, x: float, y: float, scale: float, flip: bool = False, tilt: float = 0.0) -> Brush:
        """A brush whose unit is `scale` of this one's, with its origin at (x, y) of this one."""
        return replace(
            self,
            origin=self._place(x, y),
            scale=self.scale * scale,
            flip=self.flip * (-1 if flip else 1),
            tilt=self.tilt + tilt,
        )

    def tone(self, color: RGB) -> RGB:
        return self.palette.near(self.rng, color)

    def any(self) -> RGB:
        return self.palette.pick(self.rng)

    def _place(self, x: float, y: float) -> Point:
        c, s = math.cos(self.tilt), math.sin(self.tilt)
        x *= self.flip
        return (
            self.origin[0] + self.scale * (x * c - y * s),
            self.origin[1] + self.scale * (x * s + y * c),
        )

    def _pixels(self, points: Sequence[Point]) -> list[Point]:
        w, wobble = self.image.width, self.hand.wobble
        placed = [self._place(x, y) for x, y in points]
        if wobble:
            gauss = self.rng.gauss
            placed = [(x + gauss(0, wobble * 0.5), y + gauss(0, wobble * 0.5)) for x, y in placed]
        return [(x * w, y * w) for x, y in placed]

    def poly(self, points: Sequence[Point], color: RGB, line: bool = True) -> None:
        """A filled polygon in this hand's fill, with its outline."""
        placed = self._pixels(points)
        if self.hand.fill == "flat":
            self.pen.polygon(placed, fill=color)
        elif self.hand.fill != "hollow" or not line:
            self._fill(placed, color)
        if line and self.hand.line:
            ink = self.hand.ink or mix(color, (20, 10, 30), 0.45)
            width = max(1, round(self.hand.line * self.image.width))
            self.pen.line([*placed, placed[0]], fill=ink, width=width, joint="curve")

    def _fill(self, placed: list[Point], color: RGB) -> None:
        xs, ys = [p[0] for p in placed], [p[1] for p in placed]
        x0, y0 = max(0, int(min(xs))), max(0, int(min(ys)))
        x1, y1 = min(self.image.width, int(max(xs)) + 2), min(self.image.height, int(max(ys)) + 2)
        if x1 <= x0 or y1 <= y0:
            return
        size = (x1 - x0, y1 - y0)
        mask = Image.new("L", size)
        ImageDraw.Draw(mask).polygon([(x - x0, y - y0) for x, y in placed], fill=255)
        if self.hand.fill == "shaded":
            paint = shade(size, mix(color, (255, 255, 255), 0.35), mix(color, (0, 0, 0), 0.3),
                          self.rng.choice((0, 1)))  # fmt: skip
        else:
            paint = Image.new("RGB", size, color)
            mask = ImageChops.multiply(mask, self._marks(size))
        self.image.paste(paint, (x0, y0), mask)

    def _marks(self, size: tuple[int, int]) -> Image.Image:
        """Strokes or speckles that let what is below shine through."""
        if self.hand.fill == "speckled":
            noise = np.random.default_rng(self.rng.randrange(2**31)).random(size[::-1])
            return Image.fromarray(np.where(noise < 0.72, 255, 60).astype(np.uint8))
        marks = Image.new("L", size, 90)
        pen, step = ImageDraw.Draw(marks), max(2, self.image.width // 60)
        slope = self.rng.choice((-1, 1)) * self.rng.uniform(0.4, 1.6)
        for x in range(-size[1] * 2, size[0] + size[1] * 2, step):
            pen.line([(x, 0), (x + slope * size[1], size[1])], fill=255, width=max(1, step // 2))
        return marks

    def oval(self, x: float, y: float, rx: float, ry: float, color: RGB, line: bool = True) -> None:
        self.poly(arc(x, y, rx, ry, 0, 2 * math.pi, self.hand.round_steps), color, line)

    def box(
        self, x0: float, y0: float, x1: float, y1: float, color: RGB, line: bool = True
    ) -> None:
        self.poly(((x0, y0), (x1, y0), (x1, y1), (x0, y1)), color, line)

    def stroke(self, points: Sequence[Point], width: float, color: RGB) -> None:
        """An open line, `width` in local units."""
        pixels = max(1, round(width * self.scale * self.image.width))
        self.pen.line(self._pixels(points), fill=color, width=pixels, joint="curve")


def arc(
    x: float, y: float, rx: float, ry: float, start: float, end: float, steps: int
) -> list[Point]:
    """Points on an ellipse from angle `start` to `end` (radians, clockwise on screen)."""
    turn = (end - start) / steps
    return [
        (x + rx * math.cos(start + i * turn), y + ry * math.sin(start + i * turn))
        for i in range(steps + 1)
    ]


def shade(size: tuple[int, int], a: RGB, b: RGB, axis: int) -> Image.Image:
    """A linear gradient of (width, height) pixels from `a` to `b`, across (0) or down (1)."""
    ramp = np.linspace(0, 1, size[axis])[:, None]
    row = np.asarray(a) * (1 - ramp) + np.asarray(b) * ramp
    grid = row[None] if axis == 0 else row[:, None]
    whole = np.broadcast_to(grid, (size[1], size[0], 3))
    return Image.fromarray(np.ascontiguousarray(whole).astype(np.uint8))
