"""The AutoRater against people: captioners by the three criteria of VNLI-Critique (section 4.2).

People's shares come from the labels of sentences, the rater's from the same sentences at its
threshold; both are counted by `stats.leaderboard`. A sentence that people did not label counts on
neither side. The coefficients compare ranks: those of shares are those of their ranks, as in the
paper's Table 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from revise_captions.benchmarks.types import Example
from revise_captions.pipelines.metrics.estimates import Figure, from_resamples
from revise_captions.pipelines.metrics.score_table import Scores
from revise_captions.records import Label
from revise_captions.stats.classification import HALF
from revise_captions.stats.correlations import Kind, correlation, row_correlations
from revise_captions.stats.leaderboard import (
    CRITERIA,
    Criterion,
    Floats,
    RatedSentence,
    Ratings,
    collect,
    counts_of,
    keys_of,
    resamples,
)

KINDS: tuple[Kind, ...] = ("spearman", "kendall-b")
LEAST = 3


def people_of(examples: Sequence[Example]) -> Ratings:
    """People's counts by captioner and image, from the labels of sentences."""
    return collect(
        _row(example, [_label(s.factual) for s in example.sentences if s.factual is not None])
        for example in _labeled(examples)
    )


def rater_of(examples: Sequence[Example], scores: Scores, threshold: float) -> Ratings:
    """A rater's counts over the sentences that people labeled."""
    return collect(
        _row(example, [_judged(p, threshold) for p in _scores_of(example, scores)])
        for example in _labeled(examples)
    )


def _labeled(examples: Sequence[Example]) -> Iterator[Example]:
    for example in examples:
        if example.captioner and any(s.factual is not None for s in example.sentences):
            yield example


def _row(example: Example, labels: Sequence[Label]) -> tuple[str, str, tuple[float, ...]]:
    counts = counts_of([RatedSentence(label) for label in labels], len(example.caption.split()))
    return example.captioner, example.image, counts


def _scores_of(example: Example, scores: Scores) -> Iterator[float | None]:
    for k, sentence in enumerate(example.sentences):
        if sentence.factual is not None:
            yield scores.sentences.get((example.id, k))


def _judged(p: float | None, threshold: float) -> Label:
    return Label.UNSCORED if p is None else _label(p >= threshold)


def _label(factual: bool | None) -> Label:
    return Label.FACTUAL if factual else Label.NONFACTUAL


def shares(ratings: Ratings, criterion: Criterion) -> Floats:
    """Each captioner's share; NaN where nothing was judged."""
    top, bottom = (part.sum(1) for part in ratings.sums(criterion))
    return np.divide(top, bottom, out=np.full(len(top), np.nan), where=bottom > 0)


def autorater_level(
    examples: Sequence[Example], metrics: Sequence[Scores], replicates: int
) -> tuple[list[Figure], dict[str, list[dict[str, object]]]]:
    """Correlations of captioners' shares by criterion, and the shares, best first by people.

    Only raters whose sentence scores are probabilities take part: at their stored threshold, or at
    one half. The table is what `captions rate --people` takes.
    """
    people = people_of(examples)
    raters = {m.name: m.threshold or HALF for m in metrics if m.sentences and m.probabilities}
    if len(people.captioners) < LEAST or not raters:
        return [], {}
    found = {m.name: rater_of(examples, m, raters[m.name]) for m in metrics if m.name in raters}
    figures = [
        figure
        for criterion in CRITERIA
        for name, own in found.items()
        for figure in _figures(criterion, people, name, own, raters[name], replicates)
    ]
    return figures, {str(criterion): _table(criterion, people, found) for criterion in CRITERIA}


def _figures(
    criterion: Criterion, people: Ratings, name: str, rater: Ratings, cut: float, replicates: int
) -> Iterator[Figure]:
    human, own = shares(people, criterion), shares(rater, criterion)
    known = np.isfinite(own) & np.isfinite(human)
    keys = keys_of(people.images)
    sums = [side.sums(criterion) for side in (rater, people)]
    drawn = [resamples(top[known], bottom[known], keys, replicates) for top, bottom in sums]
    axis = f"{int(known.sum())} captioners, {criterion.replace('_', ' ')}"
    sizes = int(known.sum()), len(people.images)
    for kind in KINDS:
        value, spread = correlation(kind, own[known], human[known]), row_correlations(kind, *drawn)
        yield from_resamples("autorater", kind, axis, name, value, spread, *sizes, f"at {cut:g}")


def _table(
    criterion: Criterion, people: Ratings, raters: dict[str, Ratings]
) -> list[dict[str, object]]:
    described = people.counts[:, :, 0].sum(1)
    columns = {name: shares(own, criterion).tolist() for name, own in raters.items()}
    rows: list[dict[str, object]] = [
        {
            "captioner": captioner,
            "captions": int(described[k]),
            "people": share,
            **{name: None if np.isnan(own[k]) else own[k] for name, own in columns.items()},
        }
        for k, (captioner, share) in enumerate(
            zip(people.captioners, shares(people, criterion).tolist(), strict=True)
        )
    ]
    return sorted(rows, key=lambda row: -float(str(row["people"])))
