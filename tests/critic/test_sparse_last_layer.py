"""The last layer at a few places gives what transformers' whole layer gives there."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
import torch
from tinycritic import tiny
from transformers import DynamicCache
from transformers.models.gemma2.modeling_gemma2 import Gemma2DecoderLayer

from revise_captions.critic.paligemma.model import run_layers, use_tree_attention
from revise_captions.critic.paligemma.sparse_last_layer import is_sparse


def inputs(seed: int = 0):
    """Two rows of nine places under a random mask that leaves every query something to see."""
    rng = np.random.default_rng(seed)
    embeds = torch.from_numpy(rng.standard_normal((2, 9, 64), dtype=np.float32))
    seen = torch.from_numpy(rng.random((2, 1, 9, 9)) < 0.5) | torch.eye(9, dtype=torch.bool)
    mask = torch.zeros(seen.shape).masked_fill(~seen, torch.finfo(torch.float32).min)
    positions = torch.from_numpy(rng.integers(1, 40, (2, 9)))
    return embeds, mask, positions, torch.tensor([[8, 3, 3], [0, 5, 7]])


@pytest.mark.parametrize("capped", [False, True])
def test_places_are_those_of_the_whole_layer(capped):
    model, _ = tiny()
    if capped:
        model.config.text_config.attn_logit_softcapping = 2.0
        for layer in model.model.language_model.layers:
            layer.self_attn.attn_logit_softcapping = 2.0
        use_tree_attention(model)
    embeds, mask, positions, only = inputs()
    with torch.inference_mode():
        caches = DynamicCache(), DynamicCache()
        whole = run_layers(model, embeds, mask, positions, caches[0])
        found = run_layers(model, embeds, mask, positions, caches[1], only=only)
    assert is_sparse(model)
    assert found.shape == (2, 3, 64)
    for row in range(2):
        torch.testing.assert_close(found[row], whole[row, only[row]], rtol=0, atol=1e-5)
    for one, other in zip(caches[0].layers, caches[1].layers, strict=True):
        torch.testing.assert_close(one.keys, other.keys, rtol=0, atol=0)
        torch.testing.assert_close(one.values, other.values, rtol=0, atol=0)


def test_places_after_what_is_cached():
    model, _ = tiny()
    embeds, mask, positions, _ = inputs(1)
    causal = torch.full((9, 9), torch.finfo(torch.float32).min).triu(1)
    mask = torch.minimum(mask, causal)
    with torch.inference_mode():
        whole = run_layers(model, embeds, mask, positions)
        cache = DynamicCache()
        run_layers(model, embeds[:, :4], mask[:, :, :4, :4], positions[:, :4], cache)
        late = torch.tensor([[4], [1]])
        found = run_layers(model, embeds[:, 4:], mask[:, :, 4:], positions[:, 4:], cache, only=late)
    for row in range(2):
        torch.testing.assert_close(found[row, 0], whole[row, 4 + late[row, 0]], rtol=0, atol=1e-5)


def test_a_layer_of_another_kind_is_run_whole():
    model, _ = tiny()
    embeds, mask, positions, only = inputs()
    with torch.inference_mode():
        found = run_layers(model, embeds, mask, positions, only=only)
        del model.model.language_model.layers[-1].forward
        assert not is_sparse(model)
        other = run_layers(model, embeds, mask, positions, only=only)
    torch.testing.assert_close(found, other, rtol=0, atol=1e-5)


def test_a_copy_computes_with_its_own_weights():
    """What was put on the layer must not tie a copy to the original."""
    model, _ = tiny()
    copy = deepcopy(model)
    embeds, mask, positions, only = inputs()
    with torch.inference_mode():
        before = run_layers(copy, embeds, mask, positions, only=only)
        last = model.model.language_model.layers[-1]
        assert isinstance(last, Gemma2DecoderLayer)
        last.mlp.down_proj.weight.zero_()
        after = run_layers(copy, embeds, mask, positions, only=only)
        changed = run_layers(model, embeds, mask, positions, only=only)
    torch.testing.assert_close(before, after, rtol=0, atol=0)
    assert (changed - after).abs().max() > 1e-3
