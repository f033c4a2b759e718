"""DCScore in the registry of metrics: offline, against references."""

from __future__ import annotations

from collections.abc import Sequence

from revise_captions.dcscore.scorer import CaptionScorer, CaptionTask
from revise_captions.metrics.protocol import Metric, MetricInput, MetricScore, Needs
from revise_captions.metrics.registry import MetricOptions


class DcscoreMetric:
    """DCScore's F, with a unit counted as true if a reference states it.

    Args:
        scorer: Decomposes and matches; it has no verifier.
    """

    name = "dcscore"
    needs = frozenset({Needs.REFERENCES})

    def __init__(self, scorer: CaptionScorer) -> None:
        self.scorer = scorer
        self.settings = dict(scorer.settings)

    def score(self, items: Sequence[MetricInput]) -> list[MetricScore]:
        tasks = [
            CaptionTask(item.text, references=tuple(filter(str.strip, item.references)))
            for item in items
        ]
        found = self.scorer.score(tasks)
        return [
            MetricScore(one.score.value, "" if one.score.value is not None else one.why_unscored)
            for one in found
        ]


def load(argument: str, options: MetricOptions) -> Metric:
    """DCScore's F against references, without the image [=ENCODER]."""
    from revise_captions.dcscore.decomposers.graph import GraphDecomposer
    from revise_captions.dcscore.offline_matcher import OfflineMatcher
    from revise_captions.text.sentence_encoder import load_encoder

    device = options.placement.device
    device = "cpu" if device == "auto" else device
    matcher = OfflineMatcher(load_encoder(argument, device=device))
    return DcscoreMetric(CaptionScorer(GraphDecomposer(), matcher, None))
