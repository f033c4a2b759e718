"""Error types by captioner: flagged sentences per hundred judged."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from revise_captions.outside_text import csv_name
from revise_captions.pipelines.rating.autorater import RatedCaptioners
from revise_captions.pipelines.rating.formats import (
    latex_table,
    markdown_table,
    shown,
    text_table,
)
from revise_captions.stats.exact import LEVEL
from revise_captions.stats.leaderboard import COLUMNS, keys_of, resamples

Floats = npt.NDArray[np.float64]
HEADING = "kinds of errors: flagged sentences per hundred judged"


def errors_of(
    rated: RatedCaptioners, order: Sequence[str], replicates: int
) -> dict[str, Any] | None:
    """Rates of error types by captioner (in `order`), with 95 % intervals over images.

    Returns:
        None if no error has a type; otherwise types in order of frequency and a table.
    """
    total: Counter[str] = Counter()
    for of_images in rated.errors.values():
        for counted in of_images.values():
            total.update(counted)
    if not total:
        return None
    ratings = rated.ratings
    judged = ratings.counts[:, :, COLUMNS.index("judged")]
    keys = keys_of(ratings.images)
    rows: dict[str, dict[str, Any]] = {name: {} for name in order}
    kinds = [kind for kind, _ in sorted(total.items(), key=lambda item: (-item[1], item[0]))]
    for kind in kinds:
        counts = _counts(rated, kind)
        drawn = resamples(counts, judged, keys, replicates)
        for k, name in enumerate(ratings.captioners):
            if name not in rows:
                continue
            sentences, of = counts[k].sum(), judged[k].sum()
            known = drawn[:, k][np.isfinite(drawn[:, k])]
            low, high = (
                np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
                if len(known) and sentences and (judged[k] > 0).sum() > 1
                else (None, None)
            )
            rows[name][kind] = {
                "sentences": int(sentences),
                "rate": float(sentences / of) if of else None,
                "low": None if low is None else float(low),
                "high": None if high is None else float(high),
            }
    table = [{"captioner": name, "kinds": row} for name, row in rows.items() if row]
    return {"heading": HEADING, "kinds": kinds, "table": table}


def _counts(rated: RatedCaptioners, kind: str) -> Floats:
    places = {name: k for k, name in enumerate(rated.ratings.images)}
    counts = np.zeros((len(rated.ratings.captioners), len(places)))
    for k, captioner in enumerate(rated.ratings.captioners):
        for image, kinds in rated.errors.get(captioner, {}).items():
            counts[k, places[image]] = kinds.get(kind, 0)
    return counts


def _lines(found: Mapping[str, Any]) -> list[list[str]]:
    lines = [["captioner", *map(shown, found["kinds"])]]
    for row in found["table"]:
        cells = (row["kinds"][kind]["rate"] for kind in found["kinds"])
        lines.append(
            [shown(row["captioner"]), *("" if v is None else f"{100 * v:.1f}" for v in cells)]
        )
    return lines


def as_text(found: Mapping[str, Any]) -> str:
    return text_table(_lines(found), left=0)


def as_markdown(found: Mapping[str, Any]) -> str:
    return markdown_table(_lines(found), left=0)


def as_latex(found: Mapping[str, Any]) -> str:
    return latex_table(_lines(found), left=0)


def as_csv(found: Mapping[str, Any]) -> str:
    """One row per captioner and type, in full precision."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["captioner", "kind", "sentences", "rate", "low", "high"])
    for row in found["table"]:
        for kind, cell in row["kinds"].items():
            writer.writerow([csv_name(row["captioner"]), csv_name(kind), *cell.values()])
    return text.getvalue()
