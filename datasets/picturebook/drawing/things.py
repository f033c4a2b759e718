"""Houses, plants, vehicles, furniture, toys, signs, and what hangs in the sky."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from revise_captions.picturebook.drawing.animals import bird, cat, dog
from revise_captions.picturebook.drawing.lettering import write
from revise_captions.picturebook.drawing.pen import (
    INK,
    RGB,
    Pen,
    darker,
    is_light,
    lighter,
    mix,
)
from revise_captions.picturebook.drawing.people import person
from revise_captions.picturebook.world.scene import Thing

GLASS: RGB = (190, 226, 244)
LIT: RGB = (255, 226, 120)
WOOD: RGB = (134, 104, 84)
STEM: RGB = (84, 148, 72)
GRAY: RGB = (168, 170, 180)


def house(pen: Pen, thing: Thing) -> None:
    slots = thing.slots
    walls, roof = pen.color(slots["walls"]), pen.color(slots["roof"])
    w = pen.half
    pen.shadow(w * 0.96)
    pen.rect(w * 0.40, 0.06, w * 0.60, 0.30, mix(walls, GRAY, 0.5))
    pen.rect(-w * 0.88, 0.34, w * 0.88, 1.0, walls)
    pen.poly(((-w, 0.43), (-w * 0.68, 0.03), (w * 0.68, 0.03), (w, 0.43)), roof, soft=0.09)
    tile = lighter(roof, 0.2) if sum(roof) < 300 else darker(roof, 0.22)
    for y, reach in ((0.15, 0.70), (0.26, 0.80)):
        n = 5
        for i in range(n):
            x = (i - (n - 1) / 2) * 2 * reach * w / n
            pen.smile(x, y, 0.11, 0.014, tile)
    trim = darker(walls, 0.35)
    pen.poly(((-0.115, 1.0), (-0.115, 0.70), (-0.06, 0.655), (0.06, 0.655), (0.115, 0.70),
              (0.115, 1.0)), trim, line=False)  # fmt: skip
    pen.poly(((-0.09, 1.0), (-0.09, 0.71), (-0.05, 0.68), (0.05, 0.68), (0.09, 0.71), (0.09, 1.0)),
             pen.color(slots["door"]))  # fmt: skip
    pen.oval(0.05, 0.85, 0.018, 0.018, (250, 220, 110))
    count = int(slots["windows"])
    for i in range(count):
        _window(pen, (i - (count - 1) / 2) * w * 0.56, 0.545, trim)


def _window(pen: Pen, x: float, y: float, trim: RGB) -> None:
    pen.rect(x - 0.088, y - 0.088, x + 0.088, y + 0.088, trim, line=False)
    pane = LIT if pen.night else GLASS
    pen.rect(x - 0.066, y - 0.066, x + 0.066, y + 0.066, pane, line=False)
    frame = (255, 255, 255)
    pen.stroke(((x - 0.06, y), (x + 0.06, y)), 0.016, frame)
    pen.stroke(((x, y - 0.06), (x, y + 0.06)), 0.016, frame)


def tree(pen: Pen, thing: Thing) -> None:
    leaves = pen.color(thing.slots["leaves"])
    w = pen.half
    pen.shadow(w * 0.6)
    trunk = ((-0.05, 0.55), (0.05, 0.55), (0.06, 0.90), (0.10, 1.0), (-0.10, 1.0), (-0.06, 0.90))
    pen.poly(trunk, (122, 88, 62))
    crown = ((0, 0.20, w * 0.64, 0.185), (-w * 0.50, 0.38, w * 0.47, 0.165),
             (w * 0.50, 0.38, w * 0.47, 0.165), (0, 0.47, w * 0.66, 0.155))  # fmt: skip
    pen.cluster(crown, leaves)
    for x, y in ((-0.3, 0.14), (0.3, 0.22), (-0.55, 0.36), (0.1, 0.38), (0.6, 0.40), (-0.15, 0.52)):
        pen.smile(x * w, y, 0.09, 0.018, darker(leaves, 0.18))
    pen.oval(-w * 0.28, 0.12, w * 0.2, 0.05, lighter(leaves, 0.3), -0.4, line=False)


def flower(pen: Pen, thing: Thing) -> None:
    petals = pen.color(thing.slots["petals"])
    pen.shadow(0.14)
    pen.stroke(((0, 0.98), (0.02, 0.7), (0, 0.35)), 0.055, STEM, 1)
    pen.oval(-0.12, 0.60, 0.13, 0.055, STEM, 0.6)
    pen.oval(0.13, 0.66, 0.13, 0.055, STEM, -0.6)
    if pen.indoors:
        pot = (198, 186, 176)
        pen.poly(((-0.17, 0.78), (0.17, 0.78), (0.12, 0.99), (-0.12, 0.99)), pot, soft=0.04)
        pen.rect(-0.20, 0.73, 0.20, 0.81, lighter(pot, 0.2))
    for i in range(6):
        turn = i * math.pi / 3 + 0.5
        x, y = 0.155 * math.cos(turn), 0.275 + 0.155 * math.sin(turn)
        pen.oval(x, y, 0.125, 0.095, petals, turn)
    yellow = sum(abs(a - b) for a, b in zip(petals, pen.color("yellow"), strict=True)) < 60
    pen.oval(0, 0.275, 0.095, 0.095, (150, 96, 48) if yellow else (255, 222, 90))
    for side in (-1, 1):
        pen.oval(side * 0.035, 0.26, 0.014, 0.02, INK, line=False)
    pen.smile(0, 0.29, 0.07, 0.016)


def car(pen: Pen, thing: Thing) -> None:
    body, w = pen.color(thing.slots["body"]), pen.half
    pen.shadow(w * 0.95)
    cabin = ((-w * 0.62, 0.50), (-w * 0.44, 0.03), (w * 0.26, 0.03), (w * 0.52, 0.50))
    pen.poly(cabin, body, soft=0.16)
    pen.poly(
        ((-w * 0.50, 0.42), (-w * 0.38, 0.12), (-w * 0.08, 0.12), (-w * 0.08, 0.42)),
        GLASS,
        soft=0.06,
    )
    pen.poly(((0, 0.42), (0, 0.12), (w * 0.22, 0.12), (w * 0.40, 0.42)), GLASS, soft=0.06)
    hull = ((-w * 0.98, 0.84), (-w * 0.98, 0.46), (-w * 0.80, 0.40), (w * 0.72, 0.40),
            (w * 0.98, 0.54), (w * 0.98, 0.84))  # fmt: skip
    pen.poly(hull, body, soft=0.14)
    pen.stroke(((-w * 0.9, 0.74), (w * 0.9, 0.74)), 0.03, darker(body, 0.25))
    pen.stroke(((w * 0.02, 0.46), (w * 0.02, 0.68)), 0.02, darker(body, 0.3))
    pen.stroke(((-w * 0.16, 0.54), (-w * 0.06, 0.54)), 0.035, darker(body, 0.4))
    pen.oval(w * 0.90, 0.58, 0.055, 0.075, LIT)
    pen.oval(-w * 0.93, 0.58, 0.035, 0.06, (240, 96, 80))
    for x in (-w * 0.54, w * 0.54):
        pen.oval(x, 0.80, 0.20, 0.20, (52, 50, 58))
        pen.oval(x, 0.80, 0.095, 0.095, (206, 208, 214), line=False)


def boat(pen: Pen, thing: Thing) -> None:
    hull, sail, w = pen.color(thing.slots["hull"]), pen.color(thing.slots["sail"]), pen.half
    pen.stroke(((0, 0.02), (0, 0.75)), 0.035, WOOD)
    pen.poly(((0.035, 0.06), (w * 0.80, 0.64), (0.035, 0.66)), sail)
    pen.poly(((-0.04, 0.18), (-w * 0.66, 0.64), (-0.04, 0.66)), sail)
    pen.poly(
        ((-w * 0.97, 0.70), (w * 0.97, 0.70), (w * 0.70, 0.97), (-w * 0.66, 0.97)), hull, soft=0.1
    )
    pen.stroke(((-w * 0.82, 0.76), (w * 0.82, 0.76)), 0.03, lighter(hull, 0.4))
    for x in (-0.5, 0.0, 0.5):
        pen.smile(x * w, 0.955, w * 0.5, 0.035, (236, 248, 252))


def table(pen: Pen, thing: Thing) -> None:
    top, w = pen.color(thing.slots["top"]), pen.half
    leg = darker(top, 0.28) if not sum(top) < 160 else lighter(top, 0.18)
    pen.shadow(w * 0.9)
    for x in (-w * 0.72, w * 0.72):
        pen.stroke(((x * 0.94, 0.28), (x * 0.94, 0.80)), 0.07, leg, line=True)
    for x in (-w * 0.86, w * 0.86):
        pen.stroke(((x, 0.28), (x, 0.95)), 0.085, leg, line=True)
    pen.poly(((-w * 0.84, 0.04), (w * 0.84, 0.04), (w, 0.28), (-w, 0.28)), top)
    pen.rect(-w, 0.26, w, 0.38, mix(top, leg, 0.5))


def chair(pen: Pen, thing: Thing) -> None:
    seat, w = pen.color(thing.slots["seat"]), pen.half
    leg = darker(seat, 0.3) if not sum(seat) < 160 else lighter(seat, 0.18)
    pen.shadow(w * 0.9)
    for x in (-w * 0.66, w * 0.66):
        pen.stroke(((x, 0.55), (x, 0.86)), 0.06, leg, line=True)
    pen.rect(-w * 0.80, 0.01, w * 0.80, 0.50, seat)
    for x in (-w * 0.38, 0.0, w * 0.38):
        pen.stroke(((x, 0.12), (x, 0.46)), 0.035, leg)
    for x in (-w * 0.84, w * 0.84):
        pen.stroke(((x, 0.66), (x, 0.96)), 0.07, leg, line=True)
    pen.poly(((-w * 0.80, 0.50), (w * 0.80, 0.50), (w, 0.64), (w, 0.71), (-w, 0.71), (-w, 0.64)),
             seat)  # fmt: skip


def lamp(pen: Pen, thing: Thing) -> None:
    shade, w = pen.color(thing.slots["shade"]), pen.half
    lit = thing.slots["light"] == "on"
    pen.shadow(w * 0.7)
    if lit:
        for r, alpha in ((1.0, 90), (0.8, 110)):
            pen.glaze(0, 0.27, w * 1.15 * r, 0.30 * r, (255, 232, 110, alpha))
    pen.stroke(((0, 0.40), (0, 0.92)), 0.05, GRAY, line=True)
    pen.oval(0, 0.955, w * 0.62, 0.04, GRAY)
    pen.oval(0, 0.415, 0.075, 0.07, (255, 240, 150) if lit else (120, 122, 134))
    pen.poly(((-w * 0.42, 0.06), (w * 0.42, 0.06), (w * 0.80, 0.42), (-w * 0.80, 0.42)), shade)
    if lit:
        pen.poly(((-w * 0.26, 0.14), (w * 0.26, 0.14), (w * 0.5, 0.40), (-w * 0.5, 0.40)),
                 mix(shade, (255, 246, 190), 0.4), 1, line=False)  # fmt: skip
        for x0, y0, x1, y1 in (
            (-0.5, 0.50, -0.8, 0.60),
            (0, 0.53, 0, 0.66),
            (0.5, 0.50, 0.8, 0.60),
        ):
            pen.stroke(((x0 * w, y0), (x1 * w, y1)), 0.035, (255, 222, 70))


def ball(pen: Pen, thing: Thing) -> None:
    color = pen.color(thing.slots["colour"])
    pen.shadow(0.40)
    pen.oval(0, 0.5, 0.49, 0.49, color)
    if thing.slots["pattern"] == "striped":
        stripe = (150, 160, 184) if is_light(color) else (252, 252, 250)
        middle = [(-0.46, 0.36), (-0.3, 0.42), (0, 0.45), (0.3, 0.42), (0.46, 0.36)]
        lower = [(0.47, 0.56), (0.3, 0.63), (0, 0.66), (-0.3, 0.63), (-0.47, 0.56)]
        pen.poly(middle + lower, stripe, line=False)
        cap = [(-0.26, 0.11), (0, 0.16), (0.26, 0.11), (0.16, 0.05), (0, 0.02), (-0.16, 0.05)]
        pen.poly(cap, stripe, line=False)
        foot = [(-0.28, 0.88), (0, 0.92), (0.28, 0.88), (0.15, 0.955), (0, 0.975), (-0.15, 0.955)]
        pen.poly(foot, stripe, line=False)
    else:
        pen.oval(-0.17, 0.27, 0.11, 0.08, lighter(color, 0.5), -0.6, line=False)


def kite(pen: Pen, thing: Thing) -> None:
    color, w = pen.color(thing.slots["colour"]), pen.half
    pen.stroke(((0, 0.66), (0.10, 0.76), (-0.06, 0.87), (0.06, 0.98)), 0.022, INK, 2)
    for x, y in ((0.04, 0.775), (-0.01, 0.89)):
        for side in (-1, 1):
            pen.poly(((x, y), (x + side * 0.11, y - 0.05), (x + side * 0.11, y + 0.05)), color)
    pen.poly(((0, 0.01), (w * 0.92, 0.27), (0, 0.68), (-w * 0.92, 0.27)), color)
    light = lighter(color, 0.4)
    pen.poly(((0, 0.06), (w * 0.78, 0.26), (0, 0.26)), light, line=False)
    pen.poly(((0, 0.27), (-w * 0.76, 0.28), (0, 0.62)), light, line=False)


def balloon(pen: Pen, thing: Thing) -> None:
    color, w = pen.color(thing.slots["colour"]), pen.half
    string = (220, 220, 236) if pen.night else (110, 100, 110)
    pen.stroke(((0, 0.68), (0.06, 0.78), (-0.06, 0.88), (0.03, 0.99)), 0.022, string, 2)
    pen.poly(((0, 0.62), (0.07, 0.72), (-0.07, 0.72)), color)
    pen.oval(0, 0.335, w * 0.95, 0.325, color)
    pen.oval(-w * 0.36, 0.19, w * 0.16, 0.09, lighter(color, 0.6), 0.5, line=False)


def sign(pen: Pen, thing: Thing) -> None:
    board, w = pen.color(thing.slots["board"]), pen.half
    pen.shadow(min(w * 0.5, 0.3))
    pen.stroke(((0, 0.5), (0, 0.97)), 0.08, WOOD, line=True)
    pen.rect(-w, 0.0, w, 0.60, darker(board, 0.3))
    pen.rect(-w + 0.03, 0.03, w - 0.03, 0.57, board, line=False)
    light = 0.3 * board[0] + 0.59 * board[1] + 0.11 * board[2] > 150
    letters = (40, 34, 44) if light else (255, 255, 255)
    write(replace(pen, flip=1), thing.slots["word"], -w + 0.07, 0.12, w - 0.07, 0.48, letters)


def fence(pen: Pen, thing: Thing) -> None:
    color, w = pen.color(thing.slots["colour"]), pen.half
    pen.shadow(w)
    for y in (0.36, 0.72):
        pen.rect(-w, y - 0.06, w, y + 0.06, darker(color, 0.15))
    count = 7
    for i in range(count):
        x = (i - (count - 1) / 2) * 2 * w * 0.86 / (count - 1)
        r = w * 0.085
        pen.poly(((x - r, 1.0), (x - r, 0.16), (x, 0.0), (x + r, 0.16), (x + r, 1.0)), color)


def sun(pen: Pen, thing: Thing) -> None:
    gold = (255, 206, 54)
    for i in range(12):
        turn = i * math.pi / 6 + 0.2
        c, s = math.cos(turn), math.sin(turn)
        pen.stroke(((0.36 * c, 0.5 + 0.36 * s), (0.47 * c, 0.5 + 0.47 * s)), 0.055, gold)
    pen.oval(0, 0.5, 0.32, 0.32, gold)
    _sky_face(pen, 0, 0.5, 0.32)


def _sky_face(pen: Pen, x: float, y: float, r: float) -> None:
    for side in (-1, 1):
        pen.oval(x + side * r * 0.36, y - r * 0.1, r * 0.09, r * 0.13, INK, line=False)
        pen.glaze(x + side * r * 0.58, y + r * 0.22, r * 0.18, r * 0.13, (240, 120, 100, 120))
    pen.smile(x, y + r * 0.2, r * 0.6, r * 0.10)


def moon(pen: Pen, thing: Thing) -> None:
    outer = [(-0.04 + 0.47 * math.cos(t), 0.5 + 0.48 * math.sin(t)) for t in _angles(0.9, 5.4)]
    inner = [(0.19 + 0.36 * math.cos(t), 0.5 + 0.38 * math.sin(t)) for t in _angles(4.95, 1.33)]
    pen.poly(outer + inner, (252, 240, 190))
    pen.smile(-0.30, 0.42, 0.12, 0.03)
    pen.smile(-0.24, 0.58, 0.10, 0.03, (190, 110, 90))


def _angles(start: float, stop: float) -> list[float]:
    return [start + (stop - start) * i / 18 for i in range(19)]


def cloud(pen: Pen, thing: Thing) -> None:
    w = pen.half
    fill = pen.style.rng("cloud").choice(((252, 252, 254), (240, 244, 250)))
    fill = mix(fill, (112, 122, 146), 0.30) if pen.dull else fill
    fill = mix(fill, (120, 128, 160), 0.25) if pen.night else fill
    puffs = ((-w * 0.58, 0.66, w * 0.38, 0.30), (w * 0.56, 0.64, w * 0.40, 0.32),
             (-w * 0.14, 0.42, w * 0.42, 0.40), (w * 0.24, 0.50, w * 0.36, 0.36),
             (0, 0.74, w * 0.60, 0.25))  # fmt: skip
    pen.cluster(puffs, fill)
    pen.oval(-w * 0.2, 0.24, w * 0.16, 0.09, lighter(fill, 0.6), -0.3, line=False)


DRAWERS: dict[str, Callable[[Pen, Thing], None]] = {
    "house": house, "tree": tree, "flower": flower, "girl": person, "boy": person, "dog": dog,
    "cat": cat, "bird": bird, "car": car, "boat": boat, "table": table, "chair": chair,
    "lamp": lamp, "ball": ball, "kite": kite, "balloon": balloon, "sign": sign, "fence": fence,
    "sun": sun, "moon": moon, "cloud": cloud,
}  # fmt: skip
