"""Bootstrap shares: against the Poisson law, scipy, Clopper-Pearson, and coverage by simulation."""

import numpy as np
import pytest
from scipy import stats

from revise_captions.stats.bootstrap import MIN_RECORDS, Sums, ratio_interval, weights


def captions(rng, records, mean=0.8):
    """Sentence counts, and how many are factual, with records that differ in quality."""
    sentences = rng.integers(1, 12, records)
    quality = rng.beta(6 * mean, 6 * (1 - mean), records)
    return rng.binomial(sentences, quality), sentences


def test_weights_follow_the_poisson_law():
    drawn = weights(np.arange(8000, dtype=np.uint64))
    assert drawn.shape == (8000, 1000)
    observed = np.bincount(drawn.ravel(), minlength=6)[:6] / drawn.size
    assert observed == pytest.approx(stats.poisson.pmf(np.arange(6), 1), abs=0.0007)
    assert drawn.mean() == pytest.approx(1, abs=0.002)


def test_weights_of_neighbouring_records_and_replicates_are_uncorrelated():
    drawn = weights(np.arange(1000, dtype=np.uint64)).astype(float)
    by_record = np.corrcoef(drawn[:-1].ravel(), drawn[1:].ravel())[0, 1]
    by_replicate = np.corrcoef(drawn[:, :-1].ravel(), drawn[:, 1:].ravel())[0, 1]
    assert abs(by_record) < 0.005
    assert abs(by_replicate) < 0.005


def test_weights_depend_on_key_and_seed_alone():
    keys = np.array([7, 2**63 + 5, 0], dtype=np.uint64)
    assert np.array_equal(weights(keys)[1], weights(keys[1:2])[0])
    assert not np.array_equal(weights(keys), weights(keys, seed=1))
    assert np.array_equal(weights(keys, 10), weights(keys, 1000)[:, :10])


def test_interval_agrees_with_scipy():
    factual, sentences = captions(np.random.default_rng(3), 300)
    ours = ratio_interval(factual, sentences, replicates=8000)
    theirs = stats.bootstrap(
        (factual, sentences),
        lambda top, bottom, axis=-1: top.sum(axis) / bottom.sum(axis),
        paired=True,
        vectorized=True,
        method="percentile",
        n_resamples=8000,
        rng=np.random.default_rng(0),
    ).confidence_interval
    assert ours.value == factual.sum() / sentences.sum()
    width = theirs.high - theirs.low
    assert ours.low == pytest.approx(theirs.low, abs=0.06 * width)
    assert ours.high == pytest.approx(theirs.high, abs=0.06 * width)


def test_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(11)
    inside = 0
    for seed in range(400):
        factual, sentences = captions(rng, 60)
        found = ratio_interval(factual, sentences, seed=seed)
        inside += found.low <= 0.8 <= found.high
    assert 0.90 <= inside / 400 <= 0.98


def test_resampling_sentences_instead_would_be_too_narrow():
    """Ten sentences that agree are one observation, not ten."""
    rng = np.random.default_rng(5)
    whole = rng.random(200) < 0.5
    by_record = ratio_interval(10 * whole, np.full(200, 10))
    by_sentence = ratio_interval(np.repeat(whole, 10), np.ones(2000))
    ratio = (by_record.high - by_record.low) / (by_sentence.high - by_sentence.low)
    assert ratio == pytest.approx(10**0.5, rel=0.15)


@pytest.mark.parametrize("n", [1, 4, 20, 500])
def test_where_all_records_agree_the_bound_is_exact(n):
    every = ratio_interval(np.full(n, 3), np.full(n, 3))
    none = ratio_interval(np.zeros(n), np.full(n, 3))
    exact = stats.binomtest(n, n).proportion_ci(0.95, method="exact")
    assert (every.value, every.high) == (1.0, 1.0)
    assert every.low == pytest.approx(exact.low)
    assert (none.value, none.low) == (0.0, 0.0)
    assert none.high == pytest.approx(1 - exact.low)


def test_nothing_to_divide_by_is_none():
    empty = ratio_interval([0, 0], [0, 0])
    assert (empty.value, empty.low, empty.high, empty.records) == (None, None, None, 0)
    assert ratio_interval([], []).value is None


def test_too_few_records_have_a_share_and_no_interval():
    few = ratio_interval([1, 2], [2, 3])
    assert few.value == pytest.approx(0.6)
    assert few.low is None
    enough = ratio_interval([1, 2, 0, 1, 2][:MIN_RECORDS], [2] * MIN_RECORDS)
    assert enough.low is not None


def test_records_without_a_denominator_change_nothing():
    with_empty = ratio_interval([1, 0, 2, 0, 1, 1, 0], [2, 0, 3, 0, 1, 2, 2])
    assert with_empty.records == 5
    assert with_empty.value == pytest.approx(5 / 10)


def test_shards_add_up_to_the_whole_to_the_last_bit():
    rng = np.random.default_rng(1)
    values = rng.integers(0, 9, (500, 3))
    keys = np.arange(500, dtype=np.uint64)
    drawn = weights(keys).astype(float)
    whole = Sums(3)
    whole.add(values, drawn)
    order = rng.permutation(500)
    shards = Sums(3)
    for part in np.array_split(order, 7):
        shard = Sums(3)
        shard.add(values[part], weights(keys[part]).astype(float))
        shards += shard
    assert np.array_equal(whole.resampled, shards.resampled)
    assert np.array_equal(whole.total, shards.total)
    assert np.array_equal(whole.nonzero, shards.nonzero)


def test_change_is_paired():
    """Before and after move together from record to record, so their difference is sure."""
    rng = np.random.default_rng(2)
    before, sentences = captions(rng, 200, mean=0.5)
    after = np.minimum(before + 1, sentences)
    sums = Sums(3)
    keys = np.arange(200, dtype=np.uint64)
    sums.add(np.column_stack([before, after, sentences]), weights(keys).astype(float))
    change = sums.change((0, 2), (1, 2))
    apart = [sums.ratio(0, 2), sums.ratio(1, 2)]
    assert change.value == pytest.approx(apart[1].value - apart[0].value)
    assert change.low > 0
    assert change.high - change.low < 0.6 * (apart[0].high - apart[0].low)
