"""Greedy decoding of several prompts at once with a key–value cache.

A prompt begins from nothing (`begin`), or where judging its caption has left the keys and values of
image and context (`go_on`): then only the question is computed, and the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from revise_captions.critic.paligemma.model import embedded, logits_at, run_layers
from revise_captions.critic.paligemma.packing import Branch, PackedRow, collate, tree_mask
from revise_captions.critic.paligemma.tokenizer import PromptTokenizer

if TYPE_CHECKING:
    from transformers import Cache, PaliGemmaForConditionalGeneration


@dataclass(frozen=True, slots=True)
class PrefixCache:
    """Keys and values of a trunk: of each layer, shape (kv heads, image and text tokens, head).

    `trunk`: the text tokens' ids.
    """

    trunk: tuple[int, ...]
    layers: tuple[tuple[torch.Tensor, torch.Tensor], ...]

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(part.nbytes for layer in self.layers for part in layer)


@dataclass(frozen=True, slots=True)
class Started:
    """Prompts whose next token is to be chosen. With n prompts of up to w cached positions each:

    `hidden` (n, 1, hidden), of the prompts' last tokens; `positions` (n, w) of what is cached, 0
    where nothing is; `lengths` (n,).
    """

    cache: Cache
    hidden: torch.Tensor
    positions: torch.Tensor
    lengths: torch.Tensor


def kept(cache: Cache, row: int, shared: int, trunk: tuple[int, ...]) -> PrefixCache:
    """The trunk of one row of a cache: its first `shared` positions, copied."""
    layers = [
        (layer.keys[row, :, :shared].clone(), layer.values[row, :, :shared].clone())
        for layer in cache.layers
    ]
    return PrefixCache(trunk, tuple(layers))


def prefill(
    model: PaliGemmaForConditionalGeneration,
    codec: PromptTokenizer,
    rows: Sequence[PackedRow],
    tower: torch.Tensor,
) -> Started:
    """Plain prompts (one branch a row). `tower`: the tower's output for each row's image."""
    from transformers import DynamicCache

    cache, batch = DynamicCache(), collate(rows, codec)
    device, dtype = tower.device, _dtype(model)
    positions = torch.from_numpy(batch.positions).to(device)
    mask = tree_mask(batch, dtype, device)
    window, sliding = model.config.text_config.sliding_window, None
    if window is not None and int(batch.positions.max()) > window:
        sliding = tree_mask(batch, dtype, device, window)
    embeds = embedded(model, tower, torch.from_numpy(batch.ids))
    lengths = torch.tensor([len(row) for row in rows], device=device)
    hidden = run_layers(model, embeds, mask, positions, cache, sliding, _last(lengths))
    positions = positions.masked_fill(_behind(positions.shape[1], lengths), 0)
    return Started(cache, hidden, positions, lengths)


def prefill_from_cache(
    model: PaliGemmaForConditionalGeneration,
    codec: PromptTokenizer,
    branches: Sequence[Branch],
    trunks: Sequence[PrefixCache],
    images: int,
) -> Started:
    """Questions off trunks that have been computed. `images`: image tokens before the text."""
    from transformers import DynamicCache

    device = trunks[0].layers[0][0].device
    shared = torch.tensor([images + branch.fork for branch in branches], device=device)
    width, cache = int(shared.max()), DynamicCache()
    for number in range(len(trunks[0].layers)):
        keys, values = (
            _padded([trunk.layers[number][which] for trunk in trunks], width) for which in (0, 1)
        )
        cache.update(keys, values, number)
    sizes = torch.tensor([len(branch.ids) for branch in branches], device=device)
    longest = int(sizes.max())
    ids = torch.tensor([[*b.ids, *[codec.pad] * (longest - len(b.ids))] for b in branches])
    before = torch.arange(1, width + 1, device=device).expand(len(branches), -1)
    before = before.masked_fill(_behind(width, shared), 0)
    own = shared[:, None] + torch.arange(1, longest + 1, device=device)
    positions = torch.cat([before, own.masked_fill(_behind(longest, sizes), 0)], dim=1)
    mask, sliding = _masks(model, own, positions)
    hidden = run_layers(model, embedded(model, None, ids), mask, own, cache, sliding, _last(sizes))
    return Started(cache, hidden, positions, shared + sizes)


def greedy(
    model: PaliGemmaForConditionalGeneration, codec: PromptTokenizer, started: Started, limit: int
) -> list[list[int]]:
    """At most `limit` new ids for each prompt, cut before `<eos>`.

    What is padded stays in the cache and is masked; positions go on from each prompt's own end.
    """
    hidden, positions, lengths = started.hidden, started.positions, started.lengths
    made = torch.full((len(lengths), limit), codec.eos, device=hidden.device)
    done = torch.zeros(len(lengths), dtype=torch.bool, device=hidden.device)
    at = torch.arange(len(lengths), device=hidden.device)
    for step in range(limit):
        ids = logits_at(model, hidden, at).argmax(-1)
        made[:, step] = torch.where(done, codec.eos, ids)
        done |= ids == codec.eos
        if bool(done.all()) or step == limit - 1:
            break
        own = (lengths + step + 1)[:, None]
        positions = torch.cat([positions, own], dim=1)
        mask, sliding = _masks(model, own, positions)
        embeds = embedded(model, None, ids[:, None])
        hidden = run_layers(model, embeds, mask, own, started.cache, sliding)
    return [row[: row.index(codec.eos)] if codec.eos in row else row for row in made.tolist()]


def _masks(
    model: PaliGemmaForConditionalGeneration, own: torch.Tensor, positions: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Additive masks (n, 1, queries, keys) for queries at `own` positions, all of them causal.

    A key at position 0 is padding. The second is for sliding-window layers where it differs.
    """
    query, key = own[:, :, None], positions[:, None, :]
    visible = (key > 0) & (key <= query)
    window = model.config.text_config.sliding_window
    mask = _additive(visible, _dtype(model))
    if window is None or positions.shape[1] <= window:  # no position is larger than their number
        return mask, None
    return mask, _additive(visible & (query - key < window), _dtype(model))


def _additive(visible: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    mask = torch.zeros(visible.shape, dtype=dtype, device=visible.device)
    return mask.masked_fill_(~visible, torch.finfo(dtype).min)[:, None]


def _behind(width: int, lengths: torch.Tensor) -> torch.Tensor:
    """(n, width): whether a place lies behind a row's end."""
    return torch.arange(width, device=lengths.device)[None, :] >= lengths[:, None]


def _last(lengths: torch.Tensor) -> torch.Tensor:
    """(n, 1): where each row's last token is."""
    return lengths[:, None] - 1


def _padded(parts: Sequence[torch.Tensor], width: int) -> torch.Tensor:
    """(heads, length, head) tensors, cut or filled up at the end to one (n, heads, width, head)."""
    first = parts[0]
    joined = first.new_zeros((len(parts), first.shape[0], width, first.shape[2]))
    for number, part in enumerate(parts):
        length = min(width, part.shape[1])
        joined[number, :, :length] = part[:, :length]
    return joined


def _dtype(model: PaliGemmaForConditionalGeneration) -> torch.dtype:
    dtype: torch.dtype = model.model.language_model.embed_tokens.weight.dtype
    return dtype
