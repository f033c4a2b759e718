"""How a metric is trained on ratings and checks together."""

from __future__ import annotations

from dataclasses import dataclass

import click

from revise_captions.command_line.options import option
from revise_captions.command_line.shared import shared_option


@dataclass(frozen=True, slots=True)
class JointSettings:
    """How the metric is trained.

    The defaults are the paper's, for CLIP.

    Attributes:
        micro_batch: Pairs computed at a time, which changes no result.
    """

    epochs: float = option(0.5, "Passes over the pairs.", type=click.FloatRange(0, min_open=True))
    learning_rate: float = option(
        2e-6, "Learning rate of Adam.", type=click.FloatRange(0, min_open=True)
    )
    batch_size: int = shared_option("--batch-size", default=64, help="Pairs per training step.")
    micro_batch: int = 16
    rating_weight: float = option(
        0.2,
        "Weight of the ratings relative to the checks; 0 trains on the checks alone.",
        type=click.FloatRange(0),
    )
    seed: int = shared_option("--seed")
