"""Images with the statistics of photographs, made of noise, occluding shapes and light; and fills.

Photographs themselves cannot be shipped. What tells them from drawings is soft shading, texture at
every scale and muted colour: 1/f noise, dead leaves (Lee, Mumford & Huang 2001), lit blobs.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

from revise_captions.picturebook.drawing.pen import mix
from scripts.research.domain_gate.ood_generators.brush import (
    any_color,
    hsv,
    shade,
)

Floats = NDArray[np.float64]
SIZE = 160


def _numpy(rng: random.Random) -> np.random.Generator:
    return np.random.default_rng(rng.randrange(2**31))


def _image(values: Floats) -> Image.Image:
    return Image.fromarray(np.clip(values, 0, 255).astype(np.uint8))


def fractal(gen: np.random.Generator, power: float, stretch: float = 1.0) -> Floats:
    """Noise with spectrum 1/f^power, mean 0 and deviation 1, shape (SIZE, SIZE)."""
    fy = np.fft.fftfreq(SIZE)[:, None] * stretch
    fx = np.fft.rfftfreq(SIZE)[None, :]
    radius = np.hypot(fx, fy)
    radius[0, 0] = 1.0
    phase = gen.normal(size=radius.shape) + 1j * gen.normal(size=radius.shape)
    spectrum = phase / radius**power
    spectrum[0, 0] = 0
    field = np.fft.irfft2(spectrum, (SIZE, SIZE))
    return np.asarray(field / (field.std() + 1e-9))


def _colored(rng: random.Random, gen: np.random.Generator, power: float) -> Floats:
    """Three correlated channels of fractal noise around a colour, shape (SIZE, SIZE, 3)."""
    shared = fractal(gen, power, rng.choice((1.0, 1.0, 3.0, 0.3)))
    own = rng.uniform(0.0, 0.6)
    depth = rng.uniform(15, 65)
    channels = [shared + own * fractal(gen, power) for _ in range(3)] if own > 0.1 else [shared] * 3
    return np.stack(channels, 2) * depth + np.array(_muted(rng))


def _muted(rng: random.Random) -> tuple[int, int, int]:
    return hsv(rng.random(), rng.uniform(0, 0.6), rng.uniform(0.15, 0.9))


def cloudy_noise(rng: random.Random) -> Image.Image:
    return _image(_colored(rng, _numpy(rng), rng.uniform(0.6, 2.2)))


def landscape(rng: random.Random) -> Image.Image:
    """Bright soft sky over dark rough ground, with a ragged skyline."""
    gen = _numpy(rng)
    sky = _colored(rng, gen, rng.uniform(1.8, 2.6)) * 0.25 + np.array(
        hsv(rng.choice((0.58, 0.6, 0.08, rng.random())), rng.uniform(0, 0.5), rng.uniform(0.6, 1))
    ) * 0.75  # fmt: skip
    image = sky
    line = SIZE * rng.uniform(0.15, 0.75)
    rows = np.arange(SIZE)[:, None]
    for _ in range(rng.randint(1, 4)):
        ground = _colored(rng, gen, rng.uniform(0.7, 1.5)) * 0.7
        edge = line + fractal(gen, rng.uniform(1.2, 2.2))[0][None, :] * rng.uniform(2, 22)
        image = np.where((rows > edge)[..., None], ground, image)
        line += SIZE * rng.uniform(0.05, 0.3)
    return _image(image)


def dead_leaves(rng: random.Random) -> Image.Image:
    """Shapes of all sizes that cover one another, each with its own texture and shading."""
    gen = _numpy(rng)
    image = _image(_colored(rng, gen, 1.2))
    textures = [_image(_colored(rng, gen, rng.uniform(0.7, 2.0))) for _ in range(3)]
    for _ in range(rng.randint(6, 90)):
        r = SIZE * min(0.6, 0.02 / max(0.03, rng.random()))
        x, y = rng.random() * SIZE, rng.random() * SIZE
        mask = Image.new("L", (SIZE, SIZE))
        corners = rng.choice((0, 3, 4, 5, 7))
        pen = ImageDraw.Draw(mask)
        if corners:
            turn = rng.random() * 6
            pen.polygon([(x + r * rng.uniform(0.6, 1.2) * math.cos(turn + i * 6.283 / corners),
                          y + r * rng.uniform(0.6, 1.2) * math.sin(turn + i * 6.283 / corners))
                         for i in range(corners)], fill=255)  # fmt: skip
        else:
            stretch = rng.uniform(0.4, 1.0)
            pen.ellipse((x - r, y - r * stretch, x + r, y + r * stretch), fill=255)
        if rng.random() < 0.4:
            mask = mask.filter(ImageFilter.GaussianBlur(rng.uniform(0.5, 3)))
        tone = Image.new("RGB", (SIZE, SIZE), _muted(rng))
        image.paste(Image.blend(tone, rng.choice(textures), rng.uniform(0, 0.6)), (0, 0), mask)
    return image


def lit_things(rng: random.Random) -> Image.Image:
    """Soft-edged, side-lit bodies before an unfocused background: a portrait, a still life."""
    gen = _numpy(rng)
    blur = ImageFilter.GaussianBlur(rng.uniform(2, 10))
    back = rng.choice((cloudy_noise, landscape, dead_leaves))(rng).filter(blur)
    canvas = np.asarray(back, dtype=np.float64)
    ys, xs = np.mgrid[0:SIZE, 0:SIZE] / SIZE
    light = rng.uniform(0, 6.28)
    for _ in range(rng.randint(1, 6)):
        x, y, r = rng.random(), rng.uniform(0.2, 1.0), rng.uniform(0.05, 0.35)
        dx, dy = (xs - x) / r, (ys - y) / (r * rng.uniform(0.6, 2.2))
        inside = 1 / (1 + np.exp(np.clip((np.hypot(dx, dy) - 1) * rng.uniform(8, 40), -50, 50)))
        lit = 0.75 + 0.45 * (dx * math.cos(light) + dy * math.sin(light))
        body = (np.array(_muted(rng)) * lit[..., None]
                + fractal(gen, 1.3)[..., None] * rng.uniform(0, 18))  # fmt: skip
        canvas = canvas * (1 - inside[..., None]) + body * inside[..., None]
    noise = gen.normal(0, rng.uniform(0, 8), (SIZE, SIZE, 1))
    return _image((canvas + noise) * rng.uniform(0.6, 1.2))


def snapshot(rng: random.Random) -> Image.Image:
    """A crop of one of the above, seen out of level, through a lens that darkens the corners."""
    image = rng.choice((landscape, dead_leaves, lit_things))(rng)
    image = image.rotate(rng.uniform(-12, 12), Image.Resampling.BICUBIC)
    x, y, w = rng.uniform(10, 60), rng.uniform(10, 60), rng.uniform(60, 90)
    image = image.crop((round(x), round(y), round(x + w), round(y + w)))
    image = image.resize((SIZE, SIZE), Image.Resampling.BICUBIC)
    ys, xs = np.mgrid[-1 : 1 : SIZE * 1j, -1 : 1 : SIZE * 1j]
    values = np.asarray(image, dtype=np.float64)
    values = values * (1 - rng.uniform(0, 0.4) * (xs**2 + ys**2))[..., None]
    if rng.random() < 0.15:
        values = np.repeat(values.mean(2, keepdims=True), 3, 2)
    return _image(values * rng.uniform(0.7, 1.3) + rng.uniform(-20, 20))


def voronoi(rng: random.Random) -> Image.Image:
    gen, n = _numpy(rng), rng.randint(5, 60)
    points = gen.random((n, 2)) * SIZE
    ys, xs = np.mgrid[0:SIZE, 0:SIZE]
    away = np.hypot(xs[..., None] - points[:, 0], ys[..., None] - points[:, 1])
    cells = np.array([any_color(rng) for _ in range(n)], dtype=np.float64)[away.argmin(2)]
    if rng.random() < 0.5:
        cells = cells * (0.3 + away.min(2)[..., None] / away.min(2).max())
    return _image(cells)


def waves(rng: random.Random) -> Image.Image:
    """Warped stripes, rings and wood grain."""
    gen = _numpy(rng)
    ys, xs = np.mgrid[0 : 1 : SIZE * 1j, 0 : 1 : SIZE * 1j]
    bend = fractal(gen, 2.0) * rng.uniform(0, 1.5)
    turn = rng.random() * 6.28
    path = (np.hypot(xs - rng.random(), ys - rng.random()) if rng.random() < 0.4
            else xs * math.cos(turn) + ys * math.sin(turn))  # fmt: skip
    level = np.sin(path * rng.uniform(5, 120) + bend) * 0.5 + 0.5
    if rng.random() < 0.4:
        level = np.round(level)
    a, b = np.array(any_color(rng)), np.array(any_color(rng))
    return _image(a * level[..., None] + b * (1 - level[..., None]))


def noise(rng: random.Random) -> Image.Image:
    """Independent pixels or coarse blocks, coloured, grey or sparse, around any colour."""
    gen, cells = _numpy(rng), rng.choice((4, 8, 16, 32, 64, 128, SIZE))
    channels = rng.choice((1, 3))
    if rng.random() < 0.5:
        values = gen.random((cells, cells, channels)) * 255
    else:
        values = gen.normal(0, rng.uniform(4, 90), (cells, cells, channels)) + any_color(rng)
    if rng.random() < 0.2:
        values = np.where(gen.random((cells, cells, 1)) < rng.uniform(0.02, 0.3), values,
                          np.array(any_color(rng)))  # fmt: skip
    spread = np.broadcast_to(values, (cells, cells, 3))
    how = rng.choice((Image.Resampling.NEAREST, Image.Resampling.BICUBIC))
    return _image(np.ascontiguousarray(spread)).resize((SIZE, SIZE), how)


def blank(rng: random.Random) -> Image.Image:
    """One colour: black, white, grey or any, perhaps with a trace of noise or one line."""
    color = rng.choice(((0, 0, 0), (255, 255, 255), (rng.randrange(256),) * 3, any_color(rng),
                         any_color(rng)))  # fmt: skip
    image = Image.new("RGB", (SIZE, SIZE), color)
    turn = rng.random()
    if turn < 0.3:
        grain = _numpy(rng).normal(0, rng.uniform(0.5, 5), (SIZE, SIZE, 1))
        return _image(np.asarray(image) + grain)
    if turn < 0.4:
        y = rng.randrange(SIZE)
        ImageDraw.Draw(image).line((0, y, SIZE, y), fill=any_color(rng), width=rng.randint(1, 9))
    return image


def gradient(rng: random.Random) -> Image.Image:
    """Colour ramps: straight, of three colours, round, or at the four corners."""
    kind = rng.randrange(4)
    a, b = any_color(rng), any_color(rng)
    if rng.random() < 0.3:
        b = mix(a, b, 0.3)
    if kind == 0:
        return shade((SIZE, SIZE), a, b, rng.randrange(2)).rotate(rng.choice((0, 0, 90, 180)))
    if kind == 1:
        image, cut = Image.new("RGB", (SIZE, SIZE)), rng.randint(20, SIZE - 20)
        image.paste(shade((SIZE, cut), a, b, 1))
        image.paste(shade((SIZE, SIZE - cut), any_color(rng) if rng.random() < 0.5 else b,
                          any_color(rng), 1), (0, cut))  # fmt: skip
        return image
    if kind == 2:
        ys, xs = np.mgrid[0 : 1 : SIZE * 1j, 0 : 1 : SIZE * 1j]
        away = np.hypot(xs - rng.random(), ys - rng.random())[..., None].clip(0, 1)
        return _image(np.array(a) * (1 - away) + np.array(b) * away)
    corners = Image.new("RGB", (2, 2))
    corners.putdata([any_color(rng) for _ in range(4)])
    return corners.resize((SIZE, SIZE), Image.Resampling.BICUBIC)


def tiles(rng: random.Random) -> Image.Image:
    """Checks, stripes, dots, bricks and other wallpaper."""
    image = Image.new("RGB", (SIZE, SIZE), any_color(rng))
    pen, step, kind = ImageDraw.Draw(image), rng.randint(4, 48), rng.randrange(5)
    other, third = any_color(rng), any_color(rng)
    for i in range(-1, SIZE // step + 2):
        for j in range(-1, SIZE // step + 2):
            x, y = i * step, j * step
            if (kind == 0 and (i + j) % 2) or (kind == 1 and i % 2):
                pen.rectangle((x, y, x + step, y + step), fill=other)
            elif kind == 2:
                pen.ellipse((x, y, x + step * 0.6, y + step * 0.6), fill=other if j % 2 else third)
            elif kind == 3:
                x += step // 2 * (j % 2)
                pen.rectangle((x, y, x + step, y + step), fill=other, outline=third)
            elif kind == 4:
                pen.polygon(((x, y + step), (x + step / 2, y), (x + step, y + step)), fill=other)
    return image.rotate(rng.choice((0, 0, 45, 90)), fillcolor=other)


TEXTURES: dict[str, Callable[[random.Random], Image.Image]] = {
    "cloudy noise": cloudy_noise, "landscape": landscape, "dead leaves": dead_leaves,
    "lit things": lit_things, "snapshot": snapshot, "voronoi": voronoi, "waves": waves,
    "noise": noise, "blank": blank, "gradient": gradient, "tiles": tiles,
}  # fmt: skip
