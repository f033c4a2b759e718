"""Pearson's r with an interval over images: all replicates from one matrix product."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from revise_captions.stats.bootstrap import MIN_RECORDS, REPLICATES, weights
from revise_captions.stats.correlations import correlation
from revise_captions.stats.exact import LEVEL
from revise_captions.stats.leaderboard import keys_of


def pearson(
    x: npt.NDArray[np.float64],
    y: npt.NDArray[np.float64],
    images: Sequence[str],
    replicates: int = REPLICATES,
) -> dict[str, float | None]:
    """Pearson's r with its 95 % bootstrap interval over images; None if it does not exist."""
    names = {image: k for k, image in enumerate(dict.fromkeys(images))}
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return {"value": None, "low": None, "high": None}
    value = correlation("pearson", x, y)
    if len(names) < MIN_RECORDS:
        return {"value": value, "low": None, "high": None}
    drawn = weights(keys_of(list(names)), replicates)[[names[image] for image in images]]
    a, b = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()  # standardized, to avoid cancellation
    moments = np.stack([np.ones_like(a), a, b, a * a, b * b, a * b])
    n, sa, sb, saa, sbb, sab = moments @ drawn.astype(np.float64)  # each of shape (replicates,)
    with np.errstate(invalid="ignore", divide="ignore"):
        resampled = (n * sab - sa * sb) / np.sqrt((n * saa - sa**2) * (n * sbb - sb**2))
    low, high = np.quantile(resampled[np.isfinite(resampled)], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return {"value": value, "low": float(low), "high": float(high)}
