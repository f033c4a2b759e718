"""Boys and girls: clothes, hats, poses, and what they hold."""

from __future__ import annotations

from revise_captions.picturebook.drawing.pen import INK, RGB, Pen, darker, lighter
from revise_captions.picturebook.world.scene import NONE, Thing

SKINS: tuple[RGB, ...] = ((255, 219, 190), (244, 198, 158), (214, 158, 116), (158, 104, 72))
HAIRS: tuple[RGB, ...] = ((74, 48, 36), (120, 76, 44), (216, 168, 84), (62, 44, 46))
TROUSERS: tuple[RGB, ...] = ((74, 86, 118), (96, 98, 108), (128, 118, 104))
SHOE: RGB = (70, 58, 62)


def person(pen: Pen, thing: Thing) -> None:
    """Draws a child. Standing, the box is filled from hat to shoes; sitting leaves its top free."""
    slots = thing.slots
    rng = pen.style.rng(f"person.{thing.id}")
    skin, hair, cloth = rng.choice(SKINS), rng.choice(HAIRS), rng.choice(TROUSERS)
    pose = slots["pose"]
    shift = -min(0.09, max(0.03, pen.half - 0.25)) if slots["holding"] != NONE else 0.0
    if pose == "jumping":
        pen.moved(shift, 0).shadow(0.13)
        pen = pen.moved(shift, 0.0, 0.84)
    else:
        pen.moved(shift, 0).shadow(0.17)
        pen = pen.moved(shift, 0.17 if pose == "sitting" else 0.0)
    if slots["holding"] != NONE:
        held_thing(pen, slots["holding"], pen.color(slots["held"]))
    girl = thing.kind == "girl"
    if girl:
        _long_hair(pen, hair)
    _legs(pen, pose, girl, skin, cloth)
    shirt = pen.color(slots["shirt"])
    pen.poly(((-0.12, 0.41), (0.12, 0.41), (0.155, 0.70), (-0.155, 0.70)), shirt, soft=0.06)
    _arms(pen, pose, slots["holding"] != NONE, shirt, skin)
    _head(pen, girl, skin, hair, pose)
    if slots["hat"] != NONE:
        _hat(pen, pen.color(slots["hat"]))


def _long_hair(pen: Pen, hair: RGB) -> None:
    for side in (-1, 1):
        pen.oval(side * 0.185, 0.33, 0.062, 0.115, hair, side * -0.35)


def _legs(pen: Pen, pose: str, girl: bool, skin: RGB, cloth: RGB) -> None:
    leg = skin if girl else cloth
    if pose == "sitting":
        for side in (-1, 1):
            pen.stroke(((side * 0.07, 0.69), (side * 0.20, 0.765)), 0.095, leg, line=True)
            pen.oval(side * 0.215, 0.765, 0.05, 0.062, SHOE)
        if girl:
            pen.poly(((-0.13, 0.60), (0.13, 0.60), (0.20, 0.75), (-0.20, 0.75)), cloth, soft=0.05)
        else:
            pen.rect(-0.14, 0.65, 0.14, 0.74, cloth)
        return
    foot = 0.13 if pose == "jumping" else 0.07
    for side in (-1, 1):
        knee = (side * (foot + 0.04 if pose == "jumping" else 0.07), 0.82)
        pen.stroke(((side * 0.065, 0.68), knee, (side * foot, 0.94)), 0.085, leg, line=True)
        pen.oval(side * (foot + 0.02), 0.965, 0.065, 0.035, SHOE)
    if girl:
        pen.poly(((-0.12, 0.62), (0.12, 0.62), (0.21, 0.82), (-0.21, 0.82)), cloth, soft=0.05)
    else:
        pen.rect(-0.13, 0.66, 0.13, 0.76, cloth)


def _arms(pen: Pen, pose: str, holding: bool, shirt: RGB, skin: RGB) -> None:
    up = ((-0.11, 0.47), (-0.19, 0.40), (-0.225, 0.24))
    down = ((-0.11, 0.47), (-0.18, 0.56), (-0.185, 0.64))
    left = up if pose in ("waving", "jumping") else down
    right = tuple((-x, y) for x, y in (up if pose == "jumping" else down))
    if holding:
        right = ((0.11, 0.47), (0.17, 0.56), (0.225, 0.55))
    for arm in (left, right):
        pen.stroke(arm, 0.075, shirt, line=True)
        pen.oval(*arm[-1], 0.046, 0.046, skin)
    if pose == "waving":
        for y in (0.13, 0.19):
            pen.stroke(((-0.20, y - 0.03), (-0.245, y)), 0.014, INK)


def _head(pen: Pen, girl: bool, skin: RGB, hair: RGB, pose: str) -> None:
    pen.oval(0, 0.27, 0.165, 0.160, hair)
    pen.oval(0, 0.295, 0.148, 0.136, skin, line=False)
    fringe = ((-0.15, 0.27), (-0.14, 0.16), (0, 0.11), (0.14, 0.16), (0.15, 0.27), (0.06, 0.19))
    if girl:
        fringe = ((-0.155, 0.29), (-0.14, 0.15), (0, 0.11), (0.14, 0.15), (0.155, 0.29), (0, 0.18))
    pen.poly(fringe, hair, 1, line=False)
    for side in (-1, 1):
        pen.oval(side * 0.06, 0.30, 0.021, 0.027, INK, line=False)
        pen.oval(side * 0.055, 0.292, 0.008, 0.009, (255, 255, 255), line=False)
        pen.glaze(side * 0.095, 0.345, 0.03, 0.022, (240, 110, 110, 110))
    pen.smile(0, 0.345, 0.085, 0.018, (150, 50, 50))


def _hat(pen: Pen, color: RGB) -> None:
    pen.poly(((-0.135, 0.17), (-0.11, 0.0), (0.11, 0.0), (0.135, 0.17)), color, soft=0.06)
    pen.poly(((-0.12, 0.155), (-0.115, 0.115), (0.115, 0.115), (0.12, 0.155)), darker(color, 0.3),
             line=False)  # fmt: skip
    pen.oval(0, 0.175, 0.215, 0.042, color)


def held_thing(pen: Pen, what: str, color: RGB) -> None:
    """What a child holds in the hand at (0.225, 0.55), to the right of the body."""
    if what == "balloon":
        pen.stroke(((0.225, 0.55), (0.25, 0.42), (0.29, 0.28)), 0.012, INK, 1)
        pen.oval(0.29, 0.145, 0.115, 0.14, color)
        pen.oval(0.26, 0.10, 0.03, 0.045, lighter(color, 0.55), 0.5, line=False)
    elif what == "flag":
        pen.stroke(((0.225, 0.70), (0.225, 0.02)), 0.022, (120, 100, 84))
        cloth = ((0.225, 0.02), (0.31, 0.045), (0.41, 0.015), (0.41, 0.195), (0.31, 0.225),
                 (0.225, 0.20))  # fmt: skip
        pen.poly(cloth, color)
    elif what == "umbrella":
        pen.stroke(((0.225, 0.68), (0.225, 0.05)), 0.022, (90, 80, 84))
        canopy = ((0.03, 0.24), (0.04, 0.10), (0.13, 0.02), (0.225, 0.0), (0.32, 0.02),
                  (0.41, 0.10), (0.42, 0.24), (0.355, 0.205), (0.29, 0.24), (0.225, 0.205),
                  (0.16, 0.24), (0.095, 0.205))  # fmt: skip
        pen.poly(canopy, color)
        for x in (0.16, 0.29):
            pen.stroke(((0.225, 0.02), (x, 0.23)), 0.010, darker(color, 0.3))
    elif what == "flower":
        pen.stroke(((0.225, 0.66), (0.235, 0.48), (0.29, 0.32)), 0.022, (72, 140, 70), 1)
        for dx, dy in (
            (0, -0.075),
            (0.072, -0.02),
            (0.045, 0.062),
            (-0.045, 0.062),
            (-0.072, -0.02),
        ):
            pen.oval(0.29 + dx, 0.27 + dy, 0.052, 0.052, color)
        pen.oval(0.29, 0.27, 0.038, 0.038, (255, 244, 214), line=False)
