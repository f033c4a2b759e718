"""People, animals and robots of other people's clip art.

A figure is drawn with its foot at the origin of the brush and about one unit high (y from -1 to 0).
"""

from __future__ import annotations

import math

from revise_captions.picturebook.drawing.pen import mix
from scripts.research.domain_gate.ood_generators.brush import (
    BLACK,
    TAU,
    WHITE,
    Brush,
    arc,
)


def person(b: Brush) -> None:
    rng, kind = b.rng, b.rng.randrange(5)
    skin = b.tone(rng.choice(((250, 214, 180), (224, 172, 130), (140, 90, 60), (255, 220, 80))))
    shirt, legs, head = b.any(), b.tone((50, 60, 120)), rng.uniform(0.09, 0.16)
    neck = -1 + 2 * head
    if kind == 0:  # stick figure
        ink, w = b.hand.ink or BLACK, rng.uniform(0.015, 0.05)
        b.stroke(((0, neck), (0, -0.35)), w, ink)
        b.stroke(((-0.25, -0.75 + rng.uniform(-0.2, 0.25)), (0, neck + 0.08),
                  (0.25, -0.75 + rng.uniform(-0.2, 0.25))), w, ink)  # fmt: skip
        b.stroke(((-0.18, 0), (0, -0.35), (0.18, 0)), w, ink)
    elif kind == 1:  # blocks
        b.box(-0.1, -0.35, -0.01, 0, legs)
        b.box(0.01, -0.35, 0.1, 0, legs)
        b.box(-0.14, neck, 0.14, -0.33, shirt)
        for s in (-1, 1):
            b.box(s * 0.14, neck, s * 0.21, -0.42, shirt if rng.random() < 0.5 else skin)
    elif kind == 2:  # dress
        b.stroke(((-0.05, -0.3), (-0.06, 0)), 0.05, skin)
        b.stroke(((0.05, -0.3), (0.06, 0)), 0.05, skin)
        for s in (-1, 1):
            b.stroke(((0, neck + 0.07), (s * 0.28, rng.uniform(-0.75, -0.4))), 0.05, skin)
        b.poly(((0, neck - 0.05), (-0.24, -0.2), (0.24, -0.2)), shirt)
    elif kind == 3:  # bean
        b.oval(-0.08, -0.06, 0.07, 0.06, legs)
        b.oval(0.08, -0.06, 0.07, 0.06, legs)
        b.oval(0, -0.38, 0.2, 0.36, shirt)
    else:  # limbs as lines
        for s in (-1, 1):
            b.stroke(((s * 0.06, -0.4), (s * rng.uniform(0.06, 0.2), 0)), 0.08, legs)
            b.stroke(((s * 0.1, neck + 0.06), (s * 0.26, rng.uniform(-0.95, -0.4))), 0.06, shirt)
        b.poly(((-0.13, neck), (0.13, neck), (0.11, -0.36), (-0.11, -0.36)), shirt)
    b.oval(0, -1 + head, head * rng.uniform(0.8, 1.1), head, skin)
    hair_or_hat(b, head)
    face(b, 0, -1 + head, head)


def hair_or_hat(b: Brush, r: float) -> None:
    hair, kind = b.tone((70, 45, 25)), b.rng.randrange(4)
    if kind == 1:
        b.poly(arc(0, -1 + r, r * 1.05, r * 1.05, math.pi, TAU, 10), hair)
    elif kind == 2:
        b.poly(((-r * 1.3, -1 + r * 0.6), (0, -1 - r), (r * 1.3, -1 + r * 0.6)), b.any())
    elif kind == 3:
        b.box(-r * 1.4, -1 + r * 0.35, r * 1.4, -1 + r * 0.55, b.any())
        b.box(-r * 0.8, -1 - r * 0.6, r * 0.8, -1 + r * 0.4, b.any())


def face(b: Brush, x: float, y: float, r: float) -> None:
    kind = b.rng.randrange(4)
    if kind == 0:
        return
    for s in (-1, 1):
        b.oval(x + s * r * 0.35, y - r * 0.1, r * 0.12, r * 0.14, BLACK, False)
    if kind > 1:
        bend = r * b.rng.choice((-0.3, 0.35, 0.45))
        b.stroke(arc(x, y + r * 0.35, r * 0.4, bend, 0.3, math.pi - 0.3, 8), r * 0.1, BLACK)


def animal(b: Brush) -> None:
    rng = b.rng
    coat, long, leg = b.any(), rng.uniform(0.3, 0.6), rng.uniform(0.15, 0.5)
    fat = rng.uniform(0.13, 0.26)
    y, neck = -leg - fat * 0.7, rng.uniform(0.0, 0.45)
    for x in (-0.75, -0.5, 0.5, 0.75):
        b.box(x * long - 0.04, y, x * long + 0.04, 0, coat)
    b.stroke(
        ((-long, y), (-long - 0.15, y + rng.uniform(-0.25, 0.2))), rng.uniform(0.02, 0.08), coat
    )
    if neck > 0.12:
        b.poly(((long * 0.5, y), (long, y - neck), (long + 0.12, y - neck), (long, y)), coat)
    if rng.random() < 0.25:
        for i in range(9):
            a = i * TAU / 9
            b.oval(long + 0.2 * math.cos(a), y - neck + 0.2 * math.sin(a), 0.08, 0.08,
                   b.tone((160, 90, 30)))  # fmt: skip
    if rng.random() < 0.5:
        b.oval(0, y, long, fat, coat)
    else:
        b.box(-long, y - fat, long, y + fat, coat)
    r = rng.uniform(0.11, 0.2)
    hx, hy, ear = long + r * 0.5, y - neck - 0.05, rng.randrange(4)
    for s in (-1, 1):
        if ear == 0:
            b.poly(((hx + s * r * 0.9, hy - r * 0.3), (hx + s * r * 0.7, hy - r * 1.6),
                    (hx + s * r * 0.1, hy - r * 0.8)), coat)  # fmt: skip
        elif ear == 1:
            b.oval(hx + s * r * 0.8, hy - r * 0.8, r * 0.45, r * 0.45, coat)
        elif ear == 2:
            b.oval(hx + s * r * 0.4, hy - r * 1.6, r * 0.22, r * 0.9, coat)
    b.oval(hx, hy, r, r * rng.uniform(0.7, 1.1), coat)
    if rng.random() < 0.4:
        b.oval(hx + r * 0.7, hy + r * 0.3, r * 0.5, r * 0.35, mix(coat, WHITE, 0.4))
    face(b, hx, hy, r)
    if rng.random() < 0.3:
        for _ in range(4):
            b.oval(rng.uniform(-long, long) * 0.7, y + rng.uniform(-0.5, 0.5) * fat, 0.06, 0.05,
                   mix(coat, BLACK, 0.5), False)  # fmt: skip


def bird(b: Brush) -> None:
    if b.rng.random() < 0.4:
        ink = b.hand.ink or BLACK
        b.stroke(((-0.5, -0.6), (-0.25, -0.8), (0, -0.5), (0.25, -0.8), (0.5, -0.6)), 0.06, ink)
        return
    body = b.any()
    b.poly(((-0.35, -0.5), (-0.75, -0.7), (-0.7, -0.35)), body)
    b.oval(0, -0.5, 0.4, 0.24, body)
    b.oval(0.35, -0.72, 0.18, 0.18, body)
    b.poly(((0.5, -0.76), (0.7, -0.68), (0.5, -0.64)), b.tone((250, 160, 30)))
    b.poly(((-0.15, -0.55), (-0.3, -1.0), (0.15, -0.55)), mix(body, BLACK, 0.3))
    b.oval(0.38, -0.76, 0.03, 0.03, BLACK, False)


def fish(b: Brush) -> None:
    body = b.any()
    b.poly(((-0.35, -0.5), (-0.7, -0.8), (-0.7, -0.2)), mix(body, BLACK, 0.2))
    b.oval(0, -0.5, 0.45, b.rng.uniform(0.15, 0.35), body)
    b.oval(0.25, -0.55, 0.06, 0.06, WHITE)
    b.oval(0.27, -0.55, 0.025, 0.025, BLACK, False)


def butterfly(b: Brush) -> None:
    wing = b.any()
    for s in (-1, 1):
        b.oval(s * 0.3, -0.68, 0.28, 0.28, wing)
        b.oval(s * 0.22, -0.3, 0.2, 0.22, mix(wing, b.any(), 0.5))
    b.oval(0, -0.5, 0.05, 0.35, BLACK)


def robot(b: Brush) -> None:
    metal = b.tone((160, 170, 180))
    b.box(-0.25, -0.65, 0.25, -0.2, metal)
    b.box(-0.18, -0.95, 0.18, -0.67, b.any())
    for s in (-1, 1):
        b.box(s * 0.27, -0.6, s * 0.38, -0.25, metal)
        b.box(s * 0.06, -0.2, s * 0.2, 0, metal)
        b.oval(s * 0.08, -0.82, 0.045, 0.045, b.any())
