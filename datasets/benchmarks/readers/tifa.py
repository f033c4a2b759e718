"""TIFA's correlation data: texts and generated images with two raters' scores (Hu et al. 2023).

The published scores of eleven metrics stay in the record's fields, to check correlations with.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from revise_captions.benchmarks.entries import json_entries, record
from revise_captions.benchmarks.types import Example, HumanScore
from revise_captions.records import ImageRef


def read(folder: Path) -> Iterator[Example]:
    """Reads texts and generated images with the scores of both raters."""
    for name, entry in json_entries(folder / "human_annotations_with_scores.json"):
        image = entry.text("image_path")
        scores = enumerate(entry.items("human_scores"), start=1)
        yield Example(
            name,
            record(entry, entry.text("text"), ImageRef(path=image)),
            image,
            scores=tuple(HumanScore("faithfulness", float(v), str(rater)) for rater, v in scores),
        )
