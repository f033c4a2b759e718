"""Greedy answers to prompts with a common beginning: a tree of tokens is computed once, then each
prompt continues from its own part of the cached keys and values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from revise_captions.engines.transformers.cache_argument import with_cache
from revise_captions.engines.transformers.token_tree import TokenTree

if TYPE_CHECKING:
    import torch


def decode(
    model: Any,
    trees: Sequence[TokenTree],
    inputs: Mapping[str, Any],
    *,
    pad: int,
    ends: Sequence[int],
    limit: int,
) -> list[list[int]]:
    """Continues every prompt of every tree.

    Args:
        model: A causal transformers model.
        trees: The prompts.
        inputs: From `tree_inputs`, on the model's device.
        pad: Id that fills answers that have ended.
        ends: Ids that end an answer.
        limit: Most new tokens.

    Returns:
        New ids of each prompt, tree by tree, padded with `pad` after the end.
    """
    import torch
    from transformers import DynamicCache

    device = model.device
    cache = DynamicCache()  # of full layers: a sliding one would keep only the last branch
    output = model(**inputs, **with_cache(model, cache))
    which = torch.tensor([t for t, tree in enumerate(trees) for _ in tree.leaves], device=device)
    leaves = torch.tensor([leaf for tree in trees for leaf in tree.leaves], device=device)
    paths = [path for tree in trees for path in tree.paths()]
    cache = _own(cache, which.tolist(), paths)
    mask = _right_aligned([len(path) for path in paths]).to(device)
    positions = inputs["position_ids"]
    position = positions[..., which, leaves][..., None]
    token = output.logits[which, leaves].argmax(-1)
    stops = torch.tensor(list(ends), device=device)
    done = torch.isin(token, stops)
    written = [token]
    while len(written) < limit and not bool(done.all()):
        mask = torch.cat([mask, mask.new_ones((len(mask), 1))], dim=1)
        position = position + 1
        output = model(
            input_ids=token[:, None],
            attention_mask=mask,
            position_ids=position,
            **with_cache(model, cache),
        )
        token = output.logits[:, -1].argmax(-1).masked_fill(done, pad)
        done = done | torch.isin(token, stops)
        written.append(token)
    return torch.stack(written, dim=1).tolist()


def _own(cache: Any, which: Sequence[int], paths: Sequence[Sequence[int]]) -> Any:
    """Each prompt's keys and values, right-aligned."""
    import torch
    from transformers import DynamicCache

    width = max(map(len, paths))
    own = DynamicCache()
    device = cache.layers[0].keys.device
    index = torch.zeros((len(paths), width), dtype=torch.long)
    for row, path in enumerate(paths):
        index[row, width - len(path) :] = torch.tensor(path)
    trees, index = torch.tensor(which, device=device), index.to(device)
    for number, layer in enumerate(cache.layers):
        parts = [
            part[trees[:, None], :, index].transpose(1, 2).contiguous()
            for part in (layer.keys, layer.values)
        ]
        own.update(*parts, number)
    return own


def _right_aligned(lengths: Sequence[int]) -> torch.Tensor:
    """An attention mask of shape (prompts, longest)."""
    import torch

    width = max(lengths)
    return (torch.arange(width) >= width - torch.tensor(lengths)[:, None]).long()
