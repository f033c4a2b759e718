"""Figures of sentence classification: P(factual) against what people say.

All take P(factual), or any score that is higher for truer sentences, and truths (1 factual, 0
wrong), and are NaN where a class is missing. VNLI-Critique's rule for macro-F1 (section 4.2: the
label with the higher confidence) is a threshold of 0.5.

ROC-AUC and macro-F1 are not scikit-learn's, which take 20 and 170 times as long for 1,000 sentences
and are called once per resample; the tests compare them.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from revise_captions.stats.calibration import best_threshold, reliability

Floats = npt.NDArray[np.float64]
HALF = 0.5


def _one_class(truth: Floats) -> bool:
    return len(truth) == 0 or bool(truth.min() == truth.max())


def roc_auc(scores: Floats, truth: Floats) -> float:
    """Area under the ROC curve: Mann and Whitney's U over its greatest value; ties count half."""
    if _one_class(truth):
        return float("nan")
    from scipy.stats import rankdata

    factual = truth > HALF
    count = int(factual.sum())
    above = rankdata(scores)[factual].sum() - count * (count + 1) / 2
    return float(above / (count * (len(truth) - count)))


def average_precision_of_wrong(scores: Floats, truth: Floats) -> float:
    """Average precision with the wrong sentences as the positive class, lowest scores first."""
    from sklearn.metrics import average_precision_score

    return float("nan") if _one_class(truth) else float(average_precision_score(1 - truth, -scores))


def macro_f1(scores: Floats, truth: Floats, threshold: float = HALF) -> float:
    """Mean F1 of the two classes; factual at score ≥ threshold. Never predicted: F1 is 0."""
    if _one_class(truth):
        return float("nan")
    said, true = scores >= threshold, truth > HALF
    found = []
    for label in (True, False):
        hits = np.sum((said == label) & (true == label))
        found.append(2 * hits / (np.sum(said == label) + np.sum(true == label)))
    return float(np.mean(found))


def macro_f1_at(threshold: float) -> partial[float]:
    return partial(macro_f1, threshold=threshold)


def best_macro_f1(scores: Floats, truth: Floats) -> float:
    """At the threshold that is best for these very sentences: an upper bound, not an estimate."""
    if _one_class(truth):
        return float("nan")
    from scipy.stats import rankdata

    # `best_threshold` wants values in [0, 1] with four decimals: places in the order will do
    order = rankdata(scores, method="dense") if len(scores) else scores
    step = max(1.0, float(order.max()) / 9999)
    return best_threshold(np.floor(order / step) / 1e4, truth > HALF)[1]


def one_class_macro_f1(truth: Floats) -> float:
    """The floor: the better of calling every sentence factual, or every sentence wrong."""
    if _one_class(truth):
        return float("nan")
    return max(macro_f1(np.full(len(truth), said), truth) for said in (0.0, 1.0))


def calibration_error(scores: Floats, truth: Floats) -> float:
    """Expected calibration error over 15 bins of equal width; NaN for no probabilities."""
    if not are_probabilities(scores):
        return float("nan")
    return reliability(scores, truth > HALF)[0]


def are_probabilities(scores: Floats) -> bool:
    return len(scores) > 0 and bool(scores.min() >= 0) and bool(scores.max() <= 1)
