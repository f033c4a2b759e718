"""Charts, tables, text, screenshots, maps and other pages of information."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import cache
from itertools import pairwise

from PIL import Image, ImageDraw, ImageFont

from scripts.research.domain_gate.ood_generators.brush import (
    BLACK,
    RGB,
    WHITE,
    any_color,
    palette,
)

GRAY = (150, 150, 150)
_SYLLABLES = ("ra", "to", "mi", "nel", "sor", "ke", "va", "lin", "du", "pra", "est", "gol", "wi")


@cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def words(rng: random.Random, count: int) -> str:
    """Made-up words, some of them numbers or in capitals."""
    made = []
    for _ in range(count):
        word = "".join(rng.choice(_SYLLABLES) for _ in range(rng.randint(1, 4)))
        made.append(
            rng.choice(
                (
                    word,
                    word,
                    word,
                    word.title(),
                    word.upper(),
                    str(rng.randrange(10_000)),
                    f"{rng.uniform(0, 100):.1f}%",
                )
            )
        )
    return " ".join(made)


def _page(rng: random.Random, paper: RGB = WHITE) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    size = (rng.choice((192, 256, 320)), rng.choice((144, 192, 256, 320)))
    image = Image.new("RGB", size, paper)
    return image, ImageDraw.Draw(image)


def chart(rng: random.Random) -> Image.Image:
    """Bars, lines, points or areas between axes, with title, ticks and legend."""
    dark = rng.random() < 0.12
    paper, ink = ((30, 32, 40), (220, 220, 220)) if dark else (WHITE, BLACK)
    if rng.random() < 0.2:
        paper = rng.choice(((234, 234, 242), (245, 245, 240), (252, 250, 245)))
    image, pen = _page(rng, paper)
    w, h = image.size
    x0, y0, x1, y1 = w * rng.uniform(0.05, 0.25), h * rng.uniform(0.1, 0.22), w * 0.95, h * 0.86
    small = _font(rng.randint(6, 10))
    pen.text((w * 0.1, h * 0.02), words(rng, 4), fill=ink, font=_font(rng.randint(8, 15)))
    if rng.random() < 0.5:
        for i in range(6):
            y = y0 + (y1 - y0) * i / 5
            pen.line((x0, y, x1, y), fill=(200, 200, 205))
    for i in range(6):
        pen.text((1, y0 + (y1 - y0) * i / 5 - 4), str(100 - 20 * i), fill=ink, font=small)
    colors, n, series = palette(rng), rng.randint(2, 14), rng.randint(1, 4)
    kind = rng.randrange(6)
    for s in range(series):
        color = colors.pick(rng)
        level, steps = rng.uniform(0.2, 0.9), []
        for i in range(n):
            level = min(1.0, max(0.02, level + rng.gauss(0, 0.15)))
            steps.append((x0 + (x1 - x0) * (i + 0.5) / n, y1 - (y1 - y0) * level))
        step = (x1 - x0) / n
        for i, (x, y) in enumerate(steps):
            if kind == 0:
                left = x - step * 0.4 + step * 0.8 * s / series
                pen.rectangle((left, y, left + step * 0.8 / series, y1), fill=color)
            elif kind == 1:
                row, bar = y0 + (y1 - y0) * i / n, (y1 - y0) / n
                pen.rectangle((x0, row, x0 + (y1 - y) * (x1 - x0) / (y1 - y0), row + bar * 0.7),
                              fill=color)  # fmt: skip
            elif kind in (2, 3) or rng.random() < 0.8:
                r = 1 + (kind != 3) * rng.random() * 3
                pen.ellipse((x - r, y - r, x + r, y + r), fill=color)
        if kind == 3:
            pen.line(steps, fill=color, width=rng.randint(1, 4))
        elif kind == 4:
            pen.polygon([(x0, y1), *steps, (x1, y1)], fill=color)
        if series > 1:
            pen.rectangle((x1 - 40, y0 + 10 * s, x1 - 34, y0 + 6 + 10 * s), fill=color)
            pen.text((x1 - 30, y0 + 10 * s - 2), words(rng, 1), fill=ink, font=small)
    pen.line((x0, y0, x0, y1, x1, y1), fill=ink)
    pen.text((x0, y1 + 4), words(rng, 6), fill=ink, font=small)
    return image


def pie(rng: random.Random) -> Image.Image:
    image, pen = _page(rng, rng.choice((WHITE, WHITE, any_color(rng))))
    w, h = image.size
    r = min(w, h) * rng.uniform(0.25, 0.42)
    x, y, start = w * rng.uniform(0.35, 0.6), h * 0.55, rng.uniform(0, 360)
    colors = palette(rng)
    for _ in range(rng.randint(2, 8)):
        end = start + rng.uniform(15, 120)
        pen.pieslice((x - r, y - r, x + r, y + r), start, end, fill=colors.pick(rng),
                     outline=rng.choice((None, WHITE, BLACK)))  # fmt: skip
        middle = math.radians((start + end) / 2)
        pen.text((x + r * math.cos(middle), y + r * math.sin(middle)), words(rng, 1), fill=BLACK,
                 font=_font(8))  # fmt: skip
        start = end
    if rng.random() < 0.3:
        r *= 0.55
        pen.ellipse((x - r, y - r, x + r, y + r), fill=image.getpixel((1, 1)))
    pen.text((w * 0.1, h * 0.03), words(rng, 3), fill=BLACK, font=_font(12))
    return image


def text_page(rng: random.Random) -> Image.Image:
    """Paragraphs, code, large lettering, in one or two columns."""
    paper, ink = rng.choice(
        (
            (WHITE, BLACK),
            (WHITE, (60, 60, 60)),
            ((30, 30, 34), (210, 230, 210)),
            ((250, 243, 224), (60, 40, 20)),
            (any_color(rng), any_color(rng)),
        )
    )
    image, pen = _page(rng, paper)
    w, h = image.size
    size = rng.choice((6, 8, 10, 14, 20, 40, 64))
    columns, margin = rng.choice((1, 1, 2)), rng.uniform(2, 25)
    for column in range(columns):
        y, left = margin, margin + column * w / columns
        while y < h - margin:
            if rng.random() < 0.88:
                indent = rng.choice((0, 0, 0, size, 2 * size))
                fill = any_color(rng) if rng.random() < 0.08 else ink
                line = words(rng, max(1, int(w / columns / size / rng.uniform(2.5, 6))))
                pen.text((left + indent, y), line, fill=fill, font=_font(size))
            y += size * 1.25
        pen.rectangle((left + w / columns - margin, 0, left + w / columns, h), fill=paper)
    return image


def table(rng: random.Random) -> Image.Image:
    image, pen = _page(rng)
    w, h = image.size
    columns, rows = rng.randint(2, 7), rng.randint(3, 14)
    head, stripe = any_color(rng), rng.choice((WHITE, (240, 240, 245)))
    for i in range(rows):
        for j in range(columns):
            box = (w * j / columns, h * i / rows, w * (j + 1) / columns, h * (i + 1) / rows)
            fill = head if i == 0 else stripe if i % 2 else WHITE
            pen.rectangle(box, fill=fill, outline=GRAY)
            pen.text((box[0] + 2, box[1] + 1), words(rng, 1), fill=BLACK, font=_font(8))
    return image


def screenshot(rng: random.Random) -> Image.Image:
    """Windows, bars, buttons and lists of a desktop, a web page or a phone."""
    image, pen = _page(rng, rng.choice((WHITE, (240, 242, 245), (28, 30, 36), any_color(rng))))
    w, h = image.size
    accent, panel = any_color(rng), rng.choice((WHITE, (250, 250, 250), (45, 48, 56)))
    pen.rectangle((0, 0, w, h * rng.uniform(0.05, 0.15)), fill=accent)
    pen.text((4, 2), words(rng, 4), fill=WHITE, font=_font(9))
    if rng.random() < 0.6:
        pen.rectangle((0, h * 0.1, w * rng.uniform(0.15, 0.3), h), fill=panel)
    for _ in range(rng.randint(2, 9)):
        x, y = rng.uniform(0, 0.8) * w, rng.uniform(0.1, 0.9) * h
        box = (x, y, x + rng.uniform(0.1, 0.6) * w, y + rng.uniform(0.05, 0.35) * h)
        pen.rounded_rectangle(box, rng.choice((0, 3, 8)), fill=rng.choice((panel, accent, GRAY)),
                              outline=rng.choice((None, GRAY)))  # fmt: skip
        for i in range(rng.randint(0, 5)):
            pen.text((x + 4, y + 3 + 10 * i), words(rng, 4), fill=rng.choice((BLACK, GRAY, WHITE)),
                     font=_font(8))  # fmt: skip
    return image


def diagram(rng: random.Random) -> Image.Image:
    """Boxes, circles and arrows with words in them."""
    image, pen = _page(rng, rng.choice((WHITE, WHITE, (250, 250, 240))))
    w, h = image.size
    spots = [(rng.uniform(0.1, 0.85) * w, rng.uniform(0.1, 0.85) * h)
             for _ in range(rng.randint(3, 9))]  # fmt: skip
    for a, b in pairwise(spots):
        pen.line((*a, *b), fill=BLACK, width=rng.randint(1, 3))
    fill = any_color(rng)
    for x, y in spots:
        box = (x - 0.12 * w, y - 0.06 * h, x + 0.12 * w, y + 0.06 * h)
        draw = rng.choice((pen.rectangle, pen.ellipse))
        draw(box, fill=fill if rng.random() < 0.6 else any_color(rng), outline=BLACK)
        pen.text((x - 0.1 * w, y - 5), words(rng, 1), fill=BLACK, font=_font(9))
    return image


def chart_map(rng: random.Random) -> Image.Image:
    """Coloured regions, roads and labels."""
    image, pen = _page(rng, rng.choice(((170, 210, 240), (235, 230, 220), WHITE)))
    w, h = image.size
    colors = palette(rng)
    for _ in range(rng.randint(2, 14)):
        x, y, r = rng.random() * w, rng.random() * h, rng.uniform(0.05, 0.4) * w
        ring = [(x + r * rng.uniform(0.6, 1.1) * math.cos(i / 3), y + r * 0.8 * math.sin(i / 3))
                for i in range(19)]  # fmt: skip
        pen.polygon(ring, fill=colors.pick(rng), outline=rng.choice((WHITE, GRAY, BLACK)))
    for _ in range(rng.randint(0, 12)):
        line = (rng.random() * w, rng.random() * h, rng.random() * w, rng.random() * h)
        pen.line(line, fill=rng.choice((WHITE, (250, 220, 120), GRAY)), width=rng.randint(1, 5))
    for _ in range(rng.randint(0, 8)):
        pen.text((rng.random() * w, rng.random() * h), words(rng, 1), fill=BLACK, font=_font(9))
    return image


def code_image(rng: random.Random) -> Image.Image:
    """Bar codes, square codes, crosswords, heat maps."""
    cells = rng.randint(6, 30)
    small = Image.new("RGB", (cells, 1 if rng.random() < 0.25 else cells), WHITE)
    a, b = any_color(rng), any_color(rng)
    heat = rng.random() < 0.4
    plain = heat or rng.random() < 0.5
    level = [rng.random() if heat else float(rng.random() < 0.5)
             for _ in range(small.width * small.height)]  # fmt: skip
    low, high = (a, b) if plain else (BLACK, WHITE)
    small.putdata([tuple(round(p + (q - p) * v) for p, q in zip(low, high, strict=True))
                   for v in level])  # fmt: skip
    image, _ = _page(rng)
    edge = rng.choice((0, 12, 30))
    size = (image.width - 2 * edge, image.height - 2 * edge)
    image.paste(small.resize(size, Image.Resampling.NEAREST), (edge, edge))
    return image


def sign(rng: random.Random) -> Image.Image:
    """A word or two on a board, a poster, a book's cover."""
    image, pen = _page(rng, any_color(rng))
    w, h = image.size
    for _ in range(rng.randint(0, 4)):
        x, y = rng.random() * w, rng.random() * h
        box = (x, y, x + rng.uniform(0.1, 0.8) * w, y + rng.uniform(0.1, 0.8) * h)
        rng.choice((pen.rectangle, pen.ellipse))(box, fill=any_color(rng))
    for _ in range(rng.randint(1, 4)):
        pen.text((rng.uniform(0, 0.5) * w, rng.uniform(0, 0.8) * h), words(rng, rng.randint(1, 3)),
                 fill=any_color(rng), font=_font(rng.choice((14, 24, 40))))  # fmt: skip
    return image


PAGES: dict[str, Callable[[random.Random], Image.Image]] = {
    "chart": chart, "pie": pie, "text page": text_page, "table": table, "screenshot": screenshot,
    "diagram": diagram, "map": chart_map, "code": code_image, "sign": sign,
}  # fmt: skip
