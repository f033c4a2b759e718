"""POSH in the registry of metrics."""

from __future__ import annotations

from collections.abc import Sequence

from revise_captions.graphs.grading.judge import Judge
from revise_captions.metrics.protocol import Metric, MetricInput, MetricScore, Needs
from revise_captions.metrics.registry import MetricOptions
from revise_captions.posh.load import load_judge
from revise_captions.posh.scoring import Pair, score_captions, signature_of
from revise_captions.signature import settings_of


class PoshMetric:
    """POSH's overall score against the references."""

    name = "posh"
    needs = frozenset({Needs.REFERENCES})

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.settings = settings_of(signature_of(judge))

    def score(self, items: Sequence[MetricInput]) -> list[MetricScore]:
        pairs = [Pair(item.text, tuple(filter(str.strip, item.references))) for item in items]
        return [
            MetricScore(score.overall, "" if score.overall is not None else "no component graded")
            for score in score_captions(pairs, self.judge)
        ]


def load(argument: str, options: MetricOptions) -> Metric:
    """POSH's overall score against references [=JUDGE, by default offline]."""
    judge = load_judge(argument or "offline", options.placement)
    return PoshMetric(judge)
