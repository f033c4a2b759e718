"""What colors mean: legends, and text that is set in a color."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from revise_captions.charts.canvas import Canvas, inside
from revise_captions.charts.chart import Box
from revise_captions.charts.labels import SWATCH, letters
from revise_captions.charts.numerals import parse, year_of

#: The gap between a swatch and its text, and between two words of that, in heights of text.
_FIRST, _RUN = 1.3, 0.9


def legend(
    canvas: Canvas, colors: Collection[int], marks: Collection[Box] = ()
) -> tuple[dict[int, str], set[Box]]:
    """Names of colors from swatches with text to their right, and the boxes of that text.

    Args:
        canvas: The image.
        colors: Those of marks.
        marks: Where marks are, which are no swatches.
    """
    names: dict[int, str] = {}
    used: set[Box] = set()
    for color, box, name, boxes in _entries(canvas, colors):
        if any(inside(box, mark) for mark in marks):
            continue
        used |= boxes
        if (parse(name) is None or year_of(name) is not None) and color not in names:
            names[color] = name
    return names, used


def swatch_boxes(canvas: Canvas, colors: Collection[int]) -> list[Box]:
    """Where the samples of a legend are, which are no part of a curve."""
    numbers = [one.box for one in canvas.numerals]
    return [
        box
        for _, box, name, _ in _entries(canvas, colors)
        if letters(name) > 1 and not any(inside(number, box) for number in numbers)
    ]


def _entries(canvas: Canvas, colors: Collection[int]) -> list[tuple[int, Box, str, set[Box]]]:
    """Each swatch's color, box, text, and the boxes of that text."""
    height = canvas.text_height
    swatches = sorted(
        (swatch for color in colors for swatch in _swatches(canvas, color, height)),
        key=lambda pair: (pair[1][1], pair[1][0]),
    )
    found = []
    for color, box in swatches:
        middle = (box[1] + box[3]) / 2
        ends = [
            o[0]
            for _, o in swatches
            if o[0] > box[2] and abs((o[1] + o[3]) / 2 - middle) < 0.6 * height
        ]
        stop = min(ends, default=canvas.width)
        name, boxes = _text_beside(canvas, box, stop)
        if name:
            found.append((color, box, name, boxes))
    return found


def _text_beside(canvas: Canvas, box: Box, stop: float) -> tuple[str, set[Box]]:
    """The words that follow each other to the right of a swatch, up to a column."""
    height, middle = canvas.text_height, (box[1] + box[3]) / 2
    words = [
        (word, line)
        for line in canvas.lines
        if abs(line.angle) < 10 and line.box[1] - 3 <= middle <= line.box[3] + 3
        for word in line.words
        if box[2] - 0.4 * height <= word.box[0] < stop and word.text.strip(SWATCH)
    ]
    words.sort(key=lambda pair: pair[0].box[0])
    text: list[str] = []
    end, used = float(box[2]), set()
    for word, line in words:
        if word.box[0] - end > (_RUN if text else _FIRST) * height:
            break
        text.append(word.text)
        end = word.box[2]
        used.add(line.box)
    return " ".join(text).strip(SWATCH), used


def _swatches(canvas: Canvas, color: int, height: float) -> list[tuple[int, Box]]:
    """Small filled squares or discs of a color, apart from larger marks."""
    import cv2

    mask = (canvas.index == color).astype(np.uint8)
    _, _, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
    _, _, width, high, area = stats[1:].T
    filled = (0.25 * height <= high) & (high <= 1.6 * height) & (area >= 0.62 * width * high)
    filled &= (0.25 * height <= width) & (width <= 2.4 * height) & (area >= 16)
    flat = (high <= 0.6 * height) & (0.6 * height <= 0.6 * width) & (0.6 * width <= 1.8 * height)
    flat &= area >= 0.5 * width
    return [
        (color, (x, y, x + wide, y + tall))
        for x, y, wide, tall, _ in stats[1:][filled | flat].tolist()
    ]
