"""What a critic shows of its language model, for what is trained on top of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt
import torch

from revise_captions.critic.paligemma.critic import PaliGemmaCritic
from revise_captions.critic.paligemma.model import embedded, hidden_states, run_layers
from revise_captions.critic.paligemma.packing import collate
from revise_captions.critic.paligemma.vision_cache import encode_images
from revise_captions.critic.protocol import Critic, JudgeRequest

if TYPE_CHECKING:
    from PIL.Image import Image

Floats = npt.NDArray[np.float32]


class HiddenStates(Protocol):
    """States of a critic's language model. No domain gate is asked about them.

    Attributes:
        width: Length of a state.
        embeddings: Of its tokens, float32 (vocabulary, width).
    """

    @property
    def width(self) -> int: ...

    @property
    def embeddings(self) -> Floats: ...

    def tokens(self, text: str) -> Sequence[int]:
        """Ids of a text's tokens, rows of `embeddings`."""
        ...

    def answers(self, requests: Sequence[JudgeRequest]) -> list[Floats]:
        """The state from which each answer is read.

        Sentences that the critic is not asked about (too long, in another language) are left out.

        Returns:
            For each request, (sentences asked about, width).
        """
        ...

    def image_means(self, images: Sequence[Image]) -> Floats:
        """The mean of each image's tokens as the language model gets them: (images, width)."""
        ...

    def text_means(self, texts: Sequence[str]) -> Floats:
        """The mean of the last states over each text alone: (texts, width)."""
        ...


class PaliGemmaStates:
    """Of a PaliGemma critic in this process. See `HiddenStates`."""

    def __init__(self, critic: PaliGemmaCritic) -> None:
        self.critic = critic
        self.width = int(critic.model.config.text_config.hidden_size)

    @cached_property
    def embeddings(self) -> Floats:
        weights = self.critic.model.model.language_model.embed_tokens.weight
        found: Floats = weights.detach().float().cpu().numpy()
        return found

    def tokens(self, text: str) -> Sequence[int]:
        return self.critic.tokenizer.text(text)

    @torch.inference_mode()
    def answers(self, requests: Sequence[JudgeRequest]) -> list[Floats]:
        critic = self.critic
        seen = encode_images(critic.model, [request.image for request in requests], None)
        numbers = [seen.index[id(request.image)] for request in requests]
        found: list[dict[int, Floats]] = [{} for _ in requests]
        for rows in critic.batches(requests, packed=critic.packed):
            batch = collate([row.row for row in rows], critic.tokenizer)
            images = torch.tensor([numbers[row.image] for row in rows], device=seen.tower.device)
            hidden = hidden_states(critic.model, seen.tower, images, batch)
            states = hidden.flatten(0, 1).float().cpu().numpy()
            for number, row in enumerate(rows):
                for k, branch in enumerate(row.row.branches):
                    place = batch.at(number, k, branch.prompt - 1)
                    found[row.request][row.sentences[k]] = states[place]
        nothing = np.zeros((0, self.width), np.float32)
        return [np.stack([own[k] for k in sorted(own)]) if own else nothing for own in found]

    @torch.inference_mode()
    def image_means(self, images: Sequence[Image]) -> Floats:
        model = self.critic.model
        seen = encode_images(model, images, None)
        tokens = model.model.multi_modal_projector(seen.tower).float().mean(1)
        return tokens[[seen.index[id(image)] for image in images]].cpu().numpy()

    @torch.inference_mode()
    def text_means(self, texts: Sequence[str]) -> Floats:
        model, tokenizer = self.critic.model, self.critic.tokenizer
        found = []
        for text in texts:
            own = [tokenizer.bos, *tokenizer.text(text)]
            embeds = embedded(model, None, torch.tensor([own[: self.critic.card.max_length]]))
            length = embeds.shape[1]
            mask = torch.full((length, length), torch.finfo(embeds.dtype).min, dtype=embeds.dtype)
            mask = mask.triu(1)[None, None].to(embeds.device)
            states = run_layers(model, embeds, mask, torch.arange(1, length + 1)[None])
            found.append(states[0].float().mean(0).cpu().numpy())
        return np.stack(found)


def states_of(critic: Critic) -> HiddenStates | None:
    """The states of a critic that runs in this process; None of any other."""
    return PaliGemmaStates(critic) if isinstance(critic, PaliGemmaCritic) else None
