"""Preferences, and agreement between raters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from revise_captions.benchmarks.annotation_protocol import AGAINST
from revise_captions.benchmarks.types import Example, Preference
from revise_captions.pipelines.metrics.figures import (
    Column,
    Figure,
    FigureSpec,
    ask,
    compared_shares,
    hits_of,
    tested,
)
from revise_captions.pipelines.metrics.levels import share_bounds
from revise_captions.pipelines.metrics.scores import Scores
from revise_captions.stats.agreement import counts_of, fleiss_kappa, krippendorff_alpha
from revise_captions.stats.bootstrap import weights
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
from revise_captions.stats.leaderboard import keys_of
from revise_captions.stats.paired_tests import Compared, bounds, units_of

Floats = npt.NDArray[np.float64]
#: More different scores than these are no labels: agreement is then of intervals only.
_LABELS = 12
_RATING_KINDS: tuple[Kind, ...] = ("spearman", "kendall-b")


def preference_level(
    preferences: Sequence[Preference], metrics: Sequence[Scores], replicates: int
) -> list[Figure]:
    """By axis: how often the metric's better caption is people's, with ties on purpose."""
    found = []
    for axis in sorted({p.axis for p in preferences}):
        own = [p for p in preferences if p.axis == axis and p.first_id and p.second_id]
        human = np.array([p.value for p in own])
        images = [p.image for p in own]
        columns = [Column(m.name, _gaps(own, m)) for m in metrics if m.scores_captions]
        found += _accuracies(columns, human, images, axis, replicates)
        found += ask(
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


def _gaps(preferences: Sequence[Preference], metric: Scores) -> Floats:
    """Score of the first minus score of the second; NaN where one has none."""
    pairs = [
        (metric.caption(p.first_id or ""), metric.caption(p.second_id or "")) for p in preferences
    ]
    return np.array([np.nan if a is None or b is None else a - b for a, b in pairs])


@dataclass(frozen=True, slots=True)
class _Way:
    """A way to count agreement: the pairs that count, and up to where the metric ties."""

    name: str
    rows: npt.NDArray[np.bool_]
    threshold: float
    note: str


def _ways(x: Floats, y: Floats) -> list[_Way]:
    decided, every = y != 0, np.ones(len(y), dtype=bool)
    best = accuracy_of_differences(x, y, threshold=None).threshold
    rate = threshold_for_tie_rate(x, float((~decided).mean()))
    tied = "accuracy with ties"
    return [
        _Way("accuracy without human ties", decided, -1.0, "the metric's ties are wrong"),
        _Way(tied, every, best, f"calibrated on these pairs: up to {best:.4g}"),
        _Way(tied, every, rate, f"the metric ties as often as people: up to {rate:.4g}"),
    ]


def _accuracies(
    columns: Sequence[Column], human: Floats, images: Sequence[str], axis: str, replicates: int
) -> list[Figure]:
    """Without human ties, and with them, the metric's ties calibrated in two ways.

    Interval and test hold the thresholds fixed.
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
        for number, way in enumerate(_ways(x, y)):
            hits = hits_of(x, y, way.threshold)[way.rows]
            own = list(names[kept][way.rows])
            value = float(hits.mean()) if len(hits) else None
            figure = Figure(
                "preference",
                way.name,
                f"pooled over pairs, {axis}",
                column.metric,
                value,
                *(share_bounds(hits, own, replicates) if len(hits) else (None, None)),
                len(hits),
                len(set(own)),
                note=way.note,
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
    ways = [_ways(column.scores[both], y)[number] for column in columns]
    hits = [
        hits_of(column.scores[both], y, way.threshold)[way.rows]
        for column, way in zip(columns, ways, strict=True)
    ]
    own = list(names[both][ways[0].rows])
    return tested(figure, compared_shares(hits[0], hits[1], own, replicates)) if own else figure


def _battles(preferences: Sequence[Preference], values: Floats) -> Battles:
    rows = [
        (p.first, p.second, (np.sign(value) + 1) / 2, p.image)
        for p, value in zip(preferences, values, strict=True)
    ]
    return battles(rows)


def ratings_of(preferences: Sequence[Preference], replicates: int) -> dict[str, dict[str, Any]]:
    """By axis: captioners' Bradley–Terry and Elo ratings by people's preferences, best first."""
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
    """The metric's preferences with as many ties as people's: > 0, 0 or < 0."""
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
        value = correlation(kind, *values)
        exists = bool(np.isfinite(value))
        found.append(
            Figure(
                "preference",
                f"{kind} of Bradley–Terry ratings",
                f"{len(sides[0].captioners)} captioners, {axis}",
                column.metric,
                value if exists else None,
                *(bounds(row_correlations(kind, *drawn), images) if exists else (None, None)),
                len(own),
                images,
                note="" if exists else "somebody never wins or never loses: no estimate",
            )
        )
    return found


def _ranking_tests(
    figures: Sequence[Figure],
    preferences: Sequence[Preference],
    columns: tuple[Column, Column],
    replicates: int,
    seed: int = 0,
) -> list[Figure]:
    """Metrics swap their votes on all pairs of an image; the ratings are estimated anew."""
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
        observed = correlation(kind, truth, values[0]) - correlation(kind, truth, values[1])
        if not np.isfinite(observed):
            found.append(figure)
            continue
        spread = np.subtract(*(row_correlations(kind, drawn[0], side) for side in drawn[1:]))
        same = np.broadcast_to(truth, moved[0].shape)
        gaps = np.subtract(*(row_correlations(kind, same, side) for side in moved))
        known = np.abs(gaps[np.isfinite(gaps)])
        p_value = (1 + int((known >= abs(observed) - 1e-12).sum())) / (1 + len(known))
        test = Compared(float(observed), *bounds(spread, len(names)), p_value)
        found.append(tested(figure, test))
    return found


def agreement_level(examples: Sequence[Example], replicates: int) -> list[Figure]:
    """Krippendorff's α and Fleiss' κ of sentence labels and of caption scores."""
    votes = [(e.image, {r.rater: r for r in s.ratings}) for e in examples for s in e.sentences]
    votes = [(image, ratings) for image, ratings in votes if len(ratings) > 1]
    found = []
    if votes:
        images = [image for image, _ in votes]
        four = [{who: str(r.vote) for who, r in ratings.items()} for _, ratings in votes]
        two = [{who: r.vote in AGAINST for who, r in ratings.items()} for _, ratings in votes]
        found += agreement_of(two, images, "sentences, wrong or not", replicates)
        found += agreement_of(four, images, "sentences, four labels", replicates)
    by_axis: dict[str, list[tuple[str, dict[str, float]]]] = {}
    for example in examples:
        given: dict[str, dict[str, float]] = {}
        for score in example.scores:
            if score.rater:
                given.setdefault(score.axis, {})[score.rater] = score.value
        for axis, scores in given.items():
            if len(scores) > 1:
                by_axis.setdefault(axis, []).append((example.image, scores))
    for axis, rows in sorted(by_axis.items()):
        images = [image for image, _ in rows]
        found += agreement_of(
            [scores for _, scores in rows], images, f"captions, {axis}", replicates
        )
    return found


def agreement_of(
    items: Sequence[Mapping[str, Any]], images: Sequence[str], axis: str, replicates: int
) -> list[Figure]:
    """Of items, each with the label that every rater gave it; `images`: the image of each."""
    labels = sorted({label for item in items for label in item.values()})
    numeric = all(isinstance(label, float) for label in labels)
    table = counts_of(items, labels)
    names, unit = units_of(images)
    drawn = weights(keys_of(names), replicates)[unit]
    found = []

    def add(name: str, value: Floats, spread: Floats, rows: int, note: str = "") -> None:
        exists = bool(np.isfinite(value[0]))
        low, high = bounds(spread, len(names)) if exists else (None, None)
        found.append(
            Figure(
                "agreement",
                name,
                axis,
                "people",
                float(value[0]) if exists else None,
                low,
                high,
                rows,
                len(names),
                note=note if exists else "everybody always says the same",
            )
        )

    if numeric:
        add(
            "Krippendorff's α (interval)",
            krippendorff_alpha(table, labels),
            krippendorff_alpha(table, labels, drawn),
            len(items),
        )
    if len(labels) <= _LABELS:
        add(
            "Krippendorff's α (nominal)",
            krippendorff_alpha(table),
            krippendorff_alpha(table, None, drawn),
            len(items),
        )
        raters = table.sum(1)
        usual = np.bincount(raters.astype(int)).argmax()
        same = raters == usual
        note = (
            "" if same.all() else f"only items with {usual} raters, {int((~same).sum())} left out"
        )
        add(
            "Fleiss' κ",
            fleiss_kappa(table[same]),
            fleiss_kappa(table[same], drawn[same]),
            int(same.sum()),
            note,
        )
    return found
