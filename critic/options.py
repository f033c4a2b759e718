"""How a critic is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from revise_captions.engines.model_spec import HERE, Placement


@dataclass(frozen=True, slots=True)
class CriticOptions:
    """How a critic is loaded, apart from its name.

    Attributes:
        placement: Where and how it is run.
        threshold: Overrides the checkpoint's, or the profile's.
        target_precision: Overrides the threshold with the one at which flagged sentences reached
            this precision on the checkpoint's validation data, or the profile's.
        adapter: A LoRA adapter's folder or hub id, added to the weights.
        profile: A file from `captions calibrate`, which calibrates P(factual) and the threshold.
        samples: Answers to sample from a server that returns no log-probabilities.
        compiled: Whether to compile the layers: the same answers up to rounding.
        packed: Whether the sentences of a caption share a forward pass; if not, the answers are
            the same but slower.
        attention_mode: Overrides the checkpoint's. The answers are then wrong: for experiments.
    """

    placement: Placement = HERE
    threshold: float | None = None
    target_precision: float | None = None
    adapter: str | None = None
    profile: Path | str | None = None
    samples: int = 0
    compiled: bool = False
    packed: bool = True
    attention_mode: str | None = None

    @property
    def of_one(self) -> tuple[str, ...]:
        """The given options that concern the weights of a single critic."""
        named = {
            "target_precision": self.target_precision,
            "adapter": self.adapter,
            "profile": self.profile,
            "attention_mode": self.attention_mode,
        }
        return tuple(name for name, value in named.items() if value is not None)


DEFAULT = CriticOptions()
