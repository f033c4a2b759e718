"""What a caption metric is, metrics by name, and those that depend only on this package.

from revise_captions.metrics import MetricInput, load_metric

cosine = load_metric("cosine")
print(cosine.score([MetricInput("A red barn.", references=("A barn.",))])[0].value)
"""

from __future__ import annotations

from revise_captions.metrics.protocol import (
    ImageSource,
    Metric,
    MetricInput,
    MetricScore,
    Needs,
    StoredImage,
)
from revise_captions.metrics.registry import MetricOptions, load_metric, scored

__all__ = [
    "ImageSource",
    "Metric",
    "MetricInput",
    "MetricOptions",
    "MetricScore",
    "Needs",
    "StoredImage",
    "load_metric",
    "scored",
]
