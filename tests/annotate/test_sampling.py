"""The sample for raters: how many of which stratum are drawn, and with which weight."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from revise_captions.errors import UserError
from revise_captions.pipelines.annotate.tasks import sampling
from revise_captions.pipelines.annotate.tasks.sampling import SamplingDesign


@given(st.lists(st.integers(1, 50), min_size=1, max_size=12), st.integers(0, 300))
def test_allocations_give_all_that_there_is_and_no_more(sizes, total):
    for share in (sampling.equal, sampling.proportional):
        given_ = share(sizes, total)
        assert sum(given_) == min(total, sum(sizes))
        assert all(0 <= n <= size for n, size in zip(given_, sizes, strict=True))


def test_equal_allocation_fills_up_from_large_strata():
    assert sampling.equal([1, 2, 500], 100) == [1, 2, 97]
    assert sampling.equal([50, 50, 50], 9) == [3, 3, 3]


def test_proportional_allocation_is_by_size_and_leaves_no_stratum_out():
    assert sampling.proportional([100, 200, 700], 10) == [1, 2, 7]
    assert sampling.proportional([1, 2, 997], 10) == [1, 1, 8]
    assert sum(n > 0 for n in sampling.proportional([1, 1, 1, 97], 3)) < 4  # fewer than strata


def drawn(sizes: dict[str, int], design: SamplingDesign, order: random.Random | None = None):
    places = [
        (name, sampling.SentenceLocation(line, "", k))
        for line, name in enumerate(sizes)
        for k in range(sizes[name])
    ]
    if order is not None:
        order.shuffle(places)
    found = sampling.StratifiedSampler(design)
    for name, place in places:
        found.add((name,), place)
    return list(found.drawn())


def test_a_sample_is_the_seeds_and_no_matter_of_order():
    sizes = {"a": 400, "b": 30}
    one = drawn(sizes, SamplingDesign(size=50, seed=3))
    assert one == drawn(sizes, SamplingDesign(size=50, seed=3), random.Random(1))
    assert one != drawn(sizes, SamplingDesign(size=50, seed=4))
    assert Counter(found.stratum for found in one) == {"a": 25, "b": 25}
    assert {found.stratum: found.weight for found in one} == {"a": 400 / 25, "b": 30 / 25}


def test_memory_is_bounded_by_strata_and_size_not_by_the_run():
    found = sampling.StratifiedSampler(SamplingDesign(size=5))
    for k in range(3000):
        found.add((str(k % 3),), sampling.SentenceLocation(k, "", 0))
    assert all(len(heap) == 5 for heap in found._kept.values())
    for k in range(sampling.MAX_STRATA - 3):
        found.add((f"x{k}",), sampling.SentenceLocation(k, "", 1))
    with pytest.raises(UserError, match="more than 500 strata"):
        found.add(("one more",), sampling.SentenceLocation(0, "", 2))


def test_every_sentence_is_drawn_as_often_as_every_other_of_its_stratum():
    times: Counter[sampling.SentenceLocation] = Counter()
    for seed in range(400):
        times.update(
            found.place for found in drawn({"a": 20, "b": 4}, SamplingDesign(size=8, seed=seed))
        )
    mine = [times[sampling.SentenceLocation(0, "", k)] for k in range(20)]
    assert all(times[sampling.SentenceLocation(1, "", k)] == 400 for k in range(4))
    assert sum(mine) == 400 * 4
    assert all(45 < n < 120 for n in mine)  # 80 each; 400 draws of probability 0.2: deviation 8


def test_strata():
    design, bins = SamplingDesign(), sampling.bin_names((0.2, 0.4, 0.6, 0.8))

    def name(p, attempts=(), accepted=None, errors=()):
        row = {"p_factual": p, "attempts": attempts, "accepted": accepted}
        return sampling.name_of(sampling.stratum_of(row, errors, design, bins))

    assert name(0.2) == "P 0.2–0.4, no rewrite"
    assert name(1.0) == "P 0.8–1.0, no rewrite"
    assert name(0.1, [{}], True, ("count", "object")) == "P 0.0–0.2, rewrite accepted, count"
    assert name(None, [{}], False) == "unscored, rewrite rejected"


@pytest.mark.parametrize(
    ("design", "said"),
    [
        (SamplingDesign(by=("p", "mood")), "cannot stratify by mood"),
        (SamplingDesign(bins=(0.5, 0.5)), "expected increasing numbers between 0 and 1"),
        (SamplingDesign(bins=(0.5, 1.5)), "expected increasing numbers between 0 and 1"),
    ],
)
def test_designs_that_make_no_sense(design, said):
    with pytest.raises(UserError, match=said):
        design.check()
