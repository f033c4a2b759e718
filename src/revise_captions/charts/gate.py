"""Is an image a chart? Photographs are told apart by their pixels, without any OCR.

Charts are drawn in flat colors and bear numbers. Of the pixels of a photograph, few equal their
neighbor; drawn scenes are flat, too, but bear no text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from revise_captions.charts.labels import letters
from revise_captions.charts.numerals import parse
from revise_captions.charts.ocr import Pixels, TextLine

#: Share of pixels that equal their right neighbor, from which on an image may be a chart.
FLAT = 0.55
#: Or the share of its four most frequent colors, for charts that were saved with losses.
FEW_COLORS = 0.78
#: A chart has so many numbers, and so many lines with words.
_NUMBERS, _WORDS = 3, 2
#: Pixels that the first look takes, evenly.
_LOOK = 600


def may_be_chart(pixels: Pixels) -> bool:
    """Whether an image is drawn in flat colors; some milliseconds, no OCR.

    Args:
        pixels: uint8 (height, width, 3).
    """
    height = pixels.shape[0]
    if min(pixels.shape[:2]) < 2:
        return False
    # rows and columns are left out, not averaged: equal neighbors stay equal
    rows = packed(pixels[:: max(1, height // _LOOK)])
    equal = (rows[:, :-1] == rows[:, 1:]).mean()
    return bool(equal >= FLAT or share_of_four_colors(pixels) >= FEW_COLORS)


def packed(pixels: Pixels) -> NDArray[np.uint32]:
    """The colors of an image as one number a pixel: uint32 (height, width)."""
    red, green, blue = (pixels[..., k].astype(np.uint32) for k in range(3))
    return np.asarray(red << 16 | green << 8 | blue, dtype=np.uint32)


def share_of_four_colors(pixels: Pixels) -> float:
    """The share of an image that has one of its four most frequent colors, of 32 levels each."""
    down, across = (max(1, side // _LOOK) for side in pixels.shape[:2])
    coarse = (pixels[::down, ::across] >> 3).astype(np.int32)
    counts = np.bincount(((coarse[..., 0] << 10) | (coarse[..., 1] << 5) | coarse[..., 2]).ravel())
    return float(np.sort(counts)[-4:].sum() / counts.sum())


def has_words(lines: Sequence[TextLine]) -> bool:
    """Whether there are words, as in a chart whose script the OCR knows."""
    return sum(letters(line.text) >= 3 for line in lines) >= _WORDS


def has_numbers(lines: Sequence[TextLine]) -> bool:
    """Whether there are numbers, as in all charts but pies."""
    found = sum(any(parse(word.text) is not None for word in line.words) for line in lines)
    return found >= _NUMBERS
