"""Charts that are not as they were drawn: photographed, cut off, or dithered.

What is measured in them is a guess. Limits were chosen on CHOCOLATE's development half, of which no
readable chart is taken for a photograph or cut off, and one, whose values are printed, is dithered
(`scripts/research/charts/damaged.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

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


def damage(pixels: Pixels) -> str:
    """Why nothing can be read off an image's chart; "" where nothing of this kind is seen.

    Args:
        pixels: uint8 (height, width, 3).
    """
    if share_of_four_colors(pixels) < _FEW_COLORS:
        return "the image is a photograph"
    left, right, top, bottom = map(_drawn_on, (pixels[:, 0], pixels[:, -1], pixels[0], pixels[-1]))
    flush = any(_cuts(one, _FLUSH) for one in (left, right, top, bottom))
    if flush or _cuts(right & ~left, _ON_EDGE) or _cuts(bottom & ~top, _ON_EDGE):
        return "the chart is cut off at the image's edge"
    return ""


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
