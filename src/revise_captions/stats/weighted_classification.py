"""The figures of `classification` under many weightings at once, for resampling.

Each takes scores and truths (rows,) and weights (rows, replicates), how often a row counts in each
replicate, and gives a value per replicate: the plain figure of the repeated rows. Scores are sorted
once for all replicates: 1,000 ROC-AUCs of 1,000 sentences take 0.07 s, against 4.7 s with
scikit-learn's `sample_weight`. NaN if a class is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Batch = Callable[[Floats, Floats, Floats], Floats]
_HALF = 0.5


def _groups(scores: Floats, truth: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Weights of factual and of wrong rows by distinct score, ascending: (scores, replicates)."""
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    drawn, factual = weights[order], (truth[order] > _HALF)[:, None]
    return (
        np.add.reduceat(np.where(factual, drawn, 0.0), starts, axis=0),
        np.add.reduceat(np.where(factual, 0.0, drawn), starts, axis=0),
    )


def _both(factual: Floats, wrong: Floats) -> npt.NDArray[np.bool_]:
    return np.asarray((factual > 0) & (wrong > 0))


def _where(exists: npt.NDArray[np.bool_], top: Floats, bottom: Floats) -> Floats:
    return np.divide(top, bottom, out=np.full(np.shape(top), np.nan), where=exists & (bottom > 0))


def roc_auc(scores: Floats, truth: Floats, weights: Floats) -> Floats:
    factual, wrong = _groups(scores, truth, weights)
    below = np.cumsum(wrong, axis=0) - wrong / 2
    pairs = factual.sum(0) * wrong.sum(0)
    return _where(pairs > 0, (factual * below).sum(0), pairs)


def average_precision_of_wrong(scores: Floats, truth: Floats, weights: Floats) -> Floats:
    factual, wrong = _groups(scores, truth, weights)
    flagged = np.cumsum(wrong + factual, axis=0)
    precision = np.divide(
        np.cumsum(wrong, axis=0), flagged, out=np.zeros_like(flagged), where=flagged > 0
    )
    total = wrong.sum(0)
    return _where(_both(factual.sum(0), total), (precision * wrong).sum(0), total)


def macro_f1(scores: Floats, truth: Floats, weights: Floats, threshold: float = _HALF) -> Floats:
    said, true = scores >= threshold, truth > _HALF
    cells = [
        np.where((said == a) & (true == b), 1.0, 0.0) @ weights
        for a, b in ((True, True), (True, False), (False, True), (False, False))
    ]
    return _macro(cells[0], cells[1], cells[2], cells[3])


def macro_f1_at(threshold: float) -> Batch:
    return partial(macro_f1, threshold=threshold)


def best_macro_f1(scores: Floats, truth: Floats, weights: Floats) -> Floats:
    """At each replicate's own best threshold."""
    factual, wrong = (_from_nothing(part) for part in _groups(scores, truth, weights))
    found = _macro(factual[-1] - factual, wrong[-1] - wrong, factual, wrong)
    return np.asarray(np.where(np.isnan(found).any(0), np.nan, found.max(0)))


def _from_nothing(part: Floats) -> Floats:
    """Cumulative sums, starting with the empty one."""
    return np.concatenate([np.zeros((1, part.shape[1])), np.cumsum(part, axis=0)])


def _macro(both: Floats, said: Floats, missed: Floats, neither: Floats) -> Floats:
    """`said`: called factual but wrong; `missed`: called wrong but factual."""
    off = said + missed
    exists = _both(both + missed, said + neither)
    one = np.divide(2 * both, 2 * both + off, out=np.zeros_like(off), where=2 * both + off > 0)
    two = np.divide(
        2 * neither, 2 * neither + off, out=np.zeros_like(off), where=2 * neither + off > 0
    )
    return np.asarray(np.where(exists, (one + two) / 2, np.nan))


def calibration_error(scores: Floats, truth: Floats, weights: Floats, bins: int = 15) -> Floats:
    place = np.minimum(np.digitize(scores, np.linspace(0, 1, bins + 1)[1:-1]), bins - 1)
    within = (place[None, :] == np.arange(bins)[:, None]).astype(np.float64)
    gap = (within * (scores - (truth > _HALF))[None, :]) @ weights
    total = weights.sum(0)
    return _where(total > 0, np.abs(gap).sum(0), total)
