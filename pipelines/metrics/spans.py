"""Error spans of a metric against those of people: mistakes and omissions.

Mistakes are spans of the caption, omissions spans of its first reference. If a metric scores its
spans (higher: more certainly wrong), macro-F1 over tokens is also given at its best threshold. That
threshold is fitted to these captions, for every metric alike. As in POSH's evaluation a token has
the score of what is least certainly wrong over it: a wrong relation between two right objects marks
what is only the relation's. POSH's Table 2 counts other tokens: `pipelines/reproduce/posh.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple

import numpy as np
import numpy.typing as npt

from revise_captions.benchmarks.types import Example
from revise_captions.metrics.protocol import ScoredSpan
from revise_captions.pipelines.metrics.estimates import Figure, from_measured, tested
from revise_captions.pipelines.metrics.score_table import Scores
from revise_captions.records import Span
from revise_captions.stats import span_agreement as spans
from revise_captions.stats.paired_tests import compared_sums, measured_sums

Floats = npt.NDArray[np.float64]
OMISSION = "omission"
#: Largest number of thresholds: distinct token scores, or quantiles of them.
LEVELS = 200


def span_level(
    examples: Sequence[Example], metrics: Sequence[Scores], replicates: int
) -> list[Figure]:
    """Relaxed F1 of spans, macro-F1 of tokens, and its maximum over thresholds."""
    found = []
    for axis, given in (
        ("mistakes, pooled over captions", {m.name: m.spans for m in metrics}),
        ("omissions, pooled over references", {m.name: m.omissions for m in metrics}),
    ):
        own = [name for name, marked in given.items() if marked]
        whole = [e for e in examples if not axis.startswith("omissions") or e.references]
        for name in own:
            pair = (given[name], given[own[0]]) if name != own[0] else (given[name],)
            found += _figures(axis, name, pair, whole, replicates)
    return found


def _figures(
    axis: str,
    name: str,
    given: Sequence[Mapping[str, Sequence[ScoredSpan]]],
    examples: Sequence[Example],
    replicates: int,
) -> list[Figure]:
    """Figures of `given[0]`, tested against `given[1]` over what both marked."""
    text, human = (_reference, omissions_of) if axis.startswith("om") else (_caption, mistakes_of)
    own = [e for e in examples if e.id in given[0]]
    both = [e for e in own if len(given) > 1 and e.id in given[1]]

    def counts(marked: Mapping[str, Sequence[ScoredSpan]], of: Sequence[Example]) -> Floats:
        rows = [
            astuple(
                spans.count_spans(text(e), [s.span for s in marked[e.id] if s.marked], human(e))
            )
            for e in of
        ]
        return np.array(rows, dtype=np.float64)

    def levels(marked: Mapping[str, Sequence[ScoredSpan]], of: Sequence[Example]) -> Floats:
        return level_counts([(text(e), marked[e.id], human(e)) for e in of])

    asked: list[tuple[str, Callable[[Floats], float], Callable[..., Floats], str]] = [
        ("relaxed F1 of spans", spans.relaxed_f1, counts, ""),
        ("macro-F1 of tokens", spans.token_macro_f1, counts, ""),
    ]
    if all(s.score is not None for marked in given for row in marked.values() for s in row):
        note = "fitted: the maximum over all thresholds of the spans' scores"
        asked.append(
            ("macro-F1 of tokens, best threshold", spans.best_token_macro_f1, levels, note)
        )
    found = []
    for what, statistic, table, note in asked:
        images = [e.image for e in own]
        one = measured_sums(statistic, table(given[0], own), images, replicates)
        figure = from_measured(one, "spans", what, axis, name, note=note)
        if both:
            first, second = table(given[1], both), table(given[0], both)
            images = [e.image for e in both]
            figure = tested(figure, compared_sums(statistic, first, second, images,
                                                  replicates=replicates))  # fmt: skip
        found.append(figure)
    return found


def level_counts(rows: Sequence[tuple[str, Sequence[ScoredSpan], Sequence[Span]]]) -> Floats:
    """Counts of tokens by level of score and human mark, for each text.

    Levels are ranks among all tokens' scores, so two metrics share a scale. Tokens that no span
    covers have the lowest level.

    Returns:
        Shape (texts, `LEVELS` + 1, 2).
    """
    tokens = [
        spans.token_scores(text, [(s.span, s.score or 0.0) for s in said], human)
        for text, said, human in rows
    ]
    scored = np.array([value for scores, _ in tokens for value in scores])
    known = np.unique(scored[np.isfinite(scored)])
    if len(known) > LEVELS:
        known = np.unique(np.quantile(scored[np.isfinite(scored)], np.linspace(0, 1, LEVELS)))
    table = np.zeros((len(rows), LEVELS + 1, 2))
    for place, (scores, marked) in enumerate(tokens):
        level = np.searchsorted(known, scores, side="right")
        np.add.at(table[place], (level, 1 - np.array(marked, dtype=np.int64)), 1)
    return table


def _caption(example: Example) -> str:
    return example.caption


def _reference(example: Example) -> str:
    return example.references[0]


def mistakes_of(example: Example) -> list[Span]:
    """What people marked in the caption."""
    return [error.span for error in example.errors if error.kind != OMISSION]


def omissions_of(example: Example) -> list[Span]:
    """What they marked in its first reference."""
    return [error.span for error in example.errors if error.kind == OMISSION]
