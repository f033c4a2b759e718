"""Statistics at their edges: ties, one item, nothing known; and permutations one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from revise_captions.stats.agreement import fleiss_kappa, krippendorff_alpha
from revise_captions.stats.bootstrap import Estimate, Sums, mix, ratio_interval, weights
from revise_captions.stats.bradley_terry import battles, rated
from revise_captions.stats.calibration import best_threshold, calibrate
from revise_captions.stats.correlations import row_correlations
from revise_captions.stats.leaderboard import (
    COLUMNS,
    Ratings,
    collect,
    counts_of,
    length_controlled,
    permutation_tests,
    rank,
)
from revise_captions.stats.paired_tests import compared, compared_sums, measured, standardized
from revise_captions.stats.pearson import pearson


def test_a_threshold_is_for_probabilities_as_critics_write_them():
    """Four decimals: 0.49996 is 0.5 to whoever compares it."""
    rng = np.random.default_rng(0)
    factual = rng.random(400) < 0.6
    p = np.clip(rng.normal(np.where(factual, 0.6, 0.45), 0.2), 0, 1)
    fine, rounded = calibrate(p, factual), calibrate(np.round(p, 4), factual)
    assert (fine.threshold, fine.macro_f1, fine.curve) == (
        rounded.threshold, rounded.macro_f1, rounded.curve,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("p", "factual"),
    [
        ([0.1, 0.8, 0.9], [False, True, True]),
        ([0.1, 0.1, 0.9], [False, False, True]),
        ([0.4, 0.6], [False, True]),
    ],
)
def test_classes_that_are_apart_are_told_apart(p, factual):
    threshold, macro = best_threshold(np.array(p), np.array(factual))
    assert macro == 1
    assert [value >= threshold for value in p] == factual


def sums_of(*rows: tuple[int, ...]) -> Sums:
    values = np.array(rows)
    sums = Sums(values.shape[1])
    sums.add(values, weights(np.arange(len(values), dtype=np.uint64)).astype(float))
    return sums


def test_a_change_of_ratios_has_no_numerator_and_may_not_exist():
    sums = sums_of(*[(k % 3, 1 + k % 2, 3, 0) for k in range(20)])
    found = sums.change((0, 2), (1, 2))
    assert (found.numerator, found.denominator, found.records) == (0, 0, 20)
    before, after = sums.ratio(0, 2), sums.ratio(1, 2)
    assert found.value == after.value - before.value
    none = Estimate(None, None, None, 0, 0, 0)
    assert sums.change((0, 3), (1, 2)) == none
    assert sums.change((0, 2), (1, 3)) == none
    assert none.as_json() == {
        "value": None, "low": None, "high": None, "numerator": 0, "denominator": 0, "records": 0,
    }  # fmt: skip
    third = Estimate(1 / 3, 0.12345678, 2 / 3, 1, 3, 3).as_json()
    assert (third["value"], third["low"], third["high"]) == (0.333333, 0.123457, 0.666667)


def test_swapped_sums_are_swapped_one_by_one():
    """p of 400 permutations, each counted by hand; the statistic is no mean of its parts."""
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 9, (15, 2)) + 1.0, rng.integers(0, 9, (15, 2)) + 2.0
    names = [f"{k:02}.png" for k in range(15)]

    def statistic(total):
        return math.log(total[0]) / total[1]

    found = compared_sums(statistic, first, second, names, replicates=400, seed=5)
    swaps = np.random.default_rng(5).random((400, 15)) < 0.5
    observed = statistic(first.sum(0)) - statistic(second.sum(0))
    reached = 1
    for swap in swaps:
        one, other = np.where(swap[:, None], second, first), np.where(swap[:, None], first, second)
        gap = statistic(one.sum(0)) - statistic(other.sum(0))
        reached += abs(gap) >= abs(observed) - 1e-12
    assert found.difference == pytest.approx(observed)
    assert found.p_value == pytest.approx(reached / 401)
    assert found.least_p == pytest.approx(1 / 401)


def test_swapped_rows_are_swapped_by_image():
    rng = np.random.default_rng(2)
    first, second, names = rng.random(30), rng.random(30), [str(k // 3) for k in range(30)]

    def mean(scores, _):
        return float(np.mean(scores)) ** 2

    found = compared(mean, first, second, first, names, comparable=lambda s: s, replicates=200)
    unit, draws, reached = np.arange(30) // 3, np.random.default_rng(0), 1
    observed = mean(first, None) - mean(second, None)
    for _ in range(200):
        swap = (draws.random(10) < 0.5)[unit]
        one, other = np.where(swap, second, first), np.where(swap, first, second)
        reached += abs(mean(one, None) - mean(other, None)) >= abs(observed) - 1e-12
    assert found.p_value == pytest.approx(reached / 201)
    nothing = compared(lambda s, t: math.nan, first, second, first, names, replicates=100)
    assert (nothing.difference, nothing.p_value, nothing.least_p) == (None, None, None)


def test_agreement_on_one_item():
    """Three raters, two labels: observed 1/3, expected 5/9; and none at all on one label."""
    assert fleiss_kappa([[2, 1]])[0] == pytest.approx((1 / 3 - 5 / 9) / (1 - 5 / 9))
    assert math.isnan(fleiss_kappa([[3, 0]])[0])
    assert krippendorff_alpha([[2, 1]])[0] == pytest.approx(0)
    assert math.isnan(krippendorff_alpha([[3, 0]])[0])


def test_pearsons_r_exists_from_three_values_that_vary():
    """An interval needs five images; the figures stand under the same keys without."""
    none = {"value": None, "low": None, "high": None}
    x = np.array([1.0, 2.0, 4.0])
    names = ["a", "b", "c"]
    assert pearson(x[:2], x[:2], names[:2]) == none
    assert pearson(x, np.ones(3), names) == none
    assert pearson(np.ones(3), x, names) == none
    assert pearson(x, 3 - 2 * x, names) == {"value": pytest.approx(-1), "low": None, "high": None}
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    found = pearson(y, y + rng.normal(size=60), [str(k) for k in range(60)])
    assert found["low"] < found["value"] < found["high"]


def test_a_mean_of_nothing_is_nothing():
    found = measured(lambda s, t: math.nan, [1.0], [1.0], ["a"])
    assert (found.value, found.low, found.high, found.rows, found.units) == (None, None, None, 1, 1)


def test_captions_of_an_image_add_up_and_images_without_one_count_nothing():
    ratings = collect([("a", "1", counts_of([], 3)), ("a", "1", counts_of([], 4))])
    assert ratings.counts[0, 0, 0] == 2
    assert ratings.counts[0, 0, -1] == 7
    board = rank(Ratings(("a",), ("1",), ratings.counts), "overall", replicates=100)
    assert board.least_p == 0  # there is no pair to test
    assert (board.standings[0].best_rank, board.standings[0].worst_rank) == (None, None)


def test_captioners_without_a_common_image_are_not_compared():
    top, bottom = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])
    found = permutation_tests(top, bottom, replicates=50)
    assert math.isnan(found[0, 1])
    assert found[0, 0] == found[1, 1] == 1


def test_two_images_give_an_interval_and_one_does_not():
    rows = [("a", str(k), (1.0, 1.0, k, 1.0, k / 2, 2.0, 2.0, k, 0.0, 0.0, 9.0)) for k in range(2)]
    board = rank(collect(rows), "overall", replicates=200)
    assert board.criterion == "overall"
    assert (board.standings[0].value, board.standings[0].low, board.standings[0].high) == (
        0.25, 0.0, 0.5,
    )  # fmt: skip
    alone = rank(collect(rows[:1]), "response", replicates=200)
    assert alone.criterion == "response"
    assert (alone.standings[0].value, alone.standings[0].low) == (0.0, None)


def test_the_mixer_is_splitmix64():
    """The first three numbers of SplitMix64 from seed 0, as its authors' program prints them."""
    steps = np.arange(1, 4, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    assert [hex(int(z)) for z in mix(steps)] == [
        "0xe220a8397b1dcdaf", "0x6e789e6aa1b965f4", "0x6c45d188009454f",
    ]  # fmt: skip


def test_where_flagging_nothing_is_best_nothing_is_flagged():
    p, factual = np.array([0.1, 0.2, 0.3, 0.9]), np.array([True, True, True, False])
    threshold, macro = best_threshold(p, factual)
    assert threshold <= 0.1
    assert macro == pytest.approx(3 / 7)  # F1 of true sentences 6/7, of wrong ones 0


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall-b"])
def test_two_items_correlate_wholly(kind):
    found = row_correlations(kind, [[1.0, 2.0], [2.0, 1.0]], [[3.0, 5.0], [3.0, 5.0]])
    assert found == pytest.approx([1.0, -1.0])
    with pytest.raises(ValueError, match=r"twice is expected, not \(2,\) and \(2,\)"):
        row_correlations(kind, [1.0, 2.0], [1.0, 2.0])


def test_who_wins_always_has_no_bradley_terry_rating():
    """The likelihood has no maximum: odds grow without end."""
    found = rated(battles([("a", "b", 1.0, f"{k}.jpg") for k in range(8)]), replicates=20)
    assert [row.rating for row in found["Bradley–Terry"]] == [None, None]
    assert all(row.rating is not None for row in found["Elo"])


def test_without_rows_no_statistic_is_asked():
    def never(scores, truth):
        raise AssertionError("asked of nothing")

    assert compared(never, [], [], [], []).p_value is None


def test_equal_scores_stay_zero_on_a_scale():
    assert standardized(np.full(4, 0.5)) == pytest.approx(np.zeros(4))


def test_a_share_that_never_varies_has_no_interval():
    """Half of every record: all resamples agree, which says nothing of other records."""
    found = ratio_interval(np.ones(100), np.full(100, 2))
    assert (found.value, found.low, found.high) == (0.5, None, None)


def test_length_control_leaves_out_images_without_judged_captions():
    def row(name, image, judged, words):
        values = {"captions": 1, "captions_judged": judged, "share": judged, "words": words}
        return name, image, tuple(float(values.get(c, 0)) for c in COLUMNS)

    rows = [row("a", str(k), 1, 10 + k) for k in range(4)]
    more = [*rows, row("a", "9", 0, 400), row("b", "9", 0, 30)]
    assert length_controlled(collect(more)) == length_controlled(collect(rows))
    assert length_controlled(collect(more[-1:])) == {}
