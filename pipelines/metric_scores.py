"""Scores that a metric gave, from a file, joined to a benchmark's captions and sentences.

A row is one of:

    {"id", "score"}                 a caption
    {"id", "sentence", "score"}     a sentence: its number in the caption's labelled ones, from 0
    {"id", "revision": {…}}         a caption that the main command judged
    {"id", "spans": [{"start", "end"}]}   spans that the metric finds wrong

in JSON Lines, CSV or Parquet. A score of null (CSV: empty) is “could not judge”. Where the main
command judged, its own sentences are joined to the labelled ones by their spans: a labelled
sentence has the lowest P(factual) of those that overlap it, and none where one of them has none.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from revise_captions.benchmarks.entries import Entry, csv_rows, rows, shown
from revise_captions.benchmarks.types import Example
from revise_captions.errors import UserError
from revise_captions.records import Span
from revise_captions.signature import settings_of

#: Scores that need no file. Of sentences, the later and the longer are held to be worse; of whole
#: captions, the longer is held to be better. The directions are not fitted to anything.
FLOORS = ("floor:length", "floor:position")
NOT_THERE = "not in the file"
NO_SENTENCE = "no judged sentence overlaps it"


@dataclass(frozen=True, slots=True)
class Scores:
    """`captions`, `sentences` (by id and number): None where it could not judge, for `reasons`.

    `threshold`: the one stored with a critic's answers. `source` names the scores exactly.
    `of_captions` False: its sentences' scores say nothing of whole captions.
    """

    name: str
    source: str
    captions: Mapping[str, float | None]
    sentences: Mapping[tuple[str, int], float | None]
    spans: Mapping[str, tuple[Span, ...]]
    reasons: Mapping[str, int]
    threshold: float | None = None
    of_captions: bool = True

    @property
    def scores_captions(self) -> bool:
        """Whether it says anything of whole captions."""
        return self.of_captions and bool(self.captions or self.sentences)

    def caption(self, name: str) -> float | None:
        """The caption's own score; else the mean of its scored sentences."""
        if name in self.captions:
            return self.captions[name]
        found = []
        number = 0
        while (name, number) in self.sentences:
            found.append(self.sentences[name, number])
            number += 1
        known = [value for value in found if value is not None]
        return sum(known) / len(known) if known else None


def read_scores(given: str, examples: Sequence[Example], field: str = "score") -> Scores:
    """`[NAME=]FILE`, or one of `FLOORS`. Raises `UserError`."""
    if given.startswith("floor:"):
        return _floor(given, examples)
    name, equals, path = given.partition("=")
    if not equals or Path(given).exists():
        name, path = Path(given).stem, given
    if not Path(path).is_file():
        raise UserError(
            f"there are no scores {path}", hint=f"a file, NAME=FILE, or one of {', '.join(FLOORS)}"
        )
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12]
    return _joined(name, f"sha256 {digest}", _entries(Path(path)), examples, field)


def _entries(path: Path) -> Iterator[Entry]:
    return csv_rows(path) if path.suffix == ".csv" else rows(path)


def _floor(given: str, examples: Sequence[Example]) -> Scores:
    if given not in FLOORS:
        raise UserError(f"there is no {given}", hint=f"known are: {', '.join(FLOORS)}")
    length = given == "floor:length"
    sentences = {
        (e.id, k): float(-len(s.span.of(e.caption)) if length else -k)
        for e in examples
        for k, s in enumerate(e.sentences)
    }
    captions = {e.id: float(len(e.caption.split())) for e in examples} if length else {}
    return Scores(given, "floor", captions, sentences, {}, {}, of_captions=length)


def _joined(
    name: str, source: str, entries: Iterator[Entry], examples: Sequence[Example], field: str
) -> Scores:
    known = {example.id: example for example in examples}
    captions: dict[str, float | None] = {}
    sentences: dict[tuple[str, int], float | None] = {}
    spans: dict[str, tuple[Span, ...]] = {}
    reasons: Counter[str] = Counter()
    thresholds: set[float] = set()
    strangers, signatures = 0, set()
    for entry in entries:
        which = str(entry["id"])
        if which not in known:
            strangers += 1
            continue
        if "revision" in entry.data:
            signature = str(entry["revision"]["signature"])
            signatures.add(signature)
            thresholds.add(float(settings_of(signature)["threshold"]))
            _judged(entry, known[which], sentences, reasons)
        elif "spans" in entry.data:
            spans[which] = tuple(
                Span(int(s.number_at("start")), int(s.number_at("end")))
                for s in entry.within("spans")
            )
        elif entry.data.get("sentence") not in (None, ""):
            number = int(entry.number_at("sentence"))
            if not 0 <= number < len(known[which].sentences):
                many = len(known[which].sentences)
                raise entry.error(f"there is no sentence {number}: {which} has {many}, from 0")
            sentences[which, number] = _score(entry, field, reasons)
        else:
            captions[which] = _score(entry, field, reasons)
    if not (captions or sentences or spans):
        raise UserError(
            f"none of the scores of {name} is of this benchmark ({strangers:,} other ids)",
            hint="ids must be those that `caption-benchmarks export` writes",
        )
    if len(signatures) > 1:
        raise UserError(f"{name} mixes answers with different signatures: judge all in one way")
    if sentences:
        _complete(sentences, examples, reasons)
    threshold = thresholds.pop() if thresholds else None
    return Scores(name, source, captions, sentences, spans, reasons, threshold)


def _complete(
    sentences: dict[tuple[str, int], float | None],
    examples: Sequence[Example],
    reasons: Counter[str],
) -> None:
    """A labelled sentence that the file does not mention was not judged: it counts as such."""
    for example in examples:
        for number in range(len(example.sentences)):
            if (example.id, number) not in sentences:
                sentences[example.id, number] = None
                reasons[NOT_THERE] += 1


def _score(entry: Entry, field: str, reasons: Counter[str]) -> float | None:
    if entry[field] in (None, ""):
        reasons[str(entry.data.get("reason") or "no reason given")] += 1
        return None
    value = entry.number_at(field)
    if not isfinite(value):
        raise entry.error(f"`{field}` is {shown(entry[field])}; null means “could not judge”")
    return value


def _judged(
    entry: Entry,
    example: Example,
    sentences: dict[tuple[str, int], float | None],
    reasons: Counter[str],
) -> None:
    revision: Mapping[str, Any] = entry["revision"]
    judged = [(Span(*s["span"]), s["p_factual"], s["reason"]) for s in revision["sentences"]]
    for number, sentence in enumerate(example.sentences):
        start, end = sentence.span
        over = [(p, why) for span, p, why in judged if span.start < end and start < span.end]
        missing = next((why for p, why in over if p is None), None if over else NO_SENTENCE)
        sentences[example.id, number] = None if missing else min(p for p, _ in over)
        if missing:
            reasons[missing] += 1
