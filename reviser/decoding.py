"""Batched decoding with transformers' `generate`: greedy, or the best answers of a beam search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from revise_captions.engines.batches import in_batches

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel


#: A prompt's token ids, and the limit of new tokens in its answer.
Asked = tuple[Sequence[int], int]


@dataclass(frozen=True, slots=True)
class Decoded:
    """One answer.

    Attributes:
        ids: Without the prompt; they end with an end token, unless cut off at the limit.
        least: The lowest probability of its tokens, in [0, 1]; None from a beam search.
    """

    ids: list[int]
    least: float | None


def generate(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    limits: Sequence[int],
    *,
    pad: int,
    eos: Sequence[int],
    batch_size: int,
    beams: int = 1,
) -> list[list[Decoded]]:
    """Greedy or beam-search answers; prompts of similar length share a batch, left-padded.

    Args:
        model: A causal language model.
        prompts: Token ids.
        limits: Most new tokens of each prompt's answer.
        pad: Id of the padding.
        eos: Ids that end an answer.
        batch_size: Prompts per batch.
        beams: Answers per prompt; 1 decodes greedily.

    Returns:
        For each prompt its answers, best first.
    """
    order = sorted(range(len(prompts)), key=lambda i: (len(prompts[i]), i))
    asked = [(tuple(prompts[i]), limits[i]) for i in order]

    def decoded(chosen: Sequence[Asked]) -> list[list[tuple[list[int], float | None]]]:
        return _decoded(model, chosen, pad, eos, beams)

    name = str(model.name_or_path)
    found = in_batches(name, f"rewriting {beams}", asked, batch_size, decoded)
    back = dict(zip(order, found, strict=True))
    return [[Decoded(*answer) for answer in back[i]] for i in range(len(prompts))]


def _decoded(
    model: PreTrainedModel, chosen: Sequence[Asked], pad: int, eos: Sequence[int], beams: int
) -> list[list[tuple[list[int], float | None]]]:
    """The fields of each prompt's `Decoded` answers, which a journal can keep as JSON."""
    import torch
    import transformers

    settings: Callable[..., Any] = transformers.GenerationConfig
    write: Any = model.generate
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
    steps: list[torch.Tensor] = []

    def watch(_: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        steps.append(scores.float().log_softmax(-1).amax(-1))  # the greedy token's
        return scores

    with torch.inference_mode():
        output = write(
            input_ids=ids.to(model.device),
            attention_mask=mask.to(model.device),
            generation_config=config,
            logits_processor=[watch] if beams == 1 else [],
        )
    rows = [_until(answer, eos) for answer in output[:, width:].tolist()]
    likely = torch.stack(steps, 1).exp().tolist() if steps else [None] * len(rows)
    answers = [
        (ids[: chosen[k // beams][1]], None if of is None else min(of[: len(ids)]))
        for k, (ids, of) in enumerate(zip(rows, likely, strict=True))
    ]
    return [answers[k : k + beams] for k in range(0, len(answers), beams)]


def _until(ids: list[int], eos: Sequence[int]) -> list[int]:
    """The ids up to and including the first of `eos`; the rest is padding."""
    end = next((k for k, i in enumerate(ids) if i in eos), len(ids))
    return ids[: end + 1]
