"""The inputs and outputs of VELA's two branches, independent of their implementation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from revise_captions.vela.feature_cache import FeatureCache, Vector

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, slots=True)
class VelaItem:
    """A caption to score.

    Attributes:
        candidate: The caption.
        references: Reference captions.
        image: The image, upright RGB; None if there is none, or none is needed.
    """

    candidate: str
    references: tuple[str, ...] = ()
    image: Image | None = None


@dataclass(frozen=True, slots=True)
class BranchFeatures:
    """One branch's features of one caption.

    Attributes:
        vector: float32.
        cut: How many tokens of the texts did not fit into the model's context and were left out.
    """

    vector: Vector
    cut: int = 0


class PairEncoder(Protocol):
    """The I2C branch: images and captions to [|a − b|, a ⊙ b] (VELA, section 4.2).

    Attributes:
        settings: Everything that determines a feature, by name.
        width: Length of a feature vector.
        sees: Whether it needs the image.
        compares: Whether it needs references.
    """

    @property
    def settings(self) -> Mapping[str, str]: ...

    @property
    def width(self) -> int: ...

    @property
    def sees(self) -> bool: ...

    @property
    def compares(self) -> bool: ...

    def encode(self, items: Sequence[VelaItem], cache: FeatureCache) -> list[BranchFeatures]:
        """Features of each caption with its image or references, which every item must have."""
        ...
