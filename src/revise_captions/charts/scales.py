"""Value axes: linear scales fitted to tick labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from revise_captions.charts.canvas import Canvas
from revise_captions.charts.chart import Box
from revise_captions.charts.numerals import Numeral

#: Tick labels may lie this far off the fitted scale, in heights of their text.
_OFF = 0.45
#: Aligned labels' edges or centers differ by no more than this, in heights of their text.
_ALIGNED = 0.6
#: The cosine between the inks of an axis's labels, seen from the background.
_ALIKE = 0.95
#: Of the steps between neighboring ticks.
_SPREAD = 0.12


@dataclass(frozen=True, slots=True)
class FittedScale:
    """A value axis.

    Attributes:
        a: Units a pixel.
        b: The value at pixel 0; a value is a · pixel + b.
        ticks: The labels that it fits, in the order of their pixels.
        vertical: Whether pixels are counted downward.
        logarithmic: Whether the labels are powers: then nothing can be read off it here.
    """

    a: float
    b: float
    ticks: tuple[Numeral, ...]
    vertical: bool
    logarithmic: bool = False

    def value(self, pixel: float) -> float:
        """The value at a pixel."""
        return self.a * pixel + self.b

    def pixel(self, value: float) -> float:
        """Where a value stands."""
        return (value - self.b) / self.a

    @property
    def span(self) -> tuple[float, float]:
        """The first and last tick's pixel; zero counts if it is the next tick."""
        places = [self.pixel(tick.value) for tick in self.ticks]
        first, last = min(places), max(places)
        step = (last - first) / max(1, len(places) - 1)
        zero = self.pixel(0.0)
        # the label of zero is a lone digit, which OCR overlooks now and then
        if last < zero <= last + 1.2 * step:
            last = zero
        elif first - 1.2 * step <= zero < first:
            first = zero
        return first, last


def place(tick: Numeral, vertical: bool) -> float:
    """Where a label's tick is along the axis."""
    x, y = anchor(tick.box, tick.angle, tick.height, beside=vertical)
    return y if vertical else x


def anchor(box: Box, angle: float, height: float, beside: bool = False) -> tuple[float, float]:
    """Where a tick label touches its tick: its center, or the end of a slanted one.

    Args:
        box: Of the label.
        angle: Of its text. Labels below an axis that rise to the right end at their tick; those
            that fall start at it. Labels to the left of an axis end at their tick.
        height: Of its text.
        beside: Whether it stands to the left of its axis, not below.
    """
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    if not 10 < abs(angle) < 80:
        return x, y
    radians = np.radians(abs(angle))
    inset_x, inset_y = height * np.sin(radians) / 2, height * np.cos(radians) / 2
    at_end = angle > 0 or beside
    x = box[2] - inset_x if at_end else box[0] + inset_x
    y = box[1] + inset_y if angle > 0 or not beside else box[3] - inset_y
    return float(x), float(y)


def value_scales(canvas: Canvas, vertical: bool) -> list[FittedScale]:
    """Scales in the image along one direction, best first."""
    height = canvas.text_height
    found = []
    for group in _columns(canvas.numerals, vertical, _ALIGNED * height):
        ticks = [numeral for numeral in group if not numeral.is_year]
        scale = fit(ticks, vertical, _OFF * height) if len(ticks) >= 2 else None
        if scale is not None and not _colored(canvas, scale):
            found.append(scale)
    found.sort(key=lambda scale: (-len(scale.ticks), -abs(scale.span[1] - scale.span[0])))
    return _distinct(found)


def _colored(canvas: Canvas, scale: FittedScale) -> bool:
    """Whether labels are set in several colors, as values at curves are."""
    inks = [canvas.ink(tick.box) for tick in scale.ticks if abs(tick.angle) < 10]
    known = [ink / np.linalg.norm(ink) for ink in inks if ink is not None and ink.any()]
    return bool(known) and min(float(ink @ known[0]) for ink in known) < _ALIKE


def _columns(
    numerals: Sequence[Numeral], vertical: bool, tolerance: float
) -> Iterable[list[Numeral]]:
    """Numerals in a column (or a row), by either edge or by their centers."""
    low, high = (0, 2) if vertical else (1, 3)
    for weight in (1.0, 0.0, 0.5):
        places = [weight * one.box[high] + (1 - weight) * one.box[low] for one in numerals]
        group: list[int] = []
        for k in np.argsort(places):
            if group and places[k] - places[group[-1]] > tolerance:
                yield [numerals[i] for i in group]
                group = []
            group.append(int(k))
        if group:
            yield [numerals[i] for i in group]


def fit(ticks: Sequence[Numeral], vertical: bool, tolerance: float) -> FittedScale | None:
    """The line that most labels lie on, refined by least squares; None if they are no axis.

    An axis has its labels at equal steps, growing upward or to the right.

    Args:
        ticks: Labels in one column or row.
        vertical: Whether they form a column.
        tolerance: In pixels.
    """
    places = np.array([place(tick, vertical) for tick in ticks])
    values = np.array([tick.value for tick in ticks])
    best: np.ndarray | None = None
    for i, j in combinations(range(len(ticks)), 2):
        if values[i] == values[j] or abs(places[i] - places[j]) < 4:
            continue
        a = (values[j] - values[i]) / (places[j] - places[i])
        if (a > 0) == vertical:
            continue
        off = np.abs(places - (places[i] + (values - values[i]) / a))
        near = np.flatnonzero(off <= tolerance)
        if best is None or len(near) > len(best):
            best = near
    if best is None:
        return None
    rounding = max(ticks[k].step for k in best)
    if len(best) >= max(2, 0.6 * len(ticks)) and _is_axis(values[best], rounding):
        a, b = _least_squares(places[best], values[best])
        order = best[np.argsort(places[best])]
        return FittedScale(a, b, tuple(ticks[k] for k in order), vertical)
    return _logarithmic(ticks, places, values, vertical)


def through(places: Sequence[float], values: Sequence[float], scale: FittedScale) -> FittedScale:
    """A scale whose labels stand elsewhere, fitted to where that is."""
    a, b = _least_squares(np.array(places), np.array(values))
    return replace(scale, a=a, b=b)


def _least_squares(places: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    # pixels as a function of values: the error is in the pixels
    slope, offset = np.polyfit(values, places, 1)
    return float(1 / slope), float(-offset / slope)


def _is_axis(values: np.ndarray, rounding: float) -> bool:
    """Whether labels are at equal steps, some of which may lack one, but for their last digit:
    values printed at the points of a curve lie on a line, too."""
    steps = np.abs(np.diff(np.sort(values)))
    if len(values) == 2:
        return bool(values.min() == 0)
    if steps.min() <= 0:
        return False
    whole = steps / steps.min()
    off = np.abs(whole - np.round(whole))
    return bool(np.all(off < min(_SPREAD, 0.01 + 2 * rounding / steps.min())))


def _logarithmic(
    ticks: Sequence[Numeral], places: np.ndarray, values: np.ndarray, vertical: bool
) -> FittedScale | None:
    """A scale that is linear in the logarithm, over at least two orders of magnitude."""
    if len(ticks) < 3 or values.min() <= 0 or values.max() < 50 * values.min():
        return None
    logs = np.log(values)
    slope, offset = np.polyfit(logs, places, 1)
    off = np.abs(places - (slope * logs + offset))
    if off.max() > 6 or slope == 0 or (slope > 0) == vertical:
        return None
    order = np.argsort(places)
    return FittedScale(
        float(1 / slope), float(-offset / slope), tuple(ticks[k] for k in order), vertical, True
    )


def _distinct(scales: Sequence[FittedScale]) -> list[FittedScale]:
    kept: list[FittedScale] = []
    for scale in scales:
        boxes = {tick.box for tick in scale.ticks}
        if all(not boxes & {tick.box for tick in other.ticks} for other in kept):
            kept.append(scale)
    return kept
