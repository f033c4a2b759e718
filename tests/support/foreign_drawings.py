"""Three little drawing programs by other hands, for tests only: nothing is ever fitted on them.

They draw what the picture-book draws (skies, grass, houses, trees, people, suns), each with
another technique: plain ImageDraw calls, distance fields in numpy, and layered cut paper.
"""

from __future__ import annotations

import math
import random

import numpy as np
from PIL import Image, ImageColor, ImageDraw, ImageFilter

#: Corners, as shares of the picture's sides.
Shape = list[tuple[float, float]]


def simple_scene(seed: int, size: int = 300) -> Image.Image:
    """What a first exercise with ImageDraw looks like: named colours, no smoothing."""
    rng = random.Random(f"simple.{seed}")
    night = rng.random() < 0.2
    image = Image.new(
        "RGB",
        (size, size),
        "midnightblue"
        if night
        else rng.choice(
            ["skyblue", "lightblue", "deepskyblue", "lightcyan", "powderblue", "lightskyblue"]
        ),
    )
    d = ImageDraw.Draw(image)
    ground = int(size * rng.uniform(0.5, 0.8))
    d.rectangle(
        [0, ground, size, size],
        fill=rng.choice(
            [
                "green",
                "forestgreen",
                "limegreen",
                "lawngreen",
                "darkseagreen",
                "sandybrown",
                "olivedrab",
            ]
        ),
    )
    _simple_sky(d, rng, size, ground, night)
    if rng.random() < 0.85:
        _simple_house(d, rng, ground)
    for _ in range(rng.randint(0, 3)):
        _simple_tree(d, rng, size, ground)
    for _ in range(rng.randint(0, 3)):
        _simple_person(d, rng, size, ground)
    return image


def _simple_sky(
    d: ImageDraw.ImageDraw, rng: random.Random, size: int, ground: int, night: bool
) -> None:
    (cx, cy), r = rng.choice([(40, 40), (size - 40, 45), (size // 2, 60)]), rng.randint(18, 38)
    if night:
        d.ellipse([cx - r, cy - r, cx + r, cy + r], fill="lightyellow")
        for _ in range(25):
            x, y = rng.randrange(size), rng.randrange(ground)
            d.point([(x, y), (x + 1, y)], fill="white")
        return
    d.ellipse([cx - r, cy - r, cx + r, cy + r], fill=rng.choice(["yellow", "gold", "orange"]))
    for k in range(rng.choice([0, 8, 12])):
        a = k * math.pi / 6
        d.line(
            [
                cx + 1.2 * r * math.cos(a),
                cy + 1.2 * r * math.sin(a),
                cx + 1.7 * r * math.cos(a),
                cy + 1.7 * r * math.sin(a),
            ],
            fill="gold",
            width=3,
        )
    for _ in range(rng.randint(0, 3)):
        x, y = rng.randint(20, size - 80), rng.randint(20, 80)
        for dx in (0, 18, 36):
            d.ellipse([x + dx, y - (dx == 18) * 8, x + dx + 30, y + 24], fill="white")


def _simple_house(d: ImageDraw.ImageDraw, rng: random.Random, ground: int) -> None:
    x, w, h = rng.randint(30, 150), rng.randint(70, 120), rng.randint(55, 95)
    y = ground + rng.randint(0, 25)
    d.rectangle(
        [x, y - h, x + w, y],
        fill=rng.choice(
            ["beige", "tomato", "lightyellow", "wheat", "white", "lightpink", "burlywood"]
        ),
        outline=rng.choice(["black", None]),
    )
    d.polygon(
        [(x - 10, y - h), (x + w // 2, y - h - rng.randint(30, 60)), (x + w + 10, y - h)],
        fill=rng.choice(["brown", "red", "maroon", "saddlebrown", "darkred", "gray"]),
    )
    d.rectangle([x + w // 2 - 10, y - 38, x + w // 2 + 10, y], fill=rng.choice(["brown", "blue"]))
    for wx in (x + 10, x + w - 28):
        d.rectangle([wx, y - h + 15, wx + 18, y - h + 33], fill="lightblue", outline="black")


def _simple_tree(d: ImageDraw.ImageDraw, rng: random.Random, size: int, ground: int) -> None:
    x, y, s = rng.randint(20, size - 20), ground + rng.randint(5, 40), rng.randint(25, 60)
    d.rectangle([x - 6, y - s, x + 6, y], fill="saddlebrown")
    if rng.random() < 0.6:
        d.ellipse([x - s // 2, y - 2 * s, x + s // 2, y - s + 8], fill="darkgreen")
    else:
        d.polygon([(x - s // 2, y - s), (x, y - 2.2 * s), (x + s // 2, y - s)], fill="green")


def _simple_person(d: ImageDraw.ImageDraw, rng: random.Random, size: int, ground: int) -> None:
    x, y, s = rng.randint(30, size - 30), ground + rng.randint(20, 60), rng.uniform(0.6, 1.4)
    d.ellipse([x - 9 * s, y - 60 * s, x + 9 * s, y - 42 * s], fill="peachpuff", outline="black")
    if rng.random() < 0.5:
        for x0, y0, x1, y1 in (
            (0, -42, 0, -18),
            (0, -18, -9, 0),
            (0, -18, 9, 0),
            (-13, -28, 13, -36),
        ):
            d.line([x + x0 * s, y + y0 * s, x + x1 * s, y + y1 * s], fill="black", width=2)
    else:
        shirt = rng.choice(["red", "blue", "purple", "orange", "teal"])
        d.rectangle([x - 9 * s, y - 42 * s, x + 9 * s, y - 18 * s], fill=shirt)
        d.rectangle([x - 8 * s, y - 18 * s, x - 2 * s, y], fill="navy")
        d.rectangle([x + 2 * s, y - 18 * s, x + 8 * s, y], fill="navy")


def distance_scene(seed: int, size: int = 256) -> Image.Image:
    """Every shape is a signed distance, every edge soft; colours blend with height and light."""
    rng = random.Random(f"distance.{seed}")
    y, x = np.mgrid[0 : 1 : size * 1j, 0 : 1 : size * 1j]
    a, b = (
        np.array([rng.uniform(0.4, 0.7), rng.uniform(0.7, 0.85), rng.uniform(0.85, 1)]),
        np.array([rng.uniform(0.8, 1), rng.uniform(0.85, 1), rng.uniform(0.8, 1)]),
    )
    picture = a * (1 - y[..., None]) + b * y[..., None]

    def put(distance: np.ndarray, colour: object, soft: float = 0.004) -> None:
        nonlocal picture
        share = 1 / (1 + np.exp(np.clip(distance / soft, -40, 40)))[..., None]
        picture = picture * (1 - share) + np.asarray(colour) * share

    def ball(cx: float, cy: float, rx: float, ry: float) -> np.ndarray:
        return (np.hypot((x - cx) / rx, (y - cy) / ry) - 1) * min(rx, ry)

    def box(cx: float, cy: float, hx: float, hy: float) -> np.ndarray:
        return np.maximum(np.abs(x - cx) - hx, np.abs(y - cy) - hy)

    def tint(*base: float) -> np.ndarray:
        return np.clip(np.array(base) * rng.uniform(0.8, 1.15), 0, 1)

    put(
        ball(rng.uniform(0.1, 0.9), rng.uniform(0.08, 0.25), *[rng.uniform(0.05, 0.1)] * 2),
        tint(1, 0.85, 0.3),
        rng.choice([0.004, 0.03]),
    )
    level = rng.uniform(0.5, 0.7)
    for k in range(rng.randint(1, 3)):
        ridge = level + 0.08 * k + 0.05 * np.sin(x * rng.uniform(3, 9) + rng.random() * 6)
        put(ridge - y, tint(0.35 + 0.08 * k, 0.65, 0.3))
    for _ in range(rng.randint(1, 3)):
        cx, cy, s = rng.uniform(0.1, 0.9), rng.uniform(0.68, 0.9), rng.uniform(0.06, 0.13)
        kind = rng.randrange(4)
        if kind == 0:
            put(box(cx, cy, s, s * 0.8), tint(0.9, 0.75, 0.6))
            roof = np.maximum(np.abs(x - cx) - (y - cy + 2 * s), y - cy + 0.75 * s)
            put(roof, tint(0.7, 0.25, 0.2))
            put(box(cx, cy + s * 0.4, s * 0.2, s * 0.4), tint(0.4, 0.25, 0.15))
        elif kind == 1:
            put(box(cx, cy, s * 0.15, s), tint(0.45, 0.3, 0.2))
            put(ball(cx, cy - 1.4 * s, s * 0.8, s), tint(0.2, 0.5, 0.25), rng.choice([0.003, 0.02]))
        elif kind == 2:
            put(ball(cx, cy - s, s * 0.35, s * 0.7), tint(*(rng.random() for _ in range(3))))
            put(ball(cx, cy - 2 * s, s * 0.35, s * 0.38), tint(0.95, 0.8, 0.65))
        else:
            put(ball(cx, cy - s * 0.5, s, s * 0.5), tint(*(rng.random() for _ in range(3))))
            put(ball(cx + s, cy - s, s * 0.45, s * 0.4), tint(0.6, 0.5, 0.4))
    return Image.fromarray((np.clip(picture, 0, 1) * 255).astype(np.uint8))


def paper_scene(seed: int, size: int = 280) -> Image.Image:
    """Cut paper in layers that throw shadows on each other."""
    rng = random.Random(f"paper.{seed}")
    hue = rng.randrange(360)
    sheets = [
        f"hsl({(hue + rng.randint(-40, 40)) % 360},{rng.randint(25, 70)}%,{light}%)"
        for light in (88, 74, 62, 50, 40)
    ]
    if rng.random() < 0.5:
        sheets = ["lightskyblue", "palegreen", "mediumseagreen", "seagreen", "darkgreen"]
    image = Image.new("RGB", (size, size), sheets[0])

    def layer(colour: str, shape: Shape) -> None:
        mask = Image.new("L", (size, size))
        ImageDraw.Draw(mask).polygon([(px * size, py * size) for px, py in shape], fill=255)
        shadow = mask.filter(ImageFilter.GaussianBlur(4)).point(lambda v: v // 3)
        image.paste((20, 20, 30), (3, 4), shadow)
        image.paste(ImageColor.getrgb(colour), (0, 0), mask)

    layer(rng.choice(["gold", "ivory", "coral"]), _ring(rng.random(), rng.uniform(0.1, 0.3), 0.09))
    for k, colour in enumerate(sheets[1:]):
        top, amp, f = 0.45 + 0.12 * k, rng.uniform(0.02, 0.07), rng.uniform(4, 11)
        ridge = [(i / 30, top + amp * math.sin(f * i / 30 + k)) for i in range(31)]
        layer(colour, [*ridge, (1, 1), (0, 1)])
        for _ in range(rng.randint(0, 2)):
            for piece in _paper_thing(rng, top, sheets[4]):
                layer(*piece)
    return image


def _ring(cx: float, cy: float, r: float, n: int = 40) -> Shape:
    return [
        (cx + r * math.cos(i * 2 * math.pi / n), cy + r * math.sin(i * 2 * math.pi / n))
        for i in range(n)
    ]


def _paper_thing(rng: random.Random, top: float, dark: str) -> list[tuple[str, Shape]]:
    """A fir, a house or a round tree that stands at `top`: colours and shapes, back to front."""
    cx, h = rng.random(), rng.uniform(0.08, 0.2)
    piece = rng.choice(["fir", "house", "round"])
    if piece == "fir":
        fir = [(cx - h * 0.3, top), (cx, top - h), (cx + h * 0.3, top)]
        return [(rng.choice(["darkgreen", "teal", dark]), fir)]
    if piece == "house":
        walls = [
            (cx - h / 2, top + 0.02),
            (cx - h / 2, top - h * 0.6),
            (cx, top - h),
            (cx + h / 2, top - h * 0.6),
            (cx + h / 2, top + 0.02),
        ]
        door = [
            (cx - h * 0.1, top + 0.02),
            (cx - h * 0.1, top - h * 0.3),
            (cx + h * 0.1, top - h * 0.3),
            (cx + h * 0.1, top + 0.02),
        ]
        return [(rng.choice(["white", "salmon", "khaki"]), walls), ("sienna", door)]
    trunk = [
        (cx - 0.01, top + 0.02),
        (cx - 0.01, top - h),
        (cx + 0.01, top - h),
        (cx + 0.01, top + 0.02),
    ]
    crown = _ring(cx, top - h, h * 0.45, 16)
    return [("saddlebrown", trunk), (rng.choice(["olivedrab", "orange", "tomato"]), crown)]


PROGRAMS = {"simple": simple_scene, "distance": distance_scene, "paper": paper_scene}
