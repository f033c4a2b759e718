"""Threshold, reliability and precision–recall of P(factual).

The critic's positive class is “wrong”: a sentence is flagged if P(factual) < threshold.
Precision is the share of flagged sentences that are truly wrong, recall the share of truly wrong
sentences that are flagged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from revise_captions.errors import UserError


@dataclass(frozen=True, slots=True)
class Bin:
    """Sentences with P(factual) in one of equal-width bins.

    Attributes:
        low: Lower edge, included.
        high: Upper edge, excluded except in the last bin.
        count: Number of sentences.
        mean_p: Their mean P(factual).
        share_factual: The share of them that is factual.
    """

    low: float
    high: float
    count: int
    mean_p: float
    share_factual: float


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the precision–recall curve, for finding wrong sentences.

    Attributes:
        threshold: Sentences with P(factual) below it are flagged.
        precision: Share of flagged sentences that are wrong.
        recall: Share of wrong sentences that are flagged.
    """

    threshold: float
    precision: float
    recall: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a checkpoint stores about its probabilities.

    Attributes:
        threshold: The threshold with the highest macro-F1.
        macro_f1: At that threshold.
        ece: Expected calibration error over `bins`.
        sentences: Number measured.
        factual: Number of them that are factual.
        bins: Reliability.
        curve: Precision and recall by threshold.
        wrong_share: Share of wrong sentences assumed for threshold, macro-F1 and curve; None for
            the share among those measured. Reliability is of the sentences as weighted.
        false_alarms: Largest share of true sentences that the threshold may flag; None for any.
    """

    threshold: float
    macro_f1: float
    ece: float
    sentences: int
    factual: int
    bins: tuple[Bin, ...]
    curve: tuple[Point, ...]
    wrong_share: float | None = None
    false_alarms: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """The form stored in a card."""
        return asdict(self)


Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def reliability(
    p: Floats, factual: Bools, bins: int = 15, weights: Floats | None = None
) -> tuple[float, tuple[Bin, ...]]:
    """Expected calibration error (Naeini et al. 2015; equal-width bins).

    Args:
        p: P(factual) of each sentence.
        factual: Whether it is.
        bins: Number of bins.
        weights: How many sentences each stands for; None: one.

    Returns:
        The error in [0, 1], and the bins.
    """
    edges = np.linspace(0, 1, bins + 1)
    place = np.minimum(np.digitize(p, edges[1:-1]), bins - 1)
    count = np.bincount(place, minlength=bins)
    w = _weights(weights, len(p))
    weight, sums, true = (
        np.bincount(place, of, bins).astype(np.float64) for of in (w, w * p, w * factual)
    )
    mean, share = _ratio(sums, weight), _ratio(true, weight)
    error = float(np.sum(weight * np.abs(mean - share)) / max(weight.sum(), 1e-12))
    rows = tuple(
        Bin(round(float(a), 6), round(float(b), 6), int(n), float(m), float(s))
        for a, b, n, m, s in zip(edges, edges[1:], count, mean, share, strict=False)
    )
    return error, rows


def _weights(given: Floats | None, rows: int) -> Floats:
    return np.ones(rows) if given is None else given


def class_weights(
    factual: Bools, wrong_share: float | None, weights: Floats | None = None
) -> tuple[float, float]:
    """The weights of wrong and true sentences that make `wrong_share` of the total weight wrong.

    Sentences that people judge often include more wrong ones than those a critic will meet.
    """
    if wrong_share is None:
        return 1.0, 1.0
    if not 0 < wrong_share < 1:
        raise UserError(
            f"the share of wrong sentences is {wrong_share}",
            hint="expected a number between 0 and 1",
        )
    found = 1 - float(np.average(factual, weights=weights))
    return wrong_share / found, (1 - wrong_share) / (1 - found)


def best_threshold(
    p: Floats,
    factual: Bools,
    wrong_share: float | None = None,
    false_alarms: float | None = None,
    weights: Floats | None = None,
) -> tuple[float, float]:
    """The threshold with the highest macro-F1.

    Args:
        p: P(factual) of each sentence.
        factual: Whether it is.
        wrong_share: Share of wrong sentences to weight for; None for the share among these.
        false_alarms: Only considers thresholds that flag at most this share of true sentences,
            with 95 % confidence; None for any.
        weights: How many sentences each stands for; None: one.

    Returns:
        The threshold, rounded to four decimals, and its macro-F1. Sentences with P below it are
        flagged; ties go to the threshold nearest to 0.5.

    Raises:
        UserError: There are too few true sentences to confirm any threshold's `false_alarms`.
    """
    of_wrong, of_right = class_weights(factual, wrong_share, weights)
    values = np.round(p, 4)
    order = np.argsort(values, kind="stable")
    values, truth, weight = values[order], factual[order], _weights(weights, len(p))[order]
    # flagging the first k sentences, for every k at which the value changes
    cuts = np.flatnonzero(np.concatenate([[True], np.diff(values) > 0, [True]]))
    wrong = np.concatenate([[0.0], np.cumsum(weight * ~truth)])
    right = np.concatenate([[0.0], np.cumsum(weight * truth)])
    flagged_wrong, flagged_right = of_wrong * wrong[cuts], of_right * right[cuts]
    kept_right = of_right * right[-1] - flagged_right
    kept_wrong = of_wrong * wrong[-1] - flagged_wrong
    f_wrong = _ratio(2 * flagged_wrong, 2 * flagged_wrong + flagged_right + kept_wrong)
    f_right = _ratio(2 * kept_right, 2 * kept_right + flagged_right + kept_wrong)
    macro = (f_wrong + f_right) / 2
    if false_alarms is not None:
        of = effective_size(weight[truth])
        macro = np.where(_at_most(right[cuts] / right[-1] * of, of, false_alarms), macro, -1)
    padded = np.concatenate([[0.0], values, [1.0001]])
    middles = np.round((padded[cuts] + padded[cuts + 1]) / 2, 4)
    middles = np.where(middles <= padded[cuts], padded[cuts + 1], middles)
    best = np.flatnonzero(macro >= macro.max() - 1e-12)
    chosen = best[np.argmin(np.abs(middles[best] - 0.5))]
    return float(np.round(middles[chosen], 4)), float(macro[chosen])


def effective_size(weights: Floats) -> float:
    """Kish's effective size: how many equally weighted sentences carry as much information."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def _at_most(found: Floats, of: float, share: float) -> Bools:
    """Whether `found` out of `of` shows with 95 % confidence that the rate is at most `share`, by
    Clopper and Pearson's one-sided upper bound (1934).
    """
    from scipy.stats import beta

    if 1 - 0.05 ** (1 / of) > share:
        raise UserError(
            f"{of:,.0f} true sentences are too few to guarantee that at most {share:g} of them "
            "are flagged",
            hint="allow a larger share, or validate on more",
        )
    left = of - found
    upper = beta.ppf(0.95, found + 1, np.maximum(left, 1e-9))
    sure: Bools = (left > 1e-9) & (upper <= share)
    return sure


def _ratio(a: Floats, b: Floats) -> Floats:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


def precision_recall(
    p: Floats,
    factual: Bools,
    points: int = 101,
    wrong_share: float | None = None,
    weights: Floats | None = None,
) -> tuple[Point, ...]:
    """The precision–recall curve of flagging wrong sentences.

    Args:
        p: P(factual) of each sentence.
        factual: Whether it is.
        points: Most points.
        wrong_share: Share of wrong sentences to weight for; None for the share among these.
        weights: How many sentences each stands for; None: one.

    Returns:
        Points by rising threshold.
    """
    from sklearn.metrics import precision_recall_curve

    of_wrong, of_right = class_weights(factual, wrong_share, weights)
    weight = np.where(factual, of_right, of_wrong) * _weights(weights, len(p))
    precision, recall, cut = precision_recall_curve(
        ~factual, 1 - np.round(p, 4), sample_weight=weight
    )
    # sklearn flags score >= cut, so P <= 1 - cut, so P < the next four-decimal value
    thresholds = np.round(1 - cut + 1e-4, 4)[::-1]
    precision, recall = precision[:-1][::-1], recall[:-1][::-1]
    keep = np.unique(np.linspace(0, len(thresholds) - 1, points).round().astype(int))
    return tuple(Point(float(thresholds[i]), float(precision[i]), float(recall[i])) for i in keep)


def calibrate(
    p: Floats,
    factual: Bools,
    wrong_share: float | None = None,
    false_alarms: float | None = None,
    *,
    weights: Floats | None = None,
    threshold: float | None = None,
) -> Calibration:
    """Everything that a checkpoint stores about its probabilities.

    Args:
        p: P(factual) of each validation sentence.
        factual: Whether it is; both classes must occur.
        wrong_share: Share of wrong sentences among those that the critic will judge, if it differs
            from the share among these.
        false_alarms: As for `best_threshold`.
        weights: How many sentences each stands for; None: one.
        threshold: A threshold chosen on other sentences; None: the best for these.

    Returns:
        Threshold, reliability and curve.

    Raises:
        UserError: All sentences are in one class.
    """
    if len(p) == 0 or factual.all() or not factual.any():
        raise UserError(
            "cannot calibrate: the validation sentences are all of one class",
            hint="the validation split needs factual and nonfactual sentences",
        )
    if threshold is None:
        threshold, macro = best_threshold(p, factual, wrong_share, false_alarms, weights)
    else:
        macro = _macro_f1(np.round(p, 4) < threshold, factual, wrong_share, weights)
    error, bins = reliability(p, factual, weights=weights)
    curve = precision_recall(p, factual, wrong_share=wrong_share, weights=weights)
    true = int(factual.sum())
    return Calibration(
        threshold, macro, error, len(p), true, bins, curve, wrong_share, false_alarms
    )


def _macro_f1(
    flagged: Bools, factual: Bools, wrong_share: float | None, weights: Floats | None
) -> float:
    of_wrong, of_right = class_weights(factual, wrong_share, weights)
    weight = np.where(factual, of_right, of_wrong) * _weights(weights, len(factual))
    off = float(weight[flagged == factual].sum())
    hits = (float(weight[flagged & ~factual].sum()), float(weight[~flagged & factual].sum()))
    return sum(2 * hit / (2 * hit + off) if hit else 0.0 for hit in hits) / 2


def threshold_for(curve: Sequence[Mapping[str, float]], precision: float) -> float:
    """The threshold with the highest recall whose precision reaches a target.

    Args:
        curve: Points as in `Calibration.as_dict()`.
        precision: The target, in (0, 1].

    Returns:
        The threshold.

    Raises:
        UserError: No point of the curve reaches the target.
    """
    reaching = [point for point in curve if point["precision"] >= precision]
    if not reaching:
        best = max((point["precision"] for point in curve), default=0.0)
        raise UserError(
            f"no threshold of this critic reaches precision {precision:g} on its validation split",
            hint=f"the highest is {best:.3f}; choose one at or below it, or set --threshold",
        )
    return max(reaching, key=lambda point: (point["recall"], point["precision"]))["threshold"]
