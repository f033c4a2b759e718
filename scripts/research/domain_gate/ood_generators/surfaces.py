"""Images with the statistics of photographs, fills and patterns, and pages of information.

Photographs themselves cannot be shipped. What tells them from drawings is soft shading, texture at
every scale and muted color: 1/f noise, dead leaves (Lee, Mumford & Huang 2001), lit bodies.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from scripts.research.domain_gate.ood_generators.brush import (
    BLACK,
    TAU,
    WHITE,
    any_color,
    arc,
    hsv,
)

Floats = NDArray[np.float64]
SIZE = 160
SQUARE = (SIZE, SIZE)
_YS, _XS = np.mgrid[0 : 1 : SIZE * 1j, 0 : 1 : SIZE * 1j]
_SYLLABLES = ("ra", "to", "mi", "nel", "sor", "ke", "va", "lin", "du", "pra", "est", "gol", "wi")


def _numpy(rng: random.Random) -> np.random.Generator:
    return np.random.default_rng(rng.randrange(2**31))


def _image(values: Floats) -> Image.Image:
    return Image.fromarray(np.clip(values, 0, 255).astype(np.uint8))


def fractal(gen: np.random.Generator, power: float) -> Floats:
    """Noise with spectrum 1/f^power, mean 0 and deviation 1, shape (SIZE, SIZE)."""
    radius = np.hypot(np.fft.rfftfreq(SIZE)[None, :], np.fft.fftfreq(SIZE)[:, None])
    radius[0, 0] = np.inf  # no constant part
    phase = gen.normal(size=radius.shape) + 1j * gen.normal(size=radius.shape)
    field = np.fft.irfft2(phase / radius**power, SQUARE)
    return np.asarray(field / field.std())


def _muted(rng: random.Random) -> tuple[int, int, int]:
    return hsv(rng.random(), rng.uniform(0, 0.6), rng.uniform(0.15, 0.9))


def _cloudy(rng: random.Random, gen: np.random.Generator, power: float) -> Floats:
    """Three correlated channels of fractal noise around a color, shape (SIZE, SIZE, 3)."""
    shared, own = fractal(gen, power), rng.uniform(0.0, 0.6)
    channels = [shared + own * fractal(gen, power) for _ in range(3)]
    return np.stack(channels, 2) * rng.uniform(15, 65) + np.array(_muted(rng))


def landscape(rng: random.Random) -> Image.Image:
    """A soft sky over dark rough ground, with a ragged skyline; or sky alone."""
    gen = _numpy(rng)
    light = hsv(rng.choice((0.58, 0.6, rng.random())), rng.uniform(0, 0.5), rng.uniform(0.6, 1))
    image = _cloudy(rng, gen, rng.uniform(1.8, 2.6)) * 0.25 + np.array(light) * 0.75
    line = rng.uniform(0.15, 0.75)
    for _ in range(rng.randint(0, 4)):
        ground = _cloudy(rng, gen, rng.uniform(0.7, 1.5)) * 0.7
        edge = line + fractal(gen, rng.uniform(1.2, 2.2))[0] * rng.uniform(0.01, 0.14)
        image = np.where((edge < _YS)[..., None], ground, image)
        line += rng.uniform(0.05, 0.3)
    return _image(image)


def dead_leaves(rng: random.Random) -> Image.Image:
    """Shapes of all sizes that cover one another, each with its own texture."""
    gen = _numpy(rng)
    image, *textures = (_image(_cloudy(rng, gen, rng.uniform(0.7, 2.0))) for _ in range(4))
    for _ in range(rng.randint(6, 90)):
        r = SIZE * min(0.6, 0.02 / max(0.03, rng.random()))
        x, y, turn = rng.random() * SIZE, rng.random() * SIZE, rng.random() * TAU
        mask = Image.new("L", SQUARE)
        ring = arc(x, y, r, r * rng.uniform(0.4, 1), turn, turn + TAU, rng.choice((3, 4, 5, 7, 24)))
        ImageDraw.Draw(mask).polygon(ring, fill=255)
        if rng.random() < 0.4:
            mask = mask.filter(ImageFilter.GaussianBlur(rng.uniform(0.5, 3)))
        tone = Image.new("RGB", SQUARE, _muted(rng))
        image.paste(Image.blend(tone, rng.choice(textures), rng.uniform(0, 0.6)), (0, 0), mask)
    return image


def lit_things(rng: random.Random) -> Image.Image:
    """Soft-edged, side-lit bodies before an unfocused background: a portrait, a still life."""
    gen = _numpy(rng)
    blur = ImageFilter.GaussianBlur(rng.uniform(2, 10))
    values = np.asarray(rng.choice((landscape, dead_leaves))(rng).filter(blur), dtype=np.float64)
    light = rng.uniform(0, TAU)
    for _ in range(rng.randint(1, 6)):
        x, y, r = rng.random(), rng.uniform(0.2, 1.0), rng.uniform(0.05, 0.35)
        dx, dy = (_XS - x) / r, (_YS - y) / (r * rng.uniform(0.6, 2.2))
        inside = 1 / (1 + np.exp(np.clip((np.hypot(dx, dy) - 1) * rng.uniform(8, 40), -50, 50)))
        lit = 0.75 + 0.45 * (dx * math.cos(light) + dy * math.sin(light))
        grain = fractal(gen, 1.3)[..., None] * rng.uniform(0, 18)
        body = np.array(_muted(rng)) * lit[..., None] + grain
        values = values * (1 - inside[..., None]) + body * inside[..., None]
    return _image(values * rng.uniform(0.6, 1.2))


def snapshot(rng: random.Random) -> Image.Image:
    """A crop of one of the above, out of level, with dark corners, noise, and perhaps gray."""
    image = rng.choice((landscape, dead_leaves, lit_things))(rng)
    image = image.rotate(rng.uniform(-12, 12), Image.Resampling.BICUBIC)
    x, y, w = rng.randint(10, 60), rng.randint(10, 60), rng.randint(60, 90)
    image = image.crop((x, y, x + w, y + w)).resize(SQUARE, Image.Resampling.BICUBIC)
    corners = (2 * _XS - 1) ** 2 + (2 * _YS - 1) ** 2
    values = np.asarray(image) * (1 - rng.uniform(0, 0.4) * corners)[..., None]
    values = values + _numpy(rng).normal(0, rng.uniform(0, 8), (SIZE, SIZE, 1))
    if rng.random() < 0.15:
        values = np.repeat(values.mean(2, keepdims=True), 3, 2)
    return _image(values * rng.uniform(0.7, 1.3) + rng.uniform(-20, 20))


def pattern(rng: random.Random) -> Image.Image:
    """Two colors by a field of levels: ramps, rings, warped stripes, cells, smooth or in steps."""
    gen, turn = _numpy(rng), rng.random() * TAU
    straight = _XS * math.cos(turn) + _YS * math.sin(turn)
    path = rng.choice((straight, np.hypot(_XS - rng.random(), _YS - rng.random())))
    kind = rng.randrange(4)
    if kind == 0:
        level = path
    elif kind == 1:
        bend = fractal(gen, 2.0) * rng.uniform(0, 1.5)
        level = np.sin(path * rng.uniform(5, 120) + bend) / 2 + 0.5
    elif kind == 2:
        count = rng.randint(2, 40)
        level = (np.floor(_XS * count) + np.floor(_YS * count * rng.choice((0, 1)))) % 2
    else:
        points = gen.random((rng.randint(5, 60), 2))
        away = np.hypot(_XS[..., None] - points[:, 0], _YS[..., None] - points[:, 1])
        level = rng.choice(
            (away.min(2) / away.min(2).max(), gen.random(len(points))[away.argmin(2)])
        )
    level = (np.round(level) if rng.random() < 0.3 else level.clip(0, 1))[..., None]
    return _image(np.array(any_color(rng)) * level + np.array(any_color(rng)) * (1 - level))


def noise(rng: random.Random) -> Image.Image:
    """Independent pixels or coarse blocks around any color; few blocks are blank or a ramp."""
    gen, cells = _numpy(rng), rng.choice((1, 2, 4, 8, 16, 32, 64, 128, SIZE))
    depth, channels = rng.choice((0, 3, 30, 120)), rng.choice((1, 3))
    around = np.array(rng.choice((any_color(rng), WHITE, BLACK, (rng.randrange(256),) * 3)))
    values = around + gen.normal(0, depth, (cells, cells, channels))
    how = rng.choice((Image.Resampling.NEAREST, Image.Resampling.BICUBIC))
    return _image(values).resize(SQUARE, how)


def words(rng: random.Random, count: int) -> str:
    """Made-up words, some of them numbers or in capitals."""
    made = ("".join(rng.choices(_SYLLABLES, k=rng.randint(1, 4))) for _ in range(count))
    return " ".join(rng.choice((w, w, w.title(), w.upper(), str(rng.randrange(999)))) for w in made)


class SurfacePage:
    """A page with its pen, paper and ink."""

    def __init__(self, rng: random.Random) -> None:
        papers = ((WHITE, BLACK), (WHITE, BLACK), (any_color(rng), any_color(rng)),
                  ((30, 32, 40), (220, 220, 220)), ((250, 243, 224), (60, 40, 20)))  # fmt: skip
        self.rng, (paper, self.ink) = rng, rng.choice(papers)
        self.width, self.height = rng.choice((192, 256, 320)), rng.choice((144, 192, 256, 320))
        self.image = Image.new("RGB", (self.width, self.height), paper)
        self.pen = ImageDraw.Draw(self.image)

    def write(self, x: float, y: float, count: int, size: float) -> None:
        color = self.ink if self.rng.random() < 0.9 else any_color(self.rng)
        font = ImageFont.load_default(size)
        self.pen.text((x, y), words(self.rng, count), fill=color, font=font)


def chart(rng: random.Random) -> Image.Image:
    """Bars, lines, points or areas between axes with ticks; or a pie."""
    page = SurfacePage(rng)
    pen, w, h, kind = page.pen, page.width, page.height, rng.randrange(5)
    x0, y0, x1, y1 = w * rng.uniform(0.05, 0.25), h * rng.uniform(0.1, 0.22), w * 0.95, h * 0.86
    page.write(w * 0.1, 2, 4, rng.randint(8, 15))
    grid, n, start = rng.random() < 0.5, rng.randint(2, 14), rng.uniform(0, 360)
    for i in range(6 if kind else 0):
        y = y0 + (y1 - y0) * i / 5
        page.write(1, y - 4, 1, 7)
        if grid:
            pen.line((x0, y, x1, y), fill=(200, 200, 205))
    for _ in range(rng.randint(1, 4)):
        color, step = any_color(rng), (x1 - x0) / n
        tops = [(x0 + step * (i + 0.5), rng.uniform(y0, y1)) for i in range(n)]
        for i, (x, y) in enumerate(tops):
            if kind == 0:
                end = start + rng.uniform(10, 90)
                pen.pieslice((x0, y0, x0 + y1 - y0, y1), start, end, fill=any_color(rng))
                start = end
            elif kind == 1:
                half = step * rng.choice((0.2, 0.4))
                pen.rectangle((x - half, y, x + half, y1), fill=color)
            elif kind == 2:
                row, high = y0 + (y1 - y0) * i / n, (y1 - y0) / n * 0.7
                pen.rectangle((x0, row, x0 + (y1 - y) * 0.8, row + high), fill=color)
            else:
                pen.ellipse((x - 3, y - 3, x + 3, y + 3), fill=color)
        if kind == 3:
            pen.line(tops, fill=color, width=rng.randint(1, 4))
        elif kind == 4:
            pen.polygon([(x0, y1), *tops, (x1, y1)], fill=color)
    if kind:
        pen.line((x0, y0, x0, y1, x1, y1), fill=page.ink)
    page.write(x0, y1 + 4, 6, 8)
    return page.image


def text_page(rng: random.Random) -> Image.Image:
    """Paragraphs, code or large lettering, in one or two columns."""
    page, size = SurfacePage(rng), rng.choice((6, 8, 10, 14, 20, 40, 64))
    columns, margin = rng.choice((1, 1, 2)), rng.uniform(2, 25)
    for column in range(columns):
        y, left = margin, margin + column * page.width / columns
        while y < page.height - margin:
            if rng.random() < 0.88:
                count = max(1, int(page.width / columns / size / rng.uniform(2.5, 6)))
                page.write(left + rng.choice((0, 0, 0, size, 2 * size)), y, count, size)
            y += size * 1.25
    return page.image


def panels(rng: random.Random) -> Image.Image:
    """Boxes and ovals with words in them: tables, screenshots, diagrams, signs, maps."""
    page = SurfacePage(rng)
    pen, w, h = page.pen, page.width, page.height
    grid, accents = rng.random() < 0.3, [any_color(rng) for _ in range(rng.randint(1, 4))]
    if grid:
        n, m = rng.randint(1, 7), rng.randint(2, 14)
        spots = [(i / n, j / m, 1 / n, 1 / m) for j in range(m) for i in range(n)]
    else:
        count, draw = rng.randint(2, 12), rng.random
        spots = [(draw(), draw(), 0.05 + 0.55 * draw(), 0.4 * draw()) for _ in range(count)]
    for x, y, wide, high in spots:
        box = (x * w, y * h, (x + wide) * w, (y + high) * h)
        shape = pen.ellipse if not grid and rng.random() < 0.3 else pen.rectangle
        shape(box, fill=rng.choice((None, None, *accents)), outline=rng.choice((None, page.ink)))
        for line in range(rng.randint(0, 3)):
            page.write(box[0] + 3, box[1] + 2 + 10 * line, rng.randint(1, 4), 8)
        if not grid and rng.random() < 0.3:
            pen.line((*box[:2], rng.random() * w, rng.random() * h), fill=page.ink, width=2)
    return page.image


SURFACES: dict[str, Callable[[random.Random], Image.Image]] = {
    "landscape": landscape, "dead leaves": dead_leaves, "lit things": lit_things,
    "snapshot": snapshot, "pattern": pattern, "noise": noise, "chart": chart,
    "text page": text_page, "panels": panels,
}  # fmt: skip
