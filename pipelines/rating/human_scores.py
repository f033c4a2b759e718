"""A leaderboard against human scores of the same captioners."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from revise_captions.errors import UserError
from revise_captions.stats.correlations import Kind, correlation, row_correlations
from revise_captions.stats.leaderboard import CRITERIA, Ratings, keys_of, resamples
from revise_captions.stats.paired_tests import bounds

Floats = npt.NDArray[np.float64]
KINDS: tuple[Kind, ...] = ("spearman", "kendall-b", "pearson")
LEAST = 3


def read_people(path: Path) -> dict[str, float]:
    """Scores by captioner, from CSV with columns `captioner` and `score`."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return dict(_rows(path, csv.DictReader(file)))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"cannot read {path} as CSV: {error}") from None


def _rows(path: Path, reader: csv.DictReader[str]) -> Iterator[tuple[str, float]]:
    if not {"captioner", "score"} <= set(reader.fieldnames or ()):
        raise UserError(
            f"{path} has the columns {', '.join(reader.fieldnames or ['none'])}",
            hint="expected the columns `captioner` and `score`",
        )
    for number, row in enumerate(reader, start=1):
        try:
            score = float(row["score"])
        except (TypeError, ValueError):
            raise UserError(f"{path}, row {number}: `score` is {row['score']!r}") from None
        if not np.isfinite(score):
            raise UserError(f"{path}, row {number}: `score` is {score}")
        yield str(row["captioner"]), score


def against_people(
    ratings: Ratings, people: Mapping[str, float], replicates: int
) -> dict[str, Any]:
    """Correlations over shared captioners by criterion, with intervals over images.

    Raises:
        UserError: They share fewer than `LEAST` captioners.
    """
    known = [k for k, name in enumerate(ratings.captioners) if name in people]
    if len(known) < LEAST:
        named = ", ".join(list(people)[:5])
        raise UserError(
            f"people scored {len(known)} of the leaderboard's captioners; {LEAST} are needed",
            hint=f"they scored: {named}; the leaderboard has: {', '.join(ratings.captioners[:5])}",
        )
    human = np.array([people[ratings.captioners[k]] for k in known])
    keys = keys_of(ratings.images)
    criteria: dict[str, Any] = {}
    for criterion in CRITERIA:
        top, bottom = (part[known] for part in ratings.sums(criterion))
        scores = np.divide(
            top.sum(1), bottom.sum(1), out=np.full(len(known), np.nan), where=bottom.sum(1) > 0
        )
        drawn = resamples(top, bottom, keys, replicates)
        same = np.broadcast_to(human, drawn.shape)
        criteria[criterion] = {
            "correlations": {
                kind: _figure(
                    correlation(kind, scores, human),
                    bounds(row_correlations(kind, drawn, same), len(ratings.images)),
                )
                for kind in KINDS
            },
            "points": [
                {"captioner": ratings.captioners[k], "people": float(h), "rater": float(s)}
                for k, h, s in zip(known, human, scores, strict=True)
                if np.isfinite(s)
            ],
        }
    return {"captioners": len(known), "criteria": criteria}


def _figure(value: float, interval: tuple[float | None, float | None]) -> dict[str, float | None]:
    exists = bool(np.isfinite(value))
    low, high = interval if exists else (None, None)
    return {"value": value if exists else None, "low": low, "high": high}


def as_text(found: Mapping[str, Any]) -> str:
    lines = [f"against people, {found['captioners']} captioners"]
    for criterion, own in found["criteria"].items():
        said = "  ".join(f"{kind} {_shown(f)}" for kind, f in own["correlations"].items())
        lines.append(f"  {criterion.replace('_', ' '):<16} {said}")
    return "\n".join(lines)


def _shown(figure: Mapping[str, float | None]) -> str:
    if figure["value"] is None:
        return "none"
    if figure["low"] is None:
        return f"{figure['value']:.3f}"
    return f"{figure['value']:.3f} ({figure['low']:.3f} to {figure['high']:.3f})"
