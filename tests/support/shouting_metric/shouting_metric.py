"""A metric of one's own, found by `captions` when it is installed."""

from __future__ import annotations

from revise_captions.metrics import MetricScore


class Shouting:
    name, settings, needs = "shouting", {"shouting": "1.0"}, frozenset()

    def score(self, items):
        return [MetricScore(-float(item.text.count("!"))) for item in items]


def load(argument, options):
    """The fewer exclamation marks, the better."""
    return Shouting()
