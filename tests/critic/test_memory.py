"""What the critic keeps from judging for explaining, and what it does where memory runs out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from tinycritic import saved

from revise_captions.critic.options import CriticOptions
from revise_captions.critic.paligemma import critic as local
from revise_captions.critic.paligemma import queries, vision_cache
from revise_captions.critic.paligemma.batching import (
    batched,
    halving,
    out_of_memory,
    token_budget,
)
from revise_captions.critic.paligemma.critic import PaliGemmaCritic
from revise_captions.critic.paligemma.load import load_paligemma
from revise_captions.critic.paligemma.packing import AttentionMode
from revise_captions.critic.protocol import ExplainRequest, JudgeRequest
from revise_captions.engines.model_spec import Placement
from revise_captions.errors import EngineDead
from revise_captions.records import Rationale, Unscored
from revise_captions.text.sentences import split

TEXTS = [
    "There is a red circle. It is on the left. Both wear hats. There are 3 blue boats.",
    "The sky is grey, and two people walk. The scene feels calm.",
    "There are 3 blue boats near the house.\nThere is no dog in the picture. It is red.",
]


@pytest.fixture(scope="module", params=[AttentionMode.IMAGE_PREFIX, AttentionMode.CAUSAL], ids=str)
def critic(request, tmp_path_factory) -> PaliGemmaCritic:
    """Everything is flagged, so everything is kept. Its rationales are many tokens, all different:
    it is one that is not sure of Yes or No."""
    folder = saved(
        tmp_path_factory.mktemp("critic"), request.param, sure=False, fluent=True, max_length=400
    )
    return load_paligemma(folder, CriticOptions(Placement(device="cpu"), threshold=1.0))


@pytest.fixture(autouse=True)
def any_answer_counts(monkeypatch):
    monkeypatch.setattr(queries, "LEAST_MASS", 0.0)


@pytest.fixture
def asked() -> list[JudgeRequest]:
    rng = np.random.default_rng(0)
    images = [Image.fromarray(rng.integers(0, 256, (70, 90, 3), dtype=np.uint8)) for _ in TEXTS]
    return [JudgeRequest(i, t, tuple(split(t))) for i, t in zip(images, TEXTS, strict=True)]


def claims_of(paragraphs: list[JudgeRequest]) -> list[ExplainRequest]:
    return [
        ExplainRequest(p.image, p.text, p.spans, i) for p in paragraphs for i in range(len(p.spans))
    ]


def counted(monkeypatch, module: Any, name: str, count: Callable[..., int]) -> list[int]:
    """What `count` makes of every call's arguments."""
    real, calls = getattr(module, name), []

    def wrapper(*given: Any, **named: Any) -> Any:
        calls.append(count(*given))
        return real(*given, **named)

    monkeypatch.setattr(module, name, wrapper)
    return calls


def test_rationales_are_the_same_off_the_trunks_that_judging_left(critic, asked, monkeypatch):
    fresh = [replace(p, image=p.image.copy()) for p in asked]
    expected = critic.explain(claims_of(fresh))
    assert len(set(expected)) > 5
    begun = counted(monkeypatch, local, "prefill", lambda model, tokenizer, rows, tower: len(rows))
    gone_on = counted(
        monkeypatch, local, "prefill_from_cache", lambda model, tokenizer, rows, *_: len(rows)
    )
    looked = counted(monkeypatch, vision_cache, "tower_output", lambda model, values: len(values))
    critic.judge(asked)
    assert critic.explain(claims_of(asked)) == expected
    assert (sum(begun), sum(gone_on), sum(looked)) == (0, 9, 3)
    # another text on the same image has no trunk, but the tower has seen the image
    other = "The circle is red, not blue. Both wear hats."
    critic.explain([ExplainRequest(asked[0].image, other, tuple(split(other)), 1)])
    assert (sum(begun), sum(gone_on), sum(looked)) == (1, 9, 3)


def test_what_is_kept_has_a_limit_and_only_what_will_be_asked_about(critic, asked, monkeypatch):
    expected = critic.explain(claims_of(asked))
    critic.judge(asked)
    caches = critic.prefix_caches
    used = sum(one.size for found in caches._caches.values() for one in found)
    assert used // 3 > 1000
    assert caches.size == used
    critic.judge(asked)  # again: nothing is kept twice
    assert caches.size == used
    monkeypatch.setattr(caches, "limit", used // 3)
    critic.forget()
    critic.judge(asked)
    assert 0 < len(caches) < 3
    assert critic.explain(claims_of(asked)) == expected
    monkeypatch.setattr(critic, "threshold", 0.0)
    critic.judge(asked)
    assert (len(caches), caches.size) == (0, 0)


def test_an_image_that_was_seen_for_another_gate_is_looked_at_again(critic, asked):
    class Nothing:
        def inside(self, features: np.ndarray) -> np.ndarray:
            return np.zeros(len(features), dtype=bool)

    critic.judge(asked)
    critic.gate = Nothing()
    try:
        (found,) = critic.judge(asked[:1])
    finally:
        critic.gate = None
    assert {v.unscored for v in found} == {Unscored.OUTSIDE_DOMAIN}


def test_batches_keep_to_rows_and_tokens():
    lengths = [5, 9, 3, 3, 8, 30, 1]
    assert list(batched(lengths, int, rows=3, tokens=18)) == [[30], [9, 8], [5, 3, 3], [1]]
    assert list(batched([], int, rows=3, tokens=9)) == []
    assert token_budget("cuda:1") > token_budget("cpu")


def test_halving_keeps_the_order_and_loses_nothing():
    def run(items):
        if sum(items) > 4:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried 9 bytes")
        return sum(items)

    def parts(item):
        return [item // 2, item - item // 2] if item > 8 else []

    found = []
    for attempt in halving([1, 3, 9, 2, 2], parts):
        if not attempt.fits:
            found.append((attempt.items, None))
            continue
        with attempt as items:
            found.append((items, run(items)))
    assert found == [([1, 3], 4), ([4], 4), ([5], None), ([2, 2], 4)]
    with pytest.raises(RuntimeError, match="shapes"), next(halving([1])):
        raise RuntimeError("shapes differ")
    assert out_of_memory(torch.OutOfMemoryError("CUDA out of memory"))
    assert not out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))


def short_of_memory(monkeypatch, tokens: int) -> None:
    """A device on which no forward pass over more positions than this fits."""
    real = local.hidden_states

    def small(model, tower, owner, batch, *rest):
        if batch.ids.size > tokens:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB")
        return real(model, tower, owner, batch, *rest)

    monkeypatch.setattr(local, "hidden_states", small)


def test_where_memory_runs_out_the_answers_stay(critic, asked, monkeypatch):
    expected = [v.p_factual for row in critic.judge(asked) for v in row]
    row = max(len(r.row) for r in rows_of(critic, asked))
    for tokens in (2 * row, row, 3 * row // 4):  # a batch, a row, and a part of a row fit
        with monkeypatch.context() as patch:
            short_of_memory(patch, tokens)
            found = [v.p_factual for group in critic.judge(asked) for v in group]
        np.testing.assert_allclose(found, expected, atol=1.01e-4)


def rows_of(critic: PaliGemmaCritic, asked: list[JudgeRequest]) -> list[Any]:
    return [row for batch in critic.batches(asked, packed=True) for row in batch]


def test_a_sentence_that_never_fits_is_unscored_and_a_tower_that_never_does_ends(
    critic, asked, monkeypatch
):
    shortest = min(len(b.ids) + b.fork for j in rows_of(critic, asked) for b in j.row.branches)
    with monkeypatch.context() as patch:
        short_of_memory(patch, critic.images + shortest)
        flat = [v for row in critic.judge(asked) for v in row]
    assert {v.unscored for v in flat} == {None, Unscored.ENGINE_ERROR}

    def full(*_: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB")

    monkeypatch.setattr(local, "prefill", full)
    critic.forget()
    assert critic.explain(claims_of(asked)) == [Rationale("")] * 9
    monkeypatch.setattr(vision_cache, "tower_output", full)
    critic.forget()
    with pytest.raises(EngineDead, match="not have enough memory for a single image"):
        critic.judge(asked)


def test_a_device_that_is_gone_stops_the_run(critic, asked, monkeypatch):
    def gone(*_: Any) -> Any:
        raise RuntimeError("CUDA error: device-side assert triggered")

    monkeypatch.setattr(local, "hidden_states", gone)
    with pytest.raises(EngineDead, match="device-side"):
        critic.judge(asked)
