"""Greedy decoding of several prompts at once with a key–value cache.

`prefill` computes whole prompts. If judging a caption has left the keys and values of its image and
context (`PrefixCaches`), `prefill_from_cache` computes only the question. `greedy` continues from
either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from revise_captions.critic.paligemma.model import embedded, logits_at, run_layers
from revise_captions.critic.paligemma.packing import Branch, PackedRow, collate, tree_mask
from revise_captions.critic.paligemma.tokenizer import PromptTokenizer
from revise_captions.critic.protocol import ExplainRequest, JudgeRequest

if TYPE_CHECKING:
    from transformers import Cache, PaliGemmaForConditionalGeneration

#: Limits of prefix caches: bytes on a CPU, and the fraction of an accelerator's memory.
CACHE_BYTES, CACHE_FRACTION = 1 << 30, 0.2


@dataclass(frozen=True, slots=True)
class PrefixCache:
    """Keys and values of a trunk.

    Attributes:
        trunk: The ids of its text tokens.
        layers: Each layer's keys and values, (kv heads, image and text tokens, head).
    """

    trunk: tuple[int, ...]
    layers: tuple[tuple[torch.Tensor, torch.Tensor], ...]

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(part.nbytes for layer in self.layers for part in layer)


class PrefixCaches:
    """The prefix caches that judging keeps for explaining, by image object and text.

    Args:
        limit: Bytes; no cache is added once they are used up.
    """

    def __init__(self, limit: int) -> None:
        self.limit, self.size = limit, 0
        self._caches: dict[tuple[int, str], list[PrefixCache]] = {}

    def __len__(self) -> int:
        return len(self._caches)

    @property
    def full(self) -> bool:
        return self.size >= self.limit

    def add(self, request: JudgeRequest, cache: Cache, number: int, row: PackedRow) -> None:
        """Copies the trunk of row `number` of a batch's cache, unless full."""
        if self.full:
            return
        end = row.images + len(row.trunk)
        layers = [
            (layer.keys[number, :, :end].clone(), layer.values[number, :, :end].clone())
            for layer in cache.layers
        ]
        found = PrefixCache(row.trunk, tuple(layers))
        self._caches.setdefault((id(request.image), request.text), []).append(found)
        self.size += found.size

    def find(self, request: ExplainRequest, trunk: tuple[int, ...]) -> PrefixCache | None:
        """A cache of the request's caption that begins with `trunk`."""
        found = self._caches.get((id(request.image), request.text), [])
        return next((one for one in found if one.trunk[: len(trunk)] == trunk), None)

    def drop(self, request: JudgeRequest) -> None:
        """Frees the caches of a caption."""
        gone = self._caches.pop((id(request.image), request.text), [])
        self.size -= sum(one.size for one in gone)

    def clear(self) -> None:
        """Frees them all."""
        self._caches, self.size = {}, 0


def cache_limit(device: torch.device) -> int:
    """Bytes of prefix caches that may be kept on a device."""
    if device.type == "cuda":
        return int(CACHE_FRACTION * torch.cuda.get_device_properties(device).total_memory)
    return CACHE_BYTES


@dataclass(frozen=True, slots=True)
class DecoderState:
    """n prompts whose next token is to be chosen, each with up to w cached positions.

    Attributes:
        cache: Their keys and values.
        hidden: Last hidden states of the prompts' last tokens, (n, 1, hidden).
        positions: Positions of the cached keys, (n, w), from 1; 0 is padding.
        lengths: Tokens of each prompt, (n,).
    """

    cache: Cache
    hidden: torch.Tensor
    positions: torch.Tensor
    lengths: torch.Tensor


def prefill(
    model: PaliGemmaForConditionalGeneration,
    tokenizer: PromptTokenizer,
    rows: Sequence[PackedRow],
    tower: torch.Tensor,
) -> DecoderState:
    """Computes whole prompts.

    Args:
        model: The critic's network.
        tokenizer: Of its prompts.
        rows: One branch each (`packing.unpack`).
        tower: The tower's output for each row's image, (rows, patches, tower hidden).
    """
    from transformers import DynamicCache

    cache, batch = DynamicCache(), collate(rows, tokenizer)
    device, dtype = tower.device, _dtype(model)
    positions = torch.from_numpy(batch.positions).to(device)
    mask = tree_mask(batch, dtype, device)
    window, sliding = model.config.text_config.sliding_window, None
    if window is not None and int(batch.positions.max()) > window:
        sliding = tree_mask(batch, dtype, device, window)
    embeds = embedded(model, tower, torch.from_numpy(batch.ids))
    lengths = torch.tensor([len(row) for row in rows], device=device)
    hidden = _last(run_layers(model, embeds, mask, positions, cache, sliding), lengths)
    positions = positions.masked_fill(_padding(positions.shape[1], lengths), 0)
    return DecoderState(cache, hidden, positions, lengths)


def prefill_from_cache(
    model: PaliGemmaForConditionalGeneration,
    tokenizer: PromptTokenizer,
    branches: Sequence[Branch],
    prefixes: Sequence[PrefixCache],
    images: int,
) -> DecoderState:
    """Computes questions whose image and context are cached.

    Args:
        model: The critic's network.
        tokenizer: Of its prompts.
        branches: The questions.
        prefixes: The cache that each continues from, at its `fork`.
        images: Image tokens before the text.
    """
    from transformers import DynamicCache

    device = prefixes[0].layers[0][0].device
    shared = torch.tensor([images + branch.fork for branch in branches], device=device)
    width, cache = int(shared.max()), DynamicCache()
    for number in range(len(prefixes[0].layers)):
        keys, values = (
            _padded([prefix.layers[number][which] for prefix in prefixes], width)
            for which in (0, 1)
        )
        cache.update(keys, values, number)
    sizes = torch.tensor([len(branch.ids) for branch in branches], device=device)
    longest = int(sizes.max())
    ids = torch.tensor([[*b.ids, *[tokenizer.pad] * (longest - len(b.ids))] for b in branches])
    before = torch.arange(1, width + 1, device=device).expand(len(branches), -1)
    before = before.masked_fill(_padding(width, shared), 0)
    own = shared[:, None] + torch.arange(1, longest + 1, device=device)
    positions = torch.cat([before, own.masked_fill(_padding(longest, sizes), 0)], dim=1)
    mask, sliding = _masks(model, own, positions)
    hidden = run_layers(model, embedded(model, None, ids), mask, own, cache, sliding)
    return DecoderState(cache, _last(hidden, sizes), positions, shared + sizes)


def greedy(
    model: PaliGemmaForConditionalGeneration,
    tokenizer: PromptTokenizer,
    state: DecoderState,
    limit: int,
) -> list[list[int]]:
    """The likeliest next ids of each prompt, at most `limit`, without the `<eos>` that ends them.

    Padding stays in the cache and is masked; positions continue from each prompt's own end.
    """
    hidden, positions, lengths = state.hidden, state.positions, state.lengths
    new = torch.full((len(lengths), limit), tokenizer.eos, device=hidden.device)
    done = torch.zeros(len(lengths), dtype=torch.bool, device=hidden.device)
    at = torch.arange(len(lengths), device=hidden.device)
    for step in range(limit):
        ids = logits_at(model, hidden, at).argmax(-1)
        new[:, step] = torch.where(done, tokenizer.eos, ids)
        done |= ids == tokenizer.eos
        if bool(done.all()) or step == limit - 1:
            break
        own = (lengths + step + 1)[:, None]
        positions = torch.cat([positions, own], dim=1)
        mask, sliding = _masks(model, own, positions)
        embeds = embedded(model, None, ids[:, None])
        hidden = run_layers(model, embeds, mask, own, state.cache, sliding)
    return [
        row[: row.index(tokenizer.eos)] if tokenizer.eos in row else row for row in new.tolist()
    ]


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
    if window is None or positions.shape[1] <= window:  # no position exceeds their number
        return mask, None
    return mask, _additive(visible & (query - key < window), _dtype(model))


def _additive(visible: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    mask = torch.zeros(visible.shape, dtype=dtype, device=visible.device)
    return mask.masked_fill_(~visible, torch.finfo(dtype).min)[:, None]


def _padding(width: int, lengths: torch.Tensor) -> torch.Tensor:
    """Which places are past a row's end, (n, width)."""
    return torch.arange(width, device=lengths.device)[None, :] >= lengths[:, None]


def _last(hidden: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The states of each row's last token, (n, 1, hidden)."""
    return hidden[torch.arange(len(lengths), device=hidden.device), lengths - 1][:, None]


def _padded(parts: Sequence[torch.Tensor], width: int) -> torch.Tensor:
    """(heads, length, head) tensors, cut or padded at the end, as one (n, heads, width, head)."""
    first = parts[0]
    joined = first.new_zeros((len(parts), first.shape[0], width, first.shape[2]))
    for number, part in enumerate(parts):
        length = min(width, part.shape[1])
        joined[number, :, :length] = part[:, :length]
    return joined


def _dtype(model: PaliGemmaForConditionalGeneration) -> torch.dtype:
    dtype: torch.dtype = model.model.language_model.embed_tokens.weight.dtype
    return dtype
