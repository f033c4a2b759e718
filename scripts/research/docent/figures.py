"""DOCENT and CapArena: how well a judge's scores agree with people, beside the paper's rows.

Neither is distributed with this package; where a file is missing, its rows say "not here" beside
what the paper printed (`agreement.PUBLISHED`). Files are read in their published formats
(`judgments`): `docent/granular.*`, `docent/coarse.*`, `caparena.*`, as JSON, JSON Lines, CSV or
Parquet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from revise_captions.posh.corpus import CRITERIA
from revise_captions.posh.judge import Judge
from revise_captions.posh.scoring import Pair, Score, score_captions
from revise_captions.stats.bradley_terry import battles, rated
from revise_captions.stats.correlations import correlation
from scripts.research.docent.agreement import (
    PUBLISHED,
    coarse,
    macro_f1,
    marked,
    token_scores,
)
from scripts.research.docent.judgments import (
    PairwiseJudgment,
    caparena,
    docent_coarse,
    docent_granular,
)
from scripts.research.posh.figures import ReportedFigure

_MISSING = float("nan")


def figures(data: Path, judge: Judge | None, pipeline: str) -> Iterator[ReportedFigure]:
    """All rows; those whose file is not in `data`, or all without a judge, have no value."""
    paths = _file(data, "docent/granular"), _file(data, "docent/coarse"), _file(data, "caparena")
    for path, part in zip(paths, (granular, preferences, arena), strict=True):
        yield from part(path, judge, pipeline)


def found_in(data: Path) -> bool:
    """Whether there is anything to measure."""
    return any(_file(data, name) for name in ("docent/granular", "docent/coarse", "caparena"))


def _file(data: Path, stem: str) -> Path | None:
    endings = (".json", ".jsonl", ".csv", ".parquet")
    return next((p for p in (data / f"{stem}{end}" for end in endings) if p.is_file()), None)


def granular(path: Path | None, judge: Judge | None, pipeline: str) -> Iterator[ReportedFigure]:
    """Macro F1 over tokens at the best threshold: of mistakes, and of omissions."""
    best = [_MISSING, _MISSING]
    count = 0
    if path is not None and judge is not None:
        rows = list(docent_granular(path))
        pairs = [Pair(row.generation, (row.reference,)) for row in rows]
        scored = list(score_captions(pairs, judge, pipeline))
        count = len(rows)
        sides = (
            [(s.generation, r.generation, r.mistakes) for s, r in zip(scored, rows, strict=True)],
            [
                (s.references[0], r.reference, r.omissions)
                for s, r in zip(scored, rows, strict=True)
            ],
        )
        for k, side in enumerate(sides):
            scores = np.concatenate([token_scores(graded) for graded, _, _ in side])
            gold = np.concatenate([marked(text, spans) for _, text, spans in side])
            best[k] = macro_f1(scores, gold)[0]
    for name, value, paper in zip(("mistakes", "omissions"), best, PUBLISHED["docent granular"],
                                  strict=True):  # fmt: skip
        yield ReportedFigure(
            f"DOCENT granular macro F1: {name}", value, n=count or None, peers=f"POSH {paper:.3f}"
        )


def preferences(path: Path | None, judge: Judge | None, pipeline: str) -> Iterator[ReportedFigure]:
    """Accuracy with ties, and rho and tau of differences, by criterion."""
    rows = list(docent_coarse(path)) if path is not None else []
    scored = _both(rows, judge, pipeline)
    for criterion in CRITERIA:
        values = (_MISSING, _MISSING, _MISSING)
        if scored:
            known = [
                (a - b, row.labels[criterion])
                for row, (one, two) in zip(rows, scored, strict=True)
                if (a := _value(one, criterion)) is not None
                and (b := _value(two, criterion)) is not None
            ]
            found = coarse([d for d, _ in known], [label for _, label in known])
            values = (100 * found.accuracy, found.rho, found.tau)
        yield from _rows(f"DOCENT coarse, {criterion}", values, PUBLISHED[f"docent {criterion}"])


def arena(path: Path | None, judge: Judge | None, pipeline: str) -> Iterator[ReportedFigure]:
    """CapArena: accuracy over pairs; rho and tau of captioners' mean scores with their ratings."""
    rows = list(caparena(path)) if path is not None else []
    scored = _both(rows, judge, pipeline)
    values = (_MISSING, _MISSING, _MISSING)
    if scored:
        overall = [tuple(_value(s, "overall") or 0.0 for s in pair) for pair in scored]
        labels = [row.labels["overall"] for row in rows]
        found = coarse([one - two for one, two in overall], labels)
        means: dict[str, list[float]] = defaultdict(list)
        for row, pair in zip(rows, overall, strict=True):
            for model, value in zip(row.models, pair, strict=True):
                means[model].append(value)
        fought = [(*row.models, (row.labels["overall"] + 1) / 2, row.uuid) for row in rows]
        people = {r.captioner: r.rating for r in rated(battles(fought), 200)["Elo"]}
        names = [name for name in means if people[name] is not None]
        ours = [float(np.mean(means[name])) for name in names]
        theirs = [people[name] or 0.0 for name in names]
        rho, tau = (correlation(kind, ours, theirs) for kind in ("spearman", "kendall-b"))
        values = (100 * found.accuracy, rho, tau)
    yield from _rows("CapArena", values, PUBLISHED["caparena"])


def _both(
    rows: Sequence[PairwiseJudgment], judge: Judge | None, pipeline: str
) -> list[tuple[Score, Score]]:
    if judge is None:
        return []
    pairs = (Pair(text, (row.reference,)) for row in rows for text in row.generations)
    scored = list(score_captions(pairs, judge, pipeline))
    return list(zip(scored[::2], scored[1::2], strict=True))


def _value(score: Score, criterion: str) -> float | None:
    if criterion == "overall":
        return score.overall
    return score.mistakes.score if criterion == "mistakes" else score.omissions.score


def _rows(name: str, values: Sequence[float], paper: Sequence[float]) -> Iterator[ReportedFigure]:
    kinds = (("accuracy, %", 1), ("Spearman", 3), ("Kendall", 3))
    for (kind, digits), value, published in zip(kinds, values, paper, strict=True):
        shown = f"POSH {published:.{digits}f}"
        yield ReportedFigure(f"{name}: {kind}", value, peers=shown, digits=digits)
