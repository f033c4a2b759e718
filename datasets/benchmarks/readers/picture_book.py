"""The picture-book world: captions whose every sentence has an exact label, from the generator.

Reads the output of `python -m revise_captions.picturebook.generate OUT --split test --mode
captioners --raters`. With `--raters`, there are five simulated raters' votes beside the truth; the
label is the truth, not their majority.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from revise_captions.benchmarks.entries import Entry, record, rows
from revise_captions.benchmarks.types import Example, LabeledSentence, Rating, Vote
from revise_captions.records import ImageRef, Span

_LABELS = {"factual": True, "nonfactual": False}
_VOTES = {str(vote): vote for vote in Vote}


def read(folder: Path) -> Iterator[Example]:
    """Reads captions as the generator writes them, with exact labels by sentence."""
    for path in sorted(folder.glob("*.jsonl")):
        for entry in rows(path):
            image = entry.text("image")
            yield Example(
                entry.text("id"),
                record(entry, entry.text("caption"), ImageRef(path=str(folder / image))),
                image,
                entry.text("captioner"),
                path.stem,
                sentences=tuple(_sentence(s) for s in entry.within("sentences")),
                references=(entry.text("description"),),
            )


def _sentence(entry: Entry) -> LabeledSentence:
    ratings: tuple[Rating, ...] = ()
    if entry.data.get("raters"):
        ratings = tuple(
            Rating(str(number), rater.one_of("vote", _VOTES), rater.text("rationale"))
            for number, rater in enumerate(entry.within("raters"), start=1)
        )
    return LabeledSentence(
        Span(int(entry.number_at("start")), int(entry.number_at("end"))),
        entry.one_of("label", _LABELS),
        bool(entry["assessable"]),
        tuple(filter(None, [entry["error_type"]])),
        entry["rationale"],
        ratings,
    )
