"""What lies behind the things: sky, ground, sea, street and room, by day and night, in rain."""

from __future__ import annotations

import math

from PIL import Image

from revise_captions.picturebook.drawing.pen import RGB, Pen, darker, lighter, mix
from revise_captions.picturebook.world.scene import Scene

DAY_SKY: tuple[tuple[RGB, RGB], ...] = (
    ((138, 204, 246), (224, 242, 250)),
    ((120, 196, 240), (252, 240, 222)),
    ((156, 214, 244), (236, 246, 240)),
)
GRAY_SKY: tuple[tuple[RGB, RGB], ...] = (
    ((160, 172, 186), (214, 218, 222)),
    ((170, 176, 190), (222, 218, 216)),
)
NIGHT_SKY: tuple[tuple[RGB, RGB], ...] = (
    ((22, 28, 76), (72, 78, 142)),
    ((30, 26, 74), (92, 82, 146)),
    ((18, 36, 78), (58, 92, 146)),
)
GRASS: tuple[RGB, ...] = ((158, 208, 104), (170, 212, 120), (146, 200, 112))
SAND: tuple[RGB, ...] = ((244, 222, 172), (240, 214, 168))
SEA: tuple[RGB, ...] = ((104, 190, 216), (92, 180, 204))
FLOOR: tuple[RGB, ...] = ((222, 190, 148), (206, 172, 136), (228, 206, 176))
WALL_BASE: dict[str, RGB] = {
    "white": (246, 243, 236),
    "yellow": (252, 232, 150),
    "green": (168, 216, 166),
    "blue": (156, 200, 240),
    "pink": (250, 200, 214),
    "purple": (204, 178, 232),
}
NIGHT: RGB = (34, 40, 96)
HORIZON = 0.52


def gradient(size: int, top: RGB, bottom: RGB, height: float) -> Image.Image:
    """A canvas whose sky fades from `top` to `bottom` over the given share of the height."""
    end = round(size * height)
    rows = [bytes(mix(top, bottom, i / end)) * size for i in range(end)]
    rows.append(bytes(bottom) * size * (size - end))
    return Image.frombytes("RGB", (size, size), b"".join(rows))


def sky_colors(scene: Scene, turn: int) -> tuple[RGB, RGB]:
    if scene.time == "night":
        top, bottom = NIGHT_SKY[turn % len(NIGHT_SKY)]
        if scene.weather != "clear":
            return mix(top, (86, 90, 108), 0.45), mix(bottom, (96, 100, 116), 0.45)
        return top, bottom
    skies = DAY_SKY if scene.weather == "clear" else GRAY_SKY
    top, bottom = skies[turn % len(skies)]
    return (darker(top, 0.12), darker(bottom, 0.10)) if scene.weather == "rainy" else (top, bottom)


def ground_tone(pen: Pen, scene: Scene, color: RGB) -> RGB:
    """Ground by day, under clouds or at night."""
    if scene.time == "night":
        return mix(color, NIGHT, 0.45)
    return mix(color, (150, 156, 164), 0.18) if scene.weather != "clear" else color


def scenery(pen: Pen, scene: Scene) -> None:
    """Draws everything behind the things, on a canvas that already shows the sky."""
    if scene.setting != "room":
        if scene.time == "night" and scene.weather == "clear":
            _stars(pen, 0.0, 0.0, 1.0, HORIZON, 26)
        {"meadow": _meadow, "beach": _beach, "street": _street}[scene.setting](pen, scene)
    else:
        _room(pen, scene)
    if scene.weather == "rainy":
        rain(pen, scene, 90)


def _stars(pen: Pen, x0: float, y0: float, x1: float, y1: float, count: int) -> None:
    rng = pen.style.rng("stars")
    for _ in range(count):
        x, y = rng.uniform(x0, x1), rng.uniform(y0, y1)
        r = rng.choice((0.0025, 0.0035, 0.006))
        if r > 0.005:
            pen.stroke(((x - r * 1.4, y), (x + r * 1.4, y)), 0.003, (255, 246, 200))
            pen.stroke(((x, y - r * 1.4), (x, y + r * 1.4)), 0.003, (255, 246, 200))
        else:
            pen.glaze(x, y, r, r, (255, 250, 220, 255))


def _hill(pen: Pen, height: float, amplitude: float, waves: float, phase: float, fill: RGB) -> None:
    top = [
        (i / 24 * 1.04 - 0.02, height - amplitude * math.sin(waves * i / 24 + phase))
        for i in range(25)
    ]
    pen.poly([*top, (1.02, 1.02), (-0.02, 1.02)], fill, line=False)


def _meadow(pen: Pen, scene: Scene) -> None:
    rng = pen.style.rng("meadow")
    grass = ground_tone(pen, scene, rng.choice(GRASS))
    far = mix(grass, ground_tone(pen, scene, (120, 176, 150)), 0.6)
    _hill(
        pen,
        HORIZON - 0.03,
        0.05,
        rng.uniform(4, 7),
        rng.uniform(0, 6),
        mix(far, (200, 220, 230), 0.15 if scene.time == "day" else 0.0),
    )
    _hill(pen, HORIZON + 0.03, 0.025, rng.uniform(3, 6), rng.uniform(0, 6), lighter(grass, 0.1))
    _hill(pen, 0.74, 0.02, rng.uniform(3, 5), rng.uniform(0, 6), grass)
    blade = darker(grass, 0.2)
    for _ in range(44):
        x, y = rng.random(), rng.uniform(0.60, 0.99)
        s = 0.008 + 0.008 * y
        for dx in (-0.5, 0.0, 0.5):
            pen.stroke(((x, y), (x + dx * s, y - s * (1.3 - abs(dx)))), 0.003, blade)
    for _ in range(14):
        x, y = rng.random(), rng.uniform(0.62, 0.98)
        pen.glaze(x, y, 0.004, 0.003, (*lighter(grass, 0.55), 255))


def _beach(pen: Pen, scene: Scene) -> None:
    rng = pen.style.rng("beach")
    sea, sand = (ground_tone(pen, scene, rng.choice(tone)) for tone in (SEA, SAND))
    shore = 0.635
    pen.poly(
        ((-0.02, 0.42), (1.02, 0.42), (1.02, 0.8), (-0.02, 0.8)), darker(sea, 0.12), line=False
    )
    for i in range(1, 5):
        _hill(
            pen,
            0.42 + i * 0.045,
            0.004,
            40,
            rng.uniform(0, 6),
            mix(darker(sea, 0.12), lighter(sea, 0.25), i / 4),
        )
    foam = lighter(sea, 0.7)
    for _ in range(16):
        x, y = rng.random(), rng.uniform(0.45, 0.60)
        pen.smile(x, y, 0.05, 0.0035, foam)
    _hill(pen, shore - 0.008, 0.008, 16, rng.uniform(0, 6), foam)
    phase = rng.uniform(0, 6)
    _hill(pen, shore + 0.012, 0.008, 14, phase, darker(sand, 0.10))
    _hill(pen, shore + 0.03, 0.008, 14, phase, sand)
    for _ in range(70):
        x, y = rng.random(), rng.uniform(0.68, 0.99)
        tone = darker(sand, 0.14) if rng.random() < 0.7 else lighter(sand, 0.4)
        pen.glaze(x, y, 0.0035, 0.0025, (*tone, 255))


def _street(pen: Pen, scene: Scene) -> None:
    rng = pen.style.rng("street")
    far = {"day": (198, 208, 220), "night": (62, 66, 112)}[scene.time]
    x = -0.02
    while x < 1.0:
        width, top = rng.uniform(0.09, 0.15), rng.uniform(0.28, 0.44)
        tone = mix(far, (150, 160, 182), rng.uniform(0, 0.4))
        pen.poly(((x, 0.6), (x, top), (x + width, top), (x + width, 0.6)), tone, line=False)
        glass = (250, 222, 130) if scene.time == "night" else lighter(tone, 0.35)
        for row in range(3):
            for column in range(2):
                if scene.time == "day" or rng.random() < 0.5:
                    wx, wy = x + width * (0.22 + 0.34 * column), top + 0.035 + row * 0.05
                    pen.poly(
                        ((wx, wy), (wx + 0.022, wy), (wx + 0.022, wy + 0.026), (wx, wy + 0.026)),
                        glass,
                        line=False,
                    )
        x += width + rng.choice((0.0, 0.012))
    walk = ground_tone(pen, scene, (222, 218, 212))
    road = ground_tone(pen, scene, rng.choice(((138, 140, 150), (146, 142, 148))))
    pen.poly(((-0.02, 0.56), (1.02, 0.56), (1.02, 1.02), (-0.02, 1.02)), walk, line=False)
    for i in range(9):
        x = i / 8
        pen.stroke(
            ((0.5 + (x - 0.5) * 1.05, 0.56), (0.5 + (x - 0.5) * 1.2, 0.72)),
            0.003,
            darker(walk, 0.12),
        )
    pen.stroke(((-0.02, 0.64), (1.02, 0.64)), 0.003, darker(walk, 0.12))
    pen.poly(((-0.02, 0.72), (1.02, 0.72), (1.02, 0.92), (-0.02, 0.92)), road, line=False)
    for y in (0.72, 0.92):
        pen.stroke(((-0.02, y), (1.02, y)), 0.014, lighter(walk, 0.25))
    for i in range(6):
        x = i * 0.19 + 0.02
        pen.poly(
            ((x, 0.812), (x + 0.10, 0.812), (x + 0.10, 0.826), (x, 0.826)),
            lighter(road, 0.65),
            line=False,
        )


def _room(pen: Pen, scene: Scene) -> None:
    rng = pen.style.rng("room")
    wall, floor = WALL_BASE[scene.wall], rng.choice(FLOOR)
    if scene.time == "night":
        wall, floor = darker(wall, 0.05), darker(floor, 0.18)
    pen.poly(((-0.02, -0.02), (1.02, -0.02), (1.02, 0.66), (-0.02, 0.66)), wall, line=False)
    _wallpaper(
        pen, rng.randrange(3), lighter(wall, 0.4) if scene.wall != "white" else darker(wall, 0.07)
    )
    _window(pen, scene, rng.choice((0.22, 0.5, 0.78)))
    pen.poly(((-0.02, 0.655), (1.02, 0.655), (1.02, 1.02), (-0.02, 1.02)), floor, line=False)
    for i in range(1, 6):
        y = 0.66 + 0.34 * (i / 6) ** 1.2
        pen.stroke(((-0.02, y), (1.02, y)), 0.003, darker(floor, 0.13))
    pen.poly(
        ((-0.02, 0.635), (1.02, 0.635), (1.02, 0.665), (-0.02, 0.665)),
        lighter(wall, 0.7),
        line=False,
    )
    pen.stroke(((-0.02, 0.667), (1.02, 0.667)), 0.003, darker(floor, 0.3))
    rug = rng.choice(((214, 196, 190), (190, 204, 206), (216, 206, 180)))
    x = rng.uniform(0.38, 0.62)
    for r, tone in ((1.0, darker(rug, 0.16)), (0.9, rug), (0.66, lighter(rug, 0.35)), (0.56, rug)):
        pen.glaze(x, 0.845, 0.36 * r, 0.10 * r, (*tone, 255))


def _wallpaper(pen: Pen, pattern: int, tone: RGB) -> None:
    if pattern == 0:
        for i in range(13):
            x = i / 12
            pen.poly(
                ((x - 0.012, -0.02), (x + 0.012, -0.02), (x + 0.012, 0.64), (x - 0.012, 0.64)),
                tone,
                line=False,
            )
    elif pattern == 1:
        for row in range(8):
            for column in range(11):
                x = (column + 0.5 * (row % 2)) / 10.5
                pen.glaze(x, 0.04 + row * 0.08, 0.008, 0.008, (*tone, 255))


def _window(pen: Pen, scene: Scene, x: float) -> None:
    """The room's own window, which shows whether it is day or night outside."""
    x0, y0, x1, y1 = x - 0.11, 0.10, x + 0.11, 0.36
    night = scene.time == "night"
    frame = (255, 253, 248)
    pen.rect(x0 - 0.014, y0 - 0.014, x1 + 0.014, y1 + 0.014, darker(frame, 0.2), line=False)
    pen.rect(x0 - 0.01, y0 - 0.01, x1 + 0.01, y1 + 0.01, frame, line=False)
    pen.rect(x0, y0, x1, y1, (34, 42, 98) if night else (158, 216, 246), line=False)
    if night:
        _stars(pen, x0 + 0.01, y0 + 0.01, x1 - 0.01, y1 - 0.01, 12)
    else:
        pen.poly(
            ((x0, y1), (x0, y1 - 0.06), (x, y1 - 0.09), (x1, y1 - 0.05), (x1, y1)),
            (160, 210, 130),
            line=False,
        )
    pen.stroke(((x, y0), (x, y1)), 0.010, frame)
    pen.stroke(((x0, (y0 + y1) / 2), (x1, (y0 + y1) / 2)), 0.010, frame)
    curtain = pen.style.rng("curtain").choice(((232, 220, 206), (214, 220, 226), (226, 214, 218)))
    for side in (-1, 1):
        edge = x + side * 0.135
        inner = x + side * 0.075
        pen.poly(
            (
                (edge, y0 - 0.03),
                (inner, y0 - 0.03),
                (x + side * 0.105, y1 + 0.02),
                (edge, y1 + 0.02),
            ),
            curtain,
        )
    pen.stroke(((x0 - 0.04, y0 - 0.03), (x1 + 0.04, y0 - 0.03)), 0.010, (150, 122, 100))


def rain(pen: Pen, scene: Scene, count: int) -> None:
    """Slanting strokes over the whole picture."""
    rng = pen.style.rng(f"rain.{count}")
    width = max(1, round(0.004 * pen.pixels))
    tone = (206, 220, 244, 170) if scene.time == "night" else (92, 126, 184, 170)
    n = pen.pixels
    for _ in range(count):
        x, y, s = rng.uniform(0, 1.05), rng.uniform(-0.03, 0.98), rng.uniform(0.025, 0.045)
        pen.veil.line((x * n, y * n, (x - s * 0.35) * n, (y + s) * n), fill=tone, width=width)
