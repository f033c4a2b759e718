"""Ratings of captioners from pairwise comparisons: Bradley–Terry and Elo, with intervals.

Both are on Elo's scale: 400 points are odds of ten to one, and the mean is 1,000. A tie is half a
win for either. Bradley–Terry is the maximum-likelihood estimate (Hunter 2004, the MM algorithm); it
exists only if no group of captioners wins all battles against the rest, and is NaN otherwise. Elo
depends on the order of the battles, so its value is the median over resamples in random order
(CapArena, with its K of 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from revise_captions.stats.bootstrap import bounds, weights
from revise_captions.stats.leaderboard import keys_of
from revise_captions.stats.paired_tests import units_of

Floats = npt.NDArray[np.float64]
SCALE, BASE, START, K = 400.0, 10.0, 1000.0, 4.0
_STEPS, _ENOUGH = 2000, 1e-9


@dataclass(frozen=True, slots=True)
class Battles:
    """Comparisons of captioners.

    Attributes:
        captioners: Names, sorted.
        first: Index of the first captioner of each battle.
        second: Index of the second.
        won: 1, ½ or 0 for the first.
        images: Name of each battle's image.
    """

    captioners: tuple[str, ...]
    first: npt.NDArray[np.int64]
    second: npt.NDArray[np.int64]
    won: Floats
    images: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PairwiseRating:
    """One captioner's rating, on Elo's scale: 400 points are odds of ten to one, the mean is 1,000.

    Attributes:
        captioner: Its name.
        rating: None if it does not exist.
        low: Lower bound of the central 95 % interval over images.
        high: Its upper bound.
    """

    captioner: str
    rating: float | None
    low: float | None
    high: float | None


def battles(rows: Sequence[tuple[str, str, float, str]]) -> Battles:
    """Battles from rows of (first, second, won by the first, image)."""
    names = sorted({name for row in rows for name in row[:2]})
    place = {name: k for k, name in enumerate(names)}
    return Battles(
        tuple(names),
        np.array([place[row[0]] for row in rows], dtype=np.int64),
        np.array([place[row[1]] for row in rows], dtype=np.int64),
        np.array([row[2] for row in rows], dtype=np.float64),
        tuple(row[3] for row in rows),
    )


def wins(
    fought: Battles, counts: npt.ArrayLike | None = None, won: npt.ArrayLike | None = None
) -> Floats:
    """(replicates, captioners, captioners): how often the row beat the column.

    `counts` (battles, replicates): how often a battle counts; once by default. `won` (battles,
    replicates): who won it in each replicate, if that differs.
    """
    n = len(fought.captioners)
    first = fought.won[:, None] if won is None else np.asarray(won, np.float64)
    drawn = np.ones((len(first), 1)) if counts is None else np.asarray(counts, np.float64)
    table = np.zeros((n * n, max(drawn.shape[1], first.shape[1])))
    np.add.at(table, fought.first * n + fought.second, first * drawn)
    np.add.at(table, fought.second * n + fought.first, (1 - first) * drawn)
    return table.T.reshape(-1, n, n)


def bradley_terry(won: Floats) -> Floats:
    """Ratings (replicates, captioners) from `wins`; NaN if there is no estimate."""
    found = np.full(won.shape[:2], np.nan)
    exists = np.array([_connected(table) for table in won], dtype=bool)
    table = won[exists]
    if not len(table):
        return found
    games = table + table.transpose(0, 2, 1)
    total = table.sum(2)
    strength = np.ones_like(total)
    for _ in range(_STEPS):
        pairs = games / (strength[:, :, None] + strength[:, None, :])
        step = total / pairs.sum(2)
        step /= np.exp(np.log(step).mean(1, keepdims=True))
        moved = np.abs(np.log(step / strength)).max()
        strength = step
        if moved < _ENOUGH:
            break
    found[exists] = START + SCALE * np.log10(strength)
    return found


def _connected(table: Floats) -> bool:
    """Whether everybody has beaten everybody through some chain: the estimate then exists."""
    from scipy.sparse.csgraph import connected_components

    parts = connected_components(table > 0, directed=True, connection="strong")[0]
    return bool(parts == 1)


def elo(fought: Battles, counts: npt.NDArray[np.uint8], seed: int = 0) -> Floats:
    """Ratings (replicates, captioners) after each replicate's battles, in random order."""
    rng = np.random.default_rng(seed)
    rows = np.arange(len(fought.won))
    orders = [rng.permutation(np.repeat(rows, counts[:, b])) for b in range(counts.shape[1])]
    longest = max((len(order) for order in orders), default=0)
    padded = np.full((len(orders), longest), -1)
    for line, order in zip(padded, orders, strict=True):
        line[: len(order)] = order
    return _played(fought, padded)


def _played(fought: Battles, orders: npt.NDArray[np.int64]) -> Floats:
    """Ratings (replicates, captioners) after each row of battles, in its order; -1 is no battle."""
    ratings = np.full((len(orders), len(fought.captioners)), START)
    each = np.arange(len(orders))
    for battle in orders.T:
        a, b = fought.first[battle], fought.second[battle]
        expected = 1 / (1 + BASE ** ((ratings[each, b] - ratings[each, a]) / SCALE))
        gain = np.where(battle >= 0, K * (fought.won[battle] - expected), 0)
        ratings[each, a] += gain
        ratings[each, b] -= gain
    return ratings


def median_elo(fought: Battles, trials: int, seed: int = 0) -> Floats:
    """Ratings of captioners, each the median over trials that redraw the battles.

    As in CapArena's code and POSH's evaluation, a trial draws as many battles as there are, with
    replacement, and uses them in the order drawn.
    """
    drawn = np.random.default_rng(seed).integers(len(fought.won), size=(trials, len(fought.won)))
    return np.asarray(np.median(_played(fought, drawn), axis=0))


def resampled(fought: Battles, replicates: int) -> npt.NDArray[np.uint8]:
    """How often each battle counts in each replicate: images are resampled, not battles."""
    names, unit = units_of(fought.images)
    return weights(keys_of(names), replicates)[unit]


def rated(fought: Battles, replicates: int = 1000) -> dict[str, tuple[PairwiseRating, ...]]:
    """Bradley–Terry and Elo ratings with intervals.

    Args:
        fought: The comparisons.
        replicates: Number of resamples over images.

    Returns:
        Ratings by the method's name, `Bradley–Terry` and `Elo`, best first.
    """
    counts = resampled(fought, replicates)
    drawn = bradley_terry(wins(fought, counts)), elo(fought, counts)
    values = bradley_terry(wins(fought))[0], np.median(drawn[1], axis=0)
    units = len(set(fought.images))
    found = {}
    for name, value, spread in zip(("Bradley–Terry", "Elo"), values, drawn, strict=True):
        rows = [
            PairwiseRating(who, float(v) if np.isfinite(v) else None, *bounds(spread[:, k], units))
            for k, (who, v) in enumerate(zip(fought.captioners, value, strict=True))
        ]
        found[name] = tuple(sorted(rows, key=lambda row: -(row.rating or -np.inf)))
    return found
