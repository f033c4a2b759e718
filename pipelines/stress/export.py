"""Originals and changed descriptions as rows, for a metric that runs elsewhere."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from revise_captions.benchmarks.types import Example
from revise_captions.errors import BadRecord
from revise_captions.io.writing import check_new_folder, write_json_lines
from revise_captions.metrics.protocol import ImageSource
from revise_captions.pipelines.stress.items import RatedItems
from revise_captions.pipelines.stress.scores import ORIGINAL, Variants, variant_id

ROWS = "variants.jsonl"


def export_variants(folder: Path, items: RatedItems, variants: Variants) -> int:
    """Writes `variants.jsonl` and the images that it names into a new folder.

    A row has `id`, `check` ("" for an original), `image`, `caption`, `context`, `references`; an
    original also `scores`, people's mean by axis. An image that cannot be read is named "".

    Raises:
        UserError: The folder exists and is not empty.
    """
    check_new_folder(folder)
    (folder / "images").mkdir(parents=True, exist_ok=True)
    return write_json_lines(folder / ROWS, _rows(folder, items, variants))


def _rows(folder: Path, items: RatedItems, variants: Variants) -> Iterator[dict[str, Any]]:
    saved: dict[str, str] = {}
    for check, inputs in variants.inputs.items():
        for item, example, given in zip(items.items, items.examples, inputs, strict=True):
            if given is not None:
                yield {
                    "id": variant_id(item.id, check),
                    "of": item.id,
                    "check": check,
                    "image": _saved(given.image, folder, saved) if given.image else "",
                    "caption": given.text,
                    "context": given.context,
                    "references": list(given.references),
                    **({"scores": _means(example)} if check == ORIGINAL else {}),
                }


def _means(example: Example) -> dict[str, float]:
    by_axis: dict[str, list[float]] = {}
    for score in example.scores:
        by_axis.setdefault(score.axis, []).append(score.value)
    return {axis: sum(values) / len(values) for axis, values in by_axis.items()}


def _saved(image: ImageSource, folder: Path, saved: dict[str, str]) -> str:
    """The image's path in the folder, lossless; saved once."""
    if image.key not in saved:
        name = f"images/{hashlib.sha256(image.key.encode()).hexdigest()[:16]}.png"
        try:
            image.load().save(folder / name)
        except BadRecord:
            name = ""
        saved[image.key] = name
    return saved[image.key]
