"""What a critic that asks another one shares with it: which images it takes."""

from __future__ import annotations

from collections.abc import Sequence

from PIL.Image import Image

from revise_captions.critic.protocol import Acceptance, Critic, accepted
from revise_captions.runs.window_images import PreparesImages


class WrappedCritic:
    """Base of critics that change what another one says, but not about which images.

    Args:
        critic: The other one.
    """

    def __init__(self, critic: Critic) -> None:
        self.critic = critic

    @property
    def gate(self) -> object | None:
        """The critic's; None where it has none."""
        return getattr(self.critic, "gate", None)

    def accepts(self, images: Sequence[Image]) -> list[Acceptance]:
        """What the critic's gate says; a critic without one takes every image."""
        return accepted(self.critic, images)

    def prepare(self, image: Image) -> None:
        """Hands the image to a critic that prepares images."""
        if isinstance(self.critic, PreparesImages):
            self.critic.prepare(image)
