"""Greedy decoding of several prompts at once with a key–value cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from revise_captions.critic.codec import Codec
from revise_captions.critic.model import embedded, logits_at, run_layers
from revise_captions.critic.packing import Row, collate, tree_mask

if TYPE_CHECKING:
    from transformers import PaliGemmaForConditionalGeneration


def greedy(
    model: PaliGemmaForConditionalGeneration,
    codec: Codec,
    rows: Sequence[Row],
    tower: torch.Tensor,
    limit: int,
) -> list[list[int]]:
    """At most `limit` new ids for each plain prompt (one branch a row), cut before `<eos>`.

    `tower`: the tower's output for each row's image. Prompts are padded at the end; the padding
    stays in the cache and is masked, and positions go on from each prompt's own end.
    """
    from transformers import DynamicCache

    device = tower.device
    cache = DynamicCache()
    batch = collate(rows, codec)
    dtype = model.model.language_model.embed_tokens.weight.dtype
    mask = tree_mask(batch, dtype, device)
    hidden = run_layers(
        model,
        embedded(model, tower, torch.from_numpy(batch.ids)),
        mask,
        torch.from_numpy(batch.positions),
        cache,
    )
    lengths = torch.tensor([len(row) for row in rows], device=device)
    width = batch.ids.shape[1]
    lowest = torch.finfo(dtype).min
    padding = torch.arange(width, device=device)[None, :] >= lengths[:, None]
    seen = torch.zeros(len(rows), 1, 1, width, dtype=dtype, device=device)
    seen.masked_fill_(padding[:, None, None, :], lowest)
    at = torch.arange(len(rows), device=device) * width + lengths - 1
    made = torch.full((len(rows), limit), codec.eos, device=device)
    done = torch.zeros(len(rows), dtype=torch.bool, device=device)
    for step in range(limit):
        ids = logits_at(model, hidden, at).argmax(-1)
        made[:, step] = torch.where(done, codec.eos, ids)
        done |= ids == codec.eos
        if bool(done.all()) or step == limit - 1:
            break
        seen = torch.nn.functional.pad(seen, (0, 1))
        positions = (lengths + step + 1)[:, None]
        hidden = run_layers(model, embedded(model, None, ids[:, None]), seen, positions, cache)
        at = torch.arange(len(rows), device=device)
    return [row[: row.index(codec.eos)] if codec.eos in row else row for row in made.tolist()]
