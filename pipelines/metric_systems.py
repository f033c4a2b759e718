"""Systems (captioners): a metric's means over images against people's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from revise_captions.correlations import (
    KINDS,
    correlation,
    pairwise_accuracy,
    row_correlations,
    soft_pairwise_accuracy,
)
from revise_captions.leaderboard import keys_of, resamples
from revise_captions.pipelines.metric_figures import Column, Figure, tested
from revise_captions.pipelines.metric_levels import Judged, caption_columns
from revise_captions.pipelines.metric_scores import Scores
from revise_captions.resampling import bounds, compared, standardised, units_of
from revise_captions.statistics import weights

Floats = npt.NDArray[np.float64]
#: Resamples of soft pairwise accuracy, each of which is a permutation test itself.
_SOFT = 200
PAIRWISE, SOFT = "pairwise accuracy with ties", "soft pairwise accuracy"


def system_level(judged: Judged, metrics: Sequence[Scores], replicates: int) -> list[Figure]:
    """Captioners by their mean over images: correlations, pairwise and soft pairwise accuracy.

    A caption counts where both people and metric scored it, so that means are of the same images.
    """
    columns = caption_columns(judged, metrics)
    found = [_systems(judged, column, replicates) for column in columns]
    for place in range(1, len(found)):
        if found[0]:
            pair = columns[0], columns[place]
            found[place] = [_system_test(f, judged, pair, replicates) for f in found[place]]
    return [figure for figures in found for figure in figures]


def _system_test(
    figure: Figure, judged: Judged, columns: tuple[Column, Column], replicates: int
) -> Figure:
    """Metrics swap their standardised scores of all captions of an image."""
    both = np.isfinite(columns[0].scores) & np.isfinite(columns[1].scores)
    both &= np.array([bool(example.captioner) for example in judged.examples])
    rows = np.flatnonzero(both)
    if not len(rows):
        return figure
    images = [judged.examples[row].image for row in rows]
    who = np.unique([judged.examples[row].captioner for row in rows], return_inverse=True)[1]
    cells = _Cells(who, units_of(images)[1], judged.human[rows])
    soft = figure.name == SOFT
    test = compared(
        cells.soft if soft else partial(cells.order, figure.name),
        columns[0].scores[rows],
        columns[1].scores[rows],
        np.arange(len(rows), dtype=np.float64),
        images,
        comparable=standardised,
        replicates=min(replicates, _SOFT) if soft else replicates,
    )
    return tested(figure, test)


@dataclass(frozen=True, slots=True)
class _Cells:
    """Captions by captioner and image. Statistics take scores and the captions' places, as numbers,
    so that resampling carries captioner, image and people's score along."""

    who: npt.NDArray[np.int64]
    image: npt.NDArray[np.int64]
    human: Floats

    def order(self, name: str, scores: Floats, chosen: Floats) -> float:
        """A correlation, or the pairwise accuracy with ties calibrated anew."""
        at = chosen.astype(np.int64)
        count = np.bincount(self.who[at], minlength=self.who.max() + 1)
        if (count == 0).any():
            return float("nan")
        means = [np.bincount(self.who[at], v) / count for v in (scores, self.human[at])]
        if name == PAIRWISE:
            return pairwise_accuracy(*means, threshold=None).accuracy
        return correlation(name, *means)  # type: ignore[arg-type]

    def soft(self, scores: Floats, chosen: Floats) -> float:
        """Soft pairwise accuracy; an image that is drawn twice is two items."""
        at, first, times = np.unique(chosen.astype(np.int64), return_index=True, return_counts=True)
        shape = self.who.max() + 1, self.image.max() + 1
        sums = np.zeros((3, *shape))
        for table, values in zip(sums, (scores[first], self.human[at], 1.0), strict=True):
            np.add.at(table, (self.who[at], self.image[at]), values)
        drawn = np.zeros(shape[1], dtype=np.int64)
        drawn[self.image[at]] = times
        with np.errstate(invalid="ignore", divide="ignore"):
            means = [np.repeat(table / sums[2], drawn, axis=1) for table in sums[:2]]
        return soft_pairwise_accuracy(*means, resamples=_SOFT)


def _systems(judged: Judged, column: Column, replicates: int) -> list[Figure]:
    kept = [
        row
        for row, example in enumerate(judged.examples)
        if example.captioner and np.isfinite(column.scores[row])
    ]
    captioners = sorted({judged.examples[row].captioner for row in kept})
    if len(captioners) < 3:
        return []
    images = sorted({judged.examples[row].image for row in kept})
    sums = np.zeros((3, len(captioners), len(images)))  # metric, human, count
    places = (
        {name: k for k, name in enumerate(captioners)},
        {name: k for k, name in enumerate(images)},
    )
    for row in kept:
        example = judged.examples[row]
        cell = places[0][example.captioner], places[1][example.image]
        sums[(slice(None), *cell)] += (column.scores[row], judged.human[row], 1)
    keys = keys_of(images)
    drawn = [resamples(part, sums[2], keys, replicates) for part in sums[:2]]
    means = [part.sum(1) / sums[2].sum(1) for part in sums[:2]]
    axis = f"{len(captioners)} captioners, means over images, {judged.axis}"

    def figure(name: str, value: float, spread: Floats, note: str = "") -> Figure:
        exists = bool(np.isfinite(value))
        low, high = bounds(spread, len(images)) if exists else (None, None)
        return Figure(
            "system",
            name,
            axis,
            column.metric,
            value if exists else None,
            low,
            high,
            len(captioners),
            len(images),
            note=note,
        )

    found = [
        figure(kind, correlation(kind, *means),
               row_correlations(kind, *drawn))
        for kind in KINDS
    ]  # fmt: skip
    best = pairwise_accuracy(*means, threshold=None)
    spread = [pairwise_accuracy(m, h, threshold=best.threshold).accuracy
              for m, h in zip(*drawn, strict=True)]  # fmt: skip
    note = f"the metric ties up to {best.threshold:.4g}, calibrated on these captioners"
    found.append(figure(PAIRWISE, best.accuracy, np.array(spread), note))
    found.append(figure(SOFT, *_soft(sums, keys)))
    return found


def _soft(sums: Floats, keys: npt.NDArray[np.uint64]) -> tuple[float, Floats, str]:
    with np.errstate(invalid="ignore", divide="ignore"):
        metric, human = sums[0] / sums[2], sums[1] / sums[2]
    drawn = weights(keys, _SOFT)
    spread = []
    for b in range(_SOFT):
        chosen = np.repeat(np.arange(len(keys)), drawn[:, b])
        spread.append(soft_pairwise_accuracy(metric[:, chosen], human[:, chosen], resamples=_SOFT))
    value = soft_pairwise_accuracy(metric, human)
    return value, np.array(spread), f"interval from {_SOFT} resamples"


def system_table(judged: Judged, metrics: Sequence[Scores]) -> list[dict[str, object]]:
    """Captioners by people's mean, best first: rank, captions, means by people and by each metric.

    A metric's mean is over the captions that it judged, None where there is none.
    """
    columns = caption_columns(judged, metrics)
    names = np.array([example.captioner for example in judged.examples], dtype=object)
    rows: list[dict[str, object]] = []
    for captioner in sorted(set(names) - {""}):
        own = names == captioner
        row: dict[str, object] = {"captioner": captioner, "captions": int(own.sum())}
        row["people"] = float(judged.human[own].mean())
        for column in columns:
            known = column.scores[own & np.isfinite(column.scores)]
            row[column.metric] = float(known.mean()) if len(known) else None
        rows.append(row)
    rows.sort(key=lambda row: -float(str(row["people"])))
    return rows
