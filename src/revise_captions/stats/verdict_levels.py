"""How often a critic's verdicts are true, by the share of sentences that it calls factual.

Rogan and Gladen's estimator assumes that a critic's error rates are the same on all captions. They
are not: captioners that err more err more obviously, so a larger share of wrong sentences passes in
good captions. If a critic was measured on several populations of captions (captioners, kinds of
images), the share of true sentences among those that it calls factual, and among those that it
flags, is modeled as depending on how many it calls factual:

    logit P(true) = a + b · [called factual] + c · (share called factual) + a population's offset

with a, b and c fitted to all of them, by maximum likelihood. A new population's value is the one
without an offset; its interval uses the offsets of the known ones. A run rewrites and removes what
is most surely wrong, so of the flagged sentences that it leaves, more are true: their log-odds are
higher by d, fitted last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: Newton steps; and bisection steps, of an interval of this many log-odds each way.
_STEPS, _HALVINGS, _WIDEST = 30, 40, 6.0
#: Populations that a fit needs.
LEAST_POPULATIONS = 4


@dataclass(frozen=True, slots=True)
class JudgedPopulation:
    """Counts of sentences in one population.

    Attributes:
        kept: Those that the critic calls factual.
        kept_true: The true ones among them.
        flagged: The others.
        flagged_true: The true ones among these.
        left: Flagged ones that a run neither rewrites nor removes; 0 where that is not known.
        left_true: The true ones among these.
    """

    kept: int
    kept_true: int
    flagged: int
    flagged_true: int
    left: int = 0
    left_true: int = 0

    @property
    def size(self) -> int:
        return self.kept + self.flagged

    @property
    def said(self) -> float:
        """The share called factual."""
        return self.kept / self.size


@dataclass(frozen=True, slots=True)
class VerdictLevels:
    """The model of the module's first lines.

    Attributes:
        level: a.
        kept: b.
        said: c, not negative.
        offsets: Of the populations that it was fitted to.
        shares: Each population's share of the sentences.
        left: d; 0 where it is not known.
    """

    level: float
    kept: float
    said: float
    offsets: Floats = field(compare=False)
    shares: Floats = field(compare=False)
    left: float = 0.0

    def true_of(
        self, said: Floats, offset: Floats | float = 0.0, left: bool = False
    ) -> tuple[Floats, Floats]:
        """The shares of true sentences among those called factual, and among the flagged.

        Args:
            said: The share called factual.
            offset: Of the population.
            left: Whether the flagged are those that a run leaves as they are.
        """
        flagged = self.level + self.said * said + offset
        return _logistic(flagged + self.kept), _logistic(flagged + self.left * left)

    def drawn(self, said: Floats, seed: int, left: bool = False) -> tuple[Floats, Floats]:
        """The same, each with the offset of a known population, drawn in proportion to its size."""
        rng = np.random.default_rng(seed)
        return self.true_of(said, rng.choice(self.offsets, len(said), p=self.shares), left)


def fitted_levels(populations: Sequence[JudgedPopulation]) -> VerdictLevels | None:
    """The model fitted to populations; None if they are too few."""
    if len(populations) < LEAST_POPULATIONS:
        return None
    cells = [
        (1.0, called, one.said, size + 1.0, true + 0.5)
        for one in populations
        for called, size, true in (
            (1.0, one.kept, one.kept_true),
            (0.0, one.flagged, one.flagged_true),
        )
    ]
    table = np.array(cells)
    rows, size, true = table[:, :3], table[:, 3], table[:, 4]
    found = np.zeros(3)
    for _ in range(_STEPS):
        share = _logistic(rows @ found)
        slope = (rows * (size * share * (1 - share))[:, None]).T @ rows
        found = found + np.linalg.solve(slope + 1e-6 * np.eye(3), rows.T @ (true - size * share))
    sizes = np.array([one.size for one in populations], dtype=np.float64)
    level, kept, said = map(float, found)
    plain = VerdictLevels(level, kept, max(0.0, said), np.zeros(1), np.ones(1))
    offsets = np.array([_offset(plain, one) for one in populations])
    return replace(
        plain, offsets=offsets, shares=sizes / sizes.sum(), left=_left(plain, populations)
    )


def _offset(model: VerdictLevels, one: JudgedPopulation) -> float:
    """The offset with which the model gives the population's own share of true sentences."""

    def share(offset: float) -> float:
        kept, flagged = model.true_of(np.array(one.said), offset)
        return float(one.said * kept + (1 - one.said) * flagged)

    return _solved(share, (one.kept_true + one.flagged_true + 0.5) / (one.size + 1))


def _left(model: VerdictLevels, populations: Sequence[JudgedPopulation]) -> float:
    """d of the module's first lines; 0 where no flagged sentence is known to be left."""
    said = np.array([one.said for one in populations])
    left = np.array([one.left for one in populations], dtype=np.float64)
    if not left.sum():
        return 0.0
    true = sum(one.left_true for one in populations)
    return _solved(
        lambda d: float(left @ model.true_of(said, d)[1]) / left.sum(), true / left.sum()
    )


def _solved(share: Callable[[float], float], wanted: float) -> float:
    """The log-odds at which a share that grows with them is as great as wanted."""
    low, high = -_WIDEST, _WIDEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if share(middle) < wanted else (low, middle)
    return low


def _logistic(odds: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-odds)))
