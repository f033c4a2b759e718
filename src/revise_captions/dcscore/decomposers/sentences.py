"""The coarsest decomposer: each sentence is one unit, unchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from revise_captions.dcscore.units import Decomposition, InformationUnit
from revise_captions.text.sentences import split


class SentenceDecomposer:
    """Keeps sentences whole. They may need the text before them to be understood."""

    settings: Mapping[str, str] = {"decomposer": "sentences"}

    def decompose(self, texts: Sequence[str]) -> list[Decomposition]:
        """One decomposition per text, in order."""
        return [_whole(text) for text in texts]


def _whole(text: str) -> Decomposition:
    spans = tuple(split(text))
    units = tuple(InformationUnit(span.of(text), number, span) for number, span in enumerate(spans))
    return Decomposition(text, spans, units)
