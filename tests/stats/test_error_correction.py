"""Shares corrected for a critic's errors: by hand, and by simulation where the truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from revise_captions.stats.error_correction import (
    CorrectedShare,
    ErrorRates,
    MeasuredShare,
    RevisedParts,
    as_written,
    measured_share,
    pooled,
    revised,
    rogan_gladen,
    share_draws,
)

LARGE = 1e9


def rates(r: float, q: float, rewrites: float | None = None, size: float = LARGE) -> ErrorRates:
    third = None if rewrites is None else MeasuredShare(rewrites, size, 100)
    return ErrorRates(MeasuredShare(r, size, 100), MeasuredShare(q, size, 100), third, "a test")


def test_rogan_and_gladen_by_hand():
    # 100 true of which 90 are called factual, 100 wrong of which 20 are: 110 of 200 are
    assert rogan_gladen(np.array(0.55), np.array(0.9), np.array(0.2)) == pytest.approx(0.5)
    assert rogan_gladen(np.array(0.1), np.array(0.9), np.array(0.2)) == 0  # below q: none is true
    assert rogan_gladen(np.array(0.95), np.array(0.9), np.array(0.2)) == 1
    assert np.isnan(rogan_gladen(np.array(0.5), np.array(0.2), np.array(0.2)))


def test_the_interval_covers_both_samples():
    drawn = np.random.default_rng(0).normal(0.55, 0.01, 1000)
    sure = as_written(0.55, drawn, rates(0.9, 0.2))
    unsure = as_written(0.55, drawn, rates(0.9, 0.2, size=100))
    assert sure.value == unsure.value == pytest.approx(0.5)
    assert sure.high - sure.low == pytest.approx(2 * 1.96 * 0.01 / 0.7, rel=0.1)
    assert unsure.high - unsure.low > 2 * (sure.high - sure.low)
    assert as_written(0.5, drawn, rates(0.5, 0.45, size=30)) is None  # it tells nothing apart


def test_the_interval_covers_what_another_kind_of_captions_would_give():
    """By hand: said .55 is .5 by the rates .9 and .2, and .3 by .9 and .4; each with certainty."""
    drawn = np.full(1000, 0.55)
    both = replace(rates(0.9, 0.2), elsewhere=rates(0.9, 0.4))
    found = as_written(0.55, drawn, both)
    assert found.value == pytest.approx(0.5)
    assert (found.low, found.high) == pytest.approx((0.3, 0.5), abs=1e-3)
    # after it: 55 stand as they were, 45 were rewritten, of which .9 or .5 are true
    parts = (55.0, 0.0, 45.0)
    resampled = RevisedParts(drawn, *(np.full(1000, part) for part in parts))
    both = replace(rates(0.9, 0.2, 0.9), elsewhere=rates(0.9, 0.4, 0.5))
    after = revised(RevisedParts(0.55, *parts), resampled, both)
    assert after.value == pytest.approx((50 * 0.9 + 45 * 0.9) / 100)
    assert after.low == pytest.approx((30 * 0.9 + 45 * 0.5) / 100, abs=1e-3)
    assert after.high == pytest.approx(after.value, abs=1e-3)


@pytest.mark.parametrize("said", [0.0, 1.0])
def test_where_all_agree_the_interval_is_no_point(said):
    """A critic without errors, 6 of 6 or 0 of 6: Jeffreys' interval, by SciPy."""
    drawn = share_draws(said, np.full(1000, said), 6)
    found = as_written(said, drawn, rates(1.0, 0.0))
    hits = 6 * said
    expected = stats.beta.ppf([0.025, 0.975], hits + 0.5, 6 - hits + 0.5)
    assert found.value == said
    assert found.low == pytest.approx(min(expected[0], said), abs=0.05)
    assert found.high == pytest.approx(max(expected[1], said), abs=0.05)


def test_revised_captions_by_hand():
    """120 of 200 sentences are called factual: 90 of 100 true ones and 30 of 100 wrong ones.

    Of the 80 flagged ones 60 are rewritten, 45 of them so that they are true; the 20 that stand
    have the share of true ones among the flagged: 10 of 80.
    """
    parts = (120.0, 20.0, 60.0)
    drawn = RevisedParts(np.full(1000, 0.6), *(np.full(1000, part) for part in parts))
    found = revised(RevisedParts(0.6, *parts), drawn, rates(0.9, 0.3, 45 / 60))
    assert found.value == pytest.approx((90 + 20 * 10 / 80 + 45) / 200)
    bounds = revised(RevisedParts(0.6, *parts), drawn, rates(0.9, 0.3))
    assert bounds.value is None
    assert bounds.low == pytest.approx((90 + 2.5) / 200, abs=1e-3)
    assert bounds.high == pytest.approx((90 + 2.5 + 60) / 200, abs=1e-3)
    nothing = RevisedParts(0.6, 120.0, 80.0, 0.0)
    same = revised(nothing, RevisedParts(np.full(1000, 0.6), *(np.full(1000, part) for part in
                                         (120.0, 80.0, 0.0))), rates(0.9, 0.3))  # fmt: skip
    assert same.value == pytest.approx(0.5)  # nothing was revised: as before


def test_a_share_of_clusters_counts_for_less():
    yes = np.repeat([True, False, True, False], 25)
    assert measured_share(yes, np.arange(100)).size == pytest.approx(99)
    by_image = measured_share(yes, np.repeat(np.arange(4), 25))  # each image is of one kind
    assert by_image.share == 0.5
    assert by_image.size == pytest.approx(3)
    assert measured_share(np.ones(100, bool), np.repeat(np.arange(4), 25)).size == 4
    weights = np.where(yes, 3.0, 1.0)
    assert measured_share(yes, np.arange(100), weights).share == pytest.approx(0.75)
    assert measured_share(yes[:0], np.arange(0)) is None


@pytest.mark.parametrize(
    ("r", "q", "images"), [(0.97, 0.12, 60), (0.85, 0.35, 60), (0.99, 0.0, 25)]
)
def test_coverage_of_the_corrected_share(r, q, images):
    """Sentences of an image are alike, in their truth and in the critic's errors."""
    rng = np.random.default_rng(int(100 * r))

    def drawn(count: int):
        hard = rng.beta(4, 4, (count, 1)) * np.ones((count, 6))  # by image
        true = rng.random(hard.shape) < 1 - 0.8 * hard
        lean = (hard - 0.5) * 0.2
        said = rng.random(hard.shape) < np.clip(np.where(true, r, q) - lean * (q > 0), 0, 1)
        return true, said

    population, judged = drawn(200_000)
    truth, hits, of = population.mean(), 0, 300
    for _ in range(of):
        true, said = drawn(images)
        unit = np.repeat(np.arange(images), 6)
        flat, called = true.ravel(), said.ravel()
        known = ErrorRates(
            measured_share(called[flat], unit[flat]),
            measured_share(called[~flat], unit[~flat]),
            None,
            "",
        )
        _, run = drawn(images)
        again = rng.poisson(1, (1000, images)) @ np.stack([run.sum(1), np.full(images, 6)], 1)
        found = as_written(run.mean(), again[:, 0] / again[:, 1], known)
        hits += found.low <= truth <= found.high
    assert hits / of >= 0.90
    assert abs(judged.mean() - truth) > 0.005 or q == 0  # the plain share is off


def share(*points: float, draws: float | None = None) -> CorrectedShare:
    """A corrected share, or bounds of one, whose resamples are all alike."""
    ends = (points[0], points[-1])
    drawn = tuple(np.full(1000, end if draws is None else draws) for end in ends)
    return CorrectedShare(points[0] if len(points) == 1 else None, *ends, ends, drawn)


def test_shares_of_two_critics_count_by_their_sentences():
    """By hand: 150 of 300 and 90 of 100 are 240 of 400."""
    sizes, drawn = [300.0, 100.0], [np.full(1000, 300.0), np.full(1000, 100.0)]
    found = pooled([share(0.5), share(0.9)], sizes, drawn)
    assert (found.value, found.low, found.high) == pytest.approx((0.6, 0.6, 0.6))
    assert found.points == pytest.approx((0.6, 0.6))
    bounds = pooled([share(0.2, 0.6), share(0.9)], sizes, drawn)
    assert bounds.value is None
    assert bounds.points == pytest.approx((0.375, 0.675))
    assert (bounds.low, bounds.high) == pytest.approx((0.375, 0.675))


def test_resamples_of_two_critics_have_sizes_of_their_own():
    """Halves of the resamples: 100 or 300 sentences of the first critic, beside 100."""
    drawn = [np.repeat([100.0, 300.0], 500), np.full(1000, 100.0)]
    found = pooled([share(0.5), share(0.9)], [200.0, 100.0], drawn)
    assert found.value == pytest.approx((100 + 90) / 300)
    assert (found.low, found.high) == pytest.approx((240 / 400, 140 / 200))


def test_intervals_of_two_critics_that_are_independent_partly_cancel():
    rng = np.random.default_rng(3)
    one, other = (
        CorrectedShare(0.5, 0.4, 0.6, (0.5, 0.5), (made, made))
        for made in (rng.normal(0.5, 0.05, 1000) for _ in range(2))
    )
    found = pooled([one, other], [50.0, 50.0], [np.full(1000, 50.0)] * 2)
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.05 / 2**0.5, rel=0.1)


def test_one_critic_is_its_own_pool_and_none_has_none():
    alone = share(0.5)
    assert pooled([alone], [10.0], [np.full(1000, 10.0)]) is alone
    assert pooled([], [], []) is None
    nothing = [np.zeros(1000)] * 2
    assert pooled([alone, alone], [0.0, 0.0], nothing) is None


@pytest.mark.parametrize(("share", "size"), [(0.0, 10.0), (1.0, 10.0), (0.25, 8.0), (0.5, 1.0)])
def test_what_a_sample_allows_is_jeffreys_posterior(share, size):
    drawn = MeasuredShare(share, size, 10).draws(0, 200_000)
    a, b = share * size + 0.5, (1 - share) * size + 0.5
    assert drawn.mean() == pytest.approx(a / (a + b), abs=2e-3)
    assert drawn.var() == pytest.approx(a * b / ((a + b) ** 2 * (a + b + 1)), rel=0.02)
    assert drawn.std() > 0.02  # also where all or none of the sample are


def test_bounds_of_an_unmeasured_share_go_beyond_their_values():
    """The interval is from the lower end of the lower bound to the upper end of the upper one."""
    parts = (120.0, 20.0, 60.0)
    said = np.random.default_rng(0).normal(0.6, 0.03, 2000)
    drawn = RevisedParts(said, 200 * said, np.full(2000, 20.0), 180 - 200 * said)
    found = revised(RevisedParts(0.6, *parts), drawn, rates(0.9, 0.3, size=200))
    assert found.points == pytest.approx(((90 + 2.5) / 200, (90 + 2.5 + 60) / 200))
    assert found.low == pytest.approx(np.quantile(found.draws[0], 0.025), abs=0.02)
    assert found.high == pytest.approx(np.quantile(found.draws[1], 0.975), abs=0.02)
    assert found.low < found.points[0] - 0.02
    assert found.high > found.points[1] + 0.02
