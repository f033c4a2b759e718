"""Verdicts' truth by the share called factual: by another library, and where the truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from revise_captions.stats.error_correction import (
    ErrorRates,
    MeasuredShare,
    RevisedParts,
    as_written,
    revised,
)
from revise_captions.stats.verdict_levels import JudgedPopulation, fitted_levels

POPULATIONS = [
    JudgedPopulation(60, 20, 140, 20),
    JudgedPopulation(110, 70, 90, 25),
    JudgedPopulation(150, 120, 50, 20),
    JudgedPopulation(90, 50, 60, 10),
    JudgedPopulation(300, 260, 80, 50),
]


def test_the_fit_is_that_of_another_library():
    linear = pytest.importorskip("sklearn.linear_model")
    rows, truth, weight = [], [], []
    for one in POPULATIONS:
        for called, size, true in (
            (1, one.kept, one.kept_true),
            (0, one.flagged, one.flagged_true),
        ):
            rows += [[called, one.said]] * 2
            truth += [1, 0]
            weight += [true + 0.5, size - true + 0.5]
    other = linear.LogisticRegression(C=1e9, tol=1e-10, max_iter=1000).fit(
        rows, truth, sample_weight=weight
    )
    found = fitted_levels(POPULATIONS)
    assert found.level == pytest.approx(other.intercept_[0], abs=1e-3)
    assert (found.kept, found.said) == pytest.approx(tuple(other.coef_[0]), abs=1e-3)
    assert found.shares.sum() == pytest.approx(1)
    assert fitted_levels(POPULATIONS[:3]) is None


def test_with_its_own_offset_a_population_has_its_own_share():
    found = fitted_levels(POPULATIONS)
    for one, offset in zip(POPULATIONS, found.offsets, strict=True):
        kept, flagged = found.true_of(np.array(one.said), offset)
        share = one.said * kept + (1 - one.said) * flagged
        true = one.kept_true + one.flagged_true
        assert share == pytest.approx((true + 0.5) / (one.size + 1), abs=1e-6)


def test_shares_before_and_after_by_hand():
    found = fitted_levels(POPULATIONS)
    share = MeasuredShare(0.9, 1e9, 100)
    rates = ErrorRates(share, share, share, "a test", levels=found)
    kept, flagged = found.true_of(np.array(0.6))
    before = as_written(0.6, np.full(1000, 0.6), rates)
    assert before.value == pytest.approx(0.6 * kept + 0.4 * flagged)
    parts = (120.0, 60.0, 20.0)
    drawn = RevisedParts(np.full(1000, 0.6), *(np.full(1000, part) for part in parts))
    after = revised(RevisedParts(0.6, *parts), drawn, rates)
    assert after.value == pytest.approx((120 * kept + 60 * flagged + 20 * 0.9) / 200)
    ends = [0.6 * k + 0.4 * f for k, f in (found.true_of(0.6, o) for o in found.offsets)]
    assert (before.low, before.high) == pytest.approx((min(ends), max(ends)), abs=0.03)


def test_of_flagged_sentences_that_are_left_more_are_true():
    """A run removes half of the flagged ones, all of them wrong."""
    known = [replace(p, left=p.flagged // 2, left_true=p.flagged_true) for p in POPULATIONS[:4]]
    found, plain = fitted_levels(known), fitted_levels(POPULATIONS[:4])
    assert plain.left == 0
    assert np.array_equal(found.true_of(0.6), plain.true_of(0.6))
    expected = sum(one.left * found.true_of(one.said, left=True)[1] for one in known)
    assert expected == pytest.approx(20 + 25 + 20 + 10)
    share = MeasuredShare(1.0, 1e9, 100)
    rates = ErrorRates(share, share, share, "a test", levels=found)
    parts = (120.0, 40.0, 20.0)
    drawn = RevisedParts(np.full(1000, 0.6), *(np.full(1000, part) for part in parts))
    after = revised(RevisedParts(0.6, *parts), drawn, rates)
    kept, left = found.true_of(0.6, left=True)
    assert after.value == pytest.approx((120 * kept + 40 * left + 20) / 180)
    assert kept == found.true_of(0.6)[0]
    assert left > 1.5 * found.true_of(0.6)[1]


def test_captioners_that_err_otherwise_are_covered():
    """Error rates of captioners differ, and with how many of their sentences are true."""
    rng = np.random.default_rng(0)

    def drawn(size: int) -> tuple[JudgedPopulation, float]:
        true = rng.beta(2, 2)
        r = np.clip(0.7 + 0.2 * true + rng.normal(0, 0.05), 0, 1)
        q = np.clip(0.15 + 0.35 * true + rng.normal(0, 0.08), 0, 1)
        right = rng.binomial(size, true)
        kept = rng.binomial(right, r), rng.binomial(size - right, q)
        one = JudgedPopulation(sum(kept), kept[0], size - sum(kept), right - kept[0])
        return one, right / size

    share = MeasuredShare(0.5, 1, 1)
    hits, off, plain, of = 0, [], [], 200
    for _ in range(of):
        known = [drawn(150)[0] for _ in range(12)]
        one, truth = drawn(200)
        rates = ErrorRates(share, share, None, "", levels=fitted_levels(known))
        said = MeasuredShare(one.said, one.size, one.size).draws(1)
        found = as_written(one.said, said, rates)
        hits += found.low <= truth <= found.high
        off.append(found.value - truth)
        true_of = sum(k.kept_true + k.flagged_true for k in known)
        r = sum(k.kept_true for k in known) / true_of
        q = sum(k.kept - k.kept_true for k in known) / (sum(k.size for k in known) - true_of)
        plain.append(np.clip((one.said - q) / (r - q), 0, 1) - truth)
    assert hits / of >= 0.88
    assert np.std(off) < 0.8 * np.std(plain)
