"""What critics have in common that ask another one: it decides which images they take."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from PIL.Image import Image

from revise_captions.critic.protocol import AcceptsImages, Critic
from revise_captions.runs.window_images import PreparesImages


@runtime_checkable
class WrapsCritic(Protocol):
    """A critic that changes what another one says, but not about which images.

    Attributes:
        critic: The other one.
    """

    critic: Critic


def is_selective(critic: Critic) -> bool:
    """Whether the critic, or the one that it asks, may refuse images."""
    while isinstance(critic, WrapsCritic):
        critic = critic.critic
    return isinstance(critic, AcceptsImages)


def gate_of(critic: Critic) -> object | None:
    """The gate that runs warn by if it refuses most images; None if the critic has none."""
    return getattr(critic, "gate", None)


def prepare(critic: Critic, image: Image) -> None:
    """Hands the image to a critic that prepares images."""
    if isinstance(critic, PreparesImages):
        critic.prepare(image)
