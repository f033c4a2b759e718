"""Agreement between raters, from how often each item got each label.

Works on counts, not ratings: both coefficients are functions of sums over items, so that a
bootstrap over images is one matrix product (libraries go through the ratings one by one). The tests
compare them with nltk's and with published examples.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Distance = Literal["nominal", "interval"]


def counts_of(
    items: Sequence[Mapping[str, Hashable]], labels: Sequence[Hashable]
) -> npt.NDArray[np.float64]:
    """Counts labels per item.

    Args:
        items: For each item, the label by rater; raters may be missing.
        labels: All labels, in the order of the columns.

    Returns:
        Counts of shape (items, labels).
    """
    place = {label: k for k, label in enumerate(labels)}
    counts = np.zeros((len(items), len(labels)))
    for row, item in zip(counts, items, strict=True):
        for label in item.values():
            row[place[label]] += 1
    return counts


def fleiss_kappa(counts: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Floats:
    """Fleiss' κ (Fleiss 1971).

    Args:
        counts: Of shape (items, labels); every item has the same number of raters, at least two.
        weights: How often an item counts in each replicate, of shape (items, replicates); by
            default one replicate of all items.

    Returns:
        One value per replicate; NaN where all raters always say the same.

    Raises:
        ValueError: The items' numbers of raters differ, or are below two.
    """
    table = np.asarray(counts, dtype=np.float64)
    raters = table.sum(1)
    if len(table) == 0 or raters.min() != raters.max() or raters[0] < 2:
        raise ValueError("every item needs the same number of raters, at least two")
    drawn = _weights(weights, len(table))
    pairs = (table * (table - 1)).sum(1) / (raters * (raters - 1))
    items = drawn.sum(0)
    observed = _divided(pairs @ drawn, items)
    shares = _divided(table.T @ drawn, items * raters[0])
    expected = (shares**2).sum(0)
    return _divided(observed - expected, 1 - expected)


def krippendorff_alpha(
    counts: npt.ArrayLike,
    values: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
) -> Floats:
    """Krippendorff's α (Krippendorff 2011).

    Args:
        counts: Of shape (items, labels); items with fewer than two ratings do not count.
        values: The labels as numbers: disagreement is their squared difference (interval). None:
            labels are only equal or not (nominal).
        weights: As for `fleiss_kappa`.

    Returns:
        One value per replicate.
    """
    table = np.asarray(counts, dtype=np.float64)
    drawn = _weights(weights, len(table))
    raters = table.sum(1)
    kept = raters >= 2
    table, drawn, raters = table[kept], drawn[kept], raters[kept]
    together = table[:, :, None] * table[:, None, :]
    diagonal = np.arange(table.shape[1])
    together[:, diagonal, diagonal] -= table
    coincidences = np.tensordot(drawn.T, together / (raters - 1)[:, None, None], axes=1)
    totals = drawn.T @ table  # (replicates, labels)
    number = totals.sum(1)
    distance = _distances(table.shape[1], values)
    observed = (coincidences * distance).sum((1, 2))
    expected = np.einsum("rc,ck,rk->r", totals, distance, totals)
    return 1 - _divided(observed * (number - 1), expected)


def _distances(labels: int, values: npt.ArrayLike | None) -> Floats:
    if values is None:
        return 1 - np.eye(labels)
    numbers = np.asarray(values, dtype=np.float64)
    return (numbers[:, None] - numbers[None, :]) ** 2


def _weights(weights: npt.ArrayLike | None, items: int) -> Floats:
    if weights is None:
        return np.ones((items, 1))
    return np.asarray(weights, dtype=np.float64)


def _divided(top: Floats, bottom: Floats) -> Floats:
    top, bottom = np.broadcast_arrays(top, bottom)
    return np.divide(top, bottom, out=np.full(top.shape, np.nan), where=np.abs(bottom) > 1e-12)
