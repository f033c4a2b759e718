"""Figures of one or two metrics at one level: statistic, averaging axis, value, interval, test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from revise_captions.stats.classification import are_probabilities
from revise_captions.stats.paired_tests import (
    Compared,
    ResampledFigure,
    Scale,
    Statistic,
    compared,
    measured,
    ranks,
    unchanged,
)
from revise_captions.stats.weighted_classification import Batch

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Figure:
    """One number. `axis`: over what it was averaged or pooled; `subset` "" for all of it.

    `value` None where it does not exist; `note` says why, or what must be known to read it.
    `rows` it is of, `units` (images) resampled. Set for every metric but the first,
    `difference` (first minus this) has its interval and the p-value of the paired test.
    """

    level: str
    name: str
    axis: str
    metric: str
    value: float | None
    low: float | None = None
    high: float | None = None
    rows: int = 0
    units: int = 0
    subset: str = ""
    note: str = ""
    difference: tuple[float | None, float | None, float | None] | None = None
    p_value: float | None = None

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Column:
    """One metric's scores of some rows, NaN where it could not judge."""

    metric: str
    scores: Floats
    probabilities: bool = True

    def are_probabilities(self) -> bool:
        known = self.scores[np.isfinite(self.scores)]
        return self.probabilities and (len(known) == 0 or are_probabilities(known))


@dataclass(frozen=True, slots=True)
class FigureSpec:
    """A statistic to be computed. `comparable`: how two metrics' scores are put on one scale.

    `of_probabilities`: it says nothing of other scores. `batch`: it under many weightings at once.
    """

    name: str
    statistic: Statistic
    comparable: Scale = ranks
    note: str = ""
    of_probabilities: bool = False
    batch: Batch | None = None

    def applies(self, column: Column) -> bool:
        return not self.of_probabilities or column.are_probabilities()


def ask(
    questions: Sequence[FigureSpec],
    columns: Sequence[Column],
    truth: Floats,
    images: Sequence[str],
    *,
    level: str,
    axis: str,
    replicates: int,
    subset: str = "",
) -> list[Figure]:
    """Every question for every metric, of the rows that it judged; of the whole, every other metric
    is also compared with the first, on the rows that both judged."""
    names = np.asarray(images, dtype=object)
    found = []
    for question in questions:
        for place, column in enumerate(columns):
            kept = np.isfinite(column.scores)
            if not question.applies(column):
                continue
            one = measured(
                question.statistic,
                column.scores[kept],
                truth[kept],
                list(names[kept]),
                replicates,
                question.batch,
            )
            figure = from_measured(
                one, level, question.name, axis, column.metric, subset, question.note
            )
            if place and not subset and question.applies(columns[0]):
                pair = columns[0], column
                figure = _with_test(figure, question, pair, truth, names, replicates)
            found.append(figure)
    return found


def from_measured(
    one: ResampledFigure,
    level: str,
    name: str,
    axis: str,
    metric: str,
    subset: str = "",
    note: str = "",
) -> Figure:
    if one.value is None:
        note = "nothing was judged" if one.rows == 0 else "does not exist for these rows"
    return Figure(
        level, name, axis, metric, one.value, one.low, one.high, one.rows, one.units, subset, note
    )


def _with_test(
    figure: Figure,
    question: FigureSpec,
    columns: tuple[Column, Column],
    truth: Floats,
    names: npt.NDArray[np.object_],
    replicates: int,
) -> Figure:
    first, second = columns[0].scores, columns[1].scores
    both = np.isfinite(first) & np.isfinite(second)
    test = compared(
        question.statistic,
        first[both],
        second[both],
        truth[both],
        list(names[both]),
        comparable=question.comparable,
        replicates=replicates,
        batch=question.batch,
    )
    return tested(figure, test)


def tested(figure: Figure, test: Compared) -> Figure:
    """The second metric's figure with the test against the first."""
    difference = test.difference, test.low, test.high
    return replace(figure, difference=difference, p_value=test.p_value)


def compared_shares(
    first: npt.ArrayLike, second: npt.ArrayLike, images: Sequence[str], replicates: int
) -> Compared:
    """The paired test of two shares: `first`, `second` are hits (0 or 1) of the same rows."""
    return compared(
        _share, first, second, first, images, comparable=unchanged, replicates=replicates
    )


def _share(hits: Floats, _: Floats) -> float:
    return float(hits.mean()) if len(hits) else float("nan")


def hits_of(metric: Floats, human: Floats, threshold: float) -> Floats:
    """1 where a pair's order is people's: a tie (up to `threshold`) is right where they tie."""
    right = (np.sign(metric) == np.sign(human)) & (human != 0)
    return np.where(np.abs(metric) <= threshold, human == 0, right).astype(np.float64)
