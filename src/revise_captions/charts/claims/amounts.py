"""Amounts of a sentence in a chart's units, and whether a mark has them."""

from __future__ import annotations

from collections.abc import Collection

from revise_captions.charts.claims.check import Tolerance
from revise_captions.charts.claims.grid import FoundMark
from revise_captions.charts.claims.mentions import Number

#: A chart in thousands or millions may be told in either.
_SCALES = (1.0, 1e3, 1e6, 1e9, 1e-3, 1e-6)

#: This many times a mark's value, a number may be told in full where the chart counts thousands.
_LONG = 300


def scaled(one: Number, value: float) -> float:
    """The number in the chart's units: the scale that brings it nearest the mark's value."""
    stated = one.value * one.scale
    if one.percent and 0 < abs(value) <= 1:  # a share of 1
        return min((one.value, one.value / 100), key=lambda v: abs(v - value))
    if one.percent or not value:
        return one.value
    scales = _SCALES if one.scale > 1 or one.value > _LONG * abs(value) else _SCALES[:4]
    choices = [one.value, *(stated * scale for scale in scales)]
    return min(choices, key=lambda choice: abs(choice - value))


def is_printed(one: Number, printed: Collection[float]) -> bool:
    """Whether a number is among those of an image, in full, in thousands, millions or billions."""
    full = one.value * one.scale
    return one.value in printed or any(full / scale in printed for scale in (1.0, 1e3, 1e6, 1e9))


def off_by(one: Number, value: float) -> float:
    """How far the number is from a value; a fall by 7 may stand in the chart as -7."""
    return min(abs(scaled(one, value) - value), abs(scaled(one, -value) + value))


def rounding(one: Number, value: float) -> float:
    """Half of the number's last digit, in the chart's units; a tenth of it where one digit alone
    is told, and "about" before it; what a share in words covers."""
    coarse = one.hedged and len(f"{one.value:g}".replace(".", "").strip("0")) < 2
    step = max(0.51 * one.step, 0.1 * one.value if coarse else 0.0, one.blur)
    return step * abs(scaled(one, value) / one.value) if one.value else 0.0


def is_within(one: Number, value: float) -> bool:
    """Whether a value is beyond a number that bounds it: 47 of "more than 40"."""
    return one.bound * (value - scaled(one, value)) > 0


def is_near(one: Number, found: FoundMark, tolerance: Tolerance) -> bool:
    """Whether a mark may have a number: one that was measured, a near one, and of "more than" a
    number, one not far above it."""
    width = tolerance.width(found.value, found.extent, found.mark.tolerance, one.hedged)
    off, width = off_by(one, found.value), max(width, rounding(one, found.value), 1e-9)
    return off <= width * (3 if is_within(one, found.value) else 1 if found.mark.printed else 2)
