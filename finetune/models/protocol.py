"""What a model under training has to offer; the loop knows nothing else of it.

Two kinds: `packed` (PaliGemma, all sentences of a caption in one row) and `chat` (any instruct
model, one sequence per sentence through its chat template).
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
    """Everything that one forward pass is asked, encoded.

    `ids`, `tasks`: what is to be found at each place where the loss looks, and what it teaches
    (`targets.Task`); `owner`: the example, as counted in the call. `trace`: whether a sentence has
    gone wrong, at the places where that is asked.
    `longest`: the highest position; `width`: the padded length; `skipped`: questions too long.
    """

    inputs: Any
    ids: Ints
    tasks: Ints
    owner: Ints
    trace: Ints
    longest: int
    width: int
    skipped: int


@dataclass(frozen=True, slots=True)
class ForwardOutputs:
    """What came of it. `logits`: float32 of shape (places, vocabulary); `trace`: a logit for each
    of `ForwardInputs.trace`; `tower`: patch features (images, patches, hidden), None where not
    exposed.
    """

    logits: torch.Tensor
    trace: torch.Tensor | None = None
    tower: torch.Tensor | None = None


@dataclass(frozen=True, slots=True)
class Images:
    """Images of one forward pass: indices into the split's images, and 1 where the worn variant.

    `colours`: a seed where the image is to be recoloured, 0 where it is not; () for none.
    """

    split: Examples
    index: Sequence[int]
    worn: Sequence[int]
    colours: Sequence[int] = ()


class Learner(Protocol):
    """A model that is trained. Images are given per example, in order."""

    @property
    def model(self) -> Any: ...

    @property
    def settings(self) -> dict[str, str]:
        """What the card says about how it is asked: prompt version, attention mode."""
        ...

    def encode(
        self, examples: Sequence[TrainingExample], choices: Sequence[Choice], images: Images
    ) -> ForwardInputs | None:
        """The questions that `choices` name, or None where none fits into the longest row."""
        ...

    def forward(self, asked: ForwardInputs) -> ForwardOutputs: ...

    @property
    def wrong_ids(self) -> list[int]:
        """First tokens of the answer No."""
        ...

    def p_factual(self, logits: torch.Tensor) -> torch.Tensor:
        """P(Yes) / (P(Yes) + P(No)), from the logits at a question's end, shape (questions,)."""
        ...

    def critic(self, card: CriticCard) -> Critic:
        """The model as it stands, asked the way users ask it."""
        ...

    def card(self) -> CriticCard: ...

    def write(self, folder: Path, card: CriticCard) -> None:
        """The whole model, tokenizer and card, as a folder that `critic.load` takes."""
        ...

    def write_small(self, folder: Path, card: CriticCard) -> None:
        """Tokenizer and card, for a folder that holds an adapter."""
        ...
