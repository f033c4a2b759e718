"""Last hidden states of many prompts, pooled, with what prompts have in common computed once.

All prompts of a perspective begin with the same instructions, and those of an image go on with the
same references. Under causal attention the states of a common prefix do not depend on what follows,
so it runs once and its keys and values are repeated for each prompt.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from revise_captions.engines.transformers.cache_argument import with_cache

if TYPE_CHECKING:
    import torch

Ids = Sequence[int]
#: A prefix is shared within an image's prompts if it saves at least this many tokens.
_WORTH = 64


@dataclass(frozen=True, slots=True)
class _Prefix:
    """Tokens that were computed: keys and values, and the sum of the last states, (hidden,)."""

    length: int
    cache: Any
    total: torch.Tensor | None


def pooled_states(
    model: Any, rows: Sequence[Ids], *, pad: int, batch_size: int, batch_tokens: int, share: bool
) -> torch.Tensor:
    """[mean of the last hidden states; the last token's] of each prompt (VELA, section 4.1).

    Args:
        model: A causal language model without its head.
        rows: Token ids of each prompt, none of them empty.
        pad: Fills up the rows of a batch; never attended to.
        batch_size: Prompts per forward pass.
        batch_tokens: Tokens per forward pass, if a single prompt is not longer.
        share: Whether common prefixes are computed once.

    Returns:
        float32 (prompts, 2 × hidden), in order.
    """
    import torch

    found: list[torch.Tensor | None] = [None] * len(rows)
    order = sorted(range(len(rows)), key=lambda k: list(rows[k]))
    for prefix, members in _groups(model, rows, order, share):
        by_length = sorted(members, key=lambda k: len(rows[k]))
        for part in _batches(by_length, rows, prefix.length, batch_size, batch_tokens):
            pooled = _leaves(model, [rows[k] for k in part], prefix, pad)
            for k, vector in zip(part, pooled, strict=True):
                found[k] = vector
    return torch.stack([vector for vector in found if vector is not None])


def shares_prefixes(model: Any) -> bool:
    """Whether the model's cache can be repeated: full attention in every layer."""
    config = model.config
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    sliding = getattr(config, "sliding_window", None) and getattr(
        config, "use_sliding_window", True
    )
    return kinds == {"full_attention"} and not (
        sliding and not getattr(config, "layer_types", None)
    )


def _groups(
    model: Any, rows: Sequence[Ids], order: Sequence[int], share: bool
) -> Iterator[tuple[_Prefix, list[int]]]:
    """Prompts with the prefix that they go on from. `order`: sorted by tokens."""
    nothing = _Prefix(0, None, None)
    if not share or len(order) < 2:
        yield nothing, list(order)
        return
    root_length = _common(rows[order[0]], rows[order[-1]])
    root = _extend(model, nothing, rows[order[0]][:root_length])
    alone: list[int] = []
    for run in _runs(rows, order, root_length):
        length = _common(rows[run[0]], rows[run[-1]])
        if (len(run) - 1) * (length - root_length) < _WORTH:
            alone += run
        else:
            yield _extend(model, root, rows[run[0]][root_length:length]), run
    if alone:
        yield root, alone


def _runs(rows: Sequence[Ids], order: Sequence[int], root: int) -> Iterator[list[int]]:
    """Neighbors that have at least the next eight tokens after the common root in common."""
    run = [order[0]]
    for before, k in pairwise(order):
        if _common(rows[before], rows[k]) < root + 8:
            yield run
            run = []
        run.append(k)
    yield run


def _common(one: Ids, other: Ids) -> int:
    """Length of the common prefix, short of the last token of either."""
    limit = min(len(one), len(other)) - 1
    return next((k for k in range(limit) if one[k] != other[k]), max(limit, 0))


def _extend(model: Any, prefix: _Prefix, ids: Ids) -> _Prefix:
    """The prefix with more tokens."""
    import torch
    from transformers import DynamicCache

    if not ids:
        return prefix
    cache = copy.deepcopy(prefix.cache) if prefix.cache is not None else DynamicCache()
    states = _run(model, torch.tensor([list(ids)]), None, prefix.length, cache)
    total = states[0].sum(0)
    return _Prefix(
        prefix.length + len(ids), cache, total if prefix.total is None else prefix.total + total
    )


def _batches(
    order: Sequence[int], rows: Sequence[Ids], start: int, size: int, tokens: int
) -> Iterator[list[int]]:
    """Prompts of like length together."""
    part: list[int] = []
    for k in order:
        width = len(rows[k]) - start  # the longest so far
        if part and (len(part) == size or (len(part) + 1) * width > tokens):
            yield part
            part = []
        part.append(k)
    if part:
        yield part


def _leaves(model: Any, rows: Sequence[Ids], prefix: _Prefix, pad: int) -> torch.Tensor:
    """Pooled states of prompts that go on from one prefix: float32 (prompts, 2 × hidden)."""
    import torch

    rests = [list(row[prefix.length :]) for row in rows]
    width = max(map(len, rests))
    ids = torch.tensor([rest + [pad] * (width - len(rest)) for rest in rests])
    real = torch.tensor([[1] * len(rest) + [0] * (width - len(rest)) for rest in rests])
    cache = None
    if prefix.cache is not None:
        cache = copy.deepcopy(prefix.cache)
        cache.batch_repeat_interleave(len(rows))
    states = _run(model, ids, real, prefix.length, cache)
    real = real.to(states.device)
    total = (states * real[:, :, None]).sum(1)
    if prefix.total is not None:
        total = total + prefix.total
    lengths = torch.tensor([[len(row)] for row in rows], device=states.device)
    last = states[torch.arange(len(rows)), real.sum(1) - 1]
    return torch.cat([total / lengths, last], dim=1)


def _run(
    model: Any, ids: torch.Tensor, real: torch.Tensor | None, start: int, cache: Any
) -> torch.Tensor:
    """Last hidden states, float32 (rows, width, hidden). `real`: 1 where a token is no padding."""
    import torch

    device = next(model.parameters()).device
    mask = torch.ones_like(ids) if real is None else real
    before = torch.ones((len(ids), start), dtype=mask.dtype)
    positions = start + torch.arange(ids.shape[1])[None].expand(len(ids), -1)
    output = model(
        input_ids=ids.to(device),
        attention_mask=torch.cat([before, mask], dim=1).to(device),
        position_ids=positions.to(device),
        **with_cache(model, cache),
    )
    states: torch.Tensor = output.last_hidden_state
    return states.float()
