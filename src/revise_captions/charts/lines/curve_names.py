"""What curves are called: a legend, text in their color, text at their ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from revise_captions.charts.canvas import Canvas
from revise_captions.charts.chart import Box
from revise_captions.charts.labels import letters
from revise_captions.charts.legends import legend
from revise_captions.charts.numerals import Numeral, parse
from revise_captions.charts.ocr import TextLine, TextWord
from revise_captions.charts.shapes import Curve

#: In heights of text: how far a name in a curve's color is above it, how far behind its end or
#: below its peak, and how far above or below the end a name of another color may be.
_NEAR, _BEHIND, _LEVEL = 3.0, 5.0, 1.6
#: A name has no more letters.
_LONGEST = 50
#: The gap between two lines of a name.
_LEADING = 0.5


def curve_names(
    canvas: Canvas, curves: Sequence[Curve], lines: Sequence[TextLine]
) -> tuple[list[str], set[Box]]:
    """The name of each curve, "" if none is found, and the boxes of the names' text.

    Args:
        canvas: The image.
        curves: What is to be named.
        lines: The text that may be names, without tick labels.
    """
    named, used = legend(canvas, {one.color for one in curves}, _along(curves))
    names = [named.get(one.color, "") for one in curves]
    if len(curves) < 2:
        return ["" for _ in curves], used
    rest = [_without_values(line) for line in lines if line.box not in used]
    rest = [line for line in rest if letters(line.text) > 1]
    colors = {one.color for one in curves}
    inks = {line.box: canvas.ink_among(line.box, colors) for line in rest}
    blocks = _blocks(rest, inks, canvas.text_height)
    joined = _joined_behind(blocks, inks, curves, canvas.text_height)
    costs = [
        (cost, k, block)
        for block in joined
        for k, one in enumerate(curves)
        if (cost := _cost(one, block, inks[block[0].box], canvas.text_height)) is not None
    ]
    for _, k, block in sorted(costs, key=lambda each: each[0]):
        boxes = {line.box for line in block}
        if not names[k] and not boxes & used:
            names[k] = " ".join(line.text for line in block)
            used |= boxes
    return names, used


def _along(curves: Sequence[Curve]) -> list[Box]:
    """Where curves are, parts of which look like the samples of a legend."""
    return [
        (x - 4, y - 6, x + 4, y + 6)
        for one in curves
        for x, y in zip(one.xs[::4].tolist(), one.ys[::4].round().astype(int).tolist(), strict=True)
    ]


def _blocks(lines: Sequence[TextLine], inks: dict[Box, int], height: float) -> list[list[TextLine]]:
    """Lines of one color that follow each other without a gap."""
    blocks: list[list[TextLine]] = []
    for line in sorted(lines, key=lambda line: line.box[1]):
        for block in blocks:
            last = block[-1].box
            gap = line.box[1] - last[3]
            over = line.box[0] < last[2] and last[0] < line.box[2]
            short = sum(len(one.text) for one in (*block, line)) <= _LONGEST
            alike = inks[last] == inks[line.box] >= 0
            if alike and short and gap <= _LEADING * height and over:
                block.append(line)
                break
        else:
            blocks.append([line])
    return blocks


def _joined_behind(
    blocks: Sequence[list[TextLine]], inks: dict[Box, int], curves: Sequence[Curve], height: float
) -> Sequence[list[TextLine]]:
    """The blocks, those in no curve's color behind all curves joined to names of several lines,
    unless that leaves fewer than there are curves."""
    end = max(one.extent[1] for one in curves)
    behind = [
        block for block in blocks if inks[block[0].box] < 0 and block[0].box[0] >= end - height
    ]
    names: list[list[TextLine]] = []
    for block in behind:
        last = names[-1][-1].box if names else (0, 0, 0, 0)
        near = names and block[0].box[1] - last[3] <= _LEADING * height
        if near and abs(block[0].box[0] - last[0]) <= height:
            names[-1] += block
        else:
            names.append(list(block))
    if len(names) < len(curves):
        return blocks
    return [*(block for block in blocks if block not in behind), *names]


def _cost(one: Curve, block: Sequence[TextLine], ink: int, height: float) -> float | None:
    """How badly a block of text suits as a curve's name; None if it cannot be that."""
    x0, y0 = (min(line.box[k] for line in block) for k in (0, 1))
    x1, y1 = (max(line.box[k] for line in block) for k in (2, 3))
    dx = np.maximum(np.maximum(x0 - one.xs, one.xs - x1), 0)
    dy = np.maximum(np.maximum(y0 - one.ys, one.ys - y1), 0)
    far = float(np.hypot(dx, dy).min()) / height
    behind = x0 >= one.extent[1] - height
    if ink == one.color:
        # a title may have a curve's color, too, and stands above all curves
        within = behind or y0 > one.ys.min()
        return far if far <= (_BEHIND if within else _NEAR) else None
    level = min(abs((line.box[1] + line.box[3]) / 2 - one.ys[-1]) for line in block) / height
    if ink >= 0 or not behind or level > _LEVEL or x0 - one.extent[1] > 2 * _BEHIND * height:
        return None
    return 10 + level


def _without_values(line: TextLine) -> TextLine:
    """A line without the values beside a name: `40 U.S.`, `Facebook 69`."""
    words = [word for word in line.words if parse(word.text) is None]
    if not words or len(words) == len(line.words):
        return line
    box = (words[0].box[0], line.box[1], words[-1].box[2], line.box[3])
    return replace(line, text=" ".join(w.text for w in words), box=box, words=tuple(words))


def values_beside_names(lines: Sequence[TextLine]) -> list[Numeral]:
    """The numbers that begin or end a short text at a curve's end."""
    found = []
    for line in lines:
        ends: list[TextWord] = [line.words[0], line.words[-1]] if 1 < len(line.words) < 5 else []
        numbers = [parse(word.text, word.box, 0.0, line.height) for word in ends]
        found += [one for one in numbers if one is not None and not one.is_year]
    return found
