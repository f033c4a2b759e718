"""Charts that are not as they were drawn: photographed, cut off, or dithered.

What is measured in them is a guess. Limits were chosen on CHOCOLATE's development half, of which no
readable chart is taken for a photograph or cut off, and one, whose values are printed, is dithered.
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
#: Where an edge of the image cuts a chart, so much of it is drawn on, in several places; text and
#: ticks that merely touch it are on less of it.
_ON_EDGE, _PLACES = 0.2, 2
#: By which a color differs from that of the background.
_DIFFERS = 24
#: The share of lone pixels from which on an image is dithered.
_LONE = 0.03


def damage(pixels: Pixels) -> str:
    """Why nothing can be read off an image's chart; "" where nothing of this kind is seen.

    Args:
        pixels: uint8 (height, width, 3).
    """
    if share_of_four_colors(pixels) < _FEW_COLORS:
        return "the image is a photograph"
    edges = (pixels[:, 0], pixels[:, -1], pixels[0], pixels[-1])
    if any(map(_cuts, edges)):
        return "the chart is cut off at the image's edge"
    return ""


def _cuts(edge: NDArray[np.uint8]) -> bool:
    colors, counts = np.unique(edge, axis=0, return_counts=True)
    off = np.abs(edge.astype(int) - colors[counts.argmax()].astype(int)).max(axis=1) > _DIFFERS
    places = np.count_nonzero(np.diff(off, prepend=False) & off)
    return bool(places >= _PLACES and off.mean() >= _ON_EDGE)


def without_guesses(pixels: Pixels, charts: Sequence[Chart]) -> tuple[Chart, ...]:
    """The charts, but those without values that are measured where they cannot be: in a dithered
    image, where ends of marks blur, and at the image's edge, where marks are cut off."""
    dithered = _is_dithered(pixels)
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


def _is_dithered(pixels: Pixels) -> bool:
    """Whether many pixels differ from their four neighbors, which are alike."""
    one = packed(pixels)
    above = one[:-2, 1:-1]
    alike = one[2:, 1:-1] == above
    for beside in (one[1:-1, :-2], one[1:-1, 2:]):
        alike &= beside == above
    return bool((alike & (one[1:-1, 1:-1] != above)).mean() >= _LONE)
