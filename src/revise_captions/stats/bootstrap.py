"""Shares with bootstrap intervals over records, streaming.

The unit resampled is the record: the sentences of one caption share an image, so they are not
independent, and resampling sentences would give intervals that are too narrow.

Sufficient statistics first, scores second: a record contributes a row of counts, counts add up, and
a share is the ratio of two sums. The bootstrap is the Poisson bootstrap (Hanley & MacGibbon 2006;
Chamandy et al. 2012): in each of the B replicates a record counts w ~ Poisson(1) times, and only
the B sums are kept. So a million records need no more memory than ten, and because a record's
weights are a hash of its key, neither order nor sharding changes a digit: sums of shards add up
exactly.

Intervals are percentile intervals. If all records agree (a share of 0 or 1), resampling shows no
spread, and the bound is Clopper and Pearson's for as many trials as there are records.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import exp, factorial
from typing import Any

import numpy as np
import numpy.typing as npt

from revise_captions.stats.exact import LEVEL, exact_interval

REPLICATES = 1000
#: With fewer records than this, percentiles of resamples are meaningless: no interval is given.
MIN_RECORDS = 5

_GAMMA = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1
_PER_WORD = 4  # 16-bit draws in one 64-bit word


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share with its interval.

    Attributes:
        value: numerator / denominator; None if the denominator is 0.
        low: Lower bound of the central 95 % interval over records; None if there are too few
            records, or no spread.
        high: Its upper bound.
        numerator: Sum over records.
        denominator: Sum over records.
        records: Records with a denominator above 0.
    """

    value: float | None
    low: float | None
    high: float | None
    numerator: int
    denominator: int
    records: int

    def as_json(self) -> dict[str, float | int | None]:
        """Rounds to six decimals: enough for printing, few enough for comparing."""
        return {
            "value": rounded(self.value),
            "low": rounded(self.low),
            "high": rounded(self.high),
            "numerator": self.numerator,
            "denominator": self.denominator,
            "records": self.records,
        }


def rounded(value: float | None) -> float | None:
    """A figure as it is stored: six decimals, or None."""
    return None if value is None else round(value, 6)


def mix(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """SplitMix64's finaliser (Steele et al. 2014), element by element: a scattering bijection."""
    z = values ^ (values >> np.uint64(30))
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


@cache
def _poisson_table() -> npt.NDArray[np.uint8]:
    """Maps a uniform 16-bit draw to a Poisson(1) count, by the inverse distribution function."""
    cumulative = np.cumsum([exp(-1) / factorial(k) for k in range(12)])
    draws = (np.arange(1 << 16) + 0.5) / (1 << 16)
    return np.searchsorted(cumulative, draws, side="right").astype(np.uint8)


def weights(
    keys: npt.NDArray[np.uint64], replicates: int = REPLICATES, seed: int = 0
) -> npt.NDArray[np.uint8]:
    """How often each record counts in each replicate of a Poisson bootstrap.

    Args:
        keys: One per record, uint64, all different: equal keys would get equal weights.
        replicates: Number of resamples.
        seed: Of the hash.

    Returns:
        Poisson(1) counts of shape (records, replicates): a pure function of key and seed.
    """
    words = -(-replicates // _PER_WORD)
    start = mix(keys + np.uint64(seed * _GAMMA & _MASK))[:, None]
    stream = mix(start + np.arange(1, words + 1, dtype=np.uint64) * np.uint64(_GAMMA))
    draws = stream.view(np.uint16)[:, :replicates]
    return _poisson_table()[draws]


class Sums:
    """Sums of per-record counts, plain and in every replicate. `+=` adds another shard's.

    `total[c]` is the sum of column c, `nonzero[c]` the number of records where it is not 0,
    `resampled[b, c]` its sum in replicate b. All are whole numbers below 2**53, so float64 sums are
    exact and independent of order.
    """

    __slots__ = ("nonzero", "resampled", "total")

    def __init__(self, columns: int, replicates: int = REPLICATES) -> None:
        self.total = np.zeros(columns, dtype=np.int64)
        self.nonzero = np.zeros(columns, dtype=np.int64)
        self.resampled = np.zeros((replicates, columns), dtype=np.float64)

    def add(self, values: npt.NDArray[np.int64], drawn: npt.NDArray[np.floating[Any]]) -> None:
        """Adds records: `values` `[records, columns]`, `drawn` `[records, replicates]` weights."""
        self.total += values.sum(axis=0)
        self.nonzero += (values != 0).sum(axis=0)
        self.resampled += drawn.T @ values.astype(drawn.dtype)

    def __iadd__(self, other: Sums) -> Sums:
        self.total += other.total
        self.nonzero += other.nonzero
        self.resampled += other.resampled
        return self

    def __sub__(self, part: Sums) -> Sums:
        """The sums over the records that `part` does not hold."""
        rest = Sums(len(self.total), len(self.resampled))
        rest.total = self.total - part.total
        rest.nonzero = self.nonzero - part.nonzero
        rest.resampled = self.resampled - part.resampled
        return rest

    def ratio(self, numerator: int, denominator: int) -> Estimate:
        """The share column `numerator` / column `denominator`, at most 1 for each record."""
        top, bottom = int(self.total[numerator]), int(self.total[denominator])
        records = int(self.nonzero[denominator])
        if bottom == 0:
            return Estimate(None, None, None, top, bottom, records)
        if top in (0, bottom):
            exact = exact_interval(records if top else 0, records)
            return Estimate(top / bottom, *exact, top, bottom, records)
        low, high = bounds(self._shares(numerator, denominator), records)
        return Estimate(top / bottom, low, high, top, bottom, records)

    def change(self, before: tuple[int, int], after: tuple[int, int]) -> Estimate:
        """The share `after` minus the share `before`, paired: both from the same resamples.

        The result's numerator and denominator are 0, as a difference of ratios has none.
        """
        first, second = self.ratio(*before), self.ratio(*after)
        records = min(first.records, second.records)
        if first.value is None or second.value is None:
            return Estimate(None, None, None, 0, 0, records)
        low, high = bounds(self._shares(*after) - self._shares(*before), records)
        return Estimate(second.value - first.value, low, high, 0, 0, records)

    def _shares(self, numerator: int, denominator: int) -> npt.NDArray[np.float64]:
        bottom = self.resampled[:, denominator]
        shares = np.full(len(bottom), np.nan)
        np.divide(self.resampled[:, numerator], bottom, out=shares, where=bottom > 0)
        return shares


def bounds(drawn: npt.NDArray[np.float64], units: int) -> tuple[float | None, float | None]:
    """The central interval of resampled values; none with too few units or values."""
    known = drawn[np.isfinite(drawn)]
    if units < MIN_RECORDS or len(known) < len(drawn) / 2 or np.ptp(known) == 0:
        return None, None
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def ratio_interval(
    numerators: npt.ArrayLike,
    denominators: npt.ArrayLike,
    *,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> Estimate:
    """The share sum(numerators) / sum(denominators), with its interval over records.

    Args:
        numerators: Whole-number counts, one per record.
        denominators: Whole-number counts, one per record, each at least its numerator.
        replicates: Number of resamples.
        seed: Of the resampling.

    Returns:
        The share with its central 95 % interval.
    """
    values = np.column_stack([numerators, denominators]).astype(np.int64)
    sums = Sums(2, replicates)
    for start in range(0, len(values), 4096):
        part = values[start : start + 4096]
        keys = np.arange(start, start + len(part), dtype=np.uint64)
        sums.add(part, weights(keys, replicates, seed).astype(np.float64))
    return sums.ratio(0, 1)
