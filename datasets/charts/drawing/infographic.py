"""Charts in the style of printed infographics: values at the marks, no axes, legend in words."""

from __future__ import annotations

import functools
import math
import random
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont

from revise_captions.chart_world.tables import Table
from revise_captions.chart_world.wording import digits

_PALETTES = (
    ("#bf3927", "#436983", "#d1a730", "#949d48", "#746a7e"),
    ("#456a83", "#a2b6c6", "#bb792a", "#dcbf9b", "#7d8248"),
    ("#733d47", "#ea9e2c", "#52647a", "#a9b46b", "#9a8a95"),
)
Font = ImageFont.FreeTypeFont


@functools.cache
def _font(size: int) -> Font:
    font = ImageFont.load_default(size)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font


@dataclass(frozen=True, slots=True)
class Page:
    """The canvas, its width, and the colors to use."""

    pen: ImageDraw.ImageDraw
    width: int
    colors: tuple[str, ...]

    def text(self, x: float, y: float, text: str, size: int = 14, fill: str = "#222",
             anchor: str = "la") -> None:  # fmt: skip
        """Writes one line."""
        self.pen.text((x, y), text, font=_font(size), fill=fill, anchor=anchor)


def draw(table: Table, rng: random.Random) -> Image.Image:
    """Draws a table as a printed infographic would show it."""
    width = rng.choice((420, 520, 640))
    image = Image.new("RGB", (width, 2400), "white")
    page = Page(ImageDraw.Draw(image), width, rng.choice(_PALETTES))
    y = _wrapped(page, 12, table.title, 20, "#000")
    y = _wrapped(page, y + 2, table.subtitle, 14, "#666") if table.subtitle else y
    y += 14
    if len(table.columns) > 1 and table.kind != "text table":
        y = _legend(page, y, table)
    bodies = {"line": _lines, "area": _lines, "text table": _rows, "pie": _pie}
    body = bodies.get(table.kind, _bars)
    y = body(page, y, table)
    if table.source:
        y = _wrapped(page, y + 10, table.source, 11, "#777")
    return image.crop((0, 0, width, y + 12))


def _wrapped(page: Page, y: int, text: str, size: int, fill: str) -> int:
    """Writes text over several lines; returns the height after it."""
    line = ""
    for word in [*text.split(), ""]:
        longer = f"{line} {word}".strip()
        if word and _font(size).getlength(longer) < page.width - 24:
            line = longer
            continue
        page.text(12, y, line, size, fill)
        y, line = y + size + 5, word
    return y


def _legend(page: Page, y: int, table: Table) -> int:
    x = 14.0
    for column, color in zip(table.columns, page.colors, strict=False):
        length = _font(13).getlength(column.name)
        if x + length + 30 > page.width:
            x, y = 14.0, y + 20
        page.pen.rectangle((x, y + 2, x + 11, y + 13), fill=color)
        page.text(x + 16, y, column.name, 13)
        x += length + 34
    return y + 28


def _bars(page: Page, y: int, table: Table) -> int:
    """Horizontal bars, stacked where the table is, each with its value."""
    stacked = table.kind == "stacked bar"
    left = 20 + int(max(_font(14).getlength(c) for c in table.categories))
    room = page.width - left - 62
    sums = [sum(column.values[k] for column in table.columns) for k in range(len(table.categories))]
    top = max(sums) if stacked else max(max(column.values) for column in table.columns)
    unit = "%" if table.unit == "%" else ""
    for k, name in enumerate(table.categories):
        page.text(left - 8, y + 10, name, 14, anchor="rm")
        x = float(left)
        for column, color in zip(table.columns, page.colors, strict=False):
            value = column.values[k]
            length = room * value / top
            page.pen.rectangle((x, y, x + length, y + 20), fill=color)
            text = digits(value, table.decimals) + (unit if k == 0 else "")
            if stacked:
                if length > _font(13).getlength(text) + 4:
                    page.text(x + length / 2, y + 10, text, 13, "#fff", "mm")
                x += length
            else:
                page.text(x + length + 4, y + 10, text, 13, anchor="lm")
                y += 22
        y = (y + 30) if stacked else y + 10
    return y


def _lines(page: Page, y: int, table: Table) -> int:
    """Lines with printed values at their ends, or everywhere if there is room."""
    height, left, right = 220, 44, page.width - 60
    high = max(max(column.values) for column in table.columns) or 1.0
    count = len(table.categories)
    step = (right - left) / max(1, count - 1)
    base = y + height
    page.pen.line((left, base, right, base), fill="#999")
    every = max(1, int(52 / step) + 1)
    unit = "%" if table.unit == "%" else ""
    for column, color in zip(table.columns, page.colors, strict=False):
        points = [(left + k * step, base - height * v / (high * 1.1)) for k, v in
                  enumerate(column.values)]  # fmt: skip
        if table.kind == "area":
            page.pen.polygon([(left, base), *points, (right, base)], fill=color)
        page.pen.line(points, fill=color, width=3)
        for k, (x, top) in enumerate(points):
            if k % every == 0 or k == count - 1:
                text = digits(column.values[k], table.decimals) + (unit if k == 0 else "")
                page.text(x, top - 6, text, 12, "#222", "mb")
    for k in range(0, count, every):
        page.text(left + k * step, base + 6, table.categories[k], 12, "#444", "ma")
    return base + 30


def _rows(page: Page, y: int, table: Table) -> int:
    """A table of text."""
    left = 30 + int(max(_font(14).getlength(c) for c in table.categories))
    step = (page.width - left - 20) / len(table.columns)
    for s, column in enumerate(table.columns):
        page.text(left + (s + 0.5) * step, y, column.name or table.value_label, 12, "#555", "ma")
    y += 22
    for k, name in enumerate(table.categories):
        page.text(14, y, name, 14)
        for s, column in enumerate(table.columns):
            text = digits(column.values[k], table.decimals)
            page.text(left + (s + 0.5) * step, y, text, 14, anchor="ma")
        y += 24
    return y


def _pie(page: Page, y: int, table: Table) -> int:
    """A donut, each slice's name and value beside it, at a leader line where it is thin."""
    values = table.columns[0].values
    radius = page.width // 5
    x, top = page.width / 2, y + 30
    middle, at = top + radius, -90.0
    for k, (name, value) in enumerate(zip(table.categories, values, strict=True)):
        sweep = 360 * value / sum(values)
        color = page.colors[k % len(page.colors)] if k < len(page.colors) else "#c9c9c9"
        box = (x - radius, top, x + radius, top + 2 * radius)
        page.pen.pieslice(box, at, at + sweep, fill=color, outline="white")
        angle = math.radians(at + sweep / 2)
        edge, away = radius + 2, radius + (18 if value < 6 else 8)
        ends = [(x + r * math.cos(angle), middle + r * math.sin(angle)) for r in (edge, away)]
        if value < 6:
            page.pen.line(ends, fill="#777")
        side = "l" if math.cos(angle) >= 0 else "r"
        text = f"{name} {digits(value, table.decimals)}%" if table.printed else name
        page.text(ends[1][0] + (3 if side == "l" else -3), ends[1][1], text, 13, anchor=f"{side}m")
        at += sweep
    hole = 0.5 * radius
    page.pen.ellipse((x - hole, middle - hole, x + hole, middle + hole), fill="white")
    return round(middle + radius + 34)
