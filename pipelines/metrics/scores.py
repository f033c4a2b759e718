"""A metric's scores from a file, joined to a benchmark's captions and sentences.

A row (JSON Lines, CSV or Parquet) is one of:

    {"id", "score"}                 a caption
    {"id", "sentence", "score"}     a sentence: index among the caption's labeled ones, from 0
    {"id", "revision": {…}}         a caption judged by revise-captions
    {"id", "spans": [{"start", "end", "score"?}], "omissions": [the same]?}
    {"id", "overall", "mistakes", "omissions", "generation": […], …}    OUT of captions posh

The last but one has spans of the caption that the metric finds wrong and spans of the first
reference that it finds omitted; all or none have a confidence. A score of null (CSV: empty) means
“could not judge”. Sentences of revise-captions are joined to labeled ones by overlap: a labeled
sentence gets the lowest P(factual) of those that overlap it, and none if one of them is unscored.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

from revise_captions.benchmarks.entries import Entry, csv_rows, rows, shown
from revise_captions.benchmarks.types import Example
from revise_captions.errors import UserError, mended_by_user
from revise_captions.metrics.protocol import (
    Metric,
    MetricInput,
    MetricScore,
    ScoredSpan,
    ScoresParts,
    StoredImage,
)
from revise_captions.metrics.registry import (
    MetricOptions,
    load_metric,
    metric_label,
    scored,
    scored_parts,
)
from revise_captions.pipelines.metrics.floors import floor, known_floors
from revise_captions.pipelines.metrics.score_table import Scores, digest
from revise_captions.posh.score_file import is_scored_pair, read_line
from revise_captions.records import Span, kind_of_reason
from revise_captions.registry import METRICS, names
from revise_captions.signature import signature
from revise_captions.text.formatting import plural

logger = logging.getLogger(__name__)

#: Before the name of a metric of the registry, which may have an argument: `metric:posh=JUDGE`.
METRIC = "metric:"
NOT_THERE = "not in the file"
NO_SENTENCE = "no judged sentence overlaps it"


def read_scores(
    given: str,
    examples: Sequence[Example],
    column: str = "score",
    folder: Path = Path(),
    how: MetricOptions | None = None,
) -> Scores:
    """Reads `[NAME=]FILE`, or computes a floor or `metric:NAME`; `folder` is the images' root."""
    if given.startswith("floor:"):
        return floor(given, examples, folder)
    if given.startswith(METRIC):
        return _computed(given.removeprefix(METRIC), examples, folder, how)
    name, equals, path = given.partition("=")
    if not equals or Path(given).exists():
        name, path = Path(given).stem, given
    if not Path(path).is_file():
        if given.partition("=")[0] in names(METRICS):
            raise UserError(f"there is no file {given}", hint=f"the metric is {METRIC}{given}")
        raise UserError(
            f"there is no score file {path}",
            hint=f"expected a file, NAME=FILE, {METRIC}NAME, or one of {', '.join(known_floors())}",
        )
    return _joined(name, f"sha256 {digest(Path(path))}", _entries(Path(path)), examples, column)


def metric_input(example: Example, folder: Path) -> MetricInput:
    """A benchmark's caption as a metric gets it; `folder` is the root of images."""
    ref = example.record.image
    image = StoredImage(ref, folder) if ref.path or ref.url or ref.data else None
    return MetricInput(example.caption, image, example.context, example.references)


def _computed(
    given: str, examples: Sequence[Example], folder: Path, how: MetricOptions | None
) -> Scores:
    """Scores of whole captions by a metric of the registry."""
    return of_metric(metric_label(given), load_metric(given, how), examples, folder)


def of_metric(name: str, metric: Metric, examples: Sequence[Example], folder: Path) -> Scores:
    """A metric's scores of a benchmark's captions, and, if it takes parts, of labeled sentences.

    Args:
        name: What tables call it.
        metric: Scores texts.
        examples: The captions.
        folder: The root of their images.
    """
    sentences = _of_sentences(metric, examples, folder)
    threshold = getattr(metric, "threshold", None)
    # a critic's score of a caption is the mean of its sentences' scores
    whole = [e for e in examples if threshold is None or (e.id, 0) not in sentences]
    found = scored(metric, [metric_input(example, folder) for example in whole])
    every = [*found, *sentences.values()]
    if truncated := sum(bool(score.truncated) for score in every):
        logger.warning("%s truncated %s of %d texts", name, truncated, len(every))
    both = list(zip(whole, found, strict=True))
    return Scores(
        name,
        signature(metric.settings),
        {e.id: s.value for e, s in both},
        {key: score.value for key, score in sentences.items()},
        {e.id: s.spans for e, s in both if s.spans is not None},
        Counter(score.reason for score in every if score.reason),
        threshold,
        probabilities=threshold is not None,
        omissions={e.id: s.omissions for e, s in both if s.omissions is not None},
        aspects={
            axis: {e.id: s.aspects.get(axis) for e, s in both}
            for axis in dict.fromkeys(axis for score in found for axis in score.aspects)
        },
        counts={
            share: {e.id: s.counts[share] for e, s in both if share in s.counts}
            for share in dict.fromkeys(share for score in found for share in score.counts)
        },
    )


def _of_sentences(
    metric: Metric, examples: Sequence[Example], folder: Path
) -> dict[tuple[str, int], MetricScore]:
    """Scores of the labeled sentences, by id and index, of a metric that takes parts."""
    labeled = [example for example in examples if example.sentences]
    if not isinstance(metric, ScoresParts) or not labeled:
        return {}
    inputs = [metric_input(example, folder) for example in labeled]
    parts = [[sentence.span for sentence in example.sentences] for example in labeled]
    found = zip(labeled, scored_parts(metric, inputs, parts), strict=True)
    return {(e.id, k): score for e, scores in found for k, score in enumerate(scores)}


def _entries(path: Path) -> Iterator[Entry]:
    hint = "`captions evaluate-metric --help` shows the rows of a score file"
    return csv_rows(path, hint) if path.suffix == ".csv" else rows(path, hint)


@dataclass(slots=True)
class _ReadScores:
    """What the lines of a score file say, as far as read; attributes as of `Scores`."""

    captions: dict[str, float | None] = field(default_factory=dict)
    sentences: dict[tuple[str, int], float | None] = field(default_factory=dict)
    spans: dict[str, tuple[ScoredSpan, ...]] = field(default_factory=dict)
    omissions: dict[str, tuple[ScoredSpan, ...]] = field(default_factory=dict)
    aspects: dict[str, dict[str, float | None]] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    thresholds: set[float] = field(default_factory=set)
    signatures: set[str] = field(default_factory=set)

    def add(self, entry: Entry, example: Example, column: str) -> None:
        """Reads a line about a caption; `column`: of its score."""
        which = example.id
        if "revision" in entry.data:
            with mended_by_user(f"{entry.place}: `revision` is not of revise-captions"):
                self.signatures.add(str(entry["revision"]["signature"]))
                self.thresholds.add(float(entry["revision"]["threshold"]))
                _once(entry, (which, 0), self.sentences)
                _judged(entry, example, self.sentences, self.reasons)
        elif is_scored_pair(entry.data):
            with mended_by_user(f"{entry.place}: it is not of captions posh"):
                found = read_line(entry.data)
            _once(entry, which, self.captions)
            self.captions[which] = found.value
            if found.value is None:
                self.reasons[found.reason] += 1
            for axis, value in found.aspects.items():
                self.aspects.setdefault(axis, {})[which] = value
            self.spans[which], self.omissions[which] = found.spans or (), found.omissions or ()
        elif "spans" in entry.data:
            _once(entry, which, self.spans)
            self.spans[which] = _spans(entry, "spans")
            if "omissions" in entry.data:
                self.omissions[which] = _spans(entry, "omissions")
        elif entry.data.get("sentence") not in (None, ""):
            number, many = int(entry.number_at("sentence")), len(example.sentences)
            if not 0 <= number < many:
                raise entry.error(f"there is no sentence {number}: {which} has {many}, from 0")
            _once(entry, (which, number), self.sentences)
            self.sentences[which, number] = _score(entry, column, self.reasons)
        else:
            _once(entry, which, self.captions)
            self.captions[which] = _score(entry, column, self.reasons)


def _once(entry: Entry, key: object, found: Mapping[Any, Any]) -> None:
    """Raises `UserError` for a second row about the same text: either score could be meant."""
    if key in found:
        raise entry.error(f"{shown(entry['id'])} already has a score in an earlier row")


def _joined(
    name: str, source: str, entries: Iterator[Entry], examples: Sequence[Example], column: str
) -> Scores:
    known = {example.id: example for example in examples}
    read, strangers = _ReadScores(), 0
    for entry in entries:
        example = known.get(str(entry["id"]))
        if example is None:
            strangers += 1
        else:
            read.add(entry, example, column)
    if not (read.captions or read.sentences or read.spans):
        raise UserError(
            f"no score of {name} belongs to this benchmark ({strangers:,} unknown ids)",
            hint="use the ids that `captions benchmarks export` writes",
        )
    if len(read.signatures) > 1:
        raise UserError(
            f"{name} mixes answers with different signatures",
            hint="judge all captions with the same settings",
        )
    if strangers:
        logger.warning("%s: %s not of this benchmark, left out", name, plural(strangers, "row"))
    if read.sentences:
        _complete(read.sentences, examples, read.reasons)
    elif missing := len(known.keys() - (read.captions or read.spans).keys()):
        read.reasons[NOT_THERE] += missing
    # of a panel's experts, each with its own, none is the threshold of all
    threshold = read.thresholds.pop() if len(read.thresholds) == 1 else None
    return Scores(
        name,
        source,
        read.captions,
        read.sentences,
        read.spans,
        read.reasons,
        threshold,
        omissions=read.omissions,
        aspects=read.aspects,
    )


def _spans(entry: Entry, key: str) -> tuple[ScoredSpan, ...]:
    return tuple(
        ScoredSpan(
            Span(int(s.number_at("start")), int(s.number_at("end"))),
            s.number_at("score") if s.data.get("score") is not None else None,
        )
        for s in entry.within(key)
    )


def _complete(
    sentences: dict[tuple[str, int], float | None],
    examples: Sequence[Example],
    reasons: Counter[str],
) -> None:
    """Labeled sentences that the file does not mention count as not judged."""
    for example in examples:
        for number in range(len(example.sentences)):
            if (example.id, number) not in sentences:
                sentences[example.id, number] = None
                reasons[NOT_THERE] += 1


def _score(entry: Entry, column: str, reasons: Counter[str]) -> float | None:
    if entry[column] in (None, ""):
        reasons[str(entry.data.get("reason") or "no reason given")] += 1
        return None
    value = entry.number_at(column)
    if not isfinite(value):
        raise entry.error(f"`{column}` is {shown(entry[column])}; null means “could not judge”")
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
            reasons[kind_of_reason(missing)] += 1
