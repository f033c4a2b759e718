"""Images that are no pictures of the training world: what the domain gate learns to refuse.

All are made by programs, from a seed; none is, or derives from, anybody's photograph or drawing.
Those that are altered from the picture-book's lie near the border: what the gate learns from them
is that every part of a picture counts, not its overall look.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from dataclasses import replace

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageOps

from revise_captions.picturebook.drawing.draw import draw
from revise_captions.picturebook.drawing.pen import Pen, style_of
from revise_captions.picturebook.drawing.things import DRAWERS
from revise_captions.picturebook.world.sample import sample_scene
from revise_captions.picturebook.world.scene import Scene
from scripts.research.domain_gate.ood_generators.brush import WHITE, Brush, Hand, any_color
from scripts.research.domain_gate.ood_generators.drawings import (
    DRAWINGS,
    INDOORS,
    STANDING,
    indoors,
    outdoors,
    populate,
)
from scripts.research.domain_gate.ood_generators.surfaces import SURFACES

Family = Callable[[random.Random], Image.Image]
SIZE = 192
SQUARE = (SIZE, SIZE)


def _scene(rng: random.Random) -> Scene:
    return sample_scene(rng.randrange(10**9), "train")


def _picture(rng: random.Random) -> Image.Image:
    return draw(_scene(rng), SIZE)


def _foreign(rng: random.Random) -> Image.Image:
    families = rng.choice((DRAWINGS, SURFACES))
    return rng.choice(list(families.values()))(rng).resize(SQUARE, Image.Resampling.BICUBIC)


def toned(rng: random.Random) -> Image.Image:
    """Negative, gray, two-tone, solarized, few levels, much too dark or bright."""
    image, kind = _picture(rng), rng.randrange(6)
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


def moved(rng: random.Random) -> Image.Image:
    """Upside down, on its side, rolled round, or a small part of a picture."""
    image, kind = _picture(rng), rng.randrange(4)
    if kind == 0:
        return rng.choice((ImageOps.flip(image), image.rotate(180)))
    if kind == 1:
        return image.rotate(rng.choice((90, 270)))
    if kind == 2:
        return ImageChops.offset(image, 0, rng.randint(SIZE // 4, SIZE * 3 // 4))
    size = rng.randint(SIZE // 8, SIZE // 2)
    x, y = rng.randint(0, SIZE - size), rng.randint(0, SIZE - size)
    return image.crop((x, y, x + size, y + size)).resize(SQUARE)


def collage(rng: random.Random) -> Image.Image:
    """A picture's tiles in another order, small in or half of something else, or through it."""
    image, kind = _picture(rng), rng.randrange(4)
    other = _picture(rng) if rng.random() < 0.2 else _foreign(rng)
    if kind == 0:
        n = rng.choice((2, 4, 8))
        size = SIZE // n
        spots = [(i % n * size, i // n * size) for i in range(n * n)]
        parts = [image.crop((x, y, x + size, y + size)) for x, y in spots]
        rng.shuffle(parts)
        for part, spot in zip(parts, spots, strict=True):
            image.paste(part, spot)
    elif kind == 1:
        size = rng.randint(SIZE // 4, SIZE * 3 // 4)
        small = image.resize((size, size), Image.Resampling.BICUBIC)
        image = rng.choice((other, Image.new("RGB", SQUARE, any_color(rng))))
        image.paste(small, (rng.randint(0, SIZE - size), rng.randint(0, SIZE - size)))
    elif kind == 2:
        half = rng.choice(((0, 0, SIZE // 2, SIZE), (0, 0, SIZE, SIZE // 2)))
        image.paste(other.crop(half), half)
    else:
        image = Image.blend(image, other, rng.uniform(0.35, 0.65))
    return image


def filtered(rng: random.Random) -> Image.Image:
    """Edges, relief, mosaic, heavy blur, heavy noise, ripples."""
    image, kind = _picture(rng), rng.randrange(6)
    if kind == 0:
        edges = image.filter(ImageFilter.FIND_EDGES)
        return rng.choice((edges, ImageOps.invert(edges)))
    if kind == 1:
        return image.filter(ImageFilter.EMBOSS)
    if kind == 2:
        cells, how = rng.choice((4, 8, 16)), rng.choice((Image.Resampling.NEAREST, None))
        return image.resize((cells, cells), Image.Resampling.BOX).resize(SQUARE, how)
    if kind == 3:
        return image.filter(ImageFilter.GaussianBlur(rng.uniform(7, 20)))
    gen, values = np.random.default_rng(rng.randrange(2**31)), np.asarray(image)
    if kind == 4:
        values = values + gen.normal(0, rng.uniform(45, 120), values.shape)
    else:
        shift = (8 + 10 * rng.random()) * np.sin(np.arange(SIZE) / rng.uniform(3, 12))
        values = np.stack([np.roll(row, int(s), 0) for row, s in zip(values, shift, strict=True)])
    return Image.fromarray(np.clip(values, 0, 255).astype(np.uint8))


def foreign_things(rng: random.Random) -> Image.Image:
    """The picture-book's scenery, mostly emptied, with things from other hands."""
    scene = _scene(rng)
    image = draw(replace(scene, things=scene.things if rng.random() < 0.25 else ()), SIZE)
    b = Brush(image, rng, Hand.of(rng))
    for _ in range(2):
        populate(b, 0.6, INDOORS if scene.setting == "room" else STANDING)
    return image


def foreign_scenery(rng: random.Random) -> Image.Image:
    """The picture-book's things before scenery from another hand, or before anything."""
    scene, size = _scene(rng), 2 * SIZE
    inside = scene.setting == "room"
    image = Image.new("RGB", (size, size), rng.choice((WHITE, any_color(rng))))
    turn = rng.random()
    if turn < 0.5:
        (indoors if inside else outdoors)(Brush(image, rng, Hand.of(rng)))
    elif turn < 0.75:
        image = _foreign(rng).resize((size, size))
    pen = Pen(draw=ImageDraw.Draw(image), veil=ImageDraw.Draw(image, "RGBA"), pixels=size,
              style=style_of(scene.style), night=False, dull=False, indoors=inside)  # fmt: skip
    for thing in sorted(scene.things, key=lambda thing: thing.depth):
        DRAWERS[thing.kind](pen.of(thing), thing)
    return image.reduce(2)


ALTERED: dict[str, Family] = {
    "toned": toned, "moved": moved, "collage": collage, "filtered": filtered,
    "foreign things": foreign_things, "foreign scenery": foreign_scenery,
}  # fmt: skip
FAMILIES: dict[str, Family] = {**DRAWINGS, **SURFACES, **ALTERED}
#: How often a family is drawn, 1 where not named: the nearer the picture-book, the more often.
WEIGHTS = {"scene": 8.0, "room": 3.0, "large": 3.0, "foreign things": 4.0, "foreign scenery": 4.0,
           "toned": 2.0, "moved": 2.0, "collage": 2.0, "landscape": 2.0, "lit things": 2.0,
           "chart": 2.0, "panels": 2.0}  # fmt: skip


def family_of(seed: int, without: Collection[str] = ()) -> str:
    """The family of outlier number `seed`, never one of `without`."""
    names = [name for name in FAMILIES if name not in without]
    rng = random.Random(f"outlier.family.{seed}")
    return rng.choices(names, [WEIGHTS.get(name, 1.0) for name in names])[0]


def outlier(seed: int, family: str) -> Image.Image:
    """Image number `seed` of a family, RGB, of any size. Raises KeyError for an unknown family."""
    return FAMILIES[family](random.Random(f"outlier.{family}.{seed}"))
