"""The critic's network: a small PaliGemma 2, and its forward pass over packed rows.

The language model uses PyTorch's scaled dot-product attention, registered under a name of its own
because transformers refuses "sdpa" for Gemma 2, whose soft-caps it does not honor. This one raises
an error if a soft-cap is set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from revise_captions.critic.paligemma.packing import PackedBatch, tree_mask
from revise_captions.critic.paligemma.tokenizer import PromptTokenizer, vocabulary_size
from revise_captions.engines.transformers.cache_argument import with_cache

if TYPE_CHECKING:
    import torch
    from transformers import Cache, PaliGemmaConfig, PaliGemmaForConditionalGeneration

ATTENTION = "caption_tree"
PLAIN_ATTENTION = "caption_tree_plain"
#: Devices on which PyTorch itself shares keys among heads; elsewhere they are repeated, as in
#: transformers' own attention under a mask.
SHARES_KEYS = ("cpu",)
#: The bundled shape; every value can be overridden by name in `new_model`.
SHAPE = {
    "image_size": 128,
    "patch_size": 16,
    "tower_hidden": 192,
    "tower_intermediate": 768,
    "tower_layers": 6,
    "tower_heads": 6,
    "hidden": 192,
    "intermediate": 576,
    "layers": 6,
    "heads": 4,
    "kv_heads": 2,
    "head_dim": 32,
}


def _attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    softcap: float | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    from torch.nn.functional import scaled_dot_product_attention

    if softcap is not None:
        raise ValueError("this attention cannot honor a soft-cap: load the model with 'eager'")
    shared = query.shape[1] // key.shape[1]
    if shared > 1 and query.device.type not in SHARES_KEYS:
        key, value = (part.repeat_interleave(shared, dim=1) for part in (key, value))
        shared = 1
    output = scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=attention_mask,
        dropout_p=dropout,
        scale=scaling,
        enable_gqa=shared > 1,
    )
    return output.transpose(1, 2).contiguous(), None


def _plain_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float = 1.0,
    softcap: float | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """`_attention` in plain operations, for training with compiled layers on a CPU, where the
    fused kernel's backward pass is slow.

    Queries that share a key head are stacked, (rows, key heads, group × length, width), to avoid
    copying keys.
    """
    from torch.nn.functional import dropout as dropped

    if softcap is not None:
        raise ValueError("this attention cannot honor a soft-cap: load the model with 'eager'")
    rows, heads, length, width = query.shape
    shared = key.shape[1]
    stacked = (query * scaling).reshape(rows, shared, heads // shared * length, width)
    scores = (stacked @ key.transpose(2, 3)).view(rows, heads, length, key.shape[2])
    if attention_mask is not None:
        scores = scores + attention_mask
    weights = dropped(scores.softmax(-1), dropout) if dropout else scores.softmax(-1)
    output = weights.reshape(rows, shared, heads // shared * length, key.shape[2]) @ value
    return output.view(rows, heads, length, width).transpose(1, 2).contiguous(), None


def use_tree_attention(model: PaliGemmaForConditionalGeneration) -> None:
    """Switches the language model to `_attention`, or to eager where it has soft-caps."""
    from transformers import AttentionInterface

    AttentionInterface.register(ATTENTION, _attention)
    AttentionInterface.register(PLAIN_ATTENTION, _plain_attention)
    text = model.config.text_config
    capped = getattr(text, "attn_logit_softcapping", None) is not None
    model.set_attn_implementation(
        {"": "eager", "text_config": "eager" if capped else ATTENTION, "vision_config": "sdpa"}
    )


def new_model(tokenizer: PromptTokenizer, **shape: int) -> PaliGemmaForConditionalGeneration:
    """A model of the bundled shape, randomly initialized from torch's generator.

    Both of Gemma 2's soft-caps are off, as transformers versions and engines disagree about them.

    Args:
        tokenizer: Fixes the vocabulary.
        shape: Overrides values of `SHAPE`.

    Raises:
        ValueError: `shape` names an unknown value.
    """
    from transformers import PaliGemmaForConditionalGeneration

    if unknown := shape.keys() - SHAPE.keys():
        raise ValueError(f"unknown shape: {sorted(unknown)}, expected some of {sorted(SHAPE)}")
    model = PaliGemmaForConditionalGeneration(_new_config(tokenizer, SHAPE | shape))
    _initialize(model)
    use_tree_attention(model)
    return model


def _new_config(tokenizer: PromptTokenizer, s: Mapping[str, int]) -> PaliGemmaConfig:
    """The configuration of a model of a shape (`SHAPE`) for a vocabulary."""
    from transformers import Gemma2Config, PaliGemmaConfig, SiglipVisionConfig

    vocabulary = vocabulary_size(tokenizer.pretrained)
    vision = SiglipVisionConfig(
        hidden_size=s["tower_hidden"],
        intermediate_size=s["tower_intermediate"],
        num_hidden_layers=s["tower_layers"],
        num_attention_heads=s["tower_heads"],
        image_size=s["image_size"],
        patch_size=s["patch_size"],
        vision_use_head=False,
    )
    text = Gemma2Config(
        vocab_size=vocabulary,
        hidden_size=s["hidden"],
        intermediate_size=s["intermediate"],
        num_hidden_layers=s["layers"],
        num_attention_heads=s["heads"],
        num_key_value_heads=s["kv_heads"],
        head_dim=s["head_dim"],
        query_pre_attn_scalar=s["head_dim"],
        max_position_embeddings=4096,
        sliding_window=4096,
        attn_logit_softcapping=None,
        final_logit_softcapping=None,
        pad_token_id=tokenizer.pad,
        eos_token_id=tokenizer.eos,
        bos_token_id=tokenizer.bos,
    )
    return PaliGemmaConfig(
        vision_config=vision.to_dict(),
        text_config=text.to_dict(),
        image_token_index=tokenizer.image,
        vocab_size=vocabulary,
        projection_dim=s["hidden"],
        hidden_size=s["hidden"],
        pad_token_id=tokenizer.pad,
        eos_token_id=tokenizer.eos,
        bos_token_id=tokenizer.bos,
    )


def _initialize(model: PaliGemmaForConditionalGeneration) -> None:
    """Initial scales for a small model: unit-size embeddings and image features, and residual
    branches that start small.

    transformers' default (0.02 everywhere) suits widths of thousands; here the first layers' noise
    would drown the tokens.
    """
    from torch.nn import Linear, init

    language = model.model.language_model
    init.normal_(language.embed_tokens.weight, std=language.config.hidden_size**-0.5)
    for module in (*language.modules(), model.model.multi_modal_projector.linear):
        if isinstance(module, Linear):
            init.normal_(module.weight, std=module.in_features**-0.5)
    for layer in language.layers:
        init.constant_(layer.post_attention_layernorm.weight, -0.6)
        init.constant_(layer.post_feedforward_layernorm.weight, -0.6)


def image_tokens(model: PaliGemmaForConditionalGeneration) -> int:
    """Tokens per image."""
    vision = model.config.vision_config
    return int((vision.image_size // vision.patch_size) ** 2)


def tower_output(
    model: PaliGemmaForConditionalGeneration, pixel_values: torch.Tensor
) -> torch.Tensor:
    """The tower's features of pixels (images, 3, size, size): (images, patches, tower hidden)."""
    features: torch.Tensor = model.model.vision_tower(pixel_values).last_hidden_state
    return features


def embedded(
    model: PaliGemmaForConditionalGeneration, tower: torch.Tensor | None, ids: torch.Tensor
) -> torch.Tensor:
    """Input embeddings, (rows, length, hidden).

    Args:
        model: The critic's network.
        tower: The tower's output for each row's image, (rows, image tokens, tower hidden); it
            replaces the leading embeddings. None: the rows have no image.
        ids: (rows, length).
    """
    import torch

    embed = model.model.language_model.embed_tokens
    ids = ids.to(embed.weight.device)
    if tower is None:
        words: torch.Tensor = embed(ids)
        return words
    images = model.model.multi_modal_projector(tower).to(embed.weight.dtype)
    return torch.cat([images, embed(ids[:, images.shape[1] :])], dim=1)


def run_layers(
    model: PaliGemmaForConditionalGeneration,
    embeds: torch.Tensor,
    mask: torch.Tensor,
    positions: torch.Tensor,
    cache: Cache | None = None,
    sliding: torch.Tensor | None = None,
) -> torch.Tensor:
    """Last hidden states under an additive mask, (rows, length, hidden).

    Both layer types get a mask from here: transformers would pass a 4D mask to sliding-window
    layers unchanged.

    Args:
        model: The critic's network.
        embeds: (rows, length, hidden).
        mask: Additive, (rows, 1, length, cached length).
        positions: From 1, (rows, length).
        cache: Gets the keys and values, if given.
        sliding: The mask of sliding-window layers, needed if positions go beyond the window.
    """
    language_model = model.model.language_model
    output: torch.Tensor = language_model(
        inputs_embeds=embeds,
        attention_mask={
            "full_attention": mask,
            "sliding_attention": mask if sliding is None else sliding,
        },
        position_ids=positions.to(embeds.device),
        **with_cache(language_model, cache),
    ).last_hidden_state
    return output


def hidden_states(
    model: PaliGemmaForConditionalGeneration,
    tower: torch.Tensor,
    image_of_row: torch.Tensor,
    batch: PackedBatch,
    cache: Cache | None = None,
) -> torch.Tensor:
    """Last hidden states of packed rows, (rows, length, hidden).

    Args:
        model: The critic's network.
        tower: The tower's output, (images, patches, tower hidden).
        image_of_row: Each row's image, an index into `tower`, (rows,).
        batch: The rows.
        cache: Gets the rows' keys and values, if given.
    """
    import torch

    embeds = embedded(model, tower[image_of_row], torch.from_numpy(batch.ids))
    mask = tree_mask(batch, embeds.dtype, embeds.device)
    window = model.config.text_config.sliding_window
    sliding = None
    if window is not None and int(batch.positions.max()) > window:
        sliding = tree_mask(batch, embeds.dtype, embeds.device, window)
    positions = torch.from_numpy(batch.positions)
    return run_layers(model, embeds, mask, positions, cache, sliding)


def logits_at(
    model: PaliGemmaForConditionalGeneration, hidden: torch.Tensor, flat: torch.Tensor
) -> torch.Tensor:
    """Logits at flat indices into (rows × length): float32 (indices, vocabulary)."""
    logits: torch.Tensor = model.lm_head(hidden.flatten(0, 1)[flat]).float()
    cap = getattr(model.config.text_config, "final_logit_softcapping", None)
    return logits if cap is None else (logits / cap).tanh() * cap
