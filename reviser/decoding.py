"""Batched decoding with transformers' `generate`: greedy, or the best few by beam search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from revise_captions.engines.batches import in_batches

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
    """Greedy or beam-search answers; prompts of similar length share a batch, left-padded.

    Args:
        model: A causal language model.
        prompts: Token ids.
        limits: Most new tokens of each prompt's answer.
        pad: Id of the padding.
        eos: Ids that end an answer.
        batch_size: Prompts of a batch.
        beams: Answers of each prompt; 1 decodes greedily.

    Returns:
        For each prompt its answers, best first, as ids without the prompt. An answer ends with one
        of `eos`, unless it was cut off at its limit.
    """
    import torch
    import transformers

    settings: Callable[..., Any] = transformers.GenerationConfig
    write: Any = model.generate

    def decoded(chosen: Sequence[tuple[Sequence[int], int]]) -> list[list[list[int]]]:
        width = max(len(prompt) for prompt, _ in chosen)
        ids = torch.full((len(chosen), width), pad)
        mask = torch.zeros_like(ids)
        for row, (prompt, _) in enumerate(chosen):
            start = width - len(prompt)
            ids[row, start:] = torch.tensor(prompt)
            mask[row, start:] = 1
        config = settings(
            max_new_tokens=max(limit for _, limit in chosen),
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
        return [
            [_until(answer, eos)[:limit] for answer in rows[row * beams : (row + 1) * beams]]
            for row, (_, limit) in enumerate(chosen)
        ]

    order = sorted(range(len(prompts)), key=lambda i: (len(prompts[i]), i))
    asked = [(tuple(prompts[i]), limits[i]) for i in order]
    name = str(model.name_or_path)
    found = in_batches(name, f"rewriting {beams}", asked, batch_size, decoded)
    back = dict(zip(order, found, strict=True))
    return [back[i] for i in range(len(prompts))]


def _until(ids: list[int], eos: Sequence[int]) -> list[int]:
    """The ids up to and including the first of `eos`; the rest is padding."""
    end = next((k for k, i in enumerate(ids) if i in eos), len(ids))
    return ids[: end + 1]
