"""Foreign drawings: whole clip-art scenes, single icons, pixel art, isometric blocks, doodles."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from revise_captions.picturebook.drawing.pen import mix
from scripts.research.domain_gate.ood_generators.brush import (
    RGB,
    WHITE,
    Brush,
    any_color,
    arc,
    hand,
    palette,
    shade,
)
from scripts.research.domain_gate.ood_generators.things import (
    FLYING,
    INDOORS,
    SINGLE,
    STANDING,
    Drawer,
    boat,
    fish,
    mountain,
    tree,
)

SKIES: tuple[tuple[RGB, RGB], ...] = (
    ((135, 206, 235), (224, 246, 255)), ((135, 206, 235), (135, 206, 235)),
    ((90, 160, 230), (200, 230, 250)), ((20, 24, 70), (60, 60, 120)),
    ((250, 150, 90), (255, 220, 150)), ((180, 190, 200), (220, 224, 228)),
    ((173, 216, 230), (255, 255, 255)), ((0, 191, 255), (135, 206, 250)),
)  # fmt: skip
GRASS: RGB = (90, 180, 80)


def canvas(rng: random.Random, color: RGB = WHITE, aspects: bool = True) -> Image.Image:
    """An empty canvas of some size and shape."""
    width = rng.choice((128, 192, 256, 256, 320))
    aspect = rng.choice((1.0, 1.0, 1.0, 0.75, 0.66, 1.33)) if aspects else 1.0
    return Image.new("RGB", (width, round(width * aspect)), color)


def brush_on(image: Image.Image, rng: random.Random) -> Brush:
    return Brush(image, rng, palette(rng), hand(rng))


def finished(image: Image.Image, rng: random.Random) -> Image.Image:
    """What scanners, filters and printing do to a drawing; mostly nothing."""
    turn = rng.random()
    if turn < 0.5:
        return image.reduce(2) if image.width > 250 and rng.random() < 0.6 else image
    if turn < 0.58:
        return image.filter(ImageFilter.GaussianBlur(rng.uniform(0.5, 2.0)))
    if turn < 0.68:
        noise = np.random.default_rng(rng.randrange(2**31)).normal(
            0, rng.uniform(2, 14), (image.height, image.width, rng.choice((1, 3)))
        )
        return Image.fromarray(np.clip(np.asarray(image) + noise, 0, 255).astype(np.uint8))
    if turn < 0.73:
        return image.quantize(rng.randint(4, 24)).convert("RGB")
    if turn < 0.78:
        frame = Image.new("RGB", image.size, rng.choice((WHITE, (0, 0, 0), any_color(rng))))
        edge = round(image.width * rng.uniform(0.03, 0.12))
        frame.paste(image.crop((edge, edge, image.width - edge, image.height - edge)), (edge, edge))
        return frame
    return image.reduce(2) if image.width > 190 else image


def _sky(b: Brush, horizon: float) -> bool:
    """Fills the canvas with a sky; True where it is a plain one."""
    rng, image = b.rng, b.image
    top, bottom = (b.tone(c) for c in rng.choice(SKIES))
    if rng.random() < 0.4:
        image.paste(top, (0, 0, *image.size))
        return True
    height = max(2, round(image.width * horizon))
    image.paste(shade((image.width, height), top, bottom, 1), (0, 0))
    return False


def outdoors(b: Brush) -> float:
    """Sky and ground; returns the horizon in canvas widths."""
    rng, high = b.rng, b.aspect
    horizon = high * rng.uniform(0.4, 0.85)
    _sky(b, high if rng.random() < 0.5 else horizon)
    ground = b.tone(rng.choice((GRASS, GRASS, GRASS, (120, 200, 80), (34, 139, 34), (240, 215, 160),
                                (160, 160, 165), (245, 248, 252), (150, 110, 70))))  # fmt: skip
    kind = rng.randrange(7)
    if kind == 0:
        for _ in range(rng.randint(1, 4)):
            mountain(b.at(rng.random(), horizon + 0.02, rng.uniform(0.2, 0.45)))
    if kind in (1, 2):
        for i in range(rng.randint(1, 3)):
            waves, phase = rng.uniform(1, 9), rng.uniform(0, 6)
            lift, height = horizon - 0.04 + 0.07 * i, rng.uniform(0.01, 0.08)
            hill = [(x / 20, lift + height * math.sin(waves * x / 20 + phase)) for x in range(21)]
            tone = mix(ground, WHITE, 0.2 - 0.1 * i)
            b.poly([*hill, (1.1, high + 0.1), (-0.1, high + 0.1)], tone, rng.random() < 0.3)
    else:
        b.box(-0.1, horizon, 1.1, high + 0.1, ground, rng.random() < 0.3)
    if kind == 3:  # road
        gray = b.tone((90, 90, 95))
        if rng.random() < 0.5:
            x = rng.uniform(0.3, 0.7)
            b.poly(((x - 0.03, horizon), (x + 0.03, horizon), (0.8, high), (0.2, high)), gray)
        else:
            b.box(-0.1, horizon + 0.08, 1.1, horizon + 0.2, gray)
            for i in range(7):
                b.box(i * 0.16, horizon + 0.13, i * 0.16 + 0.08, horizon + 0.145, WHITE, False)
    if kind == 4:  # water
        water, sea = b.tone((60, 140, 210)), horizon + (high - horizon) * rng.uniform(0.2, 0.7)
        b.box(-0.1, horizon, 1.1, sea, water, False)
        if rng.random() < 0.6:
            boat(b.at(rng.random(), horizon + 0.06, rng.uniform(0.1, 0.25), rng.random() < 0.5))
    if rng.random() < 0.3:  # tufts
        for _ in range(rng.randint(5, 40)):
            x, y = rng.random(), rng.uniform(horizon, high)
            b.stroke(((x, y), (x + rng.uniform(-0.01, 0.01), y - 0.02)), 0.004,
                     mix(ground, (0, 0, 0), 0.25))  # fmt: skip
    return horizon


def indoors(b: Brush) -> float:
    """A wall and a floor, perhaps in perspective, with a window or a picture."""
    rng, high = b.rng, b.aspect
    floor = high * rng.uniform(0.5, 0.85)
    wall = b.any()
    b.image.paste(wall, (0, 0, *b.image.size))
    b.box(-0.1, floor, 1.1, high + 0.1, b.tone((180, 130, 80)))
    if rng.random() < 0.3:
        inset = rng.uniform(0.1, 0.25)
        side = mix(wall, (0, 0, 0), 0.2)
        b.poly(((0, 0), (inset, inset), (inset, floor), (0, high)), side)
        b.poly(((1, 0), (1 - inset, inset), (1 - inset, floor), (1, high)), side)
    if rng.random() < 0.4:
        for i in range(1, 8):
            b.stroke(((i / 8, 0), (i / 8, floor)), rng.uniform(0.002, 0.03), mix(wall, WHITE, 0.4))
    for _ in range(rng.randint(0, 3)):
        x, y, s = rng.uniform(0.1, 0.8), rng.uniform(0.06, 0.3) * high, rng.uniform(0.06, 0.14)
        b.box(x - s, y - s * 0.3, x + s, y + s * 1.6, b.any())
        b.box(x - s * 0.8, y - s * 0.1, x + s * 0.8, y + s * 1.4, b.tone((170, 220, 250)))
    return floor


def populate(b: Brush, horizon: float, standing: tuple[Drawer, ...]) -> None:
    """Puts things on the ground and in the air."""
    rng, high = b.rng, b.aspect
    if standing is not INDOORS:
        for _ in range(rng.choice((0, 1, 2, 2, 3, 5))):
            s, y = rng.uniform(0.08, 0.3), rng.uniform(0.12, 0.9) * horizon
            x = rng.choice((rng.random(), 0.05, 0.95))
            rng.choice(FLYING)(b.at(x, max(y, s * 0.7), s))
    spots = sorted(horizon + (high - horizon) * rng.uniform(0.0, 0.95)
                   for _ in range(rng.randint(1, 7)))  # fmt: skip
    size = rng.uniform(0.15, 0.5)
    for y in spots:
        s = size * rng.uniform(0.5, 1.4)
        thing = rng.choice(standing)
        thing(b.at(rng.uniform(0.05, 0.95), y + 0.02, s, rng.random() < 0.5))


def scene(rng: random.Random) -> Image.Image:
    """A meadow, street, beach or mountains with houses, trees, people."""
    image = canvas(rng)
    b = brush_on(image, rng)
    populate(b, outdoors(b), STANDING)
    return finished(image, rng)


def room(rng: random.Random) -> Image.Image:
    image = canvas(rng)
    b = brush_on(image, rng)
    populate(b, indoors(b), INDOORS)
    return finished(image, rng)


def plain_scene(rng: random.Random) -> Image.Image:
    """The simplest of pictures: flat sky, flat grass, a sun, one or two big things, few colours."""
    image = canvas(rng)
    b = brush_on(image, rng)
    high = b.aspect
    horizon = high * rng.uniform(0.45, 0.85)
    image.paste(b.tone(rng.choice(SKIES)[0]), (0, 0, *image.size))
    b.box(-0.1, horizon, 1.1, high + 0.1, b.tone(GRASS), False)
    things = [rng.choice(SINGLE[:12]) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.7:
        FLYING[0](b.at(rng.choice((0.12, 0.5, 0.86)), 0.25, rng.uniform(0.15, 0.35)))
    for i, thing in enumerate(things):
        x = (i + rng.uniform(0.3, 0.7)) / len(things)
        thing(b.at(x, horizon + rng.uniform(0.0, 0.1), rng.uniform(0.25, 0.6)))
    if rng.random() < 0.4:
        tree(b.at(rng.choice((0.1, 0.88)), horizon + 0.03, rng.uniform(0.3, 0.5)))
    return finished(image, rng)


def underwater_or_space(rng: random.Random) -> Image.Image:
    image = canvas(rng)
    b = brush_on(image, rng)
    deep = rng.random() < 0.5
    top, low = ((60, 170, 220), (10, 50, 120)) if deep else ((8, 8, 30), (40, 20, 70))
    image.paste(shade(image.size, b.tone(top), b.tone(low), 1))
    for _ in range(rng.randint(10, 60)):
        r = rng.uniform(0.003, 0.02)
        b.oval(rng.random(), rng.random() * b.aspect, r, r, WHITE, False)
    for _ in range(rng.randint(2, 8)):
        spot = b.at(rng.random(), rng.random() * b.aspect, rng.uniform(0.1, 0.35),
                    rng.random() < 0.5, rng.uniform(-0.5, 0.5))  # fmt: skip
        (fish if deep and rng.random() < 0.7 else rng.choice(SINGLE))(spot)
    return finished(image, rng)


def icon(rng: random.Random) -> Image.Image:
    """One thing, large, on white, a colour, a gradient or a badge."""
    image = canvas(rng, rng.choice((WHITE, WHITE, any_color(rng))))
    b = brush_on(image, rng)
    high, ground = b.aspect, rng.randrange(5)
    if ground == 1:
        image.paste(shade(image.size, any_color(rng), any_color(rng), rng.randrange(2)))
    elif ground == 2:
        b.oval(0.5, high / 2, 0.45, 0.45, b.any())
    elif ground == 3:
        populate(b, outdoors(b), (rng.choice(STANDING),))
    size = rng.uniform(0.4, 0.9) * min(1, high)
    rng.choice(SINGLE)(b.at(0.5, high / 2 + size / 2, size, rng.random() < 0.5,
                            rng.choice((0, 0, rng.uniform(-0.6, 0.6)))))  # fmt: skip
    return finished(image, rng)


def sticker_sheet(rng: random.Random) -> Image.Image:
    """A grid or scatter of small things on one ground."""
    image = canvas(rng, rng.choice((WHITE, any_color(rng))))
    b = brush_on(image, rng)
    n, one = rng.randint(2, 6), rng.choice(SINGLE) if rng.random() < 0.4 else None
    grid = rng.random() < 0.6
    for i in range(n * n):
        x, y = ((i % n + 0.5) / n, (i // n + 0.85) / n) if grid else (rng.random(), rng.random())
        (one or rng.choice(SINGLE))(b.at(x, y * b.aspect, rng.uniform(0.5, 0.8) / n))
    return finished(image, rng)


def portrait(rng: random.Random) -> Image.Image:
    """Things so large that the canvas cuts them off."""
    image = canvas(rng)
    b = brush_on(image, rng)
    horizon = (outdoors if rng.random() < 0.6 else indoors)(b)
    for _ in range(rng.randint(1, 3)):
        spot = (rng.random(), horizon + rng.uniform(0.1, 0.8))
        rng.choice(SINGLE)(b.at(*spot, rng.uniform(0.7, 1.8), rng.random() < 0.5))
    return finished(image, rng)


def pixel_art(rng: random.Random) -> Image.Image:
    """A drawing of few large pixels, or a symmetric sprite."""
    cells = rng.choice((8, 12, 16, 24, 32, 48))
    if rng.random() < 0.3:
        colors = np.array([any_color(rng) for _ in range(rng.randint(2, 5))], dtype=np.uint8)
        half = np.random.default_rng(rng.randrange(2**31)).integers(
            0, len(colors), (cells, (cells + 1) // 2)
        )
        small = Image.fromarray(colors[np.concatenate([half, half[:, ::-1]], axis=1)])
    else:
        small = rng.choice((scene, plain_scene, icon))(rng).resize((cells, cells), rng.choice(
            (Image.Resampling.NEAREST, Image.Resampling.BOX)))  # fmt: skip
        if rng.random() < 0.5:
            small = small.quantize(rng.randint(4, 16)).convert("RGB")
    return small.resize((rng.choice((128, 192, 256)),) * 2, Image.Resampling.NEAREST)


def isometric(rng: random.Random) -> Image.Image:
    """Blocks seen from above a corner."""
    image = canvas(rng, any_color(rng))
    b = brush_on(image, rng)
    n, s = rng.randint(2, 6), rng.uniform(0.08, 0.2)
    base = b.any()
    for i in range(n):
        for j in range(n):
            x, y = 0.5 + (i - j) * s * 0.87, b.aspect * 0.35 + (i + j - n + 1) * s * 0.5
            top = base if rng.random() < 0.5 else b.any()
            h = s * rng.choice((0.2, 0.6, 1.0, 2.0))
            w, d, up = s * 0.87, s * 0.5, y - h
            left = ((x - w, y), (x, y + d), (x, up + d), (x - w, up))
            right = ((x + w, y), (x, y + d), (x, up + d), (x + w, up))
            b.poly(left, mix(top, (0, 0, 0), 0.25))
            b.poly(right, mix(top, (0, 0, 0), 0.45))
            b.poly(((x - w, up), (x, up + d), (x + w, up), (x, up - d)), top)
    return finished(image, rng)


def doodle(rng: random.Random) -> Image.Image:
    """Pen or chalk scribbles and line drawings, with little or no colour."""
    paper, ink = rng.choice(
        (
            ((255, 255, 255), (20, 20, 20)),
            ((40, 60, 50), (240, 240, 230)),
            ((250, 244, 226), (60, 50, 120)),
            (any_color(rng), any_color(rng)),
        )
    )
    image = canvas(rng, paper)
    pen = ImageDraw.Draw(image)
    w, h = image.size
    for _ in range(rng.randint(2, 25)):
        x, y, angle = rng.random() * w, rng.random() * h, rng.uniform(0, 6)
        points = [(x, y)]
        bend = rng.uniform(-0.5, 0.5)
        for _ in range(rng.randint(3, 60)):
            angle += bend + rng.gauss(0, 0.3)
            x, y = x + 0.03 * w * math.cos(angle), y + 0.03 * w * math.sin(angle)
            points.append((x, y))
        pen.line(points, fill=ink if rng.random() < 0.7 else any_color(rng),
                 width=rng.randint(1, 5), joint="curve")  # fmt: skip
    return finished(image, rng)


def shapes(rng: random.Random) -> Image.Image:
    """Plain geometry: scattered circles, boxes, lines and polygons; no scene."""
    image = canvas(rng, rng.choice((WHITE, any_color(rng))))
    if rng.random() < 0.3:
        image.paste(shade(image.size, any_color(rng), any_color(rng), rng.randrange(2)))
    b = brush_on(image, rng)
    for _ in range(rng.randint(1, 40)):
        x, y, r = rng.random(), rng.random() * b.aspect, rng.choice((0.02, 0.06, 0.12, 0.3))
        kind = rng.randrange(4)
        if kind == 0:
            b.oval(x, y, r, r * rng.choice((1, 1, 0.5)), b.any())
        elif kind == 1:
            b.box(x - r, y - r, x + r, y + r * rng.uniform(0.2, 1), b.any())
        elif kind == 2:
            b.poly(arc(x, y, r, r, rng.uniform(0, 6), 6.28, rng.randint(2, 6)), b.any())
        else:
            b.stroke(((x, y), (rng.random(), rng.random() * b.aspect)), r * 0.1, b.any())
    return finished(image, rng)


SCENES: dict[str, Callable[[random.Random], Image.Image]] = {
    "scene": scene, "plain scene": plain_scene, "room": room, "portrait": portrait,
    "space or sea": underwater_or_space, "icon": icon, "sticker sheet": sticker_sheet,
    "pixel art": pixel_art, "isometric": isometric, "doodle": doodle, "shapes": shapes,
}  # fmt: skip
