"""Prompts as a tree of tokens: every prompt keeps its own tokens, places and neighbors."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM

from revise_captions.engines.transformers import token_tree
from revise_captions.engines.transformers.inputs import EncodedPrompt, collate
from revise_captions.engines.transformers.token_tree import groups, grow, tree_inputs
from revise_captions.engines.transformers.tree_decoding import decode

PICTURES = {"pixel_values": torch.zeros(1)}
SHAPE = {
    "vocab_size": 50, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2,
}  # fmt: skip
ROWS = ([1, 2, 3, 9], [1, 2, 3, 4, 5, 9], [1, 2, 3, 4, 6, 7, 8], [1, 2, 3], [2, 2])


def rows(*ids):
    return [EncodedPrompt(list(one), {"token_type_ids": [0] * len(one)}, PICTURES) for one in ids]


def test_every_prompt_is_a_path_and_what_is_shared_stands_once():
    tree = grow(rows(*ROWS))
    assert [[tree.ids[node] for node in path] for path in tree.paths()] == list(map(list, ROWS))
    assert len(tree) == 4 + 3 + 3 + 0 + 2  # the fourth prompt begins the others
    assert all(parent < node for node, parent in enumerate(tree.parents))
    depths = tree.depths()
    for path in tree.paths():
        assert [depths[node] for node in path] == list(range(len(path)))


def test_a_token_sees_its_own_prompt_and_nothing_else():
    tree = grow(rows(*ROWS))
    seen = tree.visible(both_ways=False)
    for path in tree.paths():
        for place, node in enumerate(path):
            assert set(np.flatnonzero(seen[node])) == set(path[: place + 1])
    near = seen & tree.within(2, both_ways=False)
    for path in tree.paths():
        for place, node in enumerate(path):
            assert set(np.flatnonzero(near[node])) == set(path[max(0, place - 1) : place + 1])


def test_tokens_of_an_image_see_each_other():
    kinds = {"token_type_ids": [0, 1, 1, 0, 1, 0]}
    tree = grow([EncodedPrompt([1, 7, 7, 2, 7, 3], kinds, PICTURES)])
    seen = tree.visible(both_ways=True)
    assert seen[1, 2]
    assert not seen[1, 4]
    assert not seen[0, 1]
    assert (tree.visible(both_ways=False) == np.tri(6, dtype=bool)).all()


def test_trees_hold_prompts_of_one_picture_up_to_a_size(monkeypatch):
    other = {"pixel_values": torch.zeros(1)}
    mixed = [
        *rows([1, 2, 3], [1, 2, 4]),
        EncodedPrompt([1, 2, 5], {}, other),
        EncodedPrompt([1, 2]),
    ]
    mixed += [EncodedPrompt([1, 2]), *rows([1, 2, 6])]
    assert groups(mixed) == [[0, 1, 5], [2], [3], [4]]
    monkeypatch.setattr(token_tree, "LARGEST", 4)
    assert groups(mixed) == [[0, 1], [5], [2], [3], [4]]


@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_the_answers_are_those_of_each_prompt_alone(window, attention):
    torch.manual_seed(0)
    if window is None:
        model = LlamaForCausalLM(LlamaConfig(**SHAPE, attn_implementation=attention)).eval()
    else:
        config = MistralConfig(**SHAPE, sliding_window=window, attn_implementation=attention)
        model = MistralForCausalLM(config).eval()
    asked = [EncodedPrompt(list(ids)) for ids in ROWS]
    trees = [grow(asked[:3]), grow(asked[3:])]
    with torch.inference_mode():
        inputs = tree_inputs(model, trees, 0)
        logits = model(**inputs, use_cache=False).logits
        found = [logits[k, leaf] for k, tree in enumerate(trees) for leaf in tree.leaves]
        written = decode(model, trees, inputs, pad=0, ends=[49], limit=6)
        for row, one, new in zip(asked, found, written, strict=True):
            plain = model(**collate([row], 0, left=False), use_cache=False).logits[0, -1]
            torch.testing.assert_close(one, plain, atol=1e-5, rtol=1e-4)
            ids = torch.tensor([row.ids])
            whole = model.generate(
                ids, max_new_tokens=6, do_sample=False, eos_token_id=49, pad_token_id=0
            )
            assert new[: whole.shape[1] - len(row)] == whole[0, len(row) :].tolist()
