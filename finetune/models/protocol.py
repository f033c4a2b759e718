"""The interface between the training loop and a model.

Implementations: `models.paligemma` (all sentences of a caption in one row) and `models.instruct`
(one sequence per sentence, through the model's chat template).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from revise_captions.critic.checkpoints import CriticCard
from revise_captions.critic.protocol import Critic
from revise_captions.finetune.data.records import Examples, TrainingExample
from revise_captions.finetune.data.targets import Choice

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ForwardInputs:
    """The encoded queries of one forward pass.

    Attributes:
        inputs: The arguments of the learner's `forward`.
        ids: Target tokens.
        tasks: The `TokenTask` of each.
        owner: The example of each, as an index into the call's examples.
        error_onset: Word labels (`data.token_labels`), if any.
        longest: The highest position in tokens.
        width: The padded length.
        skipped: Queries that were too long.
    """

    inputs: Any
    ids: Ints
    tasks: Ints
    owner: Ints
    error_onset: Ints
    longest: int
    width: int
    skipped: int


@dataclass(frozen=True, slots=True)
class ForwardOutputs:
    """The result of a forward pass.

    Attributes:
        logits: float32 (targets, vocabulary).
        error_onset: A logit for each of `ForwardInputs.error_onset`; None without the head.
        tower: Patch features (images, patches, hidden); None if the model does not expose them.
    """

    logits: torch.Tensor
    error_onset: torch.Tensor | None = None
    tower: torch.Tensor | None = None


@dataclass(frozen=True, slots=True)
class Images:
    """The images of one forward pass.

    Attributes:
        index: Indices into the split's images.
        augmented: 1 for the rescaled and recompressed variant, else 0.
        colors: A seed for each image to be recolored (negative: slightly), else 0; () for none.
    """

    split: Examples
    index: Sequence[int]
    augmented: Sequence[int]
    colors: Sequence[int] = ()


class Learner(Protocol):
    """A model under training. Images are given per example, in order."""

    @property
    def model(self) -> Any: ...

    def encode(
        self, examples: Sequence[TrainingExample], choices: Sequence[Choice], images: Images
    ) -> ForwardInputs | None:
        """The queries in `choices`, or None if none fits into the longest row."""
        ...

    def forward(self, asked: ForwardInputs) -> ForwardOutputs: ...

    @property
    def wrong_ids(self) -> list[int]:
        """First tokens of the answer No."""
        ...

    def p_factual(self, logits: torch.Tensor) -> torch.Tensor:
        """P(Yes) / (P(Yes) + P(No)) from the logits at a query's end; shape (queries,)."""
        ...

    def critic(self, card: CriticCard) -> Critic:
        """The model in its current state, as users load it."""
        ...

    def card(self) -> CriticCard: ...

    def write(self, folder: Path, card: CriticCard) -> None:
        """Writes model, tokenizer and card as a folder for `critic.load`."""
        ...

    def write_small(self, folder: Path, card: CriticCard) -> None:
        """Writes tokenizer and card beside an adapter."""
        ...
