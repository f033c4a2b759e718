"""Scores of many pairs: means with intervals, and paired differences, from stored statistics.

A pair's row holds what its score was made of (`PairStatistics`): sums and counts, so that a corpus
score, an interval, or another system's difference needs no judge again. A corpus score is the mean
over pairs, as POSH's tables average; pairs without a score are left out and counted. The bootstrap
resamples groups (images): all pairs of one image are drawn together, with the weights of
`revise_captions.stats.bootstrap`, so that two systems on the same images are compared pair by pair.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from revise_captions.posh.scoring import Score, Side, harmonic
from revise_captions.stats.bootstrap import LEVEL, MIN_RECORDS, REPLICATES, weights

CRITERIA = ("mistakes", "omissions", "overall")


@dataclass(frozen=True, slots=True)
class PairStatistics:
    """One pair's sufficient statistics. `group` names what is resampled: the image."""

    group: str
    mistakes: Side
    omissions: Side

    def value(self, criterion: str) -> float | None:
        if criterion == "overall":
            return harmonic(self.mistakes.score, self.omissions.score)
        return self.mistakes.score if criterion == "mistakes" else self.omissions.score

    def as_json(self) -> dict[str, object]:
        """What `row_of_json` reads back."""
        sides = {
            name: {"total": round(s.total, 6), "scored": s.scored, "unscored": s.unscored}
            for name, s in (("mistakes", self.mistakes), ("omissions", self.omissions))
        }
        return {"group": self.group, **sides}


def row_of(score: Score, group: str) -> PairStatistics:
    return PairStatistics(group, score.mistakes, score.omissions)


def row_of_json(found: Mapping[str, object]) -> PairStatistics:
    sides = []
    for name in ("mistakes", "omissions"):
        part = found[name]
        assert isinstance(part, Mapping)
        sides.append(Side(float(part["total"]), int(part["scored"]), int(part["unscored"])))
    return PairStatistics(str(found["group"]), *sides)


@dataclass(frozen=True, slots=True)
class Mean:
    """`value` over `pairs`; `low` and `high` bound the central 95 % over resampled groups."""

    value: float | None
    low: float | None
    high: float | None
    pairs: int
    unscored: int


def mean(rows: Sequence[PairStatistics], criterion: str, *, replicates: int = REPLICATES) -> Mean:
    """The corpus score by one criterion: the mean over pairs, as in POSH's tables.

    Args:
        rows: One per pair.
        criterion: One of `CRITERIA`.
        replicates: Bootstrap resamples.
    """
    values = [row.value(criterion) for row in rows]
    known = [(row.group, v) for row, v in zip(rows, values, strict=True) if v is not None]
    return grouped_mean(known, len(rows) - len(known), replicates)


def difference(
    first: Sequence[PairStatistics],
    second: Sequence[PairStatistics],
    criterion: str,
    *,
    replicates: int = REPLICATES,
) -> Mean:
    """The mean of second minus first, pair by pair; arguments as in `mean`.

    Raises:
        ValueError: The rows are not of the same groups, in the same order.
    """
    if [row.group for row in first] != [row.group for row in second]:
        raise ValueError("paired rows must be of the same groups, in the same order")
    known = []
    for one, other in zip(first, second, strict=True):
        a, b = one.value(criterion), other.value(criterion)
        if a is not None and b is not None:
            known.append((one.group, b - a))
    return grouped_mean(known, len(first) - len(known), replicates)


def grouped_mean(
    known: Sequence[tuple[str, float]], unscored: int, replicates: int = REPLICATES
) -> Mean:
    """The mean of values, with an interval over their groups.

    Args:
        known: Each value's group, and the value.
        unscored: How many have none; it is passed on.
        replicates: Bootstrap resamples.
    """
    if not known:
        return Mean(None, None, None, 0, unscored)
    groups = list(dict.fromkeys(group for group, _ in known))
    place = {group: i for i, group in enumerate(groups)}
    sums = np.zeros((len(groups), 2))
    for group, value in known:
        sums[place[group]] += (value, 1)
    value = float(sums[:, 0].sum() / sums[:, 1].sum())
    low = high = None
    if len(groups) >= MIN_RECORDS:
        drawn = weights(keys(groups), replicates).astype(np.float64)
        totals = drawn.T @ sums
        shares = totals[totals[:, 1] > 0]
        tail = (1 - LEVEL) / 2
        low, high = np.quantile(shares[:, 0] / shares[:, 1], [tail, 1 - tail]).tolist()
    return Mean(value, low, high, len(known), unscored)


def keys(groups: Sequence[str]) -> npt.NDArray[np.uint64]:
    """A number for each name, the same in every run: equal groups are drawn alike."""
    digests = (hashlib.blake2b(group.encode(), digest_size=8).digest() for group in groups)
    return np.array([int.from_bytes(digest, "big") for digest in digests], dtype=np.uint64)
