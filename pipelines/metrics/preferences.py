"""Preferences between two captions: accuracy, correlation, Bradley–Terry ratings of captioners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from revise_captions.benchmarks.types import Preference
from revise_captions.pipelines.metrics.estimates import (
    Column,
    Figure,
    FigureSpec,
    compared_shares,
    compute_figures,
    from_resamples,
    hits_of,
    tested,
)
from revise_captions.pipelines.metrics.levels import share_bounds
from revise_captions.pipelines.metrics.score_table import Scores
from revise_captions.stats.bradley_terry import (
    Battles,
    battles,
    bradley_terry,
    rated,
    resampled,
    wins,
)
from revise_captions.stats.correlations import (
    Kind,
    accuracy_of_differences,
    correlation,
    row_correlations,
    threshold_for_tie_rate,
)
from revise_captions.stats.paired_tests import swap_test, units_of

Floats = npt.NDArray[np.float64]
_RATING_KINDS: tuple[Kind, ...] = ("spearman", "kendall-b")


def preference_level(
    preferences: Sequence[Preference], metrics: Sequence[Scores], replicates: int
) -> list[Figure]:
    """Accuracy, correlations and captioner ratings for each axis of people's preferences."""
    found = []
    for axis in sorted({p.axis for p in preferences}):
        own = [p for p in preferences if p.axis == axis and p.first_id and p.second_id]
        human = np.array([p.value for p in own])
        images = [p.image for p in own]
        columns = [Column(m.name, _gaps(own, m, axis)) for m in metrics if m.scores_captions]
        found += _accuracies(columns, human, images, axis, replicates)
        found += compute_figures(
            [FigureSpec(kind, partial(correlation, kind)) for kind in ("kendall-b", "spearman")],
            columns,
            human,
            images,
            level="preference",
            axis=f"pooled over pairs, {axis}",
            replicates=replicates,
        )
        for place, column in enumerate(columns):
            rankings = _ranking(own, column, axis, replicates)
            if place:
                rankings = _ranking_tests(rankings, own, (columns[0], column), replicates)
            found += rankings
    return found


def _gaps(preferences: Sequence[Preference], metric: Scores, axis: str) -> Floats:
    """First score minus second score, by this criterion; NaN if one is missing."""
    pairs = [
        (metric.caption(p.first_id or "", axis), metric.caption(p.second_id or "", axis))
        for p in preferences
    ]
    return np.array([np.nan if a is None or b is None else a - b for a, b in pairs])


@dataclass(frozen=True, slots=True)
class _TieRule:
    """Which pairs count, and the difference of scores up to which the metric ties."""

    name: str
    rows: npt.NDArray[np.bool_]
    threshold: float
    note: str


def _tie_rules(x: Floats, y: Floats) -> list[_TieRule]:
    decided, every = y != 0, np.ones(len(y), dtype=bool)
    best = accuracy_of_differences(x, y, threshold=None).threshold
    rate = threshold_for_tie_rate(x, float((~decided).mean()))
    tied = "accuracy with ties"
    return [
        _TieRule("accuracy without human ties", decided, -1.0, "the metric's ties are wrong"),
        _TieRule(tied, every, best, f"calibrated on these pairs: up to {best:.4g}"),
        _TieRule(tied, every, rate, f"the metric ties as often as people: up to {rate:.4g}"),
    ]


def _accuracies(
    columns: Sequence[Column], human: Floats, images: Sequence[str], axis: str, replicates: int
) -> list[Figure]:
    """Accuracy without human ties, and with ties calibrated in two ways.

    Interval and test hold the tie thresholds fixed.
    """
    names = np.asarray(images, dtype=object)
    found = []
    for place, column in enumerate(columns):
        kept = np.isfinite(column.scores)
        if not kept.any():
            note = "nothing was judged"
            found.append(Figure("preference", "accuracy", axis, column.metric, None, note=note))
            continue
        x, y = column.scores[kept], human[kept]
        for number, rule in enumerate(_tie_rules(x, y)):
            hits = hits_of(x, y, rule.threshold)[rule.rows]
            own = list(names[kept][rule.rows])
            value = float(hits.mean()) if len(hits) else None
            figure = Figure(
                "preference",
                rule.name,
                f"pooled over pairs, {axis}",
                column.metric,
                value,
                *(share_bounds(hits, own, replicates) if len(hits) else (None, None)),
                len(hits),
                len(set(own)),
                note=rule.note,
            )
            if place and value is not None:
                pair = columns[0], column
                figure = _tested(figure, number, pair, human, names, replicates)
            found.append(figure)
    return found


def _tested(
    figure: Figure,
    number: int,
    columns: Sequence[Column],
    human: Floats,
    names: npt.NDArray[np.object_],
    replicates: int,
) -> Figure:
    both = np.isfinite(columns[0].scores) & np.isfinite(columns[1].scores)
    y = human[both]
    if not both.any():
        return figure
    rules = [_tie_rules(column.scores[both], y)[number] for column in columns]
    hits = [
        hits_of(column.scores[both], y, rule.threshold)[rule.rows]
        for column, rule in zip(columns, rules, strict=True)
    ]
    own = list(names[both][rules[0].rows])
    return tested(figure, compared_shares(hits[0], hits[1], own, replicates)) if own else figure


def _battles(preferences: Sequence[Preference], values: Floats) -> Battles:
    rows = [
        (p.first, p.second, (np.sign(value) + 1) / 2, p.image)
        for p, value in zip(preferences, values, strict=True)
    ]
    return battles(rows)


def ratings_of(preferences: Sequence[Preference], replicates: int) -> dict[str, dict[str, Any]]:
    """Captioners' Bradley–Terry and Elo ratings from human preferences, by axis, best first."""
    found: dict[str, dict[str, Any]] = {}
    for axis in sorted({p.axis for p in preferences}):
        own = [p for p in preferences if p.axis == axis]
        fought = _battles(own, np.array([p.value for p in own]))
        found[axis] = {
            name: [
                dict(zip(("captioner", "rating", "low", "high"), astuple(row), strict=True))
                for row in rows
            ]
            for name, rows in rated(fought, replicates).items()
        }
    return found


def _votes(human: Floats, gaps: Floats) -> Floats:
    """The metric's preferences (> 0, 0, < 0) with as many ties as people's."""
    cut = threshold_for_tie_rate(gaps, float((human == 0).mean()))
    return np.where(np.abs(gaps) <= cut, 0, gaps)


def _ranking(
    preferences: Sequence[Preference], column: Column, axis: str, replicates: int
) -> list[Figure]:
    """Correlation of captioners' Bradley–Terry ratings by people and by the metric."""
    kept = np.isfinite(column.scores)
    own = [p for p, keep in zip(preferences, kept, strict=True) if keep]
    if not own:
        return []
    human = np.array([p.value for p in own])
    sides = [_battles(own, human), _battles(own, _votes(human, column.scores[kept]))]
    if len(sides[0].captioners) < 3:
        return []
    counts = resampled(sides[0], replicates)
    values = [bradley_terry(wins(side))[0] for side in sides]
    drawn = [bradley_terry(wins(side, counts)) for side in sides]
    images = len({p.image for p in own})
    found = []
    for kind in _RATING_KINDS:
        figure = from_resamples(
            "preference",
            f"{kind} of Bradley–Terry ratings",
            f"{len(sides[0].captioners)} captioners, {axis}",
            column.metric,
            correlation(kind, *values),
            row_correlations(kind, *drawn),
            len(own),
            images,
            undefined="somebody never wins or never loses: no estimate",
        )
        found.append(figure)
    return found


def _ranking_tests(
    figures: Sequence[Figure],
    preferences: Sequence[Preference],
    columns: tuple[Column, Column],
    replicates: int,
    seed: int = 0,
) -> list[Figure]:
    """Metrics swap their votes on all pairs of an image; ratings are estimated again."""
    both = np.isfinite(columns[0].scores) & np.isfinite(columns[1].scores)
    own = [p for p, keep in zip(preferences, both, strict=True) if keep]
    if not own or not figures:
        return list(figures)
    human = np.array([p.value for p in own])
    people = _battles(own, human)
    sides = [_battles(own, _votes(human, column.scores[both])) for column in columns]
    counts = resampled(people, replicates)
    names, unit = units_of(people.images)
    swap = (np.random.default_rng(seed).random((len(names), replicates)) < 0.5)[unit]
    one, other = (side.won[:, None] for side in sides)
    swapped = [np.where(swap, b, a) for a, b in ((one, other), (other, one))]
    truth, *values = (bradley_terry(wins(side))[0] for side in (people, *sides))
    drawn = [bradley_terry(wins(side, counts)) for side in (people, *sides)]
    moved = [bradley_terry(wins(people, None, won)) for won in swapped]
    found = []
    for figure, kind in zip(figures, _RATING_KINDS, strict=True):
        same = np.broadcast_to(truth, moved[0].shape)
        first, second = (correlation(kind, truth, side) for side in values)
        spread = [row_correlations(kind, drawn[0], side) for side in drawn[1:]]
        swapped = [row_correlations(kind, same, side) for side in moved]
        test = swap_test(
            first - second,
            spread[0] - spread[1],
            swapped[0] - swapped[1],
            len(names),
        )
        found.append(figure if test.difference is None else tested(figure, test))
    return found
