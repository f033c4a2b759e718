"""Dense supervision of the image tower: what each patch shows.

`labels/<split>.npy`: uint8 of shape (images, grid, grid, channels), class 0 = nothing;
`labels/channels.json`: `[{"name": "kind", "classes": ["none", "house", …]}, …]`. A linear head for
each channel classifies every patch's features; the heads are discarded after training.

One more head predicts the patch's position. Without it the tower discards positions, which the
classes do not depend on, and the critic cannot tell left from right.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss

from revise_captions.errors import UserError, described
from revise_captions.finetune.data.recolor import COLOR_WORDS
from revise_captions.io.checked_json import read_checked


@dataclass(frozen=True, slots=True)
class Dense:
    """Patch labels of the training images; `classes[c]` names the classes of channel c."""

    labels: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]
    names: tuple[str, ...]
    classes: tuple[tuple[str, ...], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(map(len, self.classes))

    @property
    def colors(self) -> NDArray[np.bool_]:
        """Which channels are colors, shape (channels,)."""
        return np.array([not COLOR_WORDS.isdisjoint(names) for names in self.classes])


@dataclass(frozen=True, slots=True)
class _Channel:
    """The meaning of a channel's labels."""

    name: str
    classes: tuple[str, ...]


def dense_labels(root: Path, split: str, images: int, grid: int) -> Dense | None:
    """The dense labels beside the data, None without any. Raises UserError if malformed."""
    file, channels = root / "labels" / f"{split}.npy", root / "labels" / "channels.json"
    if not file.exists():
        return None
    held = read_checked(list[_Channel], channels, what="a list of channels", more=True)
    try:
        labels = np.load(file, mmap_mode="r")
    except (OSError, ValueError) as error:
        raise UserError(f"{file} is not an array of labels: {described(error)}") from None
    expected = (images, grid, grid, len(held))
    if labels.shape != expected or labels.dtype != np.uint8:
        raise UserError(
            f"{file} has shape {labels.shape} and type {labels.dtype}",
            hint=f"expected uint8 of shape {expected}: images, grid, grid, channels",
        )
    sizes = tuple(len(channel.classes) for channel in held)
    top = labels.reshape(-1, len(sizes)).max(0)
    for name, size, most in zip((c.name for c in held), sizes, top, strict=True):
        if most >= size:
            raise UserError(f"{file}: class {most} in channel {name!r}, which has {size} classes")
    classes = tuple(channel.classes for channel in held)
    return Dense(labels, tuple(c.name for c in held), classes)


def patch_positions(patches: int) -> torch.Tensor:
    """Row and column of each patch of a square grid, from -1 to 1; shape (patches, 2)."""
    steps = torch.linspace(-1, 1, round(patches**0.5))
    return torch.cartesian_prod(steps, steps)


class Heads(nn.Module):
    """Heads on the tower's patch features: a linear classifier per channel, a map to positions."""

    def __init__(self, hidden: int, sizes: tuple[int, ...]) -> None:
        super().__init__()
        self.sizes = sizes
        self.linear = nn.Linear(hidden, sum(sizes))
        self.place = nn.Linear(hidden, 2)

    def forward(
        self, features: torch.Tensor, labels: torch.Tensor, holds: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Features (images, patches, hidden), labels (images, patches, channels).

        `holds`: bool (images, channels), False where an image's labels are to be ignored.

        Returns the loss, averaged over channels, plus that of the positions, and each channel's
        accuracy on patches with something. In each channel, patches with something and patches
        with nothing have equal total weight: words and held things fill few patches and would not
        be learned otherwise.
        """
        logits = self.linear(features).float().split(self.sizes, dim=-1)
        found = self.place(features).float()
        loss = mse_loss(
            found, patch_positions(features.shape[-2]).to(found.device).expand_as(found)
        )
        right = []
        for channel, scores in enumerate(logits):
            truth = labels[..., channel]
            there = truth > 0
            each = cross_entropy(scores.flatten(0, -2), truth.flatten(), reduction="none")
            some, none = there, ~there
            if holds is not None:
                some, none = some & holds[:, channel, None], none & holds[:, channel, None]
            something, nothing = each[some.flatten()], each[none.flatten()]
            for part in (something, nothing):
                if part.numel():
                    loss = loss + 0.5 * part.mean() / len(self.sizes)
            hit = (scores.argmax(-1) == truth) & there
            right.append(hit.sum() / there.sum().clamp(min=1))
        return loss, torch.stack(right)
