"""Thresholds, reliability and precision–recall against brute force and hand-made values."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import f1_score, precision_score, recall_score

from revise_captions.errors import UserError
from revise_captions.stats.calibration import (
    best_threshold,
    calibrate,
    precision_recall,
    reliability,
    threshold_for,
)


def sample(seed: int, n: int = 200):
    rng = np.random.default_rng(seed)
    factual = rng.random(n) < 0.6
    p = np.clip(rng.normal(np.where(factual, 0.65, 0.4), 0.2), 0, 1)
    return np.round(p, 4), factual


def test_expected_calibration_error_by_hand():
    # bins of 0.5: [.1 .3] mean .2, true share .5 -> .3 x 2/4; [.6 .8] mean .7, share 1 -> .3 x 2/4
    error, bins = reliability(
        np.array([0.1, 0.3, 0.6, 0.8]), np.array([True, False, True, True]), bins=2
    )
    assert error == pytest.approx(0.3)
    assert [b.count for b in bins] == [2, 2]
    assert bins[1].mean_p == pytest.approx(0.7)


def test_probability_one_falls_in_the_last_bin():
    _, bins = reliability(np.array([0.0, 1.0]), np.array([False, True]), bins=4)
    assert [b.count for b in bins] == [1, 0, 0, 1]


@pytest.mark.parametrize("seed", range(6))
def test_best_threshold_is_the_best_of_all(seed):
    p, factual = sample(seed)
    threshold, macro = best_threshold(p, factual)
    reached = f1_score(factual, p >= threshold, average="macro")
    tried = [f1_score(factual, p >= t, average="macro") for t in [0, *(np.unique(p) + 5e-5)]]
    assert macro == pytest.approx(reached, abs=1e-12)
    assert macro == pytest.approx(max(tried), abs=1e-12)


def test_separable_scores_get_a_threshold_between_the_classes():
    threshold, macro = best_threshold(np.array([0.1, 0.2, 0.7, 0.9]), np.array([0, 0, 1, 1]) > 0)
    assert macro == 1
    assert 0.2 < threshold <= 0.7


def test_each_point_of_the_curve_is_what_its_threshold_gives():
    p, factual = sample(0)
    points = precision_recall(p, factual)
    assert 50 < len(points) <= 101
    for point in points:
        flagged = p < point.threshold
        assert point.precision == pytest.approx(precision_score(~factual, flagged))
        assert point.recall == pytest.approx(recall_score(~factual, flagged))
    assert [q.threshold for q in points] == sorted(q.threshold for q in points)


def test_target_precision_takes_the_highest_recall_that_reaches_it():
    p, factual = sample(1)
    curve = calibrate(p, factual).as_dict()["curve"]
    threshold = threshold_for(curve, 0.8)
    chosen = next(q for q in curve if q["threshold"] == threshold)
    assert chosen["precision"] >= 0.8
    assert chosen["recall"] == max(q["recall"] for q in curve if q["precision"] >= 0.8)


def test_one_class_cannot_be_calibrated():
    with pytest.raises(UserError, match="one class"):
        calibrate(np.array([0.2, 0.3]), np.array([True, True]))


def test_another_share_of_wrong_sentences_is_that_of_repeated_ones():
    """Weights of whole numbers are the same as so many copies of each sentence."""
    rng = np.random.default_rng(3)
    factual = np.arange(600) < 300  # half are wrong; of what the critic will meet, a fifth
    p = np.clip(rng.normal(np.where(factual, 0.65, 0.35), 0.2), 0, 1).round(4)
    copies = np.repeat(np.arange(600), np.where(factual, 4, 1))
    found = calibrate(p, factual, wrong_share=0.2)
    repeated = calibrate(p[copies], factual[copies])
    assert found.threshold == repeated.threshold
    for ours, theirs in zip(found.curve, repeated.curve, strict=True):
        assert asdict(ours) == pytest.approx(asdict(theirs))
    assert found.macro_f1 == pytest.approx(repeated.macro_f1)
    assert found.threshold < calibrate(p, factual).threshold
    assert (found.ece, found.wrong_share) == (calibrate(p, factual).ece, 0.2)
    with pytest.raises(UserError, match="share of wrong sentences"):
        calibrate(p, factual, wrong_share=1.0)


def test_false_alarms_stay_below_the_share_with_confidence():
    """Among 1,000 true sentences at most four may be flagged: the bound of five is above 1 %."""
    p = np.concatenate([np.linspace(0.001, 0.25, 400), np.linspace(0.2, 1, 1000)])
    factual = np.arange(1400) >= 400
    found = calibrate(p, factual, false_alarms=0.01)
    flagged = int((p[factual] < found.threshold).sum())
    bound = [binomtest(k, 1000, alternative="less").proportion_ci(0.95).high for k in range(8)]
    assert flagged == max(k for k, high in enumerate(bound) if high <= 0.01)
    assert found.threshold < calibrate(p, factual).threshold
    assert (found.false_alarms, calibrate(p, factual).false_alarms) == (0.01, None)
    with pytest.raises(UserError, match="too few"):
        calibrate(p[300:600], factual[300:600], false_alarms=0.01)


def test_to_flag_everything_is_among_the_thresholds():
    threshold, macro = best_threshold(np.array([0.2, 0.9, 0.95]), np.array([True, False, False]))
    assert macro == pytest.approx(0.4)  # F1 .8 of the wrong ones, 0 of the true one
    assert threshold > 0.95


def test_a_given_threshold_is_measured_at_the_given_share_of_wrong_sentences():
    p = np.array([0.1, 0.3, 0.4, 0.6, 0.7, 0.9])
    factual = np.array([False, True, False, False, True, True])
    copies = np.repeat(np.arange(6), np.where(factual, 4, 1))
    found = calibrate(p, factual, threshold=0.5, wrong_share=0.2)
    assert found.macro_f1 == pytest.approx(
        calibrate(p[copies], factual[copies], threshold=0.5).macro_f1
    )
    assert found.macro_f1 != pytest.approx(calibrate(p, factual, threshold=0.5).macro_f1)


@pytest.mark.parametrize(
    ("truth", "equal", "nearest"),
    [([0, 1, 0, 1, 0], (0.15, 0.525), 0.525), ([1, 0, 1, 0, 1], (0.275, 0.75), 0.275)],
)
def test_of_equal_thresholds_the_one_nearest_to_a_half_is_taken(truth, equal, nearest):
    p, factual = np.array([0.1, 0.2, 0.35, 0.7, 0.8]), np.array(truth) > 0
    reached = [f1_score(factual, p >= t, average="macro") for t in equal]
    assert reached[0] == pytest.approx(reached[1], abs=1e-12)
    threshold, macro = best_threshold(p, factual)
    assert threshold == pytest.approx(nearest, abs=1e-4)
    assert macro == pytest.approx(reached[0], abs=1e-12)
