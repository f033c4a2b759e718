"""Dogs, cats and birds."""

from __future__ import annotations

from revise_captions.picturebook.drawing.pen import (
    INK,
    RGB,
    Pen,
    darker,
    is_dark,
    lighter,
    mix,
)
from revise_captions.picturebook.world.scene import NONE, Thing

MUZZLE: RGB = (250, 232, 208)
PINK: RGB = (244, 150, 160)
BEAK: RGB = (240, 160, 50)


def _eye(pen: Pen, x: float, y: float, r: float, coat: RGB) -> None:
    if is_dark(coat):
        pen.oval(x, y, r * 1.5, r * 1.5, (255, 255, 255), line=False)
    pen.oval(x, y, r, r * 1.15, INK, line=False)
    pen.oval(x + r * 0.3, y - r * 0.4, r * 0.35, r * 0.35, (255, 255, 255), line=False)


def _closed(pen: Pen, x: float, y: float, coat: RGB) -> None:
    pen.smile(x, y, 0.12, 0.032, lighter(coat, 0.75) if is_dark(coat) else INK)


def _snore(pen: Pen, x: float, y: float) -> None:
    """Two letters z above a sleeper."""
    ink = (226, 228, 250) if pen.night else (92, 92, 130)
    for dx, dy, s in ((0, 0, 0.11), (0.16, -0.16, 0.14)):
        left, top = x + dx * pen.flip, y + dy
        points = [(left, top), (left + s, top), (left, top + s), (left + s, top + s)]
        pen.stroke([(px * pen.flip, py) for px, py in points], 0.035, ink)


def dog(pen: Pen, thing: Thing) -> None:
    coat, pose = pen.color(thing.slots["coat"]), thing.slots["pose"]
    ear = lighter(coat, 0.22) if is_dark(coat) else darker(coat, 0.35)
    collar = thing.slots["collar"]
    band = None if collar == NONE else pen.color(collar)
    pen.shadow(0.5)
    if pose == "sleeping":
        pen.oval(-0.08, 0.74, 0.47, 0.25, coat)
        pen.stroke(((-0.50, 0.82), (-0.38, 0.94), (-0.12, 0.94)), 0.09, coat, 1, line=True)
        if band:
            pen.stroke(((0.13, 0.56), (0.10, 0.72), (0.16, 0.92)), 0.11, band, 1, line=True)
        _dog_head(pen.moved(0.0, 0.40), coat, ear, asleep=True)
        _snore(pen, -0.05, 0.28)
        return
    if pose == "sitting":
        pen.stroke(((-0.30, 0.90), (-0.46, 0.86), (-0.52, 0.68)), 0.09, coat, 1, line=True)
        pen.poly(((-0.34, 1.0), (-0.36, 0.72), (0.04, 0.42), (0.34, 0.44), (0.32, 1.0)), coat, 2)
        pen.oval(-0.16, 0.83, 0.20, 0.17, coat)
        for x in (0.10, 0.26):
            pen.stroke(((x, 0.70), (x, 0.94)), 0.11, coat, line=True)
            pen.oval(x + 0.03, 0.965, 0.085, 0.04, lighter(coat, 0.25))
    else:
        pen.stroke(((-0.36, 0.50), (-0.50, 0.40), (-0.52, 0.22)), 0.09, coat, 1, line=True)
        for x in (-0.34, -0.18, 0.10, 0.24):
            pen.stroke(((x, 0.66), (x, 0.94)), 0.11, coat, line=True)
        pen.poly(((-0.44, 0.44), (0.32, 0.44), (0.32, 0.78), (-0.44, 0.78)), coat, 2)
        pen.rect(-0.36, 0.52, 0.26, 0.74, coat, line=False)
    if band:
        pen.stroke(((0.04, 0.46), (0.18, 0.56), (0.36, 0.58)), 0.115, band, 1, line=True)
        pen.oval(0.22, 0.66, 0.045, 0.045, (250, 214, 90))
    _dog_head(pen, coat, ear, asleep=False)


def _dog_head(pen: Pen, coat: RGB, ear: RGB, *, asleep: bool) -> None:
    pen.oval(0.26, 0.28, 0.25, 0.235, coat)
    pen.oval(0.44, 0.36, 0.15, 0.115, MUZZLE)
    pen.oval(0.545, 0.30, 0.055, 0.045, INK, line=False)
    pen.smile(0.46, 0.385, 0.13, 0.026)
    if asleep:
        _closed(pen, 0.28, 0.25, coat)
    else:
        pen.oval(0.45, 0.455, 0.035, 0.045, PINK, line=False)
        _eye(pen, 0.29, 0.22, 0.042, coat)
    pen.oval(0.07, 0.30, 0.095, 0.20, ear, 0.25)


def cat(pen: Pen, thing: Thing) -> None:
    coat, pose = pen.color(thing.slots["coat"]), thing.slots["pose"]
    belly = lighter(coat, 0.5)
    pen.shadow(0.40)
    if pose == "sleeping":
        pen.oval(-0.04, 0.75, 0.42, 0.24, coat)
        _cat_head(pen.moved(0.0, 0.38), coat, asleep=True)
        pen.stroke(((-0.42, 0.80), (-0.30, 0.95), (0.06, 0.945)), 0.085, coat, 1, line=True)
        _snore(pen, -0.22, 0.34)
        return
    if pose == "sitting":
        pen.stroke(((-0.14, 0.93), (-0.40, 0.92), (-0.42, 0.66), (-0.34, 0.58)), 0.085, coat, 2,
                   line=True)  # fmt: skip
        pen.poly(((-0.26, 1.0), (-0.24, 0.70), (0.0, 0.44), (0.28, 0.44), (0.34, 1.0)), coat, 2)
        pen.oval(0.16, 0.72, 0.10, 0.15, belly, line=False)
        for x in (0.06, 0.24):
            pen.oval(x, 0.955, 0.09, 0.045, belly)
    else:
        pen.stroke(((-0.30, 0.56), (-0.44, 0.46), (-0.36, 0.26), (-0.44, 0.12)), 0.085, coat, 2,
                   line=True)  # fmt: skip
        for x in (-0.28, -0.15, 0.09, 0.21):
            pen.stroke(((x, 0.68), (x, 0.95)), 0.085, coat, line=True)
        pen.poly(((-0.37, 0.48), (0.30, 0.48), (0.28, 0.80), (-0.35, 0.80)), coat, 2)
        pen.rect(-0.28, 0.54, 0.22, 0.76, coat, line=False)
    _cat_head(pen, coat, asleep=False)


def _cat_head(pen: Pen, coat: RGB, *, asleep: bool) -> None:
    for side in (-1, 1):
        x = 0.20 + side * 0.16
        pen.poly(((x - 0.10, 0.24), (x + side * 0.055, 0.0), (x + 0.10, 0.24)), coat)
        pen.poly(((x - 0.05, 0.20), (x + side * 0.04, 0.07), (x + 0.05, 0.20)), PINK, line=False)
    pen.oval(0.20, 0.32, 0.27, 0.215, coat)
    for side in (-1, 1):
        pen.oval(0.20 + side * 0.055, 0.395, 0.075, 0.058, MUZZLE, line=False)
        x = 0.20 + side * 0.11
        if asleep:
            _closed(pen, x, 0.28, coat)
        else:
            _eye(pen, x, 0.285, 0.045, coat)
        ink = (200, 200, 210) if is_dark(coat) or pen.night else (90, 80, 84)
        for dy in (0.36, 0.42):
            pen.stroke(((0.20 + side * 0.14, dy), (0.20 + side * 0.30, dy + 0.02)), 0.012, ink)
    pen.oval(0.20, 0.355, 0.034, 0.026, PINK, line=False)
    pen.smile(0.20, 0.405, 0.10, 0.018)


def bird(pen: Pen, thing: Thing) -> None:
    coat = pen.color(thing.slots["feathers"])
    wing = lighter(coat, 0.25) if is_dark(coat) else darker(coat, 0.22)
    if thing.slots["pose"] == "flying":
        tail = ((-0.24, 0.62), (-0.60, 0.56), (-0.54, 0.68), (-0.60, 0.82), (-0.24, 0.76))
        pen.poly(tail, wing)
        pen.poly(((0.06, 0.62), (0.14, -0.02), (0.40, 0.0), (0.44, 0.26), (0.24, 0.66)), wing, 1)
        pen.oval(-0.02, 0.70, 0.34, 0.20, coat)
        pen.poly(((-0.20, 0.72), (-0.54, 0.22), (-0.40, 0.0), (-0.08, 0.16), (0.14, 0.70)), wing, 1)
        head = pen.moved(0.30, 0.56)
    else:
        pen.shadow(0.28)
        for x in (-0.04, 0.08):
            pen.stroke(((x, 0.80), (x, 0.97), (x + 0.07, 0.97)), 0.035, BEAK)
        pen.poly(((-0.18, 0.48), (-0.54, 0.34), (-0.58, 0.48), (-0.24, 0.70)), wing)
        pen.oval(0.0, 0.60, 0.34, 0.27, coat)
        pen.oval(0.02, 0.68, 0.18, 0.15, mix(coat, (255, 250, 235), 0.45), line=False)
        pen.oval(-0.10, 0.58, 0.21, 0.13, wing, 0.35)
        head = pen.moved(0.24, 0.28)
    head.poly(((0.14, -0.07), (0.34, 0.02), (0.14, 0.10)), BEAK)
    head.oval(0, 0, 0.20, 0.20, coat)
    _eye(head, 0.06, -0.03, 0.048, coat)
