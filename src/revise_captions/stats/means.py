"""Means of scores with intervals over images; unscored rows are counted separately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from revise_captions.stats.bootstrap import REPLICATES
from revise_captions.stats.paired_tests import Floats, measured_sums


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over rows.

    Attributes:
        value: None if no row has a score.
        low: Lower bound of the central 95 % interval over images; None if these are too few.
        high: Its upper bound.
        rows: Rows with a score.
        unscored: Rows without one.
    """

    value: float | None
    low: float | None
    high: float | None
    rows: int
    unscored: int

    def line(self, name: str, rows: str) -> str:
        """A line for the terminal; `rows` says what the rows are."""
        if self.value is None:
            return f"{name:<16}no {rows.removesuffix('s')} could be scored"
        spread = "" if self.low is None else f"  [{self.low:.4f}, {self.high:.4f}]"
        left = f"  ({self.unscored:,} {rows} unscored)" if self.unscored else ""
        return f"{name:<16}{self.value:.4f}{spread}{left}"


def mean_over(
    values: Sequence[float | None], images: Sequence[str], replicates: int = REPLICATES
) -> Mean:
    """The mean of the scored rows.

    Args:
        values: Each row's score, or None.
        images: Name of each row's image; rows of one image are resampled together.
        replicates: Number of resamples.
    """
    known = [(v, image) for v, image in zip(values, images, strict=True) if v is not None]
    counts = np.array([(value, 1.0) for value, _ in known]).reshape(-1, 2)
    found = measured_sums(ratio, counts, [image for _, image in known], replicates)
    return Mean(found.value, found.low, found.high, len(known), len(values) - len(known))


def ratio(sums: Floats) -> float:
    """The first sum over the second; NaN if that is 0."""
    return float(sums[0] / sums[1]) if sums[1] else float("nan")
