"""Any figure with an interval over images, and the paired test of two metrics.

A figure is a function of scores and truths, one of each for every row; rows with the same image are
resampled together. Intervals: central 95 % of the Poisson bootstrap (`bootstrap.weights`, keyed by
the image's name, so the same resamples serve every metric). Test of two metrics: in each
permutation they swap their scores on a random half of the images (PERM-BOTH of Deutsch et al. 2021,
over images); `comparable` first puts scores on one scale.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from revise_captions.stats.bootstrap import bounds, weights
from revise_captions.stats.leaderboard import keys_of
from revise_captions.stats.weighted_classification import Batch

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Statistic = Callable[[Floats, Floats], float]
Scale = Callable[[Floats], Floats]
#: Most weights held at a time: rows × replicates.
_MOST = 2**22


@dataclass(frozen=True, slots=True)
class ResampledFigure:
    """A figure with its interval over images.

    Attributes:
        value: None if the figure does not exist.
        low: Lower bound of the central 95 % interval; None if resampling cannot give it.
        high: Its upper bound.
        rows: Number of rows.
        units: Number of images resampled.
    """

    value: float | None
    low: float | None
    high: float | None
    rows: int
    units: int


@dataclass(frozen=True, slots=True)
class Compared:
    """The first metric's figure minus the second's.

    Attributes:
        difference: None if one of the figures does not exist.
        low: Lower bound of the central 95 % interval.
        high: Its upper bound.
        p_value: Two-sided, of “the two are equally good”; None if there is no figure.
        least_p: The smallest p-value that this many permutations can give.
    """

    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    least_p: float | None = None


def measured(
    statistic: Statistic,
    scores: npt.ArrayLike,
    truth: npt.ArrayLike,
    images: Sequence[str],
    replicates: int = 1000,
    batch: Batch | None = None,
) -> ResampledFigure:
    """A statistic of all rows, with its interval over images.

    Args:
        statistic: Function of scores and truths.
        scores: A metric's score of each row.
        truth: What people said of each row.
        images: Name of each row's image; rows of one image are resampled together.
        replicates: Number of resamples.
        batch: The same statistic for many weightings at once, which is faster.

    Returns:
        The figure; without value where the statistic is not finite.
    """
    x, y = _floats(scores), _floats(truth)
    names, unit = units_of(images)
    value = statistic(x, y) if len(x) else float("nan")
    if not np.isfinite(value):
        return ResampledFigure(None, None, None, len(x), len(names))
    drawn = _resampled(statistic, x, y, names, unit, replicates, batch)
    return ResampledFigure(float(value), *bounds(drawn, len(names)), len(x), len(names))


def _resampled(
    statistic: Statistic,
    x: Floats,
    y: Floats,
    names: Sequence[str],
    unit: Ints,
    replicates: int,
    batch: Batch | None,
) -> Floats:
    if batch is None:
        rows = resamples(names, unit, replicates)
        return np.array([statistic(x[chosen], y[chosen]) for chosen in rows])
    drawn = weights(keys_of(names), replicates)
    step = max(1, _MOST // max(1, len(x)))
    parts = [
        batch(x, y, drawn[unit, start : start + step].astype(np.float64))
        for start in range(0, replicates, step)
    ]
    return np.concatenate(parts)


def units_of(images: Sequence[str]) -> tuple[list[str], Ints]:
    """The distinct names, sorted, and the place of each row's name among them."""
    names, unit = np.unique(np.asarray(images, dtype=object).astype(str), return_inverse=True)
    return list(names), unit.astype(np.int64)


def resamples(names: Sequence[str], unit: Ints, replicates: int) -> Sequence[Ints]:
    """The rows in each replicate, some of them several times."""
    drawn = weights(keys_of(names), replicates)
    rows = np.arange(len(unit))
    return [np.repeat(rows, drawn[unit, b]) for b in range(replicates)]


def ranks(scores: Floats) -> Floats:
    """Average ranks: the scale for statistics that depend only on the order."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(scores), dtype=np.float64)


def standardized(scores: Floats) -> Floats:
    """Mean 0 and standard deviation 1: the scale for Pearson's r."""
    spread = scores.std()
    return (scores - scores.mean()) / spread if spread > 0 else scores - scores.mean()


def unchanged(scores: Floats) -> Floats:
    """For probabilities, which are already on one scale."""
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
    batch: Batch | None = None,
) -> Compared:
    """The paired permutation test of two metrics on the same rows.

    PERM-BOTH of Deutsch et al. 2021, over images: in each permutation the metrics swap their scores
    on a random half of the images. The p-value includes the observed arrangement.

    Args:
        statistic: Function of scores and truths.
        first: The first metric's score of each row.
        second: The second metric's.
        truth: What people said of each row.
        images: Name of each row's image.
        comparable: Puts both metrics' scores on one scale before they are swapped.
        replicates: Number of resamples, and of permutations.
        seed: Of the permutations.
        batch: The same statistic for many weightings at once, which is faster.

    Returns:
        The difference with its interval and p-value.
    """
    a, b, y = _floats(first), _floats(second), _floats(truth)
    names, unit = units_of(images)
    observed = statistic(a, y) - statistic(b, y) if len(y) else float("nan")
    if not np.isfinite(observed):
        return Compared(None, None, None, None)
    spread = [_resampled(statistic, s, y, names, unit, replicates, batch) for s in (a, b)]
    once = np.ones((len(y), 1))

    def plain(scores: Floats) -> float:
        return statistic(scores, y) if batch is None else float(batch(scores, y, once)[0])

    x, z = comparable(a), comparable(b)
    rng = np.random.default_rng(seed)
    gaps = []
    for _ in range(replicates):
        swap = (rng.random(len(names)) < 0.5)[unit]
        gaps.append(plain(np.where(swap, z, x)) - plain(np.where(swap, x, z)))
    return swap_test(observed, spread[0] - spread[1], np.array(gaps), len(names))


def swap_test(observed: float, spread: Floats, swapped: Floats, units: int) -> Compared:
    """The paired test of two metrics that swap their scores of an image.

    Args:
        observed: The first metric's figure minus the second's.
        spread: The same in every bootstrap resample.
        swapped: The same in every permutation.
        units: Number of images.
    """
    if not np.isfinite(observed):
        return Compared(None, None, None, None)
    gaps = np.abs(swapped[np.isfinite(swapped)])
    reached, existing = 1 + int((gaps >= abs(observed) - 1e-12).sum()), 1 + len(gaps)
    return Compared(float(observed), *bounds(spread, units), reached / existing, 1 / existing)


def measured_sums(
    statistic: Callable[[Floats], float],
    counts: npt.ArrayLike,
    images: Sequence[str],
    replicates: int = 1000,
) -> ResampledFigure:
    """Like `measured`, for a statistic of summed counts.

    Args:
        statistic: Function of the counts' sum, of shape (…).
        counts: Of shape (rows, …).
        images: Name of each row's image.
        replicates: Number of resamples.

    Returns:
        The figure; without value where the statistic is not finite.
    """
    table = _floats(counts)
    names, by_unit = _unit_sums(table, images)
    value = statistic(by_unit.sum(0)) if len(table) else float("nan")
    if not np.isfinite(value):
        return ResampledFigure(None, None, None, len(table), len(names))
    drawn = _of_sums(statistic, weights(keys_of(names), replicates).T, by_unit)
    return ResampledFigure(float(value), *bounds(drawn, len(names)), len(table), len(names))


def compared_sums(
    statistic: Callable[[Floats], float],
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    images: Sequence[str],
    *,
    replicates: int = 1000,
    seed: int = 0,
) -> Compared:
    """Like `compared`, for a statistic of summed counts: the metrics swap their counts of an image.

    Args:
        statistic: Function of the counts' sum, of shape (…).
        first: The first metric's counts, of shape (rows, …).
        second: The second metric's.
        images: Name of each row's image.
        replicates: Number of resamples, and of permutations.
        seed: Of the permutations.

    Returns:
        The difference with its interval and p-value.
    """
    names, one = _unit_sums(_floats(first), images)
    other = _unit_sums(_floats(second), images)[1]
    gap = one - other
    observed = statistic(one.sum(0)) - statistic(other.sum(0)) if len(one) else float("nan")
    if not np.isfinite(observed):
        return Compared(None, None, None, None)
    drawn = weights(keys_of(names), replicates).T
    spread = _of_sums(statistic, drawn, one) - _of_sums(statistic, drawn, other)
    swap = np.random.default_rng(seed).random((replicates, len(names))) < 0.5
    flipped = _of_sums(statistic, ~swap, gap, other) - _of_sums(statistic, swap, gap, other)
    return swap_test(observed, spread, flipped, len(names))


def _unit_sums(counts: Floats, images: Sequence[str]) -> tuple[list[str], Floats]:
    names, unit = units_of(images)
    sums = np.zeros((len(names), *counts.shape[1:]))
    np.add.at(sums, unit, counts)
    return names, sums


def _of_sums(
    statistic: Callable[[Floats], float],
    chosen: npt.NDArray[Any],
    counts: Floats,
    base: Floats | None = None,
) -> Floats:
    """The statistic of `chosen` (replicates, units) times `counts`, plus all of `base`."""
    flat = chosen.astype(np.float64) @ counts.reshape(len(counts), -1)
    if base is not None:
        flat += base.reshape(len(base), -1).sum(0)
    shape = counts.shape[1:]
    return np.array([statistic(row.reshape(shape)) for row in flat])


def _floats(values: npt.ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)
