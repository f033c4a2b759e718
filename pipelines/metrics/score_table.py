"""A metric's scores of a benchmark's captions and sentences, as every level reads them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from revise_captions.metrics.protocol import ScoredSpan


@dataclass(frozen=True, slots=True)
class Scores:
    """A metric's scores; None where it could not judge.

    Attributes:
        source: Identifies the scores in the signature.
        captions: By id.
        sentences: By id and index.
        reasons: Counts of why scores are missing.
        threshold: The critic's, if stored with its answers.
        of_captions: Whether sentence scores say anything about whole captions.
        probabilities: Whether scores in [0, 1] are probabilities.
        aspects: Of captions by one criterion, such as `mistakes`: by criterion and id.
        counts: Of shares that are pooled over captions: by share and id.
    """

    name: str
    source: str
    captions: Mapping[str, float | None]
    sentences: Mapping[tuple[str, int], float | None]
    spans: Mapping[str, tuple[ScoredSpan, ...]]
    reasons: Mapping[str, int]
    threshold: float | None = None
    of_captions: bool = True
    probabilities: bool = True
    omissions: Mapping[str, tuple[ScoredSpan, ...]] = field(default_factory=dict)
    aspects: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    counts: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)

    @property
    def scores_captions(self) -> bool:
        """Whether it has scores for whole captions."""
        return self.of_captions and bool(self.captions or self.sentences)

    def caption(self, name: str, axis: str = "") -> float | None:
        """The caption's score by a criterion, if there are such, or else its own, or else the mean
        of its scored sentences."""
        if axis in self.aspects:
            return self.aspects[axis].get(name)
        if name in self.captions:
            return self.captions[name]
        found = []
        number = 0
        while (name, number) in self.sentences:
            found.append(self.sentences[name, number])
            number += 1
        known = [value for value in found if value is not None]
        return sum(known) / len(known) if known else None


def digest(path: Path) -> str:
    """Of a file, for a signature."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
