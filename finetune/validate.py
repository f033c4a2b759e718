"""Validation while training: probabilities, ROC-AUC, macro-F1, token accuracies, threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from revise_captions.critic.codec import Codec
from revise_captions.critic.model import hidden_states, image_tokens, logits_at, tower_output
from revise_captions.critic.packing import Regime
from revise_captions.critic.pixels import pixel_values
from revise_captions.finetune.data import Example, Examples
from revise_captions.finetune.pixels import PixelCache
from revise_captions.finetune.targets import Choice, Encoded, Task, encode

if TYPE_CHECKING:
    from transformers import PaliGemmaForConditionalGeneration

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Measured:
    """`p`: P(factual) of each sentence; `factual`: its truth; token accuracies by task."""

    p: Floats
    factual: NDArray[np.bool_]
    assessable_accuracy: float
    rationale_accuracy: float
    describe_accuracy: float

    @property
    def figures(self) -> dict[str, float]:
        from sklearn.metrics import f1_score, log_loss, roc_auc_score

        both = bool(self.factual.any()) and not bool(self.factual.all())
        return {
            "auc": float(roc_auc_score(self.factual, self.p)) if both else float("nan"),
            "macro_f1": float(f1_score(self.factual, self.p >= 0.5, average="macro")),
            "accuracy": float(np.mean((self.p >= 0.5) == self.factual)),
            "nll": float(log_loss(self.factual, self.p, labels=[False, True])),
            "share_factual": float(self.factual.mean()),
            "assessable_accuracy": self.assessable_accuracy,
            "rationale_token_accuracy": self.rationale_accuracy,
            "describe_token_accuracy": self.describe_accuracy,
        }


def _choice(example: Example) -> Choice:
    """Everything there is to ask: the first rationale of each wrong sentence, the description."""
    wrong = ((i, s.rationales) for i, s in enumerate(example.sentences) if not s.factual)
    return Choice(tuple((i, texts[0]) for i, texts in wrong if texts), bool(example.description))


@torch.compiler.set_stance("force_eager")
@torch.inference_mode()
def measure(
    model: PaliGemmaForConditionalGeneration,
    codec: Codec,
    examples: Examples,
    indices: Sequence[int],
    cache: PixelCache,
    regime: Regime,
    *,
    max_length: int = 1024,
    size: int = 16,
) -> Measured:
    """Teacher-forced measurement on some examples, in the model's own dtype, never compiled."""
    p: list[Floats] = []
    factual: list[NDArray[np.bool_]] = []
    right, total = np.zeros(len(Task)), np.zeros(len(Task))
    ordered = sorted(indices, key=lambda i: len(examples.lines[i]))
    for start in range(0, len(ordered), size):
        part = ordered[start : start + size]
        batch = [examples[i] for i in part]
        encoded = encode(
            codec,
            batch,
            [_choice(example) for example in batch],
            images=image_tokens(model),
            regime=regime,
            multiple=8,
            max_length=max_length,
        )
        pixels = cache.take([examples.image_of[i] for i in part], [0] * len(part))
        logits = _logits(model, encoded, pixel_values(pixels, model.dtype))
        tasks, ids = encoded.targets.tasks, encoded.targets.ids
        hit = (logits.argmax(-1).numpy() == ids).astype(float)
        right += np.bincount(tasks, hit, len(Task))
        total += np.bincount(tasks, minlength=len(Task))
        first = tasks == Task.CLASSIFY
        pair = logits[torch.from_numpy(first)][:, [codec.yes, codec.no]]
        p.append(pair.softmax(-1)[:, 0].double().numpy())
        factual.append(ids[first] == codec.yes)
    accuracy = right / np.maximum(total, 1)
    return Measured(
        np.concatenate(p),
        np.concatenate(factual),
        float(accuracy[Task.FOLLOW]),
        float(accuracy[Task.RATIONALE]),
        float(accuracy[Task.DESCRIBE]),
    )


def _logits(
    model: PaliGemmaForConditionalGeneration, encoded: Encoded, pixels: torch.Tensor
) -> torch.Tensor:
    hidden = hidden_states(
        model,
        tower_output(model, pixels),
        torch.from_numpy(encoded.example_of_row),
        encoded.batch,
    )
    return logits_at(model, hidden, torch.from_numpy(encoded.targets.at))
