"""DOCENT: descriptions of art, with marked spans and with comparisons (POSH, section 4).

Granular: spans of mistakes in the generation and of omissions in the reference. Coarse: five-point
comparisons of two generations for mistakes, omissions and overall quality.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from revise_captions.benchmarks.entries import (
    Entry,
    image_at,
    library_json,
    record,
    rows,
)
from revise_captions.benchmarks.types import ErrorSpan, Example, Item, Preference
from revise_captions.records import Span

AXES = ("mistakes", "omissions", "overall_quality")
STEPS = {
    "1_much_better": 2.0,
    "1_slightly_better": 1.0,
    "equal": 0.0,
    "2_slightly_better": -1.0,
    "2_much_better": -2.0,
}


def read_coarse(folder: Path) -> Iterator[Item]:
    """Reads comparisons of two generations: captions, then preferences by criterion."""
    seen: dict[str, str] = {}
    for entry in _entries(folder):
        image, ids = entry.text("uuid"), []
        for which in ("model1", "model2"):
            captioner, caption = entry.text(which), entry.text(f"{which}_generation")
            ids.append(f"{image}-{captioner}")
            if ids[-1] not in seen:
                seen[ids[-1]] = caption
                row = record(entry, caption, image_at(entry.data.get("image")))
                yield Example(ids[-1], row, image, captioner, references=(entry.text("reference"),))
            elif seen[ids[-1]] != caption:
                raise entry.error(f"another row has another description of it by {captioner}")
        for axis in AXES:
            yield Preference(
                image,
                entry.text("model1"),
                entry.text("model2"),
                axis,
                entry.one_of(axis, STEPS),
                ids[0],
                ids[1],
                verdict=entry.text(axis),
            )


def read_granular(folder: Path) -> Iterator[Example]:
    """Reads generations with the spans that annotators marked."""
    for entry in _entries(folder):
        image, captioner = entry.text("uuid"), entry.text("model")
        caption, reference = entry.text("generation"), entry.text("reference")
        mistakes, wrong = _spans(entry, "mistakes", "mistake", len(caption))
        omissions, lost = _spans(entry, "omissions", "omission", len(reference))
        yield Example(
            f"{image}-{captioner}",
            record(entry, caption, image_at(entry.data.get("image"))),
            image,
            captioner,
            errors=mistakes + omissions,
            references=(reference,),
            doubts=wrong + lost,
        )


def _entries(folder: Path) -> Iterator[Entry]:
    for path in sorted([*folder.rglob("*.parquet"), *folder.rglob("*.jsonl")]):
        yield from rows(path)


def _spans(
    entry: Entry, key: str, kind: str, length: int
) -> tuple[tuple[ErrorSpan, ...], tuple[str, ...]]:
    """JSON text of a list of `{"start", "end"}`; parts outside the text are cut, and are doubts."""
    with library_json(entry, key):
        marked = json.loads(entry[key])
    found, doubts = [], []
    for mark in Entry(entry.file, entry.number, {key: marked}).within(key):
        start, end = int(mark.number_at("start")), int(mark.number_at("end"))
        if not 0 <= start < end <= length:
            doubts.append(f"{key}: {start} to {end} of {length}")
        start, end = max(start, 0), min(end, length)
        if start < end:
            found.append(ErrorSpan(Span(start, end), kind))
    return tuple(found), tuple(doubts)
