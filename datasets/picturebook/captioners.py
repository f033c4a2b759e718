"""Fourteen simulated captioners, after Table 2 of VNLI-Critique (DOCCI-Critique's statistics).

Each has the table's share of correct sentences and mean number of sentences, and its own error
profile: which kinds of mistakes it makes, in which proportion. The mean is per caption, so a single
caption's number of sentences varies around it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

ERROR_TYPES = (
    "object",
    "kind",
    "attribute",
    "binding",
    "count",
    "relation",
    "action",
    "text",
    "setting",
    "context",
)


@dataclass(frozen=True, slots=True)
class Captioner:
    """`correct`: expected share of true sentences, in percent; `sentences`: mean per caption."""

    name: str
    correct: float
    sentences: float
    errors: Mapping[str, float]

    @property
    def error_rate(self) -> float:
        return 1 - self.correct / 100


def _profile(**weights: float) -> dict[str, float]:
    """Weight 1 for every error type, except those named."""
    return {name: weights.get(name, 1.0) for name in ERROR_TYPES}


CAPTIONERS = (
    Captioner("minigpt-4", 45.6, 5.6, _profile(object=4, setting=2)),
    Captioner("mplug-owl2", 52.7, 4.4, _profile(object=3, count=2)),
    Captioner("llava-1.5", 60.0, 4.2, _profile(object=3, relation=2)),
    Captioner("instructblip", 61.3, 4.0, _profile(kind=3, action=2)),
    Captioner("pali-5b", 68.0, 10.9, _profile(relation=3, binding=2)),
    Captioner("vila", 78.1, 8.6, _profile(object=2, context=2)),
    Captioner("mplug-owl3", 80.4, 2.0, _profile(attribute=2)),
    Captioner("llava-onevision", 81.8, 6.4, _profile(count=3)),
    Captioner("molmo", 82.7, 6.6, _profile(attribute=2, text=0.3)),
    Captioner("llava-onevision-chat", 85.7, 9.5, _profile(relation=2, context=2)),
    Captioner("qwen2-vl", 87.6, 9.8, _profile(binding=3, text=0.2)),
    Captioner("gemini-1.5-pro", 95.1, 12.0, _profile(relation=3, object=0.5)),
    Captioner("gemini-1.5-flash", 96.1, 11.8, _profile(count=2, object=0.5)),
    Captioner("gpt-4o", 97.1, 6.2, _profile(relation=2, attribute=2, object=0.3)),
)


def sentence_count(captioner: Captioner, rng: random.Random) -> int:
    """Around the captioner's mean, from 2 to 14."""
    return max(2, min(14, round(rng.gauss(captioner.sentences, captioner.sentences / 6))))
