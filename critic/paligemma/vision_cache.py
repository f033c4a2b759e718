"""The vision tower's features of a call's images, computed once per image object.

A window's captions are judged, explained, and judged again after a rewrite, with the same image
objects. Features are kept between calls, so that the tower runs once on each.
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

#: How many images go through the tower together.
TOGETHER = 32


@dataclass(frozen=True, slots=True)
class VisionFeatures:
    """The tower's output for distinct images.

    Attributes:
        tower: (images, patches, hidden).
        inside: Whether each image is in the domain of `gate`.
        index: Index of an image, by the id of its object.
        images: The objects, kept alive so that no id is reused.
        gate: The gate that decided `inside`; None: all images are inside.
    """

    tower: torch.Tensor
    inside: Sequence[bool]
    index: dict[int, int]
    images: tuple[Image, ...]
    gate: DomainGate | None

    def has(self, images: Sequence[Image], gate: DomainGate | None) -> bool:
        """Whether these features cover all of the images, for this gate."""
        return gate is self.gate and all(id(image) in self.index for image in images)


def encode_images(
    model: PaliGemmaForConditionalGeneration,
    images: Sequence[Image],
    gate: DomainGate | None,
    prefetcher: ImagePrefetcher | None = None,
) -> VisionFeatures:
    """Runs the tower on each distinct image, and the gate on its hidden states.

    Args:
        model: The critic's network.
        images: The images, repetitions allowed.
        gate: The domain gate; None: all images are inside.
        prefetcher: Holds images that have already been resized.

    Raises:
        EngineDead: The device has no memory for a single image.
    """
    distinct = list({id(image): image for image in images}.values())
    outputs: list[torch.Tensor] = []
    inside: list[bool] = []
    for batch in pixels_of(model, distinct, prefetcher):
        values: Any = batch  # `halving` slices a tensor like a sequence
        for attempt in halving(values):
            if not attempt.fits:
                raise EngineDead("the device does not have enough memory for a single image")
            with attempt as part:
                output, known = _tower(model, part, gate)
                outputs.append(output)
                inside += known
    index = {id(image): number for number, image in enumerate(distinct)}
    tower = torch.cat(outputs) if outputs else torch.empty(0)
    return VisionFeatures(tower, inside, index, tuple(distinct), gate)


def pixels_of(
    model: PaliGemmaForConditionalGeneration,
    images: Sequence[Image],
    prefetcher: ImagePrefetcher | None = None,
) -> Iterator[torch.Tensor]:
    """Pixel values on the model's device, (up to `TOGETHER`, 3, size, size) at a time.

    Meanwhile, threads resize the next images.
    """
    prefetcher = prefetcher or ImagePrefetcher(model.config.vision_config.image_size)
    device = model.device
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        waiting = [pool.submit(prefetcher.take, image) for image in images]
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
