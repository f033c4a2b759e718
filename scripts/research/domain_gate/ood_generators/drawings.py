"""Foreign drawings: scenes, rooms, single things, pixel art, doodles and plain geometry.

What they show is mostly no thing at all, but shapes put together as clip art does it; of what the
picture-book shows, houses, trees, people, animals and suns come in shapes that it lacks.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
from PIL import Image

from revise_captions.picturebook.drawing.pen import mix
from scripts.research.domain_gate.ood_generators.brush import (
    TAU,
    WHITE,
    Brush,
    Hand,
    any_color,
    arc,
    shade,
)

Drawer = Callable[[Brush], None]
SKIES = ((135, 206, 235), (90, 160, 230), (20, 24, 70), (250, 150, 90), (180, 190, 200))
GROUNDS = ((90, 180, 80), (90, 180, 80), (34, 139, 34), (240, 215, 160), (160, 160, 165),
           (245, 248, 252), (150, 110, 70), (60, 140, 210))  # fmt: skip


# A thing stands on the brush's origin and is about one unit high: y from -1 to 0.


def house(b: Brush) -> None:
    rng = b.rng
    w, top, eave = rng.uniform(0.3, 0.75), rng.uniform(-0.72, -0.42), rng.uniform(0, 0.15)
    b.box(-w, top, w, 0, b.any())
    ridge = rng.choice((0, 0.6, 0.98, rng.uniform(-1, 1)))
    roof = ((-w - eave, top), (-w * ridge, -1), (w * ridge, -1), (w + eave, top))
    b.poly(roof, b.tone((170, 60, 40)))
    x = rng.choice((-0.5, 0.0, 0.5)) * w
    b.box(x - 0.09, -0.3, x + 0.09, 0, b.tone((110, 70, 40)))
    glass, s, y = b.tone((170, 220, 250)), rng.uniform(0.07, 0.12), top + rng.uniform(0.1, 0.2)
    for wx in rng.choice(((-0.55, 0.55), (0.0,), (-0.6, 0.0, 0.6))):
        b.box(wx * w - s, y - s, wx * w + s, y + s, glass)


def tree(b: Brush) -> None:
    rng, leaf = b.rng, b.tone((40, 140, 50))
    w, kind = rng.uniform(0.03, 0.1), rng.randrange(4)
    b.poly(((-w, 0), (-w * 0.8, -0.6), (w * 0.8, -0.6), (w, 0)), b.tone((120, 80, 40)))
    if kind == 0:
        b.oval(0, -0.68, rng.uniform(0.14, 0.4), rng.uniform(0.25, 0.36), leaf)
    elif kind == 1:
        for i in range(rng.randint(1, 4)):
            y, half = -0.25 - 0.2 * i, 0.36 - 0.08 * i
            b.poly(((-half, y), (0, y - 0.36), (half, y)), leaf)
    elif kind == 2:
        for _ in range(rng.randint(3, 6)):
            b.oval(rng.uniform(-0.2, 0.2), rng.uniform(-0.8, -0.5), 0.2, 0.2, leaf)
    else:
        for turn in (-2.9, -2.4, -1.6, -0.8, -0.3):
            tip = 0.4 * math.cos(turn), -0.62 + 0.35 * math.sin(turn)
            b.stroke(((0, -0.6), tip), rng.uniform(0.04, 0.16), leaf)


def person(b: Brush) -> None:
    rng, kind = b.rng, b.rng.randrange(3)
    skin, shirt, legs = b.tone((224, 172, 130)), b.any(), b.tone((50, 60, 120))
    head, thick = rng.uniform(0.09, 0.17), rng.uniform(0.02, 0.09)
    neck = 2 * head - 1
    for side in (-1, 1):
        b.stroke(((side * 0.05, -0.35), (side * rng.uniform(0.05, 0.2), 0)), thick, legs)
        b.stroke(((0, neck + 0.06), (side * 0.27, rng.uniform(-0.9, -0.4))), thick, shirt)
    if kind == 0:
        b.box(-0.14, neck, 0.14, -0.33, shirt)
    elif kind == 1:
        b.poly(((0, neck - 0.05), (-0.24, -0.2), (0.24, -0.2)), shirt)
    else:
        b.stroke(((0, neck), (0, -0.33)), thick, shirt)
    b.oval(0, head - 1, head * rng.uniform(0.8, 1.1), head, skin)
    if rng.random() < 0.6:
        hair = b.tone((70, 45, 25))
        b.poly(arc(0, head - 1, head * 1.05, head * 1.05, math.pi, TAU, 10), hair)
    eyes(b, 0, head - 1, head)


def animal(b: Brush) -> None:
    rng, fur = b.rng, b.tone((160, 110, 60))
    long, high, r = rng.uniform(0.3, 0.5), rng.uniform(0.3, 0.6), rng.uniform(0.12, 0.24)
    for x in (-0.8, -0.5, 0.5, 0.8):
        b.stroke(((x * long, -high), (x * long, 0)), rng.uniform(0.04, 0.1), fur)
    b.oval(0, -high, long, rng.uniform(0.14, 0.26), fur)
    y = max(r - 1, -high - rng.uniform(0.1, 0.4))
    for side in (-1, 1):
        x = long + side * r * 0.6
        b.poly(((x - 0.06, y - r * 0.6), (x, y - r * 1.6), (x + 0.06, y - r * 0.6)), fur)
    b.oval(long, y, r, r, fur)
    eyes(b, long, y, r)


def sun(b: Brush) -> None:
    rng, yellow = b.rng, b.tone((255, 215, 50))
    r, rays = rng.uniform(0.25, 0.4), rng.choice((0, 0, 8, 12, 16))
    for i in range(rays):
        c, s = math.cos(i * TAU / rays), math.sin(i * TAU / rays)
        b.stroke(((c * r, -0.5 + s * r), (c * 0.5, -0.5 + s * 0.5)), 0.04, yellow)
    b.oval(0, -0.5, r, r, yellow)


def cloud(b: Brush) -> None:
    white = b.tone((245, 245, 250))
    for _ in range(b.rng.randint(1, 5)):
        r = b.rng.uniform(0.12, 0.25)
        b.oval(b.rng.uniform(-0.35, 0.35), -0.5, r * b.rng.uniform(1, 2), r, white, False)


def eyes(b: Brush, x: float, y: float, r: float) -> None:
    """Two dots or circles and a mouth on a head of radius `r`, or nothing."""
    if b.rng.random() < 0.4:
        return
    size = r * b.rng.uniform(0.08, 0.25)
    for side in (-0.4, 0.4):
        b.oval(x + side * r, y - 0.2 * r, size, size, b.rng.choice((WHITE, (0, 0, 0))))
    b.stroke(arc(x, y + 0.1 * r, 0.5 * r, 0.4 * r, 0.3, 2.8, 8), 0.12 * r, (60, 20, 20))


def figure(b: Brush) -> None:
    """No thing at all: a body, parts upon it, as likely as not the same to the left and right."""
    rng, even = b.rng, b.rng.random() < 0.6
    for part in range(rng.randint(1, 8)):
        r = rng.uniform(0.25, 0.5) if part == 0 else rng.uniform(0.03, 0.25)
        x, y = (0.0, -r) if part == 0 else (rng.uniform(-0.45, 0.45), rng.uniform(-0.95, -0.1))
        high, kind, color = r * rng.uniform(0.4, 1.6), rng.randrange(5), b.any()
        corners, turn, end = rng.randint(3, 7), rng.random() * TAU, rng.uniform(-0.5, 0.5)
        for side in (x, -x) if even and x else (x,):
            if kind == 0:
                b.oval(side, y, r, high, color)
            elif kind == 1:
                b.box(side - r, y - high, side + r, y + high, color)
            elif kind == 2:
                b.poly(arc(side, y, r, high, turn, turn + TAU, corners), color)
            elif kind == 3:
                b.poly(arc(side, y, r, high, math.pi, TAU, 12), color)
            else:
                b.stroke(((side, y), (math.copysign(end, side), y + high)), r * 0.4, color)


STANDING: tuple[Drawer, ...] = (house, house, tree, tree, person, person, animal, figure, figure)
FLYING: tuple[Drawer, ...] = (sun, sun, cloud, cloud, figure)
INDOORS: tuple[Drawer, ...] = (person, animal, figure, figure, figure)
SINGLE: tuple[Drawer, ...] = (house, tree, person, animal, sun, cloud, figure, figure, figure)


def canvas(rng: random.Random) -> Brush:
    """A brush on an empty canvas of some size, shape and color."""
    width = rng.choice((128, 192, 256, 256))
    size = width, round(width * rng.choice((1.0, 1.0, 1.0, 0.75, 0.66, 1.33)))
    return Brush(Image.new("RGB", size, rng.choice((WHITE, any_color(rng)))), rng, Hand.of(rng))


def outdoors(b: Brush) -> float:
    """Sky and ground, flat, shaded or hilly; returns the horizon in canvas widths."""
    rng, high, image = b.rng, b.aspect, b.image
    horizon = high * rng.uniform(0.4, 0.85)
    sky = b.tone(rng.choice(SKIES))
    image.paste(sky, (0, 0, *image.size))
    if rng.random() < 0.5:
        image.paste(shade(image.size, sky, mix(sky, WHITE, rng.uniform(0.3, 1)), 1))
    for i in range(rng.choice((1, 1, 1, 2, 3))):
        ground, lift = b.tone(rng.choice(GROUNDS)), horizon + 0.08 * i
        waves, phase = rng.uniform(1, 9), rng.uniform(0, 6)
        height = rng.choice((0, 0, rng.uniform(0.01, 0.2)))
        hill = [(x / 20, lift + height * math.sin(waves * x / 20 + phase)) for x in range(21)]
        b.poly([*hill, (1.1, high + 0.1), (-0.1, high + 0.1)], ground, rng.random() < 0.3)
    if rng.random() < 0.3:  # a road, a river, a wall
        x, w = rng.uniform(0.2, 0.8), rng.uniform(0.02, 0.3)
        strip = ((x, horizon), (x + 0.05, horizon), (x + w, high), (x - w, high))
        b.poly(strip, b.any()) if rng.random() < 0.5 else b.box(-0.1, lift, 1.1, lift + w, b.any())
    return horizon


def indoors(b: Brush) -> float:
    """A wall and a floor, perhaps with stripes, a window or a picture."""
    rng, high = b.rng, b.aspect
    floor, wall = high * rng.uniform(0.5, 0.85), b.any()
    b.image.paste(wall, (0, 0, *b.image.size))
    b.box(-0.1, floor, 1.1, high + 0.1, b.tone((180, 130, 80)))
    if rng.random() < 0.4:
        for i in range(1, 8):
            b.stroke(((i / 8, 0), (i / 8, floor)), rng.uniform(0.002, 0.03), mix(wall, WHITE, 0.4))
    for _ in range(rng.randint(0, 3)):
        x, y, s = rng.uniform(0.1, 0.8), rng.uniform(0.06, 0.3) * high, rng.uniform(0.06, 0.14)
        b.box(x - s, y - s * 0.3, x + s, y + s * 1.6, b.any())
        b.box(x - s * 0.8, y - s * 0.1, x + s * 0.8, y + s * 1.4, b.tone((170, 220, 250)))
    return floor


def populate(b: Brush, horizon: float, standing: tuple[Drawer, ...]) -> None:
    """Puts things on the ground and, where it is not a room, in the air."""
    rng, high = b.rng, b.aspect
    for _ in range(0 if standing is INDOORS else rng.choice((0, 1, 2, 3))):
        s, y = rng.uniform(0.08, 0.35), rng.uniform(0.12, 0.9) * horizon
        rng.choice(FLYING)(b.at(rng.choice((rng.random(), 0.05, 0.95)), max(y, s * 0.7), s))
    size = rng.uniform(0.15, 0.6)
    spots = [horizon + (high - horizon) * rng.random() * 0.95 for _ in range(rng.randint(1, 7))]
    for y in sorted(spots):
        spot = b.at(rng.uniform(0.05, 0.95), y + 0.02, size * rng.uniform(0.5, 1.4))
        rng.choice(standing)(spot)


def scene(rng: random.Random) -> Image.Image:
    b = canvas(rng)
    populate(b, outdoors(b), STANDING)
    return b.image


def room(rng: random.Random) -> Image.Image:
    b = canvas(rng)
    populate(b, indoors(b), INDOORS)
    return b.image


def large(rng: random.Random) -> Image.Image:
    """One to three things, as large as the canvas or cut off by it; or one on a plain ground."""
    b = canvas(rng)
    horizon = rng.choice((outdoors, indoors, lambda b: b.aspect * 0.9))(b)
    for _ in range(rng.randint(1, 3)):
        spot = rng.random(), horizon + rng.uniform(0, 0.6)
        rng.choice(SINGLE)(b.at(*spot, rng.uniform(0.4, 1.6), rng.choice((0, 0, 0.5, -0.5))))
    return b.image


def sheet(rng: random.Random) -> Image.Image:
    """A grid or scatter of small things, or one thing, on one ground."""
    b, n = canvas(rng), rng.randint(1, 6)
    one, grid = rng.choice(SINGLE), rng.random() < 0.6
    for i in range(n * n):
        x, y = ((i % n + 0.5) / n, (i // n + 0.85) / n) if grid else (rng.random(), rng.random())
        drawer = one if rng.random() < 0.4 else rng.choice(SINGLE)
        drawer(b.at(x, y * b.aspect, rng.uniform(0.5, 0.8) / n))
    return b.image


def pixels(rng: random.Random) -> Image.Image:
    """A drawing in few large pixels and often few colors, or a symmetric sprite."""
    cells = rng.choice((8, 12, 16, 24, 32, 48))
    if rng.random() < 0.3:
        colors = np.array([any_color(rng) for _ in range(rng.randint(2, 5))], dtype=np.uint8)
        gen = np.random.default_rng(rng.randrange(2**31))
        half = gen.integers(0, len(colors), (cells, (cells + 1) // 2))
        small = Image.fromarray(colors[np.concatenate([half, half[:, ::-1]], axis=1)])
    else:
        how = rng.choice((Image.Resampling.NEAREST, Image.Resampling.BOX))
        small = rng.choice((scene, large))(rng).resize((cells, cells), how)
        if rng.random() < 0.5:
            small = small.quantize(rng.randint(4, 16)).convert("RGB")
    return small.resize((192, 192), Image.Resampling.NEAREST)


def doodle(rng: random.Random) -> Image.Image:
    """Scribbles of a pen or chalk."""
    b = canvas(rng)
    ink = any_color(rng)
    for _ in range(rng.randint(2, 25)):
        x, y, angle = rng.random(), rng.random() * b.aspect, rng.uniform(0, 6)
        points, bend = [(x, y)], rng.uniform(-0.5, 0.5)
        for _ in range(rng.randint(3, 60)):
            angle += bend + rng.gauss(0, 0.3)
            x, y = x + 0.03 * math.cos(angle), y + 0.03 * math.sin(angle)
            points.append((x, y))
        color = ink if rng.random() < 0.7 else any_color(rng)
        b.stroke(points, rng.uniform(0.004, 0.02), color)
    return b.image


def geometry(rng: random.Random) -> Image.Image:
    """Scattered shapes, or blocks seen from above a corner; no scene."""
    b, blocks = canvas(rng), rng.random() < 0.3
    n, s = rng.randint(2, 6), rng.uniform(0.08, 0.2)
    for i in range(n * n):
        if not blocks:
            spot = b.at(rng.random(), rng.random() * b.aspect, rng.choice((0.05, 0.15, 0.4)))
            figure(spot)
            continue
        row, column = divmod(i, n)
        x, y = 0.5 + (row - column) * s * 0.87, b.aspect * 0.35 + (row + column - n + 1) * s * 0.5
        up, w, d, top = y - s * rng.choice((0.2, 0.6, 1, 2)), s * 0.87, s * 0.5, b.any()
        for side, dark in ((-w, 0.25), (w, 0.45)):
            face = ((x + side, y), (x, y + d), (x, up + d), (x + side, up))
            b.poly(face, mix(top, (0, 0, 0), dark))
        b.poly(((x - w, up), (x, up + d), (x + w, up), (x, up - d)), top)
    return b.image


DRAWINGS: dict[str, Callable[[random.Random], Image.Image]] = {
    "scene": scene, "room": room, "large": large, "sheet": sheet, "pixels": pixels,
    "doodle": doodle, "geometry": geometry,
}  # fmt: skip
