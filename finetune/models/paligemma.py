"""A PaliGemma under training: all sentences of a caption in one row, under the tree mask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from revise_captions.critic.checkpoints import CriticCard, save_critic, save_processor
from revise_captions.critic.gates.language import Vocabulary
from revise_captions.critic.paligemma.critic import PaliGemmaCritic
from revise_captions.critic.paligemma.image_prefetch import pixel_values
from revise_captions.critic.paligemma.model import (
    hidden_states,
    image_tokens,
    logits_at,
    tower_output,
)
from revise_captions.critic.paligemma.packing import AttentionMode
from revise_captions.critic.paligemma.tokenizer import PromptTokenizer
from revise_captions.critic.protocol import Critic
from revise_captions.finetune.data.image_cache import PixelCache
from revise_captions.finetune.data.recolor import recolored
from revise_captions.finetune.data.records import TrainingExample
from revise_captions.finetune.data.targets import Choice, Encoded, encode
from revise_captions.finetune.models.protocol import ForwardInputs, ForwardOutputs, Images

if TYPE_CHECKING:
    from transformers import PaliGemmaForConditionalGeneration


@dataclass(frozen=True, slots=True)
class PackedLearner:
    """See `protocol.Learner`.

    Attributes:
        multiple: Pad rows to a multiple of this length; compiled layers need few shapes.
        error_onset: A linear head on a word's last hidden state (`data.token_labels`), or None.
        pixels: A cache for each split, by the split's path.
        packed: Whether the queries about a caption share a row.
    """

    model: PaliGemmaForConditionalGeneration
    codec: PromptTokenizer
    attention_mode: AttentionMode
    max_length: int
    multiple: int = 8
    error_onset: torch.nn.Module | None = None
    pixels: Mapping[Path, PixelCache] = field(default_factory=dict)
    packed: bool = True

    def encode(
        self, examples: Sequence[TrainingExample], choices: Sequence[Choice], images: Images
    ) -> ForwardInputs | None:
        encoded = encode(
            self.codec,
            examples,
            choices,
            images=image_tokens(self.model),
            attention_mode=self.attention_mode,
            multiple=self.multiple,
            max_length=self.max_length,
            packed=self.packed,
        )
        if encoded is None:
            return None
        cache = self.pixels[images.split.path]
        augmented = images.augmented if cache.variants else [0] * len(images.augmented)
        pixels = cache.take(images.index, augmented)
        for place, seed in enumerate(images.colors):
            if seed:
                pixels[place] = recolored(pixels[place], seed)
        return ForwardInputs(
            (encoded, pixels),
            encoded.targets.ids,
            encoded.targets.tasks,
            encoded.example_of_row[encoded.targets.at // encoded.batch.ids.shape[1]],
            encoded.targets.error_onset,
            int(encoded.batch.positions.max()),
            encoded.batch.ids.shape[1],
            encoded.skipped,
        )

    def forward(self, asked: ForwardInputs) -> ForwardOutputs:
        encoded: Encoded = asked.inputs[0]
        device = self.model.device
        values = pixel_values(asked.inputs[1], self.dtype).to(device)
        tower = tower_output(self.model, values)
        owner = torch.from_numpy(encoded.example_of_row).to(device)
        hidden = hidden_states(self.model, tower, owner, encoded.batch)
        at = torch.from_numpy(encoded.targets.at).to(device)
        logits = logits_at(self.model, hidden, at)
        if self.error_onset is None or not len(encoded.targets.error_onset):
            return ForwardOutputs(logits, None, tower)
        words = hidden.flatten(0, 1)[torch.from_numpy(encoded.targets.error_onset_at).to(device)]
        return ForwardOutputs(logits, self.error_onset(words).float()[:, 0], tower)

    @property
    def dtype(self) -> torch.dtype:
        """The compute dtype: that of the patch embedding, which is never quantized."""
        weight: torch.Tensor = self.model.model.vision_tower.embeddings.patch_embedding.weight
        return weight.dtype

    @property
    def wrong_ids(self) -> list[int]:
        return [self.codec.no]

    def p_factual(self, logits: torch.Tensor) -> torch.Tensor:
        return logits[:, [self.codec.yes, self.codec.no]].softmax(-1)[:, 0]

    def critic(self, card: CriticCard) -> Critic:
        return PaliGemmaCritic(
            self.model,
            self.codec,
            card,
            vocabulary=Vocabulary(frozenset()),
            gate=None,
            threshold=card.threshold,
            settings={},
            batch_size=16,
        )

    def card(self) -> CriticCard:
        return CriticCard(self.attention_mode, max_length=self.max_length)

    def write(self, folder: Path, card: CriticCard) -> None:
        save_critic(self.model, self.codec.pretrained, card, folder)

    def write_small(self, folder: Path, card: CriticCard) -> None:
        save_processor(self.model.config, self.codec.pretrained, folder)
        card.write(folder)
