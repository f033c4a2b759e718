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
    bounds,
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
    """Every spec for every metric, of the rows that it judged; of the whole, every other metric
    is also compared with the first, on the rows that both judged."""
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


def swap_test(
    values: Sequence[float], spread: Sequence[Floats], swapped: Sequence[Floats], units: int
) -> Compared:
    """The paired permutation test of two metrics whose scores of an image swap places.

    Args:
        values: Both metrics' statistics.
        spread: Their bootstrap resamples.
        swapped: Their statistics in every permutation.
        units: Number of images.
    """
    observed = float(values[0] - values[1])
    if not np.isfinite(observed):
        return Compared(None, None, None, None)
    gaps = np.abs(swapped[0] - swapped[1])
    known = gaps[np.isfinite(gaps)]
    p_value = (1 + int((known >= abs(observed) - 1e-12).sum())) / (1 + len(known))
    return Compared(observed, *bounds(spread[0] - spread[1], units), p_value)


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
