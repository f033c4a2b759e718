"""A leaderboard against human scores of the same captioners."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from revise_captions.errors import UserError
from revise_captions.pipelines.rating.formats import shown
from revise_captions.stats.bootstrap import bounds
from revise_captions.stats.correlations import Kind, correlation, row_correlations
from revise_captions.stats.leaderboard import CRITERIA, Criterion, Ratings, keys_of, resamples

Floats = npt.NDArray[np.float64]
KINDS: tuple[Kind, ...] = ("spearman", "kendall-b", "pearson")
LEAST = 3


#: What people said of captioners: a share by criterion.
People = Mapping[Criterion, Mapping[str, float]]


def read_people(path: Path) -> People:
    """Scores of captioners by criterion, from CSV with a column `captioner`.

    Other columns are `score`, which every criterion is compared with, or one for each criterion
    that people were asked about (`response`, `overall`, `per_description`).

    Raises:
        UserError: The columns are others, a score is no number, or a captioner occurs twice.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return _columns(path, csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"cannot read {path} as CSV: {error}") from None


def _columns(path: Path, reader: csv.DictReader[str]) -> People:
    names = set(reader.fieldnames or ())
    own: dict[Criterion, str] = {c: c for c in CRITERIA if c in names}
    columns = own or dict.fromkeys(CRITERIA, "score")
    if "captioner" not in names or not set(columns.values()) <= names:
        raise UserError(
            f"{path} has the columns {', '.join(reader.fieldnames or ['none'])}",
            hint="expected the columns `captioner` and `score`, or, in its place, "
            f"one or more of {', '.join(CRITERIA)}",
        )
    found: dict[Criterion, dict[str, float]] = {criterion: {} for criterion in columns}
    for number, row in enumerate(reader, start=1):
        captioner = str(row["captioner"])
        if any(captioner in scores for scores in found.values()):
            raise UserError(
                f"{path}, row {number}: {captioner} already has a score in an earlier row",
                hint="give each captioner one row",
            )
        for criterion, column in columns.items():
            found[criterion][captioner] = _number(path, number, column, row[column])
    return found


def _number(path: Path, number: int, column: str, text: str | None) -> float:
    try:
        score = float(text or "")
    except ValueError:
        raise UserError(f"{path}, row {number}: `{column}` is {text!r}") from None
    if not np.isfinite(score):
        raise UserError(f"{path}, row {number}: `{column}` is {score}")
    return score


def against_people(ratings: Ratings, people: People, replicates: int) -> dict[str, Any]:
    """Correlations over shared captioners by criterion, with intervals over images.

    Captioners of whom nothing could be judged are in none; `missing` has those that people scored
    and the leaderboard lacks.

    Raises:
        UserError: They share fewer than `LEAST` captioners.
    """
    named = list(next(iter(people.values())))
    known = [k for k, name in enumerate(ratings.captioners) if name in named]
    if len(known) < LEAST:
        raise UserError(
            f"people scored {len(known)} of the leaderboard's captioners; at least {LEAST} are "
            "needed",
            hint=f"they scored: {', '.join(named[:5])}; the leaderboard has: "
            f"{', '.join(ratings.captioners[:5])}",
        )
    keys = keys_of(ratings.images)
    shared = [ratings.captioners[k] for k in known]
    criteria: dict[str, Any] = {}
    for criterion, scored in people.items():
        top, bottom = (part[known] for part in ratings.sums(criterion))
        judged = bottom.sum(1) > 0
        names = [name for name, one in zip(shared, judged, strict=True) if one]
        human = np.array([scored[name] for name in names])
        top, bottom = top[judged], bottom[judged]
        scores = top.sum(1) / bottom.sum(1)
        drawn = resamples(top, bottom, keys, replicates)
        same = np.broadcast_to(human, drawn.shape)
        criteria[criterion] = {
            "captioners": len(names),
            "correlations": {
                kind: _figure(
                    correlation(kind, scores, human) if len(names) >= LEAST else float("nan"),
                    bounds(row_correlations(kind, drawn, same), len(ratings.images)),
                )
                for kind in KINDS
            },
            "points": [
                {"captioner": name, "people": float(h), "rater": float(s)}
                for name, h, s in zip(names, human, scores, strict=True)
            ],
        }
    missing = [name for name in named if name not in shared]
    return {"captioners": len(known), "missing": missing, "criteria": criteria}


def _figure(value: float, interval: tuple[float | None, float | None]) -> dict[str, float | None]:
    exists = bool(np.isfinite(value))
    low, high = interval if exists else (None, None)
    return {"value": value if exists else None, "low": low, "high": high}


def as_text(found: Mapping[str, Any]) -> str:
    lines = [f"against people, {found['captioners']} captioners"]
    for criterion, own in found["criteria"].items():
        said = "  ".join(f"{kind} {_shown(f)}" for kind, f in own["correlations"].items())
        few = own["captioners"] < found["captioners"]
        note = f"  only {own['captioners']} could be judged" if few else ""
        lines.append(f"  {criterion.replace('_', ' '):<16} {said}{note}")
    if found["missing"]:
        lines.append(f"  not on the leaderboard: {', '.join(map(shown, found['missing']))}")
    return "\n".join(lines)


def _shown(figure: Mapping[str, float | None]) -> str:
    if figure["value"] is None:
        return "none"
    if figure["low"] is None:
        return f"{figure['value']:.3f}"
    return f"{figure['value']:.3f} ({figure['low']:.3f} to {figure['high']:.3f})"
