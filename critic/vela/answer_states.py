"""States of a critic that others build on: pooled image tokens, pooled text, and the states from
which its answers are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch

from revise_captions.critic.paligemma.critic import PaliGemmaCritic
from revise_captions.critic.paligemma.model import embedded, hidden_states, run_layers
from revise_captions.critic.paligemma.packing import collate
from revise_captions.critic.paligemma.vision_cache import encode_images
from revise_captions.critic.protocol import JudgeRequest

if TYPE_CHECKING:
    from PIL.Image import Image

Floats = npt.NDArray[np.float32]


@torch.inference_mode()
def answer_states(critic: PaliGemmaCritic, requests: Sequence[JudgeRequest]) -> list[Floats]:
    """The last hidden state of each sentence's question, from which the answer is read.

    Sentences that the critic is not asked about (too long, in another language) are left out. The
    domain gate is not consulted.

    Returns:
        For each request, (sentences asked about, hidden).
    """
    seen = encode_images(critic.model, [request.image for request in requests], None)
    numbers = [seen.index[id(request.image)] for request in requests]
    found: list[dict[int, Floats]] = [{} for _ in requests]
    for rows in critic.batches(requests, packed=critic.packed):
        batch = collate([row.row for row in rows], critic.tokenizer)
        images = torch.tensor([numbers[row.image] for row in rows], device=seen.tower.device)
        places = [
            [
                start + branch.prompt - 1
                for start, branch in zip(starts, row.row.branches, strict=True)
            ]
            for starts, row in zip(batch.starts, rows, strict=True)
        ]
        most = max(map(len, places))
        only = torch.tensor([p + [0] * (most - len(p)) for p in places], device=images.device)
        hidden = hidden_states(critic.model, seen.tower, images, batch, None, only)
        states = hidden.float().cpu().numpy()
        for row, own in zip(rows, states, strict=True):
            found[row.request] |= dict(zip(row.sentences, own, strict=False))
    width = int(critic.model.config.text_config.hidden_size)
    return [
        np.stack([own[k] for k in sorted(own)]) if own else np.zeros((0, width), np.float32)
        for own in found
    ]


@torch.inference_mode()
def image_means(critic: PaliGemmaCritic, images: Sequence[Image]) -> Floats:
    """The mean of each image's tokens as the language model gets them: (images, hidden)."""
    seen = encode_images(critic.model, images, None)
    tokens = critic.model.model.multi_modal_projector(seen.tower).float().mean(1)
    return tokens[[seen.index[id(image)] for image in images]].cpu().numpy()


@torch.inference_mode()
def text_means(critic: PaliGemmaCritic, texts: Sequence[str]) -> Floats:
    """The mean of the language model's last states over each text alone: (texts, hidden)."""
    found = []
    limit = critic.card.max_length
    for text in texts:
        ids = torch.tensor([[critic.tokenizer.bos, *critic.tokenizer.text(text)][:limit]])
        embeds = embedded(critic.model, None, ids)
        length = embeds.shape[1]
        mask = torch.full((length, length), torch.finfo(embeds.dtype).min, dtype=embeds.dtype)
        mask = mask.triu(1)[None, None].to(embeds.device)
        positions = torch.arange(1, length + 1)[None]
        states = run_layers(critic.model, embeds, mask, positions)
        found.append(states[0].float().mean(0).cpu().numpy())
    return np.stack(found)
