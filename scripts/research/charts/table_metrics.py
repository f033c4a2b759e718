"""DePlot's measures of how well a table was read: RMS-F1 and RNSS.

Source: Liu et al. 2023, DePlot: One-shot visual language reasoning by plot-to-table translation,
sections 3.1 and 3.2, with the thresholds of its published evaluation (τ = 0.5, θ = 0.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

#: A normalized edit distance from here on counts as 1.
TEXT_LIMIT = 0.5
#: A relative error from here on counts as 1.
NUMBER_LIMIT = 0.1


@dataclass(frozen=True, slots=True)
class TablePoint:
    """A cell of a table.

    Attributes:
        row: Its row's header: the category.
        column: Its column's header: the series.
        value: The number.
    """

    row: str
    column: str
    value: float


def edit_distance(first: str, second: str) -> int:
    """Levenshtein distance."""
    previous = list(range(len(second) + 1))
    for i, a in enumerate(first, start=1):
        current = [i]
        for j, b in enumerate(second, start=1):
            current.append(min(previous[j] + 1, current[-1] + 1, previous[j - 1] + (a != b)))
        previous = current
    return previous[-1]


def text_similarity(first: str, second: str) -> float:
    """1 minus the normalized edit distance, 0 where that reaches `TEXT_LIMIT`; case is ignored."""
    longest = max(len(first), len(second))
    if longest == 0:
        return 1.0
    distance = edit_distance(first.lower(), second.lower()) / longest
    return 1 - distance if distance < TEXT_LIMIT else 0.0


def relative_distance(value: float, truth: float, limit: float = 1.0) -> float:
    """|value - truth| / |truth|, 1 where that reaches the limit."""
    if truth == 0:
        return 0.0 if value == 0 else 1.0
    distance = abs(value - truth) / abs(truth)
    return distance if distance < limit else 1.0


def rms(read: Sequence[TablePoint], truth: Sequence[TablePoint]) -> tuple[float, float, float]:
    """Relative mapping similarity: precision, recall and F1 of a table's cells.

    Cells are matched by their headers. A reading and its transpose count as the same.
    """
    if not read or not truth:
        return (0.0, 0.0, 0.0) if read or truth else (1.0, 1.0, 1.0)
    keys = [f"{point.row} {point.column}".strip() for point in truth]
    straight = [f"{point.row} {point.column}".strip() for point in read]
    turned = [f"{point.column} {point.row}".strip() for point in read]
    score = max(_matched(straight, read, keys, truth), _matched(turned, read, keys, truth))
    precision, recall = score / len(read), score / len(truth)
    return precision, recall, 2 * precision * recall / (precision + recall) if score else 0.0


def _matched(
    names: Sequence[str],
    read: Sequence[TablePoint],
    keys: Sequence[str],
    truth: Sequence[TablePoint],
) -> float:
    from scipy.optimize import linear_sum_assignment

    similar = np.array([[text_similarity(name, key) for name in names] for key in keys])
    rows, columns = linear_sum_assignment(1 - similar)
    return float(
        sum(
            similar[r, c] * (1 - relative_distance(read[c].value, truth[r].value, NUMBER_LIMIT))
            for r, c in zip(rows, columns, strict=True)
        )
    )


def rnss(read: Sequence[float], truth: Sequence[float]) -> float:
    """Relative number set similarity: how alike two sets of numbers are, headers ignored.

    As published, a number without a partner adds no distance.
    """
    from scipy.optimize import linear_sum_assignment

    if not len(read) or not len(truth):
        return float(len(read) == len(truth))
    cost = np.array([[relative_distance(value, true) for value in read] for true in truth])
    rows, columns = linear_sum_assignment(cost)
    return float(1 - cost[rows, columns].sum() / max(len(read), len(truth)))
