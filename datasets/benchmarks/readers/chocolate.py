"""CHOCOLATE: captions of charts, each sentence labeled with the errors in it (Huang et al. 2024).

An empty list of errors means a factual sentence. Three records of the published file occur twice,
verbatim; they are read once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from revise_captions.benchmarks.entries import joined, record, rows
from revise_captions.benchmarks.types import Example, LabeledSentence
from revise_captions.records import ImageRef


def read(folder: Path) -> Iterator[Example]:
    seen: set[str] = set()
    for entry in rows(folder / "chocolate.json"):
        name = entry.text("_id")
        if name in seen:
            continue
        seen.add(name)
        caption, spans = joined(entry.texts("sentences"))
        labels = entry.items("labels")
        if len(labels) != len(spans):
            raise entry.error(f"{len(labels)} labels for {len(spans)} sentences")
        sentences = tuple(
            LabeledSentence(span, not errors, error_types=tuple(errors))
            for span, errors in zip(spans, labels, strict=True)
        )
        image = entry.text("image_path")
        row = record(entry, caption, ImageRef(path=str(folder / image)))
        yield Example(
            name, row, image, entry.text("model"), entry.text("dataset"), sentences=sentences
        )
