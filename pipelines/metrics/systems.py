"""System level: a metric's mean for each captioner against people's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from revise_captions.benchmarks.types import Example
from revise_captions.pipelines.metrics.estimates import (
    Column,
    Figure,
    from_measured,
    from_resamples,
    tested,
)
from revise_captions.pipelines.metrics.levels import RatedCaptions, caption_columns
from revise_captions.pipelines.metrics.score_table import Scores
from revise_captions.stats.bootstrap import weights
from revise_captions.stats.correlations import (
    KINDS,
    correlation,
    pairwise_accuracy,
    row_correlations,
    soft_pairwise_accuracy,
)
from revise_captions.stats.leaderboard import keys_of, resamples
from revise_captions.stats.paired_tests import (
    Compared,
    measured_sums,
    standardized,
    swap_test,
    units_of,
)

Floats = npt.NDArray[np.float64]
#: Resamples of soft pairwise accuracy, each of which is a permutation test itself.
_SOFT = 200
PAIRWISE, SOFT = "pairwise accuracy with ties", "soft pairwise accuracy"


def system_level(judged: RatedCaptions, metrics: Sequence[Scores], replicates: int) -> list[Figure]:
    """Correlations, pairwise and soft pairwise accuracy of captioners' means over images.

    Only captions that both people and the metric scored count, so both means cover the same
    images.
    """
    columns = caption_columns(judged, metrics)
    found = [_systems(judged, column, replicates) for column in columns]
    for place in range(1, len(found)):
        if found[0] and found[place]:
            tests = _tests(judged, (columns[0], columns[place]), replicates)
            found[place] = [tested(f, tests[f.name]) if f.name in tests else f
                            for f in found[place]]  # fmt: skip
    return [figure for figures in found for figure in figures]


@dataclass(frozen=True, slots=True)
class _Tables:
    """Sums by captioner and image of captions that both metrics scored: `scores` (2, captioners,
    images), the same `standardized`, people's, and the number of captions.
    """

    images: tuple[str, ...]
    scores: Floats
    standardized: Floats
    human: Floats
    count: Floats


def _tables(judged: RatedCaptions, columns: tuple[Column, Column]) -> _Tables | None:
    both = np.isfinite(columns[0].scores) & np.isfinite(columns[1].scores)
    both &= np.array([bool(example.captioner) for example in judged.examples])
    rows = np.flatnonzero(both)
    if not len(rows):
        return None
    names, image = units_of([judged.examples[row].image for row in rows])
    who = np.unique([judged.examples[row].captioner for row in rows], return_inverse=True)[1]
    values = [column.scores[rows] for column in columns]
    values += [standardized(v) for v in values]
    values += [judged.human[rows], np.ones(len(rows))]
    sums = np.zeros((len(values), who.max() + 1, len(names)))
    for table, own in zip(sums, values, strict=True):
        np.add.at(table, (who, image), own)
    return _Tables(tuple(names), sums[:2], sums[2:4], sums[4], sums[5])


def _tests(
    judged: RatedCaptions, columns: tuple[Column, Column], replicates: int, seed: int = 0
) -> dict[str, Compared]:
    """By figure: metrics swap their standardized scores of all captions of an image."""
    tables = _tables(judged, columns)
    if tables is None:
        return {}
    drawn = weights(keys_of(tables.images), replicates).T.astype(np.float64)
    swap = (np.random.default_rng(seed).random((replicates, len(tables.images))) < 0.5) * 1.0
    total = tables.count.sum(1)

    def means(table: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((drawn @ table.T) / (drawn @ tables.count.T))

    one, other = tables.standardized
    moved = [((1 - swap) @ a.T + swap @ b.T) / total for a, b in ((one, other), (other, one))]
    human = tables.human.sum(1) / total
    same = np.broadcast_to(human, moved[0].shape)
    found = {}
    for name in (*KINDS, PAIRWISE):
        values = [_of_rows(name, s.sum(1)[None] / total, human[None])[0] for s in tables.scores]
        spread = [_of_rows(name, means(s), means(tables.human)) for s in tables.scores]
        flipped = [_of_rows(name, side, same) for side in moved]
        found[name] = swap_test(
            values[0] - values[1],
            spread[0] - spread[1],
            flipped[0] - flipped[1],
            len(tables.images),
        )
    soft = min(replicates, _SOFT)
    found[SOFT] = _soft_test(tables, drawn[:soft].astype(np.int64), swap[:soft] > 0)
    return found


def _of_rows(name: str, x: Floats, y: Floats) -> Floats:
    """A correlation, or pairwise accuracy with newly calibrated ties, of every row."""
    if name == PAIRWISE:
        pairs = zip(x, y, strict=True)
        return np.array([pairwise_accuracy(a, b, threshold=None).accuracy for a, b in pairs])
    return row_correlations(name, x, y)  # type: ignore[arg-type]


def _soft_test(
    tables: _Tables, drawn: npt.NDArray[np.int64], swap: npt.NDArray[np.bool_]
) -> Compared:
    """The test of soft pairwise accuracy; an image drawn twice counts as two items."""
    with np.errstate(invalid="ignore", divide="ignore"):
        human, *cells = (t / tables.count for t in (tables.human, *tables.scores))
        scaled = [t / tables.count for t in tables.standardized]

    def soft(metric: Floats, chosen: npt.NDArray[np.int64] | None = None) -> float:
        sides = [s if chosen is None else np.repeat(s, chosen, axis=1) for s in (metric, human)]
        return soft_pairwise_accuracy(*sides, resamples=_SOFT)

    values = [soft(s) for s in cells]
    spread = [np.array([soft(s, w) for w in drawn]) for s in cells]
    flipped = [
        np.array([soft(np.where(chosen, b, a)) for chosen in swap])
        for a, b in (scaled, scaled[::-1])
    ]
    return swap_test(
        values[0] - values[1], spread[0] - spread[1], flipped[0] - flipped[1], len(tables.images)
    )


def _systems(judged: RatedCaptions, column: Column, replicates: int) -> list[Figure]:
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
        sizes = len(captioners), len(images)
        return from_resamples("system", name, axis, column.metric, value, spread, *sizes, note)

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


def pooled_shares(
    examples: Sequence[Example], metrics: Sequence[Scores], replicates: int
) -> list[Figure]:
    """Shares that a metric counts over captions, such as CHAIR_i, also of each captioner."""
    captioners = sorted({example.captioner for example in examples} - {""})
    found = []
    for metric in metrics:
        for share, counts in metric.counts.items():
            for captioner in ("", *(captioners if len(captioners) > 1 else ())):
                own = [e for e in examples if e.id in counts and captioner in ("", e.captioner)]
                table = np.array([counts[e.id] for e in own]).reshape(-1, 2)
                one = measured_sums(_share, table, [e.image for e in own], replicates)
                axis = "pooled over captions"
                found.append(from_measured(one, "system", share, axis, metric.name, captioner))
    return found


def _share(sums: Floats) -> float:
    return float(sums[0] / sums[1]) if sums[1] else float("nan")


def system_table(judged: RatedCaptions, metrics: Sequence[Scores]) -> list[dict[str, object]]:
    """Captioners with people's and every metric's mean, best first by people.

    A metric's mean is over the captions that it judged; None if there is none.
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
