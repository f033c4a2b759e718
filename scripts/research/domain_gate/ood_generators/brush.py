"""A brush for foreign drawings: shapes in local coordinates, in many hands and palettes.

Deliberately unlike the picture-book's own pen: straight polygons, any aspect ratio, fills that are
flat, shaded or speckled, lines from none to thick.
"""

from __future__ import annotations

import colorsys
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image, ImageColor, ImageDraw

from revise_captions.picturebook.drawing.pen import mix

RGB = tuple[int, int, int]
Point = tuple[float, float]

WHITE, BLACK = (255, 255, 255), (20, 20, 24)
TAU = 2 * math.pi
#: What simple programs draw with: colors by name.
NAMED = tuple(ImageColor.getrgb(name)[:3] for name in ImageColor.colormap)
#: Least and greatest saturation and value.
RANGES = (((0.0, 1.0), (0.0, 1.0)), ((0.7, 1.0), (0.8, 1.0)), ((0.15, 0.45), (0.85, 1.0)),
          ((0.1, 0.5), (0.4, 0.8)), ((0.3, 0.9), (0.1, 0.45)))  # fmt: skip


def any_color(rng: random.Random) -> RGB:
    return rng.randrange(256), rng.randrange(256), rng.randrange(256)


def hsv(h: float, s: float, v: float) -> RGB:
    r, g, b = colorsys.hsv_to_rgb(h % 1, min(1.0, max(0.0, s)), min(1.0, max(0.0, v)))
    return round(r * 255), round(g * 255), round(b * 255)


def arc(
    x: float, y: float, rx: float, ry: float, start: float, end: float, steps: int
) -> list[Point]:
    """Points on an ellipse from angle `start` to `end` (radians, clockwise on screen)."""
    turns = (start + (end - start) * i / steps for i in range(steps + 1))
    return [(x + rx * math.cos(turn), y + ry * math.sin(turn)) for turn in turns]


def shade(size: tuple[int, int], a: RGB, b: RGB, axis: int) -> Image.Image:
    """A linear gradient of (width, height) pixels from `a` to `b`, across (0) or down (1)."""
    ramp = np.linspace(0, 1, size[axis])[:, None]
    row = np.asarray(a) * (1 - ramp) + np.asarray(b) * ramp
    grid = row[None] if axis == 0 else row[:, None]
    whole = np.broadcast_to(grid, (size[1], size[0], 3))
    return Image.fromarray(np.ascontiguousarray(whole).astype(np.uint8))


@dataclass(frozen=True, slots=True)
class Hand:
    """How someone draws: with which colors, lines and fills. Lengths in canvas widths."""

    range: tuple[Point, Point] | None  # None: named colors
    fill: str  # "flat", "shaded" or "speckled"
    line: float  # 0 draws no outlines
    ink: RGB | None  # None: a darker tone of the fill
    wobble: float
    steps: int  # corners of an oval

    @classmethod
    def of(cls, rng: random.Random) -> Hand:
        return cls(
            range=rng.choice((None, None, *RANGES)),
            fill=rng.choices(("flat", "shaded", "speckled"), (10, 4, 1))[0],
            line=rng.choice((0.0, 0.0, 0.004, 0.007, 0.012, 0.02)),
            ink=rng.choice(((0, 0, 0), (40, 30, 30), (60, 60, 90), None, None)),
            wobble=rng.choice((0.0, 0.0, 0.0, 0.006, 0.012)),
            steps=rng.choice((8, 14, 28, 28, 28)),
        )


@dataclass(frozen=True, slots=True)
class Brush:
    """Draws in local units, of which `at` makes smaller ones. y grows downward."""

    image: Image.Image
    rng: random.Random
    hand: Hand
    origin: Point = (0.0, 0.0)
    scale: float = 1.0
    flip: float = 1.0
    tilt: float = 0.0

    @property
    def aspect(self) -> float:
        return self.image.height / self.image.width

    def at(self, x: float, y: float, scale: float, tilt: float = 0.0) -> Brush:
        """A brush whose unit is `scale` of this one's, with its origin at (x, y) of this one."""
        flip = self.rng.choice((-1, 1))
        return replace(self, origin=self._place(x, y), scale=self.scale * scale,
                       flip=self.flip * flip, tilt=self.tilt + tilt)  # fmt: skip

    def any(self) -> RGB:
        if self.hand.range is None:
            return self.rng.choice(NAMED)
        return hsv(self.rng.random(), *(self.rng.uniform(*span) for span in self.hand.range))

    def tone(self, color: RGB) -> RGB:
        """What this hand makes of a thing's natural color: grass is mostly some green."""
        if self.rng.random() < 0.15:
            return self.any()
        h, s, v = colorsys.rgb_to_hsv(*(c / 255 for c in color))
        turn, *gains = (self.rng.uniform(*span) for span in ((-0.06, 0.06), (0.6, 1.4), (0.7, 1.2)))
        return hsv(h + turn, s * gains[0], v * gains[1])

    def _place(self, x: float, y: float) -> Point:
        c, s = math.cos(self.tilt), math.sin(self.tilt)
        x *= self.flip
        ox, oy = self.origin
        return ox + self.scale * (x * c - y * s), oy + self.scale * (x * s + y * c)

    def _pixels(self, points: Sequence[Point]) -> list[Point]:
        width, gauss, spread = self.image.width, self.rng.gauss, self.hand.wobble / 2
        placed = (self._place(x, y) for x, y in points)
        return [(width * (x + gauss(0, spread)), width * (y + gauss(0, spread))) for x, y in placed]

    def poly(self, points: Sequence[Point], color: RGB, line: bool = True) -> None:
        """A filled polygon, with its outline."""
        placed = self._pixels(points)
        pen = ImageDraw.Draw(self.image)
        if self.hand.fill == "flat":
            pen.polygon(placed, fill=color)
        else:
            mask = Image.new("L", self.image.size)
            ImageDraw.Draw(mask).polygon(placed, fill=255)
            if (box := mask.getbbox()) is not None:
                self.image.paste(self._paint(color, box), box, mask.crop(box))
        if line and self.hand.line:
            ink = self.hand.ink or mix(color, (20, 10, 30), 0.45)
            width = max(1, round(self.hand.line * self.image.width))
            pen.line([*placed, placed[0]], fill=ink, width=width, joint="curve")

    def _paint(self, color: RGB, box: tuple[int, int, int, int]) -> Image.Image:
        size = box[2] - box[0], box[3] - box[1]
        if self.hand.fill == "shaded":
            light, dark = mix(color, WHITE, 0.35), mix(color, (0, 0, 0), 0.3)
            return shade(size, light, dark, self.rng.randrange(2))
        marks = np.random.default_rng(self.rng.randrange(2**31)).random((*size[::-1], 1)) < 0.72
        paint = np.where(marks, color, np.asarray(self.image.crop(box)))
        return Image.fromarray(paint.astype(np.uint8))

    def oval(self, x: float, y: float, rx: float, ry: float, color: RGB, line: bool = True) -> None:
        self.poly(arc(x, y, rx, ry, 0, TAU, self.hand.steps), color, line)

    def box(
        self, x0: float, y0: float, x1: float, y1: float, color: RGB, line: bool = True
    ) -> None:
        self.poly(((x0, y0), (x1, y0), (x1, y1), (x0, y1)), color, line)

    def stroke(self, points: Sequence[Point], width: float, color: RGB) -> None:
        """An open line, `width` in local units."""
        pixels = max(1, round(width * self.scale * self.image.width))
        pen = ImageDraw.Draw(self.image)
        pen.line(self._pixels(points), fill=color, width=pixels, joint="curve")
