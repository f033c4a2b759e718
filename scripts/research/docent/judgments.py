"""Human judgments in their published formats: DOCENT (granular, coarse) and CapArena.

The files are read as they are distributed; nothing of them is in this package. Every function
yields plain records for `agreement`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from revise_captions.errors import UserError
from revise_captions.records import Span

#: "#1 much better" to "#2 much better" (A.3.2).
SCALE = {
    "1_much_better": 2,
    "1_slightly_better": 1,
    "equal": 0,
    "2_slightly_better": -1,
    "2_much_better": -2,
}


@dataclass(frozen=True, slots=True)
class Granular:
    """One annotator's marks: mistakes in the generation, omissions in the reference."""

    uuid: str
    model: str
    generation: str
    reference: str
    mistakes: tuple[Span, ...]
    omissions: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class PairwiseJudgment:
    """How much better the first generation is, from -2 to 2, by each criterion."""

    uuid: str
    models: tuple[str, str]
    generations: tuple[str, str]
    reference: str
    labels: Mapping[str, int]


def docent_coarse(path: Path) -> Iterator[PairwiseJudgment]:
    """Rows `uuid, model1, model2, model1_generation, model2_generation, reference, mistakes,
    omissions, overall_quality`: a JSON array, JSON Lines, CSV or Parquet.
    """
    for row in _rows(path):
        labels = {
            name: _label(row[key])
            for name, key in (
                ("mistakes", "mistakes"),
                ("omissions", "omissions"),
                ("overall", "overall_quality"),
            )
        }
        yield PairwiseJudgment(
            str(row["uuid"]),
            (row["model1"], row["model2"]),
            (row["model1_generation"], row["model2_generation"]),
            row["reference"],
            labels,
        )


def docent_granular(path: Path) -> Iterator[Granular]:
    """Rows `uuid, model, generation, reference, mistakes, omissions`; the last two are lists of
    spans, each an object with `start` and `end` or a pair of numbers.
    """
    for row in _rows(path):
        yield Granular(
            str(row["uuid"]),
            str(row.get("model", "")),
            row["generation"],
            row["reference"],
            tuple(_span(item) for item in row["mistakes"]),
            tuple(_span(item) for item in row["omissions"]),
        )


def caparena(path: Path) -> Iterator[PairwiseJudgment]:
    """Rows `img, source1, source2, caption1, caption2, ref, winner, cluster`; `winner` is one of
    the sources, or says that they are equal.
    """
    for row in _rows(path):
        winner = row["winner"]
        label = 1 if winner == row["source1"] else -1 if winner == row["source2"] else 0
        yield PairwiseJudgment(
            str(row["img"]),
            (row["source1"], row["source2"]),
            (row["caption1"], row["caption2"]),
            row["ref"],
            {"overall": label},
        )


def _label(value: Any) -> int:
    """A label as a word of the scale or as a number from -2 to 2."""
    if isinstance(value, int | float) and value == int(value) and abs(value) <= 2:
        return int(value)
    key = str(value).strip().lower().replace("#", "").replace(" ", "_").replace("model", "")
    key = {"1": "1_slightly_better", "2": "2_slightly_better"}.get(key, key.strip("_"))
    if key in SCALE:
        return SCALE[key]
    if key.lstrip("-").isdigit() and abs(int(key)) <= 2:
        return int(key)
    raise UserError(
        f"{value!r} is no judgment of two texts",
        hint="expected -2 to 2, or “#1 much better” to “#2 much better”",
    )


def _span(item: Any) -> Span:
    if isinstance(item, Mapping):
        return Span(int(item["start"]), int(item["end"]))
    return Span(int(item[0]), int(item[1]))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if path.suffix == ".csv":
        import csv

        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                yield {key: _unpacked(value) for key, value in row.items()}
    elif path.suffix == ".parquet":
        import pyarrow.parquet as parquet

        for batch in parquet.ParquetFile(path).iter_batches():
            yield from batch.to_pylist()
    else:
        text = path.read_text(encoding="utf-8")
        if text.lstrip().startswith("["):
            yield from json.loads(text)
        else:
            yield from (json.loads(line) for line in text.splitlines() if line.strip())


def _unpacked(value: str) -> Any:
    """A list that a CSV cell holds as JSON; any other text as it is."""
    return json.loads(value) if value.startswith("[") else value
