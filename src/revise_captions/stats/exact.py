"""Exact intervals for counted shares, for samples of any size."""

from __future__ import annotations

from math import ceil

LEVEL = 0.95
POWER = 0.8


def exact_interval(count: int, of: int) -> tuple[float, float]:
    """The central 95 % interval of a share of independent trials (Clopper and Pearson 1934).

    Args:
        count: Successes.
        of: Trials, at least 1.

    Returns:
        Both bounds, from 0 to 1.
    """
    from scipy.special import betaincinv  # scipy.stats takes half a second to import

    tail = (1 - LEVEL) / 2
    low = betaincinv(count, of - count + 1, tail) if count > 0 else 0.0
    high = betaincinv(count + 1, of - count, 1 - tail) if count < of else 1.0
    return float(low), float(high)


def trials_for(share: float, width: float) -> int:
    """How many trials make a share's interval at most `width` wide."""
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


def images_to_tell(share: float, difference: float = 0.05) -> int:
    """How many images it takes to tell two captioners apart, each judged once per image.

    Uses the normal approximation for two independent shares, at a level of 5 % and a power of 80 %
    (Fleiss et al. 2003, section 4.2). Captioners that err on the same images need fewer; several
    captioners need more, due to Holm's correction.

    Args:
        share: The approximate share of both.
        difference: Between them.
    """
    from scipy.special import ndtri

    z = float(ndtri((1 + LEVEL) / 2) + ndtri(POWER))
    return ceil(z**2 * 2 * share * (1 - share) / difference**2)
