"""Metrics that need no image: length, and cosines of sentence embeddings.

They are what any other metric has to beat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from revise_captions.errors import UserError
from revise_captions.metrics.protocol import Metric, MetricInput, MetricScore, Needs
from revise_captions.metrics.registry import MetricOptions
from revise_captions.text.sentence_encoder import SentenceEncoder, load_encoder


class Length:
    """Number of words."""

    name = "length"
    settings: Mapping[str, str] = {"metric": "words between white space"}
    needs: frozenset[Needs] = frozenset()

    def score(self, items: Sequence[MetricInput]) -> list[MetricScore]:
        return [MetricScore(float(len(item.text.split()))) for item in items]


class Cosine:
    """Cosine between a text's embedding and the nearest reference's, or the context's."""

    def __init__(self, encoder: SentenceEncoder, to: Needs) -> None:
        self.encoder, self.to = encoder, to
        self.name = "cosine" if to is Needs.REFERENCES else "context-cosine"
        self.needs = frozenset({to})
        self.settings = {"metric": f"best cosine with the {to}", **encoder.settings}

    def score(self, items: Sequence[MetricInput]) -> list[MetricScore]:
        others = [self._others(item) for item in items]
        self.encoder(
            [
                text
                for item, texts in zip(items, others, strict=True)
                for text in (item.text, *texts)
            ]
        )
        return [
            MetricScore(
                float(np.max(self.encoder(texts) @ self.encoder([item.text])[0])),
                truncated=self.encoder.left_out(item.text) + sum(map(self.encoder.left_out, texts)),
            )
            for item, texts in zip(items, others, strict=True)
        ]

    def _others(self, item: MetricInput) -> list[str]:
        texts = item.references if self.to is Needs.REFERENCES else (item.context,)
        return [text for text in texts if text.strip()]


def load_length(argument: str, options: MetricOptions) -> Metric:
    """Number of words: the longer, the better."""
    if argument:
        raise UserError(f"the metric length takes no argument, not {argument!r}")
    return Length()


def load_cosine(argument: str, options: MetricOptions) -> Metric:
    """Cosine of sentence embeddings with the nearest reference [=ENCODER]."""
    return Cosine(load_encoder(argument, device=_device(options)), Needs.REFERENCES)


def load_context_cosine(argument: str, options: MetricOptions) -> Metric:
    """Cosine of sentence embeddings with the context [=ENCODER]."""
    return Cosine(load_encoder(argument, device=_device(options)), Needs.CONTEXT)


def _device(options: MetricOptions) -> str:
    device = options.placement.device
    return "cpu" if device == "auto" else device
