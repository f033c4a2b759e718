"""Pictures of the picture-book world that are none any more, and mixtures of the two worlds.

They lie near the border: what the gate learns from them is that every part of a picture counts,
not its overall look.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageOps

from revise_captions.picturebook.drawing.draw import draw
from revise_captions.picturebook.drawing.pen import Pen, style_of
from revise_captions.picturebook.drawing.things import DRAWERS
from revise_captions.picturebook.world.sample import sample_scene
from revise_captions.picturebook.world.scene import Scene
from scripts.research.domain_gate.ood_generators.brush import any_color
from scripts.research.domain_gate.ood_generators.pages import PAGES
from scripts.research.domain_gate.ood_generators.scenes import (
    INDOORS,
    SCENES,
    STANDING,
    brush_on,
    canvas,
    indoors,
    outdoors,
    populate,
)
from scripts.research.domain_gate.ood_generators.textures import TEXTURES

SIZE = 192


def _scene(rng: random.Random) -> Scene:
    return sample_scene(rng.randrange(10**9), "train")


def picture(rng: random.Random) -> Image.Image:
    return draw(_scene(rng), SIZE)


def foreign(rng: random.Random) -> Image.Image:
    """A drawing, texture or page, SIZE pixels square."""
    families = rng.choice((SCENES, SCENES, TEXTURES, PAGES))
    image = families[rng.choice(list(families))](rng)
    return image.resize((SIZE, SIZE), Image.Resampling.BICUBIC)


def toned(rng: random.Random) -> Image.Image:
    """Negative, grey, two-tone, solarised, few levels, much too dark or bright."""
    image, kind = picture(rng), rng.randrange(6)
    if kind == 0:
        return ImageOps.invert(image)
    if kind == 1:
        return ImageOps.grayscale(image).convert("RGB")
    if kind == 2:
        return ImageOps.colorize(ImageOps.grayscale(image), any_color(rng), any_color(rng))
    if kind == 3:
        return ImageOps.solarize(image, rng.randint(60, 160))
    if kind == 4:
        return ImageOps.posterize(image, rng.randint(1, 2))
    gain = rng.choice((0.15, 0.3, 2.2, 3.5))
    return image.point([min(255, round(x * gain)) for x in range(256)] * 3)


def turned(rng: random.Random) -> Image.Image:
    """Upside down, on its side, or rolled round by a third of its size or more."""
    image, kind = picture(rng), rng.randrange(5)
    if kind < 2:
        return ImageOps.flip(image) if rng.random() < 0.5 else image.rotate(180)
    if kind < 4:
        return image.rotate(90 if kind == 2 else 270)
    return ImageChops.offset(image, 0, rng.randint(SIZE // 4, SIZE * 3 // 4))


def zoomed(rng: random.Random) -> Image.Image:
    """A small part of a picture, or the picture small within something else."""
    image = picture(rng)
    if rng.random() < 0.5:
        size = rng.randint(SIZE // 8, SIZE // 2)
        x, y = rng.randint(0, SIZE - size), rng.randint(0, SIZE - size)
        return image.crop((x, y, x + size, y + size)).resize((SIZE, SIZE))
    page = Image.new("RGB", (SIZE, SIZE), rng.choice(((255, 255, 255), (0, 0, 0), any_color(rng))))
    if rng.random() < 0.5:
        page = foreign(rng)
    size = rng.randint(SIZE // 4, SIZE * 3 // 4)
    small = image.resize((size, size), Image.Resampling.BICUBIC)
    page.paste(small, (rng.randint(0, SIZE - size), rng.randint(0, SIZE - size)))
    return page


def collage(rng: random.Random) -> Image.Image:
    """Four or nine pictures, two halves, or one picture's tiles in another order."""
    kind = rng.randrange(4)
    page, n = picture(rng), rng.choice((2, 3))
    size = SIZE // n
    if kind == 0:
        for i in range(n * n):
            other = picture(rng).resize((size, size), Image.Resampling.BICUBIC)
            page.paste(other, (i % n * size, i // n * size))
    elif kind == 1:
        n = rng.choice((2, 4, 8))
        size = SIZE // n
        spots = [(i % n * size, i // n * size) for i in range(n * n)]
        parts = [page.crop((x, y, x + size, y + size)) for x, y in spots]
        rng.shuffle(parts)
        for part, spot in zip(parts, spots, strict=True):
            page.paste(part, spot)
    elif kind == 2:
        half = (0, 0, SIZE // 2, SIZE) if rng.random() < 0.5 else (0, 0, SIZE, SIZE // 2)
        page.paste((picture(rng) if rng.random() < 0.3 else foreign(rng)).crop(half), half)
    else:
        page = Image.blend(page, rng.choice((picture, foreign))(rng), rng.uniform(0.35, 0.65))
    return page


def filtered(rng: random.Random) -> Image.Image:
    """Edges, relief, mosaic, heavy blur, heavy noise, ripples."""
    image, kind = picture(rng), rng.randrange(7)
    if kind == 0:
        edges = image.filter(ImageFilter.FIND_EDGES)
        return (
            edges
            if rng.random() < 0.5
            else ImageOps.invert(ImageOps.grayscale(edges)).convert("RGB")
        )
    if kind == 1:
        return image.filter(ImageFilter.EMBOSS)
    if kind == 2:
        cells = rng.choice((4, 6, 8, 12, 16))
        how = rng.choice((Image.Resampling.NEAREST, Image.Resampling.BICUBIC))
        return image.resize((cells, cells), Image.Resampling.BOX).resize((SIZE, SIZE), how)
    if kind == 3:
        return image.filter(ImageFilter.GaussianBlur(rng.uniform(7, 20)))
    gen = np.random.default_rng(rng.randrange(2**31))
    values = np.asarray(image, dtype=np.float64)
    if kind == 4:
        values = values + gen.normal(0, rng.uniform(45, 120), values.shape)
    elif kind == 5:
        shift = (8 + 10 * rng.random()) * np.sin(np.arange(SIZE) / rng.uniform(3, 12))
        values = np.stack([np.roll(row, int(s), 0) for row, s in zip(values, shift, strict=True)])
    else:
        values = values[:: rng.choice((1, -1))] * 0.5 + values[:, ::-1] * 0.5
    return Image.fromarray(np.clip(values, 0, 255).astype(np.uint8))


def foreign_things(rng: random.Random) -> Image.Image:
    """The picture-book's scenery, emptied, with things from other hands."""
    scene = _scene(rng)
    kept = scene.things if rng.random() < 0.25 else ()
    image = draw(replace(scene, things=kept), SIZE)
    b = brush_on(image, rng)
    standing = INDOORS if scene.setting == "room" else STANDING
    for _ in range(2):
        populate(b, 0.6, standing)
    return image


def foreign_scenery(rng: random.Random) -> Image.Image:
    """The picture-book's things before scenery from another hand, a texture or a page."""
    scene = _scene(rng)
    turn = rng.random()
    if turn < 0.5:
        image = canvas(rng, aspects=False).resize((2 * SIZE, 2 * SIZE))
        (indoors if scene.setting == "room" else outdoors)(brush_on(image, rng))
    elif turn < 0.75:
        image = foreign(rng).resize((2 * SIZE, 2 * SIZE))
    else:
        image = Image.new(
            "RGB", (2 * SIZE, 2 * SIZE), rng.choice(((255, 255, 255), any_color(rng)))
        )
    pen = Pen(
        draw=ImageDraw.Draw(image),
        veil=ImageDraw.Draw(image, "RGBA"),
        pixels=2 * SIZE,
        style=style_of(scene.style),
        night=False,
        dull=False,
        indoors=scene.setting == "room",
    )
    for thing in sorted(scene.things, key=lambda thing: thing.depth):
        DRAWERS[thing.kind](pen.of(thing), thing)
    return image.reduce(2)


ALTERED: dict[str, Callable[[random.Random], Image.Image]] = {
    "toned": toned, "turned": turned, "zoomed": zoomed,
    "collage": collage, "filtered": filtered, "foreign things": foreign_things,
    "foreign scenery": foreign_scenery,
}  # fmt: skip
