"""Statistics against direct computation: weights, defaults, intervals, what has no value."""

from __future__ import annotations

import numpy as np
import pytest

from revise_captions.errors import UserError
from revise_captions.stats.bootstrap import Estimate, Sums, bounds, weights
from revise_captions.stats.bradley_terry import Battles, rated
from revise_captions.stats.calibration import (
    Bin,
    best_threshold,
    calibrate,
    class_weights,
    reliability,
    threshold_for,
)
from revise_captions.stats.classification import best_macro_f1, macro_f1
from revise_captions.stats.correlations import accuracy_of_differences, threshold_for_tie_rate
from revise_captions.stats.exact import LEVEL
from revise_captions.stats.leaderboard import _wins, keys_of, permutation_tests
from revise_captions.stats.paired_tests import Compared, compared, compared_sums, ranks
from revise_captions.stats.pearson import pearson

RNG = np.random.default_rng(61)
FACTUAL = RNG.random(120) < 0.6
P = np.round(np.clip(RNG.normal(np.where(FACTUAL, 0.7, 0.4), 0.2), 0, 1), 4)
WEIGHTS = np.where(FACTUAL, 1, RNG.integers(2, 6, 120))


def test_a_sentence_of_weight_three_is_three_sentences():
    """Threshold, macro-F1 and bins; the threshold is another one than without weights."""
    again = np.repeat(np.arange(120), WEIGHTS)
    weighed = calibrate(P, FACTUAL, weights=WEIGHTS.astype(float))
    repeated = calibrate(P[again], FACTUAL[again])
    assert weighed.threshold == repeated.threshold != calibrate(P, FACTUAL).threshold
    assert weighed.macro_f1 == pytest.approx(repeated.macro_f1)
    assert weighed.macro_f1 == pytest.approx(
        best_threshold(P, FACTUAL, weights=WEIGHTS.astype(float))[1]
    )
    pairs = zip(weighed.bins, repeated.bins, strict=True)
    for one, other in pairs:
        assert (one.mean_p, one.share_factual) == pytest.approx((other.mean_p, other.share_factual))


def test_the_best_threshold_is_the_best_of_all():
    """By trying every one; and the upper bound of a metric is what its own sentences allow."""
    truth = FACTUAL.astype(float)
    best = max(macro_f1(np.where(t <= P, 1.0, 0.0), truth) for t in np.unique(P))
    threshold, macro = best_threshold(P, FACTUAL)
    assert macro == pytest.approx(best)
    assert macro_f1(np.where(threshold <= P, 1.0, 0.0), truth) == pytest.approx(best)
    assert best_macro_f1(P, truth) == pytest.approx(best)
    assert best_macro_f1(P * 100 - 7, truth) == pytest.approx(best)


def test_bins_have_equal_widths_and_the_last_one_its_edge():
    p, factual = np.array([0.0, 0.1, 0.24, 0.25, 0.8, 1.0]), np.array([0, 1, 0, 1, 1, 1]) > 0
    error, bins = reliability(p, factual, bins=4)
    assert bins == (
        Bin(0.0, 0.25, 3, pytest.approx(0.34 / 3), pytest.approx(1 / 3)),
        Bin(0.25, 0.5, 1, 0.25, 1.0),
        Bin(0.5, 0.75, 0, 0.0, 0.0),
        Bin(0.75, 1.0, 2, 0.9, 1.0),
    )
    assert error == pytest.approx((0.66 + 0.75 + 0.2) / 6)


def test_pearsons_interval_is_that_of_its_replicates():
    x = RNG.normal(size=60)
    y = x + RNG.normal(size=60)
    images = [f"{k // 2}.jpg" for k in range(60)]
    found = pearson(x, y, images, replicates=200)
    names = list(dict.fromkeys(images))
    drawn = weights(keys_of(names), 200)[[names.index(image) for image in images]]
    again = [np.corrcoef(np.repeat(x, w), np.repeat(y, w))[0, 1] for w in drawn.T]
    low, high = np.quantile(again, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    assert found["value"] == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert (found["low"], found["high"]) == pytest.approx((low, high))


def test_an_interval_needs_spread_and_half_of_its_replicates():
    drawn = np.array([0.0, 1.0] * 50)
    assert bounds(drawn, 50) == (0.0, 1.0)
    assert bounds(np.full(100, 0.5), 50) == (None, None)
    half = np.where(np.arange(100) < 50, drawn, np.nan)
    assert bounds(half, 50) == (0.0, 1.0)
    assert bounds(np.where(np.arange(100) < 49, drawn, np.nan), 50) == (None, None)


def test_thresholds_for_ties():
    assert np.isnan(threshold_for_tie_rate([], 0.5))
    assert threshold_for_tie_rate([3, -1, 2, 4], 0.5) == 2
    assert threshold_for_tie_rate([3, -1, 2, 4], 0.0) == 0
    assert threshold_for_tie_rate([3, -1, 2, 4], 1.0) == 4
    assert threshold_for_tie_rate([0, 0, 0, 4], 0.2) == 0


def test_the_best_tie_threshold_is_the_best_of_all():
    human = RNG.integers(-1, 2, 80).astype(float)
    metric = np.round(human + RNG.normal(size=80), 1)
    tried = [0.0, *np.unique(np.abs(metric))]
    every = [accuracy_of_differences(metric, human, threshold=t).accuracy for t in tried]
    found = accuracy_of_differences(metric, human, threshold=None)
    assert found.accuracy == pytest.approx(max(every))
    assert found.threshold == pytest.approx(tried[int(np.argmax(every))])
    assert found.pairs == 80


def test_permutations_are_the_same_each_time():
    # of its own, as what a shared generator gives depends on which tests ran before
    top = np.random.default_rng(5).integers(0, 2, (3, 40)).astype(float)
    bottom = np.ones_like(top)
    default = permutation_tests(top, bottom, replicates=300)
    assert (default == permutation_tests(top, bottom, replicates=300, seed=0)).all()
    assert (default != permutation_tests(top, bottom, replicates=300, seed=1)).any()
    assert (np.diag(default) == 1).all()


def test_the_share_of_replicates_in_which_one_is_better():
    drawn = np.array([[0.9, 0.1], [0.9, 0.1], [0.5, 0.5], [np.nan, 0.4], [0.1, 0.9]])
    assert _wins(drawn) == pytest.approx(np.array([[0.5, 0.625], [0.375, 0.5]]))
    assert _wins(np.full((3, 2), np.nan)) == pytest.approx(np.full((2, 2), 0.5))


def test_ratings_by_their_methods_names():
    """Who wins three of four on every image is first, by 400 log10 3 points."""
    won = np.array([1.0, 1.0, 1.0, 0.0] * 30)
    first = np.zeros(120, np.int64)
    images = tuple(f"{k // 4}.jpg" for k in range(120))
    found = rated(Battles(("a", "b"), first, first + 1, won, images), replicates=50)
    assert list(found) == ["Bradley–Terry", "Elo"]
    for rows in found.values():
        assert [row.captioner for row in rows] == ["a", "b"]
    a, b = found["Bradley–Terry"]
    assert a.rating - b.rating == pytest.approx(400 * np.log10(3), abs=0.5)


def sums(values: list[list[int]], start: int) -> Sums:
    found = Sums(2, 50)
    keys = np.arange(start, start + len(values), dtype=np.uint64)
    found.add(np.array(values), weights(keys, 50).astype(float))
    return found


def test_sums_of_a_rest_are_those_of_its_records():
    """Plain and in every replicate; a ratio says its counts."""
    part, other = sums([[1, 2], [0, 1]], 0), sums([[2, 2], [1, 3], [0, 2]], 2)
    whole = sums([[1, 2], [0, 1]], 0)
    whole += other
    rest = whole - part
    for name in ("total", "nonzero", "resampled"):
        assert (getattr(rest, name) == getattr(other, name)).all()
    found = whole.ratio(0, 1)
    assert (found.value, found.numerator, found.denominator, found.records) == (0.4, 4, 10, 5)
    assert sums([[0, 0]], 0).ratio(0, 1) == Estimate(None, None, None, 0, 0, 0)
    assert sums([[3, 3]], 0).ratio(0, 1) == Estimate(1.0, pytest.approx(0.025), 1.0, 3, 3, 1)
    assert sums([[0, 3]], 0).ratio(0, 1) == Estimate(0.0, 0.0, pytest.approx(0.975), 0, 3, 1)


@pytest.mark.parametrize(
    ("call", "message", "hint"),
    [
        (lambda: calibrate(P, np.ones(120, bool)),
         "cannot calibrate: the validation sentences are all of one class",
         "the validation split needs factual and nonfactual sentences"),
        (lambda: calibrate(P[:0], FACTUAL[:0]),
         "cannot calibrate: the validation sentences are all of one class",
         "the validation split needs factual and nonfactual sentences"),
        (lambda: class_weights(FACTUAL, 1.0), "the share of wrong sentences is 1.0",
         "expected a number between 0 and 1"),
        (lambda: class_weights(FACTUAL, 0.0), "the share of wrong sentences is 0.0",
         "expected a number between 0 and 1"),
        (lambda: best_threshold(P, np.arange(120) < 20, false_alarms=0.01),
         "20 true sentences are too few to guarantee that at most 0.01 of them are flagged",
         "allow a larger share, or validate on more"),
        (lambda: threshold_for([{"precision": 0.8, "recall": 1.0, "threshold": 0.5}], 0.9),
         "no threshold of this critic reaches precision 0.9 on its validation split",
         "the highest is 0.800; choose one at or below it, or set --threshold"),
        (lambda: threshold_for([], 0.9),
         "no threshold of this critic reaches precision 0.9 on its validation split",
         "the highest is 0.000; choose one at or below it, or set --threshold"),
    ],
)  # fmt: skip
def test_what_cannot_be_calibrated_is_said(call, message, hint):
    with pytest.raises(UserError) as caught:
        call()
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_a_share_of_wrong_sentences_is_that_share_of_the_weight():
    wrong, right = class_weights(FACTUAL, 0.2)
    total = wrong * (~FACTUAL).sum(), right * FACTUAL.sum()
    assert total[0] / sum(total) == pytest.approx(0.2)
    assert sum(total) == pytest.approx(120)
    assert class_weights(FACTUAL, None) == (1.0, 1.0)


def test_fifteen_bins_unless_asked_for_others():
    assert reliability(P, FACTUAL) == reliability(P, FACTUAL, bins=15)
    assert len(reliability(P, FACTUAL)[1]) == 15


def test_without_rows_nothing_is_compared():
    nothing = Compared(None, None, None, None)
    assert compared_sums(lambda s: float(s[0] / s[1]), np.empty((0, 2)), np.empty((0, 2)), []) == (
        nothing
    )
    assert compared(lambda x, y: float(x.mean()), [], [], [], [], comparable=ranks) == nothing


def test_many_weightings_at_once_give_what_one_by_one_does():
    """The batch is what permutations are computed with."""
    x, z, y = RNG.normal(size=(3, 40))
    images = [str(k) for k in range(40)]
    asked = []

    def one(scores, truth):
        return float(scores @ truth)

    def batch(scores, truth, drawn):
        asked.append(drawn.shape)
        return (scores * truth) @ drawn

    plain = compared(one, x, z, y, images, comparable=ranks, replicates=30)
    fast = compared(one, x, z, y, images, comparable=ranks, replicates=30, batch=batch)
    assert (fast.difference, fast.p_value) == pytest.approx((plain.difference, plain.p_value))
    assert asked.count((40, 1)) == 60
