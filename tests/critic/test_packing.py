"""Packed rows give the numbers of plain prompts, in every attention mode."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image
from tinycritic import tiny

from revise_captions.critic import prompts
from revise_captions.critic.paligemma.image_prefetch import pixel_values, resized
from revise_captions.critic.paligemma.model import (
    hidden_states,
    image_tokens,
    logits_at,
    tower_output,
)
from revise_captions.critic.paligemma.packing import (
    AttentionMode,
    Branch,
    PackedRow,
    collate,
    context_trunk,
    pack,
    question,
    tree_mask,
    unpack,
)
from revise_captions.records import Span

CAPTION = " There is a red circle. It is on\n the left.  Both wear hats. The scene feels calm."
SPANS = (Span(1, 23), Span(24, 43), Span(45, 60), Span(61, len(CAPTION)))


@pytest.fixture(scope="module")
def model_and_tokenizer():
    return tiny()


@pytest.fixture(scope="module")
def pixels():
    noise = np.random.default_rng(1).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    return pixel_values([resized(Image.fromarray(noise), 64)], torch.float32)


def may_see(row: PackedRow, q: int, k: int) -> bool:
    """The tree rule, spelled out for two positions of one row."""
    shared = row.images + len(row.trunk)
    owner = lambda i: next(  # noqa: E731
        (b for b, s in enumerate(row.starts()) if s <= i < s + len(row.branches[b].ids)), None
    )
    if q < row.block and k < row.block:
        return True
    if k > q:
        return False
    if owner(q) == owner(k):
        return True
    return k < shared and owner(k) is None and k < row.images + row.branches[owner(q)].fork


def test_mask_and_positions_follow_the_tree(model_and_tokenizer):
    _, tokenizer = model_and_tokenizer
    row = PackedRow(3, (7, 8, 9, 10), (Branch(2, (1, 2, 3), 2), Branch(4, (4, 5), 2)), 3)
    batch = collate([row, PackedRow(3, (7,), (Branch(1, (1,), 1),), 0)], tokenizer, multiple=8)
    mask = tree_mask(batch, torch.float32)
    assert mask.shape == (2, 1, 16, 16)
    for q in range(12):
        for k in range(16):
            assert (mask[0, 0, q, k] == 0) == (k < 12 and may_see(row, q, k)), (q, k)
    assert batch.positions[0, :12].tolist() == [1, 2, 3, 4, 5, 6, 7, 6, 7, 8, 8, 9]
    assert batch.at(0, 1, 1) == 11
    assert batch.at(1, 0, 0) == 16 + 4
    # every query sees something: no row of the softmax is empty
    assert (mask == 0).any(-1).all()


def test_window_counts_positions_not_places(model_and_tokenizer):
    _, tokenizer = model_and_tokenizer
    row = PackedRow(0, (7, 8, 9, 10), (Branch(2, (1, 2, 3), 2), Branch(4, (4, 5), 2)), 0)
    mask = tree_mask(collate([row], tokenizer), torch.float32, window=3)[0, 0]
    # branch 1's first token is at position 5 (1-indexed): it sees positions 3, 4 of the trunk
    assert (mask[7] == 0).nonzero().flatten().tolist() == [2, 3, 7]
    # branch 0's first token is at position 3: it sees positions 1, 2
    assert (mask[4] == 0).nonzero().flatten().tolist() == [0, 1, 4]


def branches_of(tokenizer, trunk):
    asked = [
        question(tokenizer, trunk, CAPTION, SPANS, i, answer=tokenizer.answer_yes)
        for i in range(len(SPANS))
    ]
    return [*asked, question(tokenizer, trunk, CAPTION, SPANS, 2, rationale=True)]


def probabilities(model, tokenizer, pixels, rows, branches):
    batch = collate(rows, tokenizer)
    owner = torch.zeros(len(rows), dtype=torch.long)
    packed = len(rows) == 1
    at = [
        batch.at(0 if packed else i, i if packed else 0, branch.prompt - 1)
        for i, branch in enumerate(branches)
    ]
    with torch.inference_mode():
        hidden = hidden_states(model, tower_output(model, pixels), owner, batch)
        return logits_at(model, hidden, torch.tensor(at)).softmax(-1)


def plain(model, tokenizer, pixels, attention_mode, index, rationale):
    """One prompt through transformers' own forward pass, as its processor would prepare it."""
    build = prompts.rationale if rationale else prompts.classification
    text = [tokenizer.bos, *tokenizer.pieces(build(CAPTION, SPANS, index))]
    images = image_tokens(model)
    ids = torch.tensor([[tokenizer.image] * images + text])
    types = torch.zeros_like(ids)
    types[
        :,
        {
            AttentionMode.PREFIX: len(ids[0]),
            AttentionMode.IMAGE_PREFIX: images,
            AttentionMode.CAUSAL: 0,
        }[attention_mode] :,
    ] = 1
    with torch.inference_mode():
        return (
            model(
                input_ids=ids,
                pixel_values=pixels,
                token_type_ids=types,
                attention_mask=torch.ones_like(ids),
            )
            .logits[0, -1]
            .softmax(-1)
        )


@pytest.mark.parametrize("attention_mode", list(AttentionMode))
def test_rows_equal_plain_prompts_of_transformers(model_and_tokenizer, pixels, attention_mode):
    model, tokenizer = model_and_tokenizer
    trunk = context_trunk(tokenizer, CAPTION, SPANS)
    branches = branches_of(tokenizer, trunk)
    images = image_tokens(model)
    rows = unpack(images, trunk, branches, attention_mode)
    ours = [probabilities(model, tokenizer, pixels, rows, branches)]
    if attention_mode is not AttentionMode.PREFIX:
        ours.append(
            probabilities(
                model, tokenizer, pixels, [pack(images, trunk, branches, attention_mode)], branches
            )
        )
    model.set_attn_implementation("eager")
    try:
        for index in range(len(branches)):
            rationale = index == len(SPANS)
            truth = plain(
                model, tokenizer, pixels, attention_mode, 2 if rationale else index, rationale
            )
            for found in ours:
                torch.testing.assert_close(found[index], truth, atol=1e-5, rtol=0)
    finally:
        from revise_captions.critic.paligemma.model import use_tree_attention

        use_tree_attention(model)


def test_attention_modes_give_different_answers(model_and_tokenizer, pixels):
    """Else the test above would prove nothing."""
    model, tokenizer = model_and_tokenizer
    trunk = context_trunk(tokenizer, CAPTION, SPANS)
    branches = branches_of(tokenizer, trunk)
    by_mode = [
        probabilities(
            model,
            tokenizer,
            pixels,
            unpack(image_tokens(model), trunk, branches, attention_mode),
            branches,
        )[:, [tokenizer.yes, tokenizer.no]]
        for attention_mode in AttentionMode
    ]
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert (by_mode[a] - by_mode[b]).abs().max() > 1e-3


def test_padding_and_neighbours_do_not_matter(model_and_tokenizer, pixels):
    model, tokenizer = model_and_tokenizer
    trunk = context_trunk(tokenizer, CAPTION, SPANS)
    branches = branches_of(tokenizer, trunk)
    rows = unpack(image_tokens(model), trunk, branches, AttentionMode.IMAGE_PREFIX)
    together = probabilities(model, tokenizer, pixels, rows, branches)
    for i, (row, branch) in enumerate(zip(rows, branches, strict=True)):
        alone = probabilities(model, tokenizer, pixels, [row], [branch])
        torch.testing.assert_close(alone[0], together[i], atol=1e-5, rtol=0)


def test_prefix_attention_refuses_to_pack(model_and_tokenizer):
    _, tokenizer = model_and_tokenizer
    trunk = context_trunk(tokenizer, CAPTION, SPANS)
    with pytest.raises(ValueError, match="unpack"):
        pack(16, trunk, branches_of(tokenizer, trunk), AttentionMode.PREFIX)


def test_devices_without_shared_heads_get_each_key_for_itself(monkeypatch):
    """As on CUDA, whose fast kernels of masked attention take as many keys' heads as queries'."""
    from revise_captions.critic.paligemma import model

    torch.manual_seed(0)
    q, k, v = torch.randn(2, 4, 5, 8), torch.randn(2, 2, 5, 8), torch.randn(2, 2, 5, 8)
    mask = torch.zeros(2, 1, 5, 5).masked_fill_(torch.ones(5, 5).triu(1).bool(), -1e9)
    shared, _ = model._attention(torch.nn.Identity(), q, k, v, mask)
    given = []
    plain = torch.nn.functional.scaled_dot_product_attention

    def watched(query, key, value, **options):
        given.append((key.shape[1], options["enable_gqa"]))
        return plain(query, key, value, **options)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", watched)
    monkeypatch.setattr(model, "SHARES_KEYS", ())
    apart, _ = model._attention(torch.nn.Identity(), q, k, v, mask)
    assert given == [(4, False)]
    torch.testing.assert_close(apart, shared)


def test_soft_caps_are_refused():
    from revise_captions.critic.paligemma.model import _attention

    q = torch.zeros(1, 1, 2, 4)
    with pytest.raises(ValueError, match="soft-cap"):
        _attention(torch.nn.Identity(), q, q, q, None, softcap=50.0)
