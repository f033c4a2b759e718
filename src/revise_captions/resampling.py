"""Any figure with an interval over images, and the paired test of two metrics.

A figure is a function of scores and truths, one of each for every row; rows that look at the same
image come and go together. Intervals: central 95 % of the Poisson bootstrap (`statistics.weights`,
keyed by the image's name, so the same resamples serve every metric). Test of two metrics: in each
permutation they swap their scores on a random half of the images (the PERM-BOTH of Deutsch et al.
2021, over images); scores are first put on one scale by `comparable`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from revise_captions.leaderboard import keys_of
from revise_captions.statistics import LEVEL, MIN_RECORDS, weights

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Statistic = Callable[[Floats, Floats], float]
Scale = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class Measured:
    """`value` None where the figure does not exist; `low`, `high` None where resampling cannot say.

    `rows` that it is of, and `units` (images) that were resampled.
    """

    value: float | None
    low: float | None
    high: float | None
    rows: int
    units: int


@dataclass(frozen=True, slots=True)
class Compared:
    """First minus second. `p_value`: two-sided, of “the two are equally good”; None: no figure."""

    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None


def measured(
    statistic: Statistic,
    scores: npt.ArrayLike,
    truth: npt.ArrayLike,
    images: Sequence[str],
    replicates: int = 1000,
) -> Measured:
    """The statistic of all rows, with its interval. `images`: the image of each row."""
    x, y = _floats(scores), _floats(truth)
    names, unit = units_of(images)
    value = statistic(x, y) if len(x) else float("nan")
    if not np.isfinite(value):
        return Measured(None, None, None, len(x), len(names))
    drawn = np.array([statistic(x[rows], y[rows]) for rows in resamples(names, unit, replicates)])
    return Measured(float(value), *bounds(drawn, len(names)), len(x), len(names))


def units_of(images: Sequence[str]) -> tuple[list[str], Ints]:
    """The distinct names, sorted, and the place of each row's name among them."""
    names, unit = np.unique(np.asarray(images, dtype=object).astype(str), return_inverse=True)
    return list(names), unit.astype(np.int64)


def resamples(names: Sequence[str], unit: Ints, replicates: int) -> Sequence[Ints]:
    """For each replicate, the rows that are in it, some of them several times."""
    drawn = weights(keys_of(names), replicates)
    rows = np.arange(len(unit))
    return [np.repeat(rows, drawn[unit, b]) for b in range(replicates)]


def bounds(drawn: Floats, units: int) -> tuple[float | None, float | None]:
    """The central interval of resampled values; none where too few units or values exist."""
    known = drawn[np.isfinite(drawn)]
    if units < MIN_RECORDS or len(known) < len(drawn) / 2 or np.ptp(known) == 0:
        return None, None
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def ranks(scores: Floats) -> Floats:
    """Average ranks: the scale for statistics that only look at the order."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(scores), dtype=np.float64)


def standardised(scores: Floats) -> Floats:
    """Mean 0 and deviation 1: the scale for Pearson's r."""
    spread = scores.std()
    return (scores - scores.mean()) / spread if spread > 0 else scores - scores.mean()


def unchanged(scores: Floats) -> Floats:
    """Probabilities are on one scale as they are."""
    return scores


def compared(
    statistic: Statistic,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    truth: npt.ArrayLike,
    images: Sequence[str],
    *,
    comparable: Scale = ranks,
    replicates: int = 1000,
    seed: int = 0,
) -> Compared:
    """Two metrics' scores of the same rows. The p-value counts the observed arrangement too."""
    a, b, y = _floats(first), _floats(second), _floats(truth)
    names, unit = units_of(images)
    observed = statistic(a, y) - statistic(b, y) if len(y) else float("nan")
    if not np.isfinite(observed):
        return Compared(None, None, None, None)
    drawn = np.array(
        [
            statistic(a[rows], y[rows]) - statistic(b[rows], y[rows])
            for rows in resamples(names, unit, replicates)
        ]
    )
    x, z = comparable(a), comparable(b)
    rng = np.random.default_rng(seed)
    reached, existing = 1, 1
    for _ in range(replicates):
        swap = (rng.random(len(names)) < 0.5)[unit]
        gap = statistic(np.where(swap, z, x), y) - statistic(np.where(swap, x, z), y)
        if np.isfinite(gap):
            existing += 1
            reached += abs(gap) >= abs(observed) - 1e-12
    return Compared(float(observed), *bounds(drawn, len(names)), reached / existing)


def _floats(values: npt.ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)
