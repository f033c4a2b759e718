"""What the tower sees in a call's images: computed once per image, and kept for the next call.

A window's captions are judged, then explained, then judged again where they were rewritten: the
images are the same objects all along, so the tower runs once on each.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from revise_captions.critic.gates.image_domain import DomainGate, tower_states
from revise_captions.critic.paligemma.batching import halving
from revise_captions.critic.paligemma.image_prefetch import ImagePrefetcher, Pixels, pixel_values
from revise_captions.critic.paligemma.model import tower_output
from revise_captions.errors import EngineDead

if TYPE_CHECKING:
    from PIL.Image import Image
    from transformers import PaliGemmaForConditionalGeneration

#: Images that go through the tower together.
TOGETHER = 32


@dataclass(frozen=True, slots=True)
class VisionFeatures:
    """The tower's output for distinct images, and which of them are in the domain of `gate`.

    `index`: by the id of an image object; `images` keeps the objects, so that no id is used again.
    """

    tower: torch.Tensor
    inside: Sequence[bool]
    index: dict[int, int]
    images: tuple[Image, ...]
    gate: DomainGate | None

    def has(self, images: Sequence[Image], gate: DomainGate | None) -> bool:
        """Whether all of these have been looked at, for this gate."""
        return gate is self.gate and all(id(image) in self.index for image in images)


def encode_images(
    model: PaliGemmaForConditionalGeneration,
    images: Sequence[Image],
    gate: DomainGate | None,
    ahead: ImagePrefetcher | None = None,
) -> VisionFeatures:
    """Runs the tower once on each distinct image, and the gate on what it saw.

    `ahead`: where some of them have been resized.
    """
    distinct = list({id(image): image for image in images}.values())
    outputs: list[torch.Tensor] = []
    inside: list[bool] = []
    for batch in pixels_of(model, distinct, ahead):
        values: Any = batch  # a tensor: it is cut as a sequence is
        for _, found in halving(values, lambda part: _tower(model, part, gate)):
            if found is None:
                raise EngineDead("the device has no memory for a single image")
            outputs.append(found[0])
            inside += found[1]
    index = {id(image): number for number, image in enumerate(distinct)}
    tower = torch.cat(outputs) if outputs else torch.empty(0)
    return VisionFeatures(tower, inside, index, tuple(distinct), gate)


def pixels_of(
    model: PaliGemmaForConditionalGeneration,
    images: Sequence[Image],
    ahead: ImagePrefetcher | None = None,
) -> Iterator[torch.Tensor]:
    """(images, 3, size, size) on the model's device, some images at a time.

    Threads resize the next ones while the model works on these.
    """
    ahead = ahead or ImagePrefetcher(model.config.vision_config.image_size)
    device = model.device
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        waiting = [pool.submit(ahead.take, image) for image in images]
        for start in range(0, len(images), TOGETHER):
            ready: list[Pixels] = [w.result() for w in waiting[start : start + TOGETHER]]
            values = pixel_values(ready, model.dtype)
            if device.type == "cuda":
                values = values.pin_memory()
            yield values.to(device, non_blocking=True)


def _tower(
    model: PaliGemmaForConditionalGeneration, values: Any, gate: DomainGate | None
) -> tuple[torch.Tensor, list[bool]]:
    """`values`: a tensor (images, 3, size, size)."""
    if gate is None:
        return tower_output(model, values), [True] * len(values)
    output, states = tower_states(model, values)
    return output, gate.inside(states).tolist()
