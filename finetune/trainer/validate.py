"""Validation while training: probabilities, ROC-AUC, macro-F1, losses and token accuracies."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy

from revise_captions.critic.checkpoints import CriticCard
from revise_captions.critic.protocol import ExplainRequest
from revise_captions.finetune.data.image_cache import upright
from revise_captions.finetune.data.records import Examples, TrainingExample
from revise_captions.finetune.data.targets import Choice, TokenTask
from revise_captions.finetune.models.protocol import Images, Learner

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """Measurements on a validation split.

    Attributes:
        p: P(factual) of each sentence.
        factual: Its label.
        assessable_accuracy: Token accuracy after Yes or No.
        rationale_accuracy: Token accuracy of the first rationale of each wrong sentence.
        describe_accuracy: Token accuracy of descriptions.
        rationale_loss: Mean negative log-likelihood per token of those rationales.
        caption: The example that each sentence belongs to.
    """

    p: Floats
    factual: NDArray[np.bool_]
    assessable_accuracy: float
    rationale_accuracy: float
    describe_accuracy: float
    rationale_loss: float = float("nan")
    caption: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

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
            "rationale_loss": self.rationale_loss,
            "describe_token_accuracy": self.describe_accuracy,
        }

    @property
    def shown(self) -> dict[str, float | None]:
        """The figures to four decimals for JSON, None if undefined."""
        return {k: None if np.isnan(v) else round(v, 4) for k, v in self.figures.items()}

    @property
    def score(self) -> float:
        """The score of a checkpoint: ROC-AUC, with ties broken by the losses."""
        figures = self.figures
        auc = 0.5 if np.isnan(figures["auc"]) else figures["auc"]
        rationale = 0.0 if np.isnan(self.rationale_loss) else self.rationale_loss
        return float(auc - 1e-3 * (figures["nll"] + rationale))


def _choice(example: TrainingExample) -> Choice:
    """All queries: the first rationale of each wrong sentence, and the description."""
    wrong = ((i, s.rationales) for i, s in enumerate(example.sentences) if not s.factual)
    return Choice(tuple((i, texts[0]) for i, texts in wrong if texts), bool(example.description))


@torch.compiler.set_stance("force_eager")
@torch.inference_mode()
def measure_learner(
    learner: Learner,
    examples: Examples,
    indices: Sequence[int],
    size: int = 16,
    until: float | None = None,
) -> ValidationResult:
    """Measures some examples by teacher forcing, in the model's dtype, not compiled.

    `size`: captions per batch. `until`: the time (`time.monotonic`) after which no batch but the
    first begins; batches, of captions of similar length, then come in random order.
    """
    learner.model.eval()
    p: list[Floats] = [np.empty(0)]
    factual: list[NDArray[np.bool_]] = [np.empty(0, dtype=bool)]
    captions: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
    right, total, loss = (np.zeros(len(TokenTask)) for _ in range(3))
    ordered = sorted(indices, key=lambda i: len(examples.lines[i]))
    parts = [ordered[start : start + size] for start in range(0, len(ordered), size)]
    if until is not None:
        random.Random(0).shuffle(parts)
    for number, part in enumerate(parts):
        if until is not None and number and time.monotonic() >= until:
            break
        batch = [examples[i] for i in part]
        images = Images(examples, [examples.image_of[i] for i in part], [0] * len(part))
        asked = learner.encode(batch, [_choice(example) for example in batch], images)
        if asked is None:
            continue
        logits = learner.forward(asked).logits
        ids = torch.from_numpy(asked.ids).to(logits.device)
        hit = (logits.argmax(-1) == ids).double().cpu().numpy()
        each = cross_entropy(logits, ids, reduction="none").double().cpu().numpy()
        right += np.bincount(asked.tasks, hit, len(TokenTask))
        loss += np.bincount(asked.tasks, each, len(TokenTask))
        total += np.bincount(asked.tasks, minlength=len(TokenTask))
        first = asked.tasks == TokenTask.CLASSIFY
        at = torch.from_numpy(first).to(logits.device)
        p.append(learner.p_factual(logits[at]).double().cpu().numpy())
        captions.append(np.array(part)[asked.owner[first]])
        factual.append(~np.isin(asked.ids[first], learner.wrong_ids))
    accuracy, mean = right / np.maximum(total, 1), loss / np.where(total > 0, total, np.nan)
    return ValidationResult(
        np.concatenate(p),
        np.concatenate(factual),
        float(accuracy[TokenTask.FOLLOW]),
        float(accuracy[TokenTask.RATIONALE]),
        float(accuracy[TokenTask.DESCRIBE]),
        float(mean[TokenTask.RATIONALE]),
        np.concatenate(captions),
    )


@torch.compiler.set_stance("force_eager")
def samples(
    learner: Learner, card: CriticCard, examples: Examples, count: int
) -> Iterator[dict[str, Any]]:
    """Generated and reference rationales of `count` wrong sentences, the same every time."""
    picked: list[tuple[TrainingExample, ExplainRequest]] = []
    step = max(1, len(examples) // max(1, 4 * count))
    for number in range(0, len(examples), step):
        example = examples[number]
        wrong = [i for i, s in enumerate(example.sentences) if not s.factual and s.rationales]
        if wrong and len(picked) < count:
            image = upright(examples.root / example.image)
            picked.append(
                (example, ExplainRequest(image, example.caption, example.spans, wrong[0]))
            )
    said = learner.critic(card).explain([claim for _, claim in picked]) if picked else []
    for (example, claim), rationale in zip(picked, said, strict=True):
        sentence = example.sentences[claim.index]
        yield {
            "sentence": sentence.span.of(example.caption),
            "said": rationale.text,
            "told": sentence.rationales[0],
        }
