"""Figures of sentence classification: P(factual) against human labels.

All take P(factual), or any score that is higher for truer sentences, and truths (1 factual, 0
wrong), and are NaN if a class is missing. VNLI-Critique's rule for macro-F1 (section 4.2: the
label with the higher confidence) is a threshold of 0.5.

Each is the figure in `weighted_classification` with every row counted once; the tests compare them
with scikit-learn's.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from revise_captions.stats import weighted_classification as weighted
from revise_captions.stats.weighted_classification import Batch, Floats

HALF = 0.5


def _once(figure: Batch, scores: Floats, truth: Floats) -> float:
    if len(truth) == 0:
        return float("nan")
    return float(figure(scores, np.asarray(truth), np.ones((len(truth), 1)))[0])


def roc_auc(scores: Floats, truth: Floats) -> float:
    """Area under the ROC curve: Mann and Whitney's U over its maximum; ties count half."""
    return _once(weighted.roc_auc, scores, truth)


def average_precision_of_wrong(scores: Floats, truth: Floats) -> float:
    """Average precision with the wrong sentences as the positive class, lowest scores first."""
    return _once(weighted.average_precision_of_wrong, scores, truth)


def macro_f1(scores: Floats, truth: Floats, threshold: float = HALF) -> float:
    """Mean F1 of the two classes; factual at score ≥ threshold. F1 is 0 for one never predicted."""
    return _once(weighted.macro_f1_at(threshold), scores, truth)


def macro_f1_at(threshold: float) -> partial[float]:
    return partial(macro_f1, threshold=threshold)


def best_macro_f1(scores: Floats, truth: Floats) -> float:
    """At the best threshold for these same sentences: an upper bound, not an estimate."""
    return _once(weighted.best_macro_f1, scores, truth)


def one_class_macro_f1(truth: Floats) -> float:
    """The floor: the better of calling every sentence factual, or every sentence wrong."""
    return max(macro_f1(np.full(len(truth), said), truth) for said in (0.0, 1.0))


def calibration_error(scores: Floats, truth: Floats) -> float:
    """Expected calibration error over 15 equal-width bins; NaN if scores are not probabilities."""
    if not are_probabilities(scores):
        return float("nan")
    return _once(weighted.calibration_error, scores, truth)


def are_probabilities(scores: Floats) -> bool:
    return len(scores) > 0 and bool(scores.min() >= 0) and bool(scores.max() <= 1)
