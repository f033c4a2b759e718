"""FaithScore: answers of VLMs, split into sub-sentences and atomic facts (Jing et al. 2023).

Stage 1 says of each sub-sentence whether it describes (1) or analyses (0); stage 2 says of each
fact whether the image supports it (1) or it is hallucinated (0). The source's own README says the
reverse of both; the content shows this direction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from revise_captions.benchmarks.entries import Entry, record, rows
from revise_captions.benchmarks.types import Example, Fact, LabeledSentence
from revise_captions.records import ImageRef, Span


def read(folder: Path) -> Iterator[Example]:
    references = _references(folder / "captions_boxes.jsonl")
    for entry in rows(folder / "annotation.jsonl"):
        caption, image = entry.text("answer"), entry.text("id")
        parts, doubts = _parts(caption, _flags(entry, "stage 1"))
        facts = tuple(Fact(text, bool(flag)) for text, flag in _flags(entry, "stage 2").items())
        yield Example(
            f"{image}-{entry.number}",
            record(entry, caption, ImageRef(path=f"{image}.jpg")),
            image,
            sentences=parts,
            facts=facts,
            references=references.get(image, ()),
            doubts=doubts,
        )


def _references(path: Path) -> Mapping[str, tuple[str, ...]]:
    if not path.exists():  # not part of the published annotations
        return {}
    return {entry.text("id"): entry.texts("captions") for entry in rows(path)}


def _flags(entry: Entry, key: str) -> dict[str, Any]:
    flags = entry[key]
    if not isinstance(flags, dict) or not all(flag in (0, 1) for flag in flags.values()):
        raise entry.error(f"`{key}` is no object of zeroes and ones")
    return flags


def _parts(
    caption: str, flags: Mapping[str, Any]
) -> tuple[tuple[LabeledSentence, ...], tuple[str, ...]]:
    """Sub-sentences located in the answer; those not found there are doubts."""
    parts, doubts, at = [], [], 0
    for text, flag in flags.items():
        wanted = text.strip()
        start = caption.find(wanted, at)
        if start < 0 or not wanted:
            doubts.append(f"not in the answer: {wanted[:60]}")
            continue
        at = start + len(wanted)
        parts.append(LabeledSentence(Span(start, at), None, bool(flag)))
    return tuple(parts), tuple(doubts)
