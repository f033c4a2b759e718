"""Pooled last hidden states of many prompts, with shared beginnings computed once.

All prompts of a perspective begin with the same instructions, and those of an image continue with
the same references, so they are computed as trees of tokens (`engines.transformers.token_tree`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from revise_captions.engines.transformers.inputs import EncodedPrompt, collate
from revise_captions.engines.transformers.token_tree import LARGEST, common, grow, tree_inputs

if TYPE_CHECKING:
    import torch


def pooled_states(
    model: Any,
    prompts: Sequence[Sequence[int]],
    *,
    pad: int,
    batch_size: int,
    batch_tokens: int,
    share: bool,
) -> torch.Tensor:
    """[mean of the last hidden states; the last token's] of each prompt (VELA, section 4.1).

    Args:
        model: A causal language model without its head.
        prompts: Token ids of each prompt, none of them empty.
        pad: Pads the rows of a batch; never attended to.
        batch_size: Prompts per forward pass.
        batch_tokens: Tokens per forward pass, unless a single prompt is longer.
        share: Whether shared beginnings are computed once.

    Returns:
        float32 (prompts, 2 × hidden), in order.
    """
    import torch

    rows = [EncodedPrompt(list(ids)) for ids in prompts]
    order = sorted(range(len(rows)), key=lambda k: rows[k].ids if share else [len(rows[k])])
    found: dict[int, torch.Tensor] = {}
    tokens = min(batch_tokens, LARGEST) if share else batch_tokens
    for part in _batches(rows, order, batch_size, tokens, share):
        batch = [rows[k] for k in part]
        if share:
            tree = grow(batch)
            states = _states(model, tree_inputs(model, [tree], pad))[0]
            each = [states[path] for path in tree.paths()]
        else:
            states = _states(model, collate(batch, pad, left=False))
            each = [own[: len(row)] for own, row in zip(states, batch, strict=True)]
        for k, own in zip(part, each, strict=True):
            found[k] = torch.cat([own.mean(0), own[-1]])
    return torch.stack([found[k] for k in range(len(rows))])


def _batches(
    rows: Sequence[EncodedPrompt], order: Sequence[int], size: int, tokens: int, share: bool
) -> Iterator[list[int]]:
    """Neighbors in `order`, as many as fit, counted as tree nodes or as rows of equal width."""
    part: list[int] = []
    width = 0
    for k in order:
        shared = common(rows[part[-1]].ids, rows[k].ids) if share and part else 0
        total = width + len(rows[k]) - shared if share else (len(part) + 1) * len(rows[k])
        if part and (len(part) == size or total > tokens):
            yield part
            part, total = [], len(rows[k])
        part.append(k)
        width = total
    if part:
        yield part


def _states(model: Any, inputs: dict[str, Any]) -> torch.Tensor:
    """Last hidden states, float32 (rows, width, hidden)."""
    device = next(model.parameters()).device
    placed = {name: _to(value, device) for name, value in inputs.items()}
    states: torch.Tensor = model(**placed, use_cache=False).last_hidden_state
    return states.float()


def _to(value: Any, device: Any) -> Any:
    """Moves a value to a device; masks by type of layer are a dictionary."""
    if isinstance(value, dict):
        return {name: mask.to(device) for name, mask in value.items()}
    return value.to(device)
