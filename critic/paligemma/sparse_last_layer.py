"""The language model's last layer, computed only at the tokens whose output is read.

Of a caption's tokens only those behind each question are read. The last layer needs the keys and
values of all tokens, but queries, attention and MLP, nearly all of a layer's time, only there. The
outputs at these tokens are the same as from the whole layer.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from transformers import Cache, PaliGemmaForConditionalGeneration


def sparsify_last_layer(model: PaliGemmaForConditionalGeneration) -> None:
    """Gives the last layer of a Gemma 2 the argument `only`, in place; leaves others alone.

    Call it before layers are compiled. Without the argument the layer computes what it did.
    """
    from transformers.models.gemma2.modeling_gemma2 import Gemma2DecoderLayer

    layer = model.model.language_model.layers[-1]
    if isinstance(layer, Gemma2DecoderLayer) and not is_sparse(model):
        whole = type(layer).forward
        layer.forward = partial(_forward, layer, whole)  # type: ignore[method-assign]


def is_sparse(model: PaliGemmaForConditionalGeneration) -> bool:
    """Whether the last layer takes the argument `only`."""
    return isinstance(model.model.language_model.layers[-1].forward, partial)


def at_places(hidden: torch.Tensor, only: torch.Tensor) -> torch.Tensor:
    """The states (rows, length, width) at places (rows, n): (rows, n, width)."""
    return hidden.gather(1, only[:, :, None].expand(-1, -1, hidden.shape[2]))


def _forward(
    layer: Any,
    whole: Any,
    hidden_states: torch.Tensor,
    position_embeddings: tuple[torch.Tensor, torch.Tensor],
    attention_mask: torch.Tensor,
    only: torch.Tensor | None = None,
    **named: Any,
) -> torch.Tensor:
    """Gemma 2's layer at the places `only`, shape (rows, n), of its input (rows, length, width).

    The cache is in `named`: `past_key_values` before transformers 5.24, `cache` since.
    """
    if only is None:
        output: torch.Tensor = whole(
            layer,
            hidden_states,
            position_embeddings=position_embeddings,
            attention_mask=attention_mask,
            **named,
        )
        return output
    normed = layer.input_layernorm(hidden_states)
    cache = named.get("cache", named.get("past_key_values"))
    attended = _attended(layer.self_attn, normed, position_embeddings, attention_mask, cache, only)
    states = at_places(hidden_states, only) + layer.post_attention_layernorm(attended)
    fed = layer.mlp(layer.pre_feedforward_layernorm(states))
    return states + layer.post_feedforward_layernorm(fed)


def _attended(
    attention: Any,
    normed: torch.Tensor,
    rotation: tuple[torch.Tensor, torch.Tensor],
    mask: torch.Tensor,
    cache: Cache | None,
    only: torch.Tensor,
) -> torch.Tensor:
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
    from transformers.models.gemma2.modeling_gemma2 import (
        apply_rotary_pos_emb,
        eager_attention_forward,
    )

    def heads(projected: torch.Tensor) -> torch.Tensor:
        return projected.unflatten(-1, (-1, attention.head_dim)).transpose(1, 2)

    read = at_places(normed, only)
    cos, sin = rotation
    query, _ = apply_rotary_pos_emb(
        (q := heads(attention.q_proj(read))), q, at_places(cos, only), at_places(sin, only)
    )
    _, key = apply_rotary_pos_emb((k := heads(attention.k_proj(normed))), k, cos, sin)
    value = heads(attention.v_proj(normed))
    if cache is not None:
        key, value = cache.update(key, value, attention.layer_idx)
    attend = ALL_ATTENTION_FUNCTIONS.get_interface(
        attention.config._attn_implementation, eager_attention_forward
    )
    rows = torch.arange(len(only), device=only.device)[:, None]
    attended, _ = attend(
        attention,
        query,
        key,
        value,
        mask[rows, 0, only][:, None],
        scaling=attention.scaling,
        sliding_window=attention.sliding_window,
        softcap=attention.attn_logit_softcapping,
    )
    output: torch.Tensor = attention.o_proj(attended.flatten(2))
    return output
