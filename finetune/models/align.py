"""Projector initialization for a new model: image tokens as sums of their labels' embeddings.

Learning from verdicts alone that some patch features mean “dog” and “brown” takes very long. With
dense labels the projector can be solved for: ridge regression from the tower's features onto the
summed embeddings of each patch's class names and position words, plus a random map that keeps the
features' other information.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from revise_captions.critic.paligemma.image_prefetch import pixel_values
from revise_captions.critic.paligemma.model import tower_output
from revise_captions.critic.paligemma.tokenizer import PromptTokenizer
from revise_captions.finetune.data.image_cache import PixelCache
from revise_captions.finetune.models.dense_labels import Dense

if TYPE_CHECKING:
    from transformers import PaliGemmaForConditionalGeneration

#: Scale of the random map relative to the solved one.
REST = 0.5
IMAGES = 4000


def _word(codec: PromptTokenizer, embeddings: torch.Tensor, text: str) -> torch.Tensor:
    ids = list(codec.text(f" {text}"))
    summed: torch.Tensor = embeddings[ids].sum(0) / len(ids) ** 0.5
    return summed


def _word_sums(
    codec: PromptTokenizer, embeddings: torch.Tensor, dense: Dense, labels: NDArray[np.uint8]
) -> torch.Tensor:
    """Targets (images, patches, hidden): summed embeddings, scaled to the norm of one word."""
    hidden, grid = embeddings.shape[1], labels.shape[1]
    total = torch.zeros(*labels.shape[:3], hidden)
    active = torch.zeros(*labels.shape[:3], 1)
    for channel, names in enumerate(dense.classes):
        table = torch.stack(
            [torch.zeros(hidden), *(_word(codec, embeddings, name) for name in names[1:])]
        )
        chosen = torch.from_numpy(labels[..., channel].astype(np.int64))
        total += table[chosen]
        active += (chosen > 0)[..., None]
    place = torch.linspace(-1, 1, grid)
    across = _word(codec, embeddings, "right") - _word(codec, embeddings, "left")
    down = _word(codec, embeddings, "bottom") - _word(codec, embeddings, "top")
    total += place[None, None, :, None] * across + place[None, :, None, None] * down
    return (total / (active + 1).sqrt()).flatten(1, 2)


@torch.compiler.set_stance("force_eager")
@torch.no_grad()
def align_projector(
    model: PaliGemmaForConditionalGeneration,
    codec: PromptTokenizer,
    dense: Dense,
    pixels: PixelCache,
) -> float:
    """Sets the projector of a new model; returns the share of the targets' energy it explains."""
    language = model.model.language_model
    embeddings = (language.embed_tokens.weight * language.embed_tokens.embed_scale).float()
    images = np.linspace(0, len(dense.labels) - 1, min(IMAGES, len(dense.labels))).astype(int)
    width = model.config.vision_config.hidden_size + 1
    gram = torch.zeros(width, width, dtype=torch.float64)
    cross = torch.zeros(width, embeddings.shape[1], dtype=torch.float64)
    energy = 0.0
    for start in range(0, len(images), 100):
        part = images[start : start + 100]
        values = pixel_values(pixels.take(part.tolist(), [0] * len(part)), model.dtype)
        features = tower_output(model, values).double().flatten(0, 1)
        features = torch.nn.functional.pad(features, (0, 1), value=1.0)
        target = _word_sums(codec, embeddings, dense, np.asarray(dense.labels[part])).flatten(0, 1)
        gram += features.T @ features
        cross += features.T @ target.double()
        energy += float(target.square().sum())
    ridge = 1e-4 * gram.diagonal().mean() * torch.eye(width, dtype=torch.float64)
    solved = torch.linalg.solve(gram + ridge, cross)
    explained = float((2 * (solved * cross).sum() - (solved * (gram @ solved)).sum()) / energy)
    rest = torch.randn(width - 1, embeddings.shape[1]) * (REST * (width - 1) ** -0.5)
    linear = model.model.multi_modal_projector.linear
    linear.weight.copy_((solved[:-1].float() + rest).T)
    linear.bias.copy_(solved[-1])
    return explained
