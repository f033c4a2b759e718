"""Exact intervals of counted shares, for samples of any size."""

from __future__ import annotations

LEVEL = 0.95


def exact_interval(count: int, of: int) -> tuple[float, float]:
    """The central 95 % interval of a share of independent trials (Clopper and Pearson 1934).

    Args:
        count: How often it was so.
        of: Trials, 1 at least.

    Returns:
        Both bounds, from 0 to 1.
    """
    from scipy.stats import binomtest

    bounds = binomtest(count, of).proportion_ci(LEVEL, method="exact")
    return float(bounds.low), float(bounds.high)


def trials_for(share: float, width: float) -> int:
    """How many trials make the interval of a share at most `width` wide."""
    low, high = 1, 1
    while _width(share, high) > width:
        low, high = high, 2 * high
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if _width(share, middle) > width else (low, middle)
    return low


def _width(share: float, of: int) -> float:
    low, high = exact_interval(round(share * of), of)
    return high - low
