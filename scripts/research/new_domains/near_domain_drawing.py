"""Draws yards with the picture-book's pens: known ground and sky, things that are new."""

from __future__ import annotations

import random
from collections.abc import Callable

from PIL import Image, ImageDraw

from revise_captions.picturebook.drawing.pen import (
    INK,
    RGB,
    Pen,
    darker,
    lighter,
    style_of,
)
from revise_captions.picturebook.drawing.scenery import gradient, scenery, sky_colors
from revise_captions.picturebook.world.scene import Scene, Thing
from scripts.research.new_domains.far_domain import DomainThing as Exhibit
from scripts.research.new_domains.near_domain import Yard

OVERSAMPLING = 2
WOOD: RGB = (134, 104, 84)
STONE: RGB = (150, 148, 146)
CANVAS: RGB = (250, 246, 234)


def draw(yard: Yard, size: int = 256) -> Image.Image:
    """The picture of a yard, RGB, `size` by `size` pixels."""
    pixels, style, rng = size * OVERSAMPLING, style_of(yard.style), random.Random(yard.style)
    scene = Scene(yard.style, "test", yard.setting, "day", "clear", (), yard.style)
    image = gradient(pixels, *sky_colors(scene, rng.randrange(6)), 0.56)
    pen = Pen(ImageDraw.Draw(image), ImageDraw.Draw(image, "RGBA"), pixels, style, False)
    scenery(pen, scene)
    width = 0.94 / len(yard.exhibits)
    for place, exhibit in enumerate(yard.exhibits):
        height = rng.uniform(0.22, 0.27)
        half = 0.5 * min(width * 0.9, height * 0.9)
        x = 0.03 + width * (place + 0.5) + rng.uniform(-0.5, 0.5) * (width - 2 * half)
        bottom = rng.uniform(0.78, 0.94)
        box = (x - half, bottom - height, x + half, bottom)
        DRAWERS[exhibit.kind](pen.of(Thing(place, exhibit.kind, box)), exhibit)
    return image.reduce(OVERSAMPLING)


def _tent(pen: Pen, exhibit: Exhibit) -> None:
    fill, w = pen.color(exhibit.color), pen.half
    pen.poly(((-w, 1.0), (0, 0.1), (w, 1.0)), fill, soft=0.04)
    if exhibit.state == "wide open":
        pen.poly(((-0.45 * w, 1.0), (0, 0.34), (0.45 * w, 1.0)), (52, 44, 56))
    else:
        pen.stroke(((0, 0.3), (0, 0.98)), 0.03, darker(fill, 0.45))


def _windmill(pen: Pen, exhibit: Exhibit) -> None:
    fill, reach = pen.color(exhibit.color), 0.36 * min(1.0, pen.half / 0.4)
    pen.poly(((-0.24, 1.0), (-0.13, 0.36), (0.13, 0.36), (0.24, 1.0)), fill)
    ends = [(reach, -reach), (reach, reach), (-reach, reach), (-reach, -reach)]
    for x, y in ends[1 if exhibit.state == "missing a sail" else 0 :]:
        pen.stroke(((0, 0.38), (x, 0.38 + y)), 0.1, CANVAS, line=True)
    pen.oval(0, 0.38, 0.05, 0.05, darker(fill, 0.5))


def _snowman(pen: Pen, exhibit: Exhibit) -> None:
    fill = pen.color(exhibit.color)
    for y, r in ((0.78, 0.24), (0.44, 0.18), (0.17, 0.13)):
        pen.oval(0, y, r, r * 0.94, fill)
    for x in (-0.05, 0.05):
        pen.oval(x, 0.14, 0.018, 0.022, INK, line=False)
    if exhibit.state == "dressed in a scarf":
        pen.rect(-0.16, 0.26, 0.16, 0.34, CANVAS)
        pen.rect(0.04, 0.3, 0.13, 0.52, CANVAS)


def _rocket(pen: Pen, exhibit: Exhibit) -> None:
    fill = pen.color(exhibit.color)
    if exhibit.state == "smoking":
        puffs = ((-0.2, 0.93, 0.16, 0.09), (0.2, 0.93, 0.16, 0.09), (0, 0.88, 0.16, 0.1))
        pen.cluster(puffs, (214, 214, 220))
    for side in (-1, 1):
        pen.poly(((side * 0.1, 0.55), (side * 0.3, 0.86), (side * 0.1, 0.8)), darker(fill, 0.35))
    body = ((-0.15, 0.84), (-0.17, 0.4), (0, 0.0), (0.17, 0.4), (0.15, 0.84))
    pen.poly(body, fill, 1)
    pen.oval(0, 0.4, 0.07, 0.07, (190, 226, 244))


def _mailbox(pen: Pen, exhibit: Exhibit) -> None:
    fill = pen.color(exhibit.color)
    pen.rect(-0.05, 0.5, 0.05, 1.0, WOOD)
    pen.poly(((-0.3, 0.56), (-0.3, 0.3), (-0.2, 0.2), (0.3, 0.2), (0.3, 0.56)), fill, soft=0.05)
    pen.rect(-0.22, 0.36, 0.02, 0.42, CANVAS)
    if exhibit.state == "flagged":
        pen.stroke(((0.2, 0.36), (0.2, 0.02)), 0.04, INK)
        pen.rect(0.2, 0.0, 0.36, 0.12, CANVAS)


def _barrel(pen: Pen, exhibit: Exhibit) -> None:
    fill = pen.color(exhibit.color)
    if exhibit.state == "upright":
        sides = ((-0.2, 1.0), (-0.28, 0.66), (-0.2, 0.32), (0.2, 0.32), (0.28, 0.66), (0.2, 1.0))
        pen.poly(sides, fill, 1)
        for y in (0.48, 0.82):
            pen.rect(-0.25, y, 0.25, y + 0.06, STONE, line=False)
        return
    pen.poly(((-0.34, 0.98), (-0.34, 0.58), (0.3, 0.58), (0.3, 0.98)), fill, 1)
    for x in (-0.18, 0.08):
        pen.rect(x, 0.57, x + 0.06, 0.99, STONE, line=False)
    pen.oval(0.28, 0.78, 0.1, 0.2, darker(fill, 0.3))


def _robot(pen: Pen, exhibit: Exhibit) -> None:
    fill = pen.color(exhibit.color)
    for x in (-0.1, 0.1):
        pen.rect(x - 0.06, 0.72, x + 0.06, 1.0, STONE)
    hand = (0.3, 0.12) if exhibit.state == "saluting" else (0.32, 0.66)
    pen.stroke(((-0.18, 0.44), (-0.32, 0.66)), 0.08, STONE, line=True)
    pen.stroke(((0.18, 0.44), hand), 0.08, STONE, line=True)
    pen.rect(-0.22, 0.36, 0.22, 0.76, fill)
    pen.rect(-0.15, 0.08, 0.15, 0.34, lighter(fill, 0.3))
    for x in (-0.06, 0.06):
        pen.oval(x, 0.2, 0.03, 0.03, INK, line=False)
    pen.stroke(((0, 0.08), (0, 0.0)), 0.03, INK)


def _wagon(pen: Pen, exhibit: Exhibit) -> None:
    fill = pen.color(exhibit.color)
    if exhibit.state == "loaded with stones":
        for x, y in ((-0.2, 0.52), (0.2, 0.52), (0.0, 0.52), (-0.1, 0.4), (0.1, 0.4)):
            pen.oval(x, y, 0.12, 0.1, STONE)
    pen.rect(-0.38, 0.55, 0.38, 0.82, fill)
    for x in (-0.24, 0.24):
        pen.oval(x, 0.87, 0.13, 0.13, (70, 62, 66))
        pen.oval(x, 0.87, 0.05, 0.05, CANVAS, line=False)


DRAWERS: dict[str, Callable[[Pen, Exhibit], None]] = {
    "tent": _tent, "windmill": _windmill, "snowman": _snowman, "rocket": _rocket,
    "mailbox": _mailbox, "barrel": _barrel, "robot": _robot, "wagon": _wagon,
}  # fmt: skip
