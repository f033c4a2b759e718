"""How often a critic's verdicts are true, by the share of sentences that it calls factual.

Rogan and Gladen's estimator assumes that a critic's error rates are the same on all captions. They
are not: captioners that err more err more obviously, so a larger share of wrong sentences passes in
good captions. If a critic was measured on several populations of captions (captioners, kinds of
images), the share of true sentences among those that it calls factual, and among those that it
flags, is modeled as depending on how many it calls factual:

    logit P(true) = a + b · [called factual] + c · (share called factual) + a population's offset

with a, b and c fitted to all of them, by maximum likelihood. A new population's value is the one
without an offset; its interval uses the offsets of the known ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

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
    """

    kept: int
    kept_true: int
    flagged: int
    flagged_true: int

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
    """

    level: float
    kept: float
    said: float
    offsets: Floats = field(compare=False)
    shares: Floats = field(compare=False)

    def true_of(self, said: Floats, offset: Floats | float = 0.0) -> tuple[Floats, Floats]:
        """The shares of true sentences among those called factual, and among the flagged.

        Args:
            said: The share called factual.
            offset: Of the population.
        """
        flagged = self.level + self.said * said + offset
        return _logistic(flagged + self.kept), _logistic(flagged)

    def drawn(self, said: Floats, seed: int) -> tuple[Floats, Floats]:
        """The same, each with the offset of a known population, drawn in proportion to its size."""
        rng = np.random.default_rng(seed)
        return self.true_of(said, rng.choice(self.offsets, len(said), p=self.shares))


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
    return VerdictLevels(level, kept, max(0.0, said), offsets, sizes / sizes.sum())


def _offset(model: VerdictLevels, one: JudgedPopulation) -> float:
    """The offset with which the model gives the population's own share of true sentences."""
    true = (one.kept_true + one.flagged_true + 0.5) / (one.size + 1)
    low, high = -_WIDEST, _WIDEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        kept, flagged = model.true_of(np.array(one.said), middle)
        below = one.said * kept + (1 - one.said) * flagged < true
        low, high = (middle, high) if below else (low, middle)
    return low


def _logistic(odds: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-odds)))
