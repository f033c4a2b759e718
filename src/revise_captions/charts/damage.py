"""Charts that are not as they were drawn: photographed, cut off, or dithered.

What is measured in them is a guess. Limits were chosen on CHOCOLATE's development half, of which no
readable chart is taken for a photograph or cut off, and one, whose values are printed, is dithered
(`scripts/research/charts/damaged.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from revise_captions.charts.chart import Chart, ChartMark
from revise_captions.charts.gate import packed, share_of_four_colors
from revise_captions.charts.ocr import Pixels

#: A photograph's four most frequent colors have less than this share of it.
_FEW_COLORS = 0.45
#: Where an edge of the image cuts a chart, so much of it is drawn on, in several places. Text that
#: is set flush touches the left edge, or the upper one, of an image that is cropped closely; the
#: others are touched by hardly anything but bars of windows, which reach from edge to edge.
_FLUSH, _ON_EDGE, _PLACES = 0.2, 0.025, 2
#: By which a color differs from that of the background.
_DIFFERS = 24
#: The share of lone pixels from which on an image is dithered; and, if it has few colors, the share
#: of specks among its edges: they differ from all four neighbors, two of which face each other and
#: are alike. Letters whose edges are not smoothed have less.
_LONE, _FEW, _SPECKS = 0.03, 256, 0.12
#: Lines are long from this share of the image's shorter side on, and nearly level or upright up to
#: this slope; they run aslant if they are so many pixels off, and alike if their slopes differ by
#: no more. Each has two edges; fewer than these, in all and of one direction, may be curves.
_LONG, _NEARLY, _ASLANT, _ALIKE, _EDGES = 0.2, 0.1, 2.0, 0.07, (5, 3)


def damage(pixels: Pixels) -> str:
    """Why nothing can be read off an image's chart; "" where nothing of this kind is seen.

    Args:
        pixels: uint8 (height, width, 3).
    """
    if share_of_four_colors(pixels) < _FEW_COLORS:
        return "the image is a photograph"
    if _is_aslant(pixels):
        return "the image is a photograph: its lines run aslant"
    left, right, top, bottom = map(_drawn_on, (pixels[:, 0], pixels[:, -1], pixels[0], pixels[-1]))
    flush = any(_cuts(one, _FLUSH) for one in (left, right, top, bottom))
    if flush or _cuts(right & ~left, _ON_EDGE) or _cuts(bottom & ~top, _ON_EDGE):
        return "the chart is cut off at the image's edge"
    return ""


def _is_aslant(pixels: Pixels) -> bool:
    """Whether most long lines that are nearly level, or nearly upright, are off by the same angle:
    those that a program draws are so to the pixel."""
    import cv2

    gray = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    lines = cv2.createLineSegmentDetector().detect(gray)[0]
    if lines is None:
        return False
    ends = np.reshape(lines, (-1, 2, 2))
    steps = ends[:, 1] - ends[:, 0]
    steps = steps[np.hypot(*steps.T) >= _LONG * min(gray.shape)]
    both = [_near(steps), _near(steps[:, ::-1])]
    return sum(map(len, both)) >= _EDGES[0] and any(map(_is_off, both))


def _near(steps: NDArray[Any]) -> NDArray[Any]:
    """Of lines, (along, off) a direction, those that hardly leave it, with `along` positive."""
    steps = steps * np.where(steps[:, :1] < 0, -1, 1)
    return steps[np.abs(steps[:, 1]) < _NEARLY * steps[:, 0]]


def _is_off(steps: NDArray[Any]) -> bool:
    """Whether lines that are near a direction are off it, most of them and all alike."""
    along, off = steps.T
    aslant = along[np.abs(off) >= _ASLANT].sum() > along[np.abs(off) < _ASLANT / 2].sum()
    return bool(aslant and len(steps) >= _EDGES[1] and np.ptp(off / along) <= _ALIKE)


def _drawn_on(edge: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Where an edge of the image, (pixels, 3), has another color than most of it."""
    colors, counts = np.unique(edge, axis=0, return_counts=True)
    off = np.abs(edge.astype(int) - colors[counts.argmax()].astype(int)).max(axis=1)
    return np.asarray(off > _DIFFERS)


def _cuts(off: NDArray[np.bool_], least: float) -> bool:
    places = np.count_nonzero(np.diff(off, prepend=False) & off)
    return bool(places >= _PLACES and off.mean() >= least)


def without_guesses(pixels: Pixels, charts: Sequence[Chart]) -> tuple[Chart, ...]:
    """The charts, but those without values that are measured where they cannot be: in a dithered
    image, where ends of marks blur, and at the image's edge, where marks are cut off."""
    dithered = is_dithered(pixels)
    found = []
    for chart in charts:
        if dithered and not _is_printed(chart):
            chart = _unmeasured(chart, "the image is dithered: its marks cannot be measured")
        elif any(_at_edge(mark, pixels) for one in chart.series for mark in one.marks):
            chart = _unmeasured(chart, "marks are cut off at the image's edge")
        found.append(chart)
    return tuple(found)


def _at_edge(mark: ChartMark, pixels: Pixels) -> bool:
    """Whether a measured mark touches the image's edge."""
    if mark.printed or mark.value is None or not mark.box:
        return False
    height, width = pixels.shape[:2]
    left, top, right, bottom = mark.box
    return min(left, top, width - right, height - bottom) <= 0


def _is_printed(chart: Chart) -> bool:
    return all(mark.printed for one in chart.series for mark in one.marks if mark.value is not None)


def _unmeasured(chart: Chart, reason: str) -> Chart:
    return replace(chart, kind="unknown", series=(), unread=(*chart.unread, reason))


def is_dithered(pixels: Pixels) -> bool:
    """Whether shades of an image are mixed of dots, or lost to two colors.

    Args:
        pixels: uint8 (height, width, 3).
    """
    one = packed(pixels)
    middle = one[1:-1, 1:-1]
    above, below, left, right = one[:-2, 1:-1], one[2:, 1:-1], one[1:-1, :-2], one[1:-1, 2:]
    upright, level = above == below, left == right
    across, down = middle != left, middle != above
    apart = across & down & (middle != right) & (middle != below)
    if (apart & upright & level & (above == left)).mean() >= _LONE:
        return True
    specks = (apart & (upright | level)).sum() >= _SPECKS * max(1, (across | down).sum())
    return _has_at_most(one, _FEW if specks else 2)


def _has_at_most(colors: NDArray[np.uint32], most: int) -> bool:
    """Whether there are no more colors than so many, and more than one."""
    if len(np.unique(colors[::8, ::8])) > most:
        return False
    return 1 < len(np.unique(colors)) <= most
