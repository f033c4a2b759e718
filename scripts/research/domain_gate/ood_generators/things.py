"""Things that other people's clip art shows, each in several shapes that the picture-book lacks.

A thing is drawn with its foot at the origin of the brush and about one unit high (y from -1 to 0).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from revise_captions.picturebook.drawing.pen import mix
from scripts.research.domain_gate.ood_generators.brush import (
    BLACK,
    TAU,
    WHITE,
    Brush,
    arc,
)
from scripts.research.domain_gate.ood_generators.creatures import (
    animal,
    bird,
    butterfly,
    face,
    fish,
    person,
    robot,
)


def house(b: Brush) -> None:
    rng = b.rng
    w, top = rng.uniform(0.3, 0.75), rng.uniform(-0.72, -0.42)
    wall, roof, door = b.any(), b.tone((170, 60, 40)), b.tone((110, 70, 40))
    b.box(-w, top, w, 0, wall)
    style, eave = rng.randrange(5), rng.uniform(0, 0.15)
    roofs: tuple[tuple[tuple[float, float], ...], ...] = (
        ((-w - eave, top), (0, -1), (w + eave, top)),
        ((-w - eave, top), (-w * 0.6, -1), (w * 0.6, -1), (w + eave, top)),
        ((-w, top), (-w, -1), (w, top)),
        ((-w - eave, top), (-w - eave, top - 0.08), (w + eave, top - 0.08), (w + eave, top)),
        tuple(arc(0, top, w + eave, -1 - top, math.pi, TAU, 12)),
    )
    if rng.random() < 0.35:
        b.box(w * 0.35, -0.95, w * 0.6, top, b.any())
    b.poly(roofs[style], roof)
    x = rng.choice((-0.5, 0.0, 0.5)) * w
    b.box(x - 0.09, -0.3, x + 0.09, 0, door)
    if rng.random() < 0.5:
        b.oval(x + 0.05, -0.14, 0.018, 0.018, b.tone((250, 220, 60)))
    glass = b.tone((170, 220, 250))
    for wx in (-0.55, 0.55) if x == 0 or rng.random() < 0.5 else (0.0,):
        s, y = rng.uniform(0.07, 0.12), top + rng.uniform(0.1, 0.2)
        if rng.random() < 0.2:
            b.oval(wx * w, y, s, s, glass)
        else:
            b.box(wx * w - s, y - s, wx * w + s, y + s, glass)
        if rng.random() < 0.6:
            b.stroke(((wx * w, y - s), (wx * w, y + s)), 0.015, b.hand.ink or WHITE)
            b.stroke(((wx * w - s, y), (wx * w + s, y)), 0.015, b.hand.ink or WHITE)


def tower_block(b: Brush) -> None:
    rng, w = b.rng, b.rng.uniform(0.15, 0.32)
    b.box(-w, -1, w, 0, b.any())
    glass, rows, columns = b.any(), rng.randint(3, 8), rng.randint(2, 4)
    for i in range(rows):
        for j in range(columns):
            x, y = -w + 2 * w * (j + 0.5) / columns, -0.94 + 0.9 * i / rows
            b.box(x - w / columns * 0.5, y, x + w / columns * 0.5, y + 0.5 / rows, glass, False)


def castle(b: Brush) -> None:
    stone, w = b.tone((150, 150, 160)), b.rng.uniform(0.3, 0.5)
    b.box(-w, -0.55, w, 0, stone)
    for x in (-w, w):
        b.box(x - 0.12, -0.75, x + 0.12, 0, stone)
        b.poly(((x - 0.16, -0.75), (x, -1), (x + 0.16, -0.75)), b.any())
    for i in range(5):
        x = -w + 2 * w * i / 5
        b.box(x, -0.62, x + w / 5, -0.54, stone)
    b.poly([(-0.1, 0), *arc(0, -0.22, 0.1, 0.12, math.pi, TAU, 8), (0.1, 0)], b.tone((90, 60, 40)))


def tree(b: Brush) -> None:
    rng, kind = b.rng, b.rng.randrange(7)
    trunk, leaf = b.tone((120, 80, 40)), b.tone((40, 140, 50))
    w = rng.uniform(0.03, 0.1)
    if kind == 5:  # palm
        b.poly(((-w, 0), (w * 0.4, -0.75), (w * 1.6, -0.75), (w, 0)), trunk)
        for a in (-2.9, -2.4, -1.6, -0.8, -0.3):
            tip = (w + 0.4 * math.cos(a), -0.72 + 0.3 * math.sin(a) + 0.12)
            b.poly(((w, -0.75), (w + 0.2 * math.cos(a), -0.85 + 0.2 * math.sin(a)), tip), leaf)
        return
    if kind == 6:  # bare, branching
        b.stroke(((0, 0), (0, -0.5)), 2 * w, trunk)
        for a in (-2.5, -2.0, -1.57, -1.1, -0.6):
            x, y = 0.35 * math.cos(a), -0.5 + 0.35 * math.sin(a)
            b.stroke(((0, -0.45), (x, y), (x * 1.4, y - 0.1)), w, trunk)
        return
    b.poly(((-w, 0), (-w * 0.8, -0.55), (w * 0.8, -0.55), (w, 0)), trunk)
    if kind == 0:
        r = rng.uniform(0.2, 0.34)
        b.oval(0, -0.98 + r, r * rng.uniform(0.8, 1.3), r, leaf)
    elif kind == 1:
        for i in range(rng.randint(2, 4)):
            y, half = -0.25 - 0.2 * i, 0.36 - 0.08 * i
            b.poly(((-half, y), (0, y - 0.36), (half, y)), leaf)
    elif kind == 2:
        b.poly(((-0.28, -0.2), (0, -1), (0.28, -0.2)), leaf)
    elif kind == 3:
        for x, y in ((-0.18, -0.55), (0.18, -0.55), (0, -0.78), (0, -0.6)):
            b.oval(x, y, 0.2, 0.2, leaf)
    else:
        b.oval(0, -0.62, 0.14, 0.38, leaf)
    if rng.random() < 0.25 and kind in (0, 3):
        for _ in range(5):
            b.oval(rng.uniform(-0.18, 0.18), rng.uniform(-0.85, -0.55), 0.03, 0.03,
                   b.tone((220, 40, 40)))  # fmt: skip


def bush(b: Brush) -> None:
    leaf = b.tone((60, 150, 60))
    for _ in range(b.rng.randint(2, 5)):
        b.oval(b.rng.uniform(-0.4, 0.4), -0.3, b.rng.uniform(0.2, 0.35), 0.3, leaf)


def car(b: Brush) -> None:
    rng, body, w = b.rng, b.any(), b.rng.uniform(0.7, 1.1)
    kind, glass = rng.randrange(4), b.tone((170, 220, 250))
    if kind == 0:
        b.poly(((-w * 0.6, -0.5), (-w * 0.4, -0.95), (w * 0.35, -0.95), (w * 0.6, -0.5)), body)
        b.poly(((-w * 0.48, -0.52), (-w * 0.34, -0.86), (-0.02, -0.86), (-0.02, -0.52)), glass)
        b.poly(((0.04, -0.52), (0.04, -0.86), (w * 0.3, -0.86), (w * 0.48, -0.52)), glass)
        b.box(-w, -0.52, w, -0.15, body)
    elif kind == 1:  # bus
        b.box(-w, -1, w, -0.14, body)
        for i in range(5):
            x = -w + 2 * w * (i + 0.15) / 5
            b.box(x, -0.86, x + 0.28 * w, -0.55, glass)
    elif kind == 2:  # lorry
        b.box(-w, -1, w * 0.4, -0.15, body)
        b.box(w * 0.43, -0.75, w, -0.15, b.any())
        b.box(w * 0.6, -0.65, w * 0.9, -0.42, glass)
    else:  # beetle
        b.poly(arc(0, -0.18, w, 0.8, math.pi, TAU, 16), body)
        b.poly(arc(0, -0.5, w * 0.55, 0.36, math.pi, TAU, 12), glass)
    r = rng.uniform(0.13, 0.22)
    for x in (-0.58 * w, 0.58 * w):
        b.oval(x, -r, r, r, BLACK)
        b.oval(x, -r, r * 0.45, r * 0.45, b.tone((190, 190, 190)))


def boat(b: Brush) -> None:
    w = b.rng.uniform(0.45, 0.7)
    b.poly(((-w, -0.28), (w, -0.28), (w * 0.7, 0), (-w * 0.7, 0)), b.tone((140, 80, 40)))
    b.stroke(((0, -0.28), (0, -1)), 0.04, b.hand.ink or (80, 60, 40))
    if b.rng.random() < 0.6:
        b.poly(((0.04, -0.98), (0.04, -0.34), (w * 0.8, -0.34)), b.any())
    if b.rng.random() < 0.6:
        b.poly(((-0.04, -0.85), (-0.04, -0.34), (-w * 0.7, -0.34)), b.any())
    else:
        b.box(-w * 0.5, -0.55, -0.06, -0.28, b.any())


def rocket(b: Brush) -> None:
    body = b.any()
    b.poly(((-0.14, -0.25), (-0.34, 0), (-0.1, -0.08)), b.any())
    b.poly(((0.14, -0.25), (0.34, 0), (0.1, -0.08)), b.any())
    b.poly([(-0.15, -0.1), (-0.17, -0.6), (0, -1), (0.17, -0.6), (0.15, -0.1)], body)
    b.oval(0, -0.6, 0.08, 0.08, b.tone((170, 220, 250)))


def sun(b: Brush) -> None:
    rng, yellow = b.rng, b.tone((255, 215, 50))
    r, rays = rng.uniform(0.25, 0.4), rng.choice((0, 0, 8, 10, 12, 16))
    for i in range(rays):
        a = i * TAU / rays
        c, s = math.cos(a), math.sin(a)
        if rng.random() < 0.5 or rays > 10:
            b.stroke(((c * r * 1.15, -0.5 + s * r * 1.15), (c * 0.5, -0.5 + s * 0.5)), 0.03, yellow)
        else:
            b.poly(((c * 0.5, -0.5 + s * 0.5), (-s * 0.1 + c * r, -0.5 + c * 0.1 + s * r),
                    (s * 0.1 + c * r, -0.5 - c * 0.1 + s * r)), yellow)  # fmt: skip
    b.oval(0, -0.5, r, r, yellow)
    if rng.random() < 0.3:
        face(b, 0, -0.5, r)


def moon(b: Brush) -> None:
    pale = b.tone((245, 240, 210))
    if b.rng.random() < 0.4:
        b.oval(0, -0.5, 0.4, 0.4, pale)
        for _ in range(4):
            b.oval(b.rng.uniform(-0.2, 0.2), b.rng.uniform(-0.7, -0.3), 0.07, 0.06,
                   mix(pale, BLACK, 0.2), False)  # fmt: skip
        return
    outer = arc(0, -0.5, 0.42, 0.42, math.pi * 0.5, math.pi * 1.5, 14)
    b.poly([*outer, *arc(0, -0.5, 0.2, 0.42, math.pi * 1.5, math.pi * 0.5, 10)], pale)


def cloud(b: Brush) -> None:
    white = b.tone((248, 248, 252))
    count, flat = b.rng.randint(2, 5), b.rng.random() < 0.4
    for i in range(count):
        x = (i + 0.5) / count * 1.4 - 0.7
        r = b.rng.uniform(0.22, 0.42)
        b.oval(x, -0.4 if flat else b.rng.uniform(-0.6, -0.35), r, r * 0.8, white)
    if flat:
        b.box(-0.8, -0.4, 0.8, -0.1, white)


def star(b: Brush) -> None:
    points, inner = b.rng.choice((4, 5, 5, 6, 8)), b.rng.uniform(0.15, 0.3)
    ring = [
        (math.sin(i * math.pi / points) * (0.5 if i % 2 == 0 else inner),
         -0.5 - math.cos(i * math.pi / points) * (0.5 if i % 2 == 0 else inner))
        for i in range(2 * points)
    ]  # fmt: skip
    b.poly(ring, b.any())


def mountain(b: Brush) -> None:
    w, rock = b.rng.uniform(0.5, 1.1), b.tone((120, 110, 120))
    b.poly(((-w, 0), (b.rng.uniform(-0.2, 0.2), -1), (w, 0)), rock)
    if b.rng.random() < 0.5:
        b.poly(((-w * 0.25, -0.74), (0, -1), (w * 0.25, -0.74), (0.05, -0.66)), WHITE)


def flower(b: Brush) -> None:
    rng, petal = b.rng, b.any()
    b.stroke(((0, 0), (rng.uniform(-0.08, 0.08), -0.65)), 0.05, b.tone((50, 140, 50)))
    if rng.random() < 0.6:
        b.oval(0.14, -0.25, 0.14, 0.06, b.tone((50, 140, 50)))
    if rng.random() < 0.3:  # tulip
        b.poly(((-0.18, -0.95), (-0.09, -0.8), (0, -1), (0.09, -0.8), (0.18, -0.95), (0.14, -0.6),
                (-0.14, -0.6)), petal)  # fmt: skip
        return
    count = rng.randint(4, 9)
    for i in range(count):
        a = i * TAU / count
        b.oval(0.18 * math.cos(a), -0.75 + 0.18 * math.sin(a), 0.11, 0.11, petal)
    b.oval(0, -0.75, 0.1, 0.1, b.tone((250, 210, 60)))


def mushroom(b: Brush) -> None:
    b.poly(((-0.12, 0), (-0.09, -0.5), (0.09, -0.5), (0.12, 0)), b.tone((240, 230, 210)))
    b.poly(arc(0, -0.48, 0.45, 0.5, math.pi, TAU, 14), b.tone((210, 40, 40)))
    for x, y in ((-0.2, -0.62), (0.05, -0.8), (0.22, -0.6)):
        b.oval(x, y, 0.06, 0.05, WHITE, False)


def balloon(b: Brush) -> None:
    b.stroke(((0, -0.5), (0.05, -0.25), (-0.03, 0)), 0.02, b.hand.ink or BLACK)
    b.oval(0, -0.72, b.rng.uniform(0.2, 0.3), 0.28, b.any())


def furniture(b: Brush) -> None:
    rng, wood, kind = b.rng, b.tone((140, 90, 50)), b.rng.randrange(5)
    if kind == 0:  # table
        w = rng.uniform(0.5, 0.9)
        for x in (-w * 0.85, w * 0.85):
            b.box(x - 0.05, -0.6, x + 0.05, 0, wood)
        b.box(-w, -0.7, w, -0.58, wood)
    elif kind == 1:  # bed or sofa
        b.box(-0.9, -0.4, 0.9, -0.1, b.any())
        b.box(-1.0, -0.8, -0.8, 0, wood)
        b.box(0.8, -0.5, 1.0, 0, wood)
        b.box(-0.75, -0.55, -0.35, -0.38, b.any())
    elif kind == 2:  # bookcase
        b.box(-0.45, -1, 0.45, 0, wood)
        for row in range(3):
            for i in range(6):
                x, y = -0.4 + i * 0.135, -0.68 + row * 0.32
                b.box(x, y - rng.uniform(0.15, 0.25), x + 0.11, y, b.any(), False)
    elif kind == 3:  # clock
        b.oval(0, -0.5, 0.45, 0.45, b.any())
        b.oval(0, -0.5, 0.36, 0.36, WHITE)
        b.stroke(((0.15, -0.65), (0, -0.5), (0, -0.78)), 0.05, BLACK)
    else:  # chair
        b.box(-0.3, -1, -0.2, 0, wood)
        b.box(-0.3, -0.5, 0.3, -0.4, wood)
        b.box(0.2, -0.5, 0.3, 0, wood)


def food(b: Brush) -> None:
    kind = b.rng.randrange(5)
    if kind == 0:  # apple
        b.oval(-0.14, -0.4, 0.26, 0.34, color := b.tone((210, 40, 40)))
        b.oval(0.14, -0.4, 0.26, 0.34, color)
        b.stroke(((0, -0.7), (0.05, -0.95)), 0.05, (90, 60, 30))
    elif kind == 1:  # cake
        b.box(-0.5, -0.5, 0.5, 0, b.any())
        b.box(-0.5, -0.6, 0.5, -0.42, WHITE)
        for x in (-0.25, 0.0, 0.25):
            b.box(x - 0.03, -0.85, x + 0.03, -0.6, b.any())
    elif kind == 2:  # cup
        b.poly(((-0.35, -0.8), (0.35, -0.8), (0.25, 0), (-0.25, 0)), b.any())
        b.stroke(arc(0.32, -0.45, 0.22, 0.2, -1.3, 1.3, 8), 0.07, b.any())
    elif kind == 3:  # ice cream
        b.poly(((-0.22, -0.5), (0.22, -0.5), (0, 0)), b.tone((220, 170, 100)))
        b.oval(0, -0.65, 0.26, 0.26, b.any())
    else:  # banana
        b.poly([*arc(0, -0.8, 0.6, 0.6, 0.3, 2.8, 12), *arc(0, -0.95, 0.5, 0.45, 2.8, 0.3, 12)],
               b.tone((250, 220, 60)))  # fmt: skip


def heart(b: Brush) -> None:
    ring = [
        (0.03 * 16 * math.sin(t) ** 3,
         -0.5 - 0.028 * (13 * math.cos(t) - 5 * math.cos(2 * t) - 2 * math.cos(3 * t)))
        for t in (i * TAU / 24 for i in range(24))
    ]  # fmt: skip
    b.poly(ring, b.tone((220, 40, 70)))


def fence(b: Brush) -> None:
    wood = b.tone((230, 220, 200))
    for y in (-0.35, -0.7):
        b.box(-1.2, y - 0.06, 1.2, y + 0.06, wood)
    for i in range(7):
        x = -1.1 + i * 0.36
        b.box(x - 0.08, -1, x + 0.08, 0, wood)


def blob(b: Brush) -> None:
    """No thing at all: a few shapes around one centre."""
    rng = b.rng
    for _ in range(rng.randint(1, 6)):
        x, y, r = rng.uniform(-0.4, 0.4), rng.uniform(-0.8, -0.2), rng.uniform(0.08, 0.4)
        kind, color = rng.randrange(4), b.any()
        if kind == 0:
            b.oval(x, y, r, r * rng.uniform(0.5, 1.5), color)
        elif kind == 1:
            b.box(x - r, y - r * 0.6, x + r, y + r * 0.6, color)
        elif kind == 2:
            corners = rng.randint(3, 7)
            b.poly([(x + r * rng.uniform(0.5, 1) * math.cos(i * TAU / corners),
                     y + r * rng.uniform(0.5, 1) * math.sin(i * TAU / corners))
                    for i in range(corners)], color)  # fmt: skip
        else:
            b.stroke(arc(x, y, r, r, rng.uniform(0, 6), rng.uniform(0, 6), 10), 0.05, color)


Drawer = Callable[[Brush], None]
STANDING: tuple[Drawer, ...] = (
    house, house, tree, tree, tree, person, person, person, animal, animal, car, flower, bush,
    castle, tower_block, mushroom, fence, robot, rocket, bird, blob,
)  # fmt: skip
FLYING: tuple[Drawer, ...] = (sun, sun, cloud, cloud, bird, balloon, moon, star, butterfly, rocket)
INDOORS: tuple[Drawer, ...] = (furniture, furniture, furniture, person, animal, food, robot, blob)
SINGLE: tuple[Drawer, ...] = tuple(
    dict.fromkeys((*STANDING, *FLYING, *INDOORS, fish, boat, heart, mountain))
)
