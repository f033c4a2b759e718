"""How a critic is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from revise_captions.engines.model_spec import HERE, Placement


@dataclass(frozen=True, slots=True)
class CriticOptions:
    """How a critic is loaded, beside its name.

    Attributes:
        placement: What computes it.
        threshold: Overrides the checkpoint's, or the profile's.
        target_precision: Overrides it with the threshold at which flagged sentences reached this
            precision on the checkpoint's validation data, or the profile's.
        adapter: A LoRA adapter's folder or hub id, added to the weights.
        profile: File of `captions calibrate`, which P(factual) and threshold are calibrated by.
        samples: Answers to sample from a server that returns no log-probabilities.
        compiled: Compiles the layers: the same answers but for rounding.
        packed: Whether the sentences of a caption share a forward pass; if not, the answers are
            the same and come more slowly.
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
        """The options given that are about the weights of a single critic."""
        named = {
            "target_precision": self.target_precision,
            "adapter": self.adapter,
            "profile": self.profile,
            "attention_mode": self.attention_mode,
        }
        return tuple(name for name, value in named.items() if value is not None)


DEFAULT = CriticOptions()
