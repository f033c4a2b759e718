"""THumB 1.0: rubric scores of MSCOCO captions by four models and people (Kasai et al. 2022).

P and R: precision and recall, 1 to 5. Fl, Con, Inc: penalties for fluency, conciseness and
inclusive language, 0 or below. `human_score` = (P + R) / 2 + Fl + Con + Inc.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from revise_captions.benchmarks.entries import record, rows
from revise_captions.benchmarks.types import HUMAN, Example, HumanScore
from revise_captions.records import ImageRef

AXES = {
    "P": "precision",
    "R": "recall",
    "Fl": "fluency",
    "Con": "conciseness",
    "Inc": "inclusive language",
    "human_score": "overall",
}


def read(folder: Path) -> Iterator[Example]:
    """Reads captions with their rubric scores, and references by image."""
    references = _references(folder)
    for entry in rows(folder / "mscoco_THumB-1.0.jsonl"):
        system, segment, image = entry.text("SYS"), str(entry["seg_id"]), entry.text("image")
        scores = {axis: entry.number_at(key) for key, axis in AXES.items()}
        parts = [scores[axis] for axis in AXES.values()]
        total = (parts[0] + parts[1]) / 2 + sum(parts[2:5])
        doubts = (
            () if abs(total - parts[5]) < 1e-6 else ("human_score is not the sum of its parts",)
        )
        yield Example(
            f"{segment}-{system}",
            record(entry, entry.text("hyp"), ImageRef(path=image)),
            image,
            HUMAN if system == "Human" else system,
            scores=tuple(HumanScore(axis, value) for axis, value in scores.items()),
            references=references.get(segment, ()),
            doubts=doubts,
        )


def _references(folder: Path) -> Mapping[str, tuple[str, ...]]:
    """`seg_id` and `refs` per line, in a separate file that may be missing."""
    found = sorted(folder.glob("mscoco_references.json*"))
    return {str(entry["seg_id"]): entry.texts("refs") for path in found for entry in rows(path)}
