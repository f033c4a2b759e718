"""Draws cupboards."""

from __future__ import annotations

from collections.abc import Callable

from PIL import Image, ImageDraw

from revise_captions.picturebook.drawing.pen import (
    RGB,
    Style,
    darker,
    is_dark,
    lighter,
    style_of,
)
from scripts.research.new_domains.far_domain import Cupboard, DomainThing

OVERSAMPLING = 2
_WALLS: dict[str, RGB] = {
    "grey": (176, 178, 184),
    "cream": (247, 235, 205),
    "turquoise": (120, 208, 204),
    "lilac": (203, 180, 226),
}
WOOD: RGB = (150, 108, 72)
Draw = ImageDraw.ImageDraw
Box = tuple[float, float, float, float]


def draw(cupboard: Cupboard, size: int = 256) -> Image.Image:
    """The picture of a cupboard, RGB, `size` by `size` pixels."""
    pixels = size * OVERSAMPLING
    image = Image.new("RGB", (pixels, pixels), _WALLS[cupboard.wall])
    pen, style = ImageDraw.Draw(image), style_of(cupboard.style)
    unit = pixels / 100
    pen.rectangle((4 * unit, 6 * unit, 96 * unit, 95 * unit), WOOD, darker(WOOD), round(unit))
    for number, board in enumerate(cupboard.boards):
        top = 9 + 43 * number
        inside = lighter(WOOD, 0.55)
        pen.rectangle((7 * unit, top * unit, 93 * unit, (top + 40) * unit), inside)
        width = 86 / max(4, len(board))
        for k, thing in enumerate(board):
            left = 7 + width * (k + (4 - len(board)) / 2)
            box = ((left + 1.5) * unit, (top + 8) * unit, (left + width - 1.5) * unit,
                   (top + 39) * unit)  # fmt: skip
            DRAWERS[thing.kind](pen, box, thing, style)
    return image.reduce(OVERSAMPLING)


def _at(box: Box, x0: float, y0: float, x1: float, y1: float) -> Box:
    """A part of a box, in shares of it."""
    width, height = box[2] - box[0], box[3] - box[1]
    return (box[0] + x0 * width, box[1] + y0 * height, box[0] + x1 * width, box[1] + y1 * height)


def _dots(pen: Draw, box: Box, thing: DomainThing, fill: RGB) -> None:
    if thing.state != "dotted":
        return
    mark = (250, 245, 235) if is_dark(fill) or sum(fill) < 620 else (60, 60, 70)
    for x in (0.2, 0.5, 0.8):
        for y in (0.3, 0.7):
            pen.ellipse(_at(box, x - 0.09, y - 0.1, x + 0.09, y + 0.1), mark)


def _cup(pen: Draw, box: Box, thing: DomainThing, style: Style) -> None:
    fill = style.colors[thing.color]
    line = darker(fill, 0.5)
    pen.ellipse(_at(box, 0.6, 0.62, 1.0, 0.92), None, line, 5)
    body = _at(box, 0.1, 0.55, 0.78, 1.0)
    pen.rounded_rectangle(body, 8, fill, line, 2)
    _dots(pen, body, thing, fill)


def _teapot(pen: Draw, box: Box, thing: DomainThing, style: Style) -> None:
    fill = style.colors[thing.color]
    line = darker(fill, 0.5)
    spout = [_at(box, x, y, x, y)[:2] for x, y in ((0.75, 0.75), (1.0, 0.4), (1.0, 0.5))]
    pen.polygon([*spout, _at(box, 0.75, 0.92, 0, 0)[:2]], fill, line)
    pen.arc(_at(box, 0.0, 0.45, 0.4, 0.95), 90, 270, line, 6)
    body = _at(box, 0.12, 0.42, 0.85, 1.0)
    pen.ellipse(body, fill, line, 2)
    pen.ellipse(_at(box, 0.4, 0.3, 0.58, 0.46), line)
    _dots(pen, _at(body, 0.12, 0.1, 0.88, 0.9), thing, fill)


def _book(pen: Draw, box: Box, thing: DomainThing, style: Style) -> None:
    fill = style.colors[thing.color]
    pages, line = (252, 248, 236), darker(fill, 0.5)
    if thing.state == "upright":
        pen.rectangle(_at(box, 0.25, 0.1, 0.75, 1.0), fill, line, 2)
        pen.rectangle(_at(box, 0.62, 0.14, 0.75, 0.97), pages, line, 1)
    else:
        pen.rectangle(_at(box, 0.0, 0.74, 1.0, 1.0), fill, line, 2)
        pen.rectangle(_at(box, 0.05, 0.8, 1.0, 0.94), pages, line, 1)


def _candle(pen: Draw, box: Box, thing: DomainThing, style: Style) -> None:
    fill = style.colors[thing.color]
    pen.ellipse(_at(box, 0.1, 0.88, 0.9, 1.0), (120, 120, 128))
    pen.rectangle(_at(box, 0.36, 0.4, 0.64, 0.94), fill, darker(fill, 0.5), 2)
    pen.line(_at(box, 0.5, 0.3, 0.5, 0.4), (40, 36, 40), 4)
    if thing.state == "burning":
        pen.ellipse(_at(box, 0.32, 0.02, 0.68, 0.36), (255, 176, 32))
        pen.ellipse(_at(box, 0.42, 0.12, 0.58, 0.34), (255, 240, 150))


def _clock(pen: Draw, box: Box, thing: DomainThing, style: Style) -> None:
    fill = style.colors[thing.color]
    pen.rectangle(_at(box, 0.2, 0.9, 0.8, 1.0), darker(fill, 0.4))
    pen.ellipse(_at(box, 0.0, 0.22, 1.0, 0.94), fill, darker(fill, 0.5), 2)
    pen.ellipse(_at(box, 0.14, 0.32, 0.86, 0.84), (255, 253, 246))
    end = {"set to three": (0.8, 0.58), "set to six": (0.5, 0.8), "set to nine": (0.2, 0.58)}
    ink = (30, 28, 40)
    pen.line(_at(box, 0.5, 0.58, *end[thing.state]), ink, 7)
    pen.line(_at(box, 0.5, 0.58, 0.5, 0.36), ink, 3)


def _vase(pen: Draw, box: Box, thing: DomainThing, style: Style) -> None:
    fill = style.colors[thing.color]
    if thing.state != "empty":
        for x, y in ((0.2, 0.2), (0.5, 0.1), (0.8, 0.2)):
            pen.line(_at(box, x, y, 0.5, 0.6), (70, 140, 70), 4)
            pen.ellipse(_at(box, x - 0.13, y - 0.1, x + 0.13, y + 0.12), (236, 90, 120))
    shape = ((0.35, 0.5), (0.65, 0.5), (0.6, 0.62), (0.82, 0.85), (0.68, 1.0), (0.32, 1.0),
             (0.18, 0.85), (0.4, 0.62))  # fmt: skip
    pen.polygon([_at(box, x, y, 0, 0)[:2] for x, y in shape], fill, darker(fill, 0.5), 2)


def _bowl(pen: Draw, box: Box, thing: DomainThing, style: Style) -> None:
    fill = style.colors[thing.color]
    if thing.state != "empty":
        for x in (0.22, 0.42, 0.62, 0.32, 0.52):
            y = 0.52 if x in (0.32, 0.52) else 0.62
            pen.ellipse(_at(box, x, y, x + 0.18, y + 0.18), (190, 20, 44), (90, 8, 20), 2)
    pen.chord(_at(box, 0.0, 0.4, 1.0, 1.04), 0, 180, fill, darker(fill, 0.5), 2)
    pen.rectangle(_at(box, 0.35, 0.97, 0.65, 1.0), darker(fill, 0.4))


def _box(pen: Draw, box: Box, thing: DomainThing, style: Style) -> None:
    fill = style.colors[thing.color]
    line = darker(fill, 0.5)
    if thing.state == "shut":
        pen.rectangle(_at(box, 0.0, 0.5, 1.0, 0.64), lighter(fill, 0.25), line, 2)
    else:
        lid = ((0.0, 0.62), (1.0, 0.62), (1.0, 0.2), (0.0, 0.2))
        pen.polygon([_at(box, x, y, 0, 0)[:2] for x, y in lid], lighter(fill, 0.25), line, 2)
        pen.rectangle(_at(box, 0.06, 0.5, 0.94, 0.66), darker(fill, 0.75))
    pen.rectangle(_at(box, 0.04, 0.62, 0.96, 1.0), fill, line, 2)


DRAWERS: dict[str, Callable[[Draw, Box, DomainThing, Style], None]] = {
    "cup": _cup, "teapot": _teapot, "book": _book, "candle": _candle,
    "clock": _clock, "vase": _vase, "bowl": _bowl, "box": _box,
}  # fmt: skip
