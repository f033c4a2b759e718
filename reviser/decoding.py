"""Batched decoding with transformers' `generate`: greedy, or the best few by beam search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def generate(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    limits: Sequence[int],
    *,
    pad: int,
    eos: Sequence[int],
    batch_size: int,
    beams: int = 1,
) -> list[list[list[int]]]:
    """For each prompt its `beams` best answers (ids, without the prompt), best first.

    Prompts of about the same length share a batch, left-padded; an answer ends with an id of
    `eos`, or has none of them where it would be longer than its prompt's limit.
    """
    import torch
    import transformers

    settings: Callable[..., Any] = transformers.GenerationConfig
    write: Any = model.generate

    order = sorted(range(len(prompts)), key=lambda i: (len(prompts[i]), i))
    answers: list[list[list[int]]] = [[] for _ in prompts]
    for first in range(0, len(order), batch_size):
        chosen = order[first : first + batch_size]
        width = max(len(prompts[i]) for i in chosen)
        ids = torch.full((len(chosen), width), pad)
        mask = torch.zeros_like(ids)
        for row, i in enumerate(chosen):
            start = width - len(prompts[i])
            ids[row, start:] = torch.tensor(prompts[i])
            mask[row, start:] = 1
        config = settings(
            max_new_tokens=max(limits[i] for i in chosen),
            do_sample=False,
            num_beams=beams,
            num_return_sequences=beams,
            pad_token_id=pad,
            eos_token_id=list(eos),
            use_cache=True,
        )
        with torch.inference_mode():
            output = write(
                input_ids=ids.to(model.device),
                attention_mask=mask.to(model.device),
                generation_config=config,
            )
        rows = output[:, width:].tolist()
        for row, i in enumerate(chosen):
            found = rows[row * beams : (row + 1) * beams]
            answers[i] = [_until(answer, eos)[: limits[i]] for answer in found]
    return answers


def _until(ids: list[int], eos: Sequence[int]) -> list[int]:
    """Up to and with the first id that ends an answer: what follows is padding."""
    end = next((k for k, i in enumerate(ids) if i in eos), len(ids))
    return ids[: end + 1]
