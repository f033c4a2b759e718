"""Metrics that need no vision model: length, chance, cosines, means over sentences.

They are the baselines that any other metric has to beat.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from revise_captions.errors import UserError
from revise_captions.metrics.protocol import Metric, MetricInput, MetricScore, Needs
from revise_captions.metrics.registry import MetricOptions, load_metric
from revise_captions.text.sentence_encoder import SentenceEncoder, load_encoder
from revise_captions.text.sentences import split


class Length:
    """Number of words."""

    name = "length"
    settings: Mapping[str, str] = {"metric": "words between white space"}
    needs: frozenset[Needs] = frozenset()

    def score(self, items: Sequence[MetricInput]) -> list[MetricScore]:
        return [MetricScore(float(len(item.text.split()))) for item in items]


class Chance:
    """A number between 0 and 1 that depends only on seed and text."""

    name = "random"
    needs: frozenset[Needs] = frozenset()

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self.settings = {"metric": "a hash of seed and text", "seed": seed}

    def score(self, items: Sequence[MetricInput]) -> list[MetricScore]:
        return [MetricScore(self._drawn(item.text)) for item in items]

    def _drawn(self, text: str) -> float:
        digest = hashlib.sha256(f"{self.seed}\0{text}".encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:6]) / 2**48


class SentenceMean:
    """The mean of another metric's scores of a text's sentences, each as a text of its own.

    VELA's CLIP-S avg (section 5.2): a tower that reads 77 tokens then sees all of a long caption.
    """

    def __init__(self, metric: Metric) -> None:
        self.metric, self.needs = metric, metric.needs
        self.name = f"sentence-mean {metric.name}"
        self.settings = {"mean over": "sentences", **metric.settings}

    def score(self, items: Sequence[MetricInput]) -> list[MetricScore]:
        parts = [[replace(i, text=span.of(i.text)) for span in split(i.text)] for i in items]
        found = iter(self.metric.score([part for own in parts for part in own]))
        return [_mean([next(found) for _ in own]) for own in parts]


def _mean(scores: Sequence[MetricScore]) -> MetricScore:
    """The mean of scores; none if one is missing."""
    truncated = sum(score.truncated for score in scores)
    reason = next((score.reason for score in scores if score.value is None), "")
    values = [score.value for score in scores if score.value is not None]
    if reason or not values:
        return MetricScore(None, reason or "no sentence", truncated)
    return MetricScore(sum(values) / len(values), truncated=truncated)


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


def load_random(argument: str, options: MetricOptions) -> Metric:
    """A random number, always the same for the same text [=SEED]."""
    return Chance(argument or "0")


def load_sentence_mean(argument: str, options: MetricOptions) -> Metric:
    """The mean of another metric's scores of the sentences =METRIC, such as clipscore=MODEL."""
    if not argument:
        raise UserError("sentence-mean needs a metric", hint="sentence-mean=clipscore=MODEL")
    return SentenceMean(load_metric(argument, options))


def load_cosine(argument: str, options: MetricOptions) -> Metric:
    """Cosine of sentence embeddings with the nearest reference [=ENCODER]."""
    return Cosine(load_encoder(argument, device=_device(options)), Needs.REFERENCES)


def load_context_cosine(argument: str, options: MetricOptions) -> Metric:
    """Cosine of sentence embeddings with the context [=ENCODER]."""
    return Cosine(load_encoder(argument, device=_device(options)), Needs.CONTEXT)


def _device(options: MetricOptions) -> str:
    device = options.placement.device
    return "cpu" if device == "auto" else device
