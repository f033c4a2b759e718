"""Figures of metrics at one level: statistic, averaging axis, value, interval, paired test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from revise_captions.stats.bootstrap import bounds
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
    """One number.

    Attributes:
        axis: What it was averaged or pooled over.
        subset: Part of the data; "" for all.
        value: None if it does not exist; `note` says why, or how to read it.
        rows: Rows that it covers.
        units: Images that were resampled.
        difference: First metric minus this one, with its interval; None for the first metric.
        p_value: Of the paired permutation test against the first metric.
        least_p: The least that its permutations can give.
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
    least_p: float | None = None

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Column:
    """One metric's scores; NaN where it could not judge."""

    metric: str
    scores: Floats
    probabilities: bool = True

    def are_probabilities(self) -> bool:
        known = self.scores[np.isfinite(self.scores)]
        return self.probabilities and (len(known) == 0 or are_probabilities(known))


@dataclass(frozen=True, slots=True)
class FigureSpec:
    """A statistic to compute.

    Attributes:
        comparable: Puts two metrics' scores on one scale for the paired test.
        of_probabilities: Whether it is defined for probabilities only.
        batch: Computes it under many weightings at once.
    """

    name: str
    statistic: Statistic
    comparable: Scale = ranks
    note: str = ""
    of_probabilities: bool = False
    batch: Batch | None = None

    def applies(self, column: Column) -> bool:
        return not self.of_probabilities or column.are_probabilities()


def compute_figures(
    specs: Sequence[FigureSpec],
    columns: Sequence[Column],
    truth: Floats,
    images: Sequence[str],
    *,
    level: str,
    axis: str,
    replicates: int,
    subset: str = "",
) -> list[Figure]:
    """Computes every statistic for every metric, over the rows that the metric judged.

    Without a subset, every metric but the first is also tested against the first, over the rows
    that both judged.
    """
    names = np.asarray(images, dtype=object)
    found = []
    for spec in specs:
        for place, column in enumerate(columns):
            kept = np.isfinite(column.scores)
            if not spec.applies(column):
                continue
            one = measured(
                spec.statistic,
                column.scores[kept],
                truth[kept],
                list(names[kept]),
                replicates,
                spec.batch,
            )
            figure = from_measured(one, level, spec.name, axis, column.metric, subset, spec.note)
            if place and not subset and spec.applies(columns[0]):
                pair = columns[0], column
                figure = _with_test(figure, spec, pair, truth, names, replicates)
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


def from_resamples(
    level: str,
    name: str,
    axis: str,
    metric: str,
    value: float,
    spread: Floats,
    rows: int,
    units: int,
    note: str = "",
    undefined: str | None = None,
) -> Figure:
    """A figure with the percentile interval of its resamples.

    Args:
        value: NaN if the statistic does not exist for these rows.
        spread: The statistic of every resample.
        undefined: Replaces `note` where the value does not exist.
    """
    if not np.isfinite(value):
        note = note if undefined is None else undefined
        return Figure(level, name, axis, metric, None, rows=rows, units=units, note=note)
    low, high = bounds(spread, units)
    return Figure(level, name, axis, metric, float(value), low, high, rows, units, note=note)


def _with_test(
    figure: Figure,
    spec: FigureSpec,
    columns: tuple[Column, Column],
    truth: Floats,
    names: npt.NDArray[np.object_],
    replicates: int,
) -> Figure:
    first, second = columns[0].scores, columns[1].scores
    both = np.isfinite(first) & np.isfinite(second)
    test = compared(
        spec.statistic,
        first[both],
        second[both],
        truth[both],
        list(names[both]),
        comparable=spec.comparable,
        replicates=replicates,
        batch=spec.batch,
    )
    return tested(figure, test)


def tested(figure: Figure, test: Compared) -> Figure:
    """The second metric's figure with the test against the first."""
    difference = test.difference, test.low, test.high
    return replace(figure, difference=difference, p_value=test.p_value, least_p=test.least_p)


def compared_shares(
    first: npt.ArrayLike, second: npt.ArrayLike, images: Sequence[str], replicates: int
) -> Compared:
    """The paired test of two proportions; `first` and `second` are hits (0 or 1) by row."""
    return compared(
        _share, first, second, first, images, comparable=unchanged, replicates=replicates
    )


def _share(hits: Floats, _: Floats) -> float:
    return float(hits.mean()) if len(hits) else float("nan")


def hits_of(metric: Floats, human: Floats, threshold: float) -> Floats:
    """1 where the metric orders a pair as people do; up to `threshold` it ties."""
    right = (np.sign(metric) == np.sign(human)) & (human != 0)
    return np.where(np.abs(metric) <= threshold, human == 0, right).astype(np.float64)
