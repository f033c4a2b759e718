"""How well one set of scores agrees with another: correlations, and accuracy over pairs.

Variants handle ties differently, so every figure here says which one it is:

- Kendall's τ-a: concordant minus discordant over all pairs, ties being neither; τ-b corrects for
  ties in both variables; τ-c (Stuart) for tables that are not square. (scipy: b and c.)
- `pairwise_accuracy` rewards a tie in the metric exactly where humans tie (Deutsch et al. 2023,
  “Ties Matter”, acc_eq). The threshold below which the metric ties is given, calibrated on the data
  (their tie calibration), or set so that the metric ties as often as humans do (POSH, A.3.2).
- `soft_pairwise_accuracy` compares how sure metric and humans are of each pair of systems
  (Thompson et al. 2024).

NaN or too few values give NaN, never an exception or a guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Kind = Literal["pearson", "spearman", "kendall-a", "kendall-b", "kendall-c"]
KINDS: tuple[Kind, ...] = ("pearson", "spearman", "kendall-a", "kendall-b", "kendall-c")


def correlation(kind: Kind, x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """The correlation of two score vectors.

    Args:
        kind: Pearson's r, Spearman's ρ, or Kendall's τ in variant a, b or c.
        x: Scores.
        y: As many scores.

    Returns:
        In [-1, 1]; NaN for fewer than two values, a value that is not finite, or a vector that does
        not vary (τ-a is then 0).
    """
    from scipy import stats

    a, b = _pair(x, y)
    if len(a) < 2 or not (np.isfinite(a).all() and np.isfinite(b).all()):
        return float("nan")
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0 if kind == "kendall-a" else float("nan")
    if kind == "pearson":
        return float(stats.pearsonr(a, b).statistic)
    if kind == "spearman":
        return float(stats.spearmanr(a, b).statistic)
    if kind == "kendall-c":
        return float(stats.kendalltau(a, b, variant="c").statistic)
    tau_b = float(stats.kendalltau(a, b, variant="b").statistic)
    if kind == "kendall-b":
        return tau_b
    pairs = len(a) * (len(a) - 1) / 2
    return tau_b * float(np.sqrt((pairs - _ties(a)) * (pairs - _ties(b)))) / pairs


def row_correlations(kind: Kind, x: npt.ArrayLike, y: npt.ArrayLike) -> Floats:
    """The correlation of every row of two arrays at once, for few items.

    For Kendall's τ, memory is replicates × pairs of items, a few blocks at a time. SciPy goes row
    by row in Python: it takes 100 times as long for 1,000 rows of 14 items.

    Args:
        kind: As for `correlation`.
        x: Scores of shape (replicates, items).
        y: Scores of the same shape.

    Returns:
        One correlation per row; NaN as in `correlation`.
    """
    from scipy import stats

    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.ndim != 2 or a.shape != b.shape:
        raise ValueError(f"(rows, items) twice is expected, not {a.shape} and {b.shape}")
    found = np.full(len(a), np.nan)
    known = np.isfinite(a).all(1) & np.isfinite(b).all(1)
    a, b = a[known], b[known]
    if a.shape[1] < 2 or not len(a):
        return found
    if kind.startswith("kendall"):
        rows = max(1, 2**22 // a.shape[1] ** 2)
        parts = [
            _row_kendall(kind, a[k : k + rows], b[k : k + rows]) for k in range(0, len(a), rows)
        ]
        found[known] = np.concatenate(parts)
        return found
    if kind == "spearman":
        a, b = stats.rankdata(a, axis=1), stats.rankdata(b, axis=1)
    a, b = a - a.mean(1, keepdims=True), b - b.mean(1, keepdims=True)
    found[known] = _ratios((a * b).sum(1), np.sqrt((a * a).sum(1) * (b * b).sum(1)))
    return found


def _row_kendall(kind: Kind, a: Floats, b: Floats) -> Floats:
    items = a.shape[1]
    first, second = np.triu_indices(items, k=1)
    one, other = np.sign(a[:, first] - a[:, second]), np.sign(b[:, first] - b[:, second])
    gap = (one * other).sum(1)
    pairs = np.full(len(a), items * (items - 1) / 2)
    if kind == "kendall-a":
        return gap / pairs
    if kind == "kendall-b":
        return _ratios(gap, np.sqrt((one * one).sum(1) * (other * other).sum(1)))
    distinct = [1 + (np.diff(np.sort(part, axis=1), axis=1) > 0).sum(1) for part in (a, b)]
    least = np.minimum(*distinct)
    return _ratios(2 * gap * least, items**2 * (least - 1.0))


def _ratios(top: Floats, bottom: Floats) -> Floats:
    """The ratios; NaN where a row does not vary."""
    return np.divide(top, bottom, out=np.full(len(top), np.nan), where=bottom > 1e-300)


def _pair(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Floats, Floats]:
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"two vectors of one length are expected, not {a.shape} and {b.shape}")
    return a, b


def _ties(values: Floats) -> float:
    """The number of pairs of equal values."""
    counts = np.unique(values, return_counts=True)[1].astype(np.float64)
    return float((counts * (counts - 1) / 2).sum())


@dataclass(frozen=True, slots=True)
class PairwiseAccuracy:
    """The share of pairs in which metric and humans agree.

    Attributes:
        accuracy: In [0, 1]; NaN without pairs.
        threshold: The metric ties where two scores differ by at most this.
        pairs: How many.
    """

    accuracy: float
    threshold: float
    pairs: int


def pairwise_accuracy(
    metric: npt.ArrayLike, human: npt.ArrayLike, *, threshold: float | None = 0.0
) -> PairwiseAccuracy:
    """acc_eq over all pairs of items (Deutsch et al. 2023).

    Time and memory are quadratic in the items: meant for those of one image, or for systems.

    Args:
        metric: The metric's score of each item.
        human: The humans' score of each item.
        threshold: Largest difference of the metric's scores that counts as a tie; None calibrates
            it on these same items.

    Returns:
        The accuracy, with the threshold used.
    """
    x, y = _pair(metric, human)
    first, second = np.triu_indices(len(x), k=1)
    return accuracy_of_differences(x[first] - x[second], y[first] - y[second], threshold=threshold)


def accuracy_of_differences(
    metric: npt.ArrayLike, human: npt.ArrayLike, *, threshold: float | None = 0.0
) -> PairwiseAccuracy:
    """acc_eq if each item is a pair.

    Args:
        metric: The metric's first score minus its second, per pair.
        human: The humans' difference; 0 is a tie.
        threshold: As for `pairwise_accuracy`.

    Returns:
        The accuracy, with the threshold used.
    """
    x, y = _pair(metric, human)
    if len(x) == 0 or not (np.isfinite(x).all() and np.isfinite(y).all()):
        return PairwiseAccuracy(float("nan"), float("nan"), len(x))
    size = np.abs(x)
    right = np.sign(x) == np.sign(y)
    tied = y == 0
    if threshold is not None:
        hits = np.where(size <= threshold, tied, right & (y != 0))
        return PairwiseAccuracy(float(hits.mean()), threshold, len(x))
    order = np.argsort(size, kind="stable")
    # hits with a threshold at the k-th smallest difference: ties up to it, order beyond it
    below = np.cumsum(tied[order])
    above = (right & ~tied)[order]
    hits = below + above.sum() - np.cumsum(above)
    last_of_size = np.append(size[order][1:] != size[order][:-1], True)
    hits = np.where(last_of_size, hits, -1)
    best = int(hits.argmax())
    none = int((right & ~tied & (size > 0)).sum())
    if size[order][0] > 0 and none >= hits[best]:
        return PairwiseAccuracy(none / len(x), 0.0, len(x))
    return PairwiseAccuracy(float(hits[best] / len(x)), float(size[order][best]), len(x))


def threshold_for_tie_rate(metric_differences: npt.ArrayLike, rate: float) -> float:
    """The threshold at which the metric's share of tied pairs is as near to `rate` as it can be."""
    size = np.sort(np.abs(np.asarray(metric_differences, dtype=np.float64)))
    if len(size) == 0:
        return float("nan")
    candidates = np.concatenate([[0.0], size])
    shares = np.searchsorted(size, candidates, side="right") / len(size)
    return float(candidates[np.abs(shares - rate).argmin()])


def soft_pairwise_accuracy(
    metric: npt.ArrayLike,
    human: npt.ArrayLike,
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> float:
    """1 − mean |p_metric − p_human| over pairs of systems (Thompson et al. 2024).

    p is the one-sided p-value of “the first is better” by a paired permutation test over items,
    with the same permutations for all pairs and both raters.

    Args:
        metric: Scores of shape (systems, items). NaN marks an item that the system has no score
            for; an item counts for pairs in which both systems have both scores.
        human: Scores of the same shape.
        resamples: Number of permutations.
        seed: Of the permutations.

    Returns:
        In [0, 1]; NaN for fewer than two systems.
    """
    x, y = np.asarray(metric, dtype=np.float64), np.asarray(human, dtype=np.float64)
    if x.ndim != 2 or x.shape != y.shape:
        raise ValueError(f"(systems, items) twice is expected, not {x.shape} and {y.shape}")
    if len(x) < 2:
        return float("nan")
    rng = np.random.default_rng(seed)
    signs = rng.choice(np.array([-1.0, 1.0]), (resamples, x.shape[1]))
    gaps = []
    for first in range(len(x)):
        dx, dy = x[first] - x[first + 1 :], y[first] - y[first + 1 :]
        known = np.isfinite(dx) & np.isfinite(dy)
        dx, dy = np.where(known, dx, 0.0), np.where(known, dy, 0.0)
        gaps.append(np.abs(_p_values(dx, signs) - _p_values(dy, signs)))
    return float(1 - np.concatenate(gaps).mean())


def _p_values(differences: Floats, signs: Floats) -> Floats:
    """Share of sign flips whose sum reaches the observed one, for each row of differences."""
    flipped = signs @ differences.T
    slack = 1e-9 * np.abs(differences).sum(axis=1)
    return np.asarray((flipped >= differences.sum(axis=1) - slack).mean(axis=0))


def within_groups(
    kind: Kind, x: npt.ArrayLike, y: npt.ArrayLike, groups: Sequence[str]
) -> dict[str, float]:
    """The correlation within each group, such as the captions of an image.

    The mean of these is the sample-wise τ of DCScore's Table 1.

    Args:
        kind: As for `correlation`.
        x: Scores.
        y: As many scores.
        groups: The group of each item.

    Returns:
        By group; NaN if there is no correlation: one item, or scores that do not vary.
    """
    a, b = _pair(x, y)
    names, labels = np.unique(np.asarray(groups, dtype=object).astype(str), return_inverse=True)
    order = np.argsort(labels, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1) if len(a) else []
    found = [correlation(kind, a[part], b[part]) for part in parts]
    return dict(zip(map(str, names), found, strict=True))


def unexplained(metric: npt.ArrayLike, human: npt.ArrayLike) -> float:
    """1 − R² of raw scores: Σ(h − m)² / Σ(m − mean m)², as in DCScore's Table 1.

    Equals scikit-learn's 1 − `r2_score(metric, human)`. The paper gives no formula; its 3.3e7 for
    CIDEr, whose scores of long captions hardly vary, shows that the metric's variance is in the
    denominator. It depends on both scales: first bring people's scores to the metric's scale.

    Args:
        metric: The metric's score of each item.
        human: People's score of each item.

    Returns:
        0 or more, lower is better; NaN for fewer than two items, or a metric that does not vary.
    """
    m, h = _pair(metric, human)
    spread = float(((m - m.mean()) ** 2).sum()) if len(m) > 1 else 0.0
    return float(((h - m) ** 2).sum()) / spread if spread > 0 else float("nan")
