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

import hashlib
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from revise_captions.posh.score_file import is_scored_pair, read_line
from revise_captions.records import Span, kind_of_reason
from revise_captions.signature import signature

logger = logging.getLogger(__name__)

#: Scores that need nothing but the captions. Of sentences, the later, the longer, and those with
#: more numbers are held to be worse; of whole captions, the longer is held to be better. The
#: directions are not fitted to anything.
PLAIN = ("floor:length", "floor:position", "floor:digits")
#: Floors that need more, and are named with it.
GIVEN = ("floor:numbers=FILE",)
#: Before the name of a metric of the registry, which may have an argument: `metric:posh=JUDGE`.
METRIC = "metric:"
NOT_THERE = "not in the file"
NO_SENTENCE = "no judged sentence overlaps it"


@dataclass(frozen=True, slots=True)
class Scores:
    """A metric's scores; None where it could not judge.

    Attributes:
        source: Identifies the scores in the signature.
        captions: By id.
        sentences: By id and index.
        reasons: Counts of why scores are missing.
        threshold: The critic's, if stored with its answers.
        of_captions: Whether sentence scores say anything about whole captions.
        probabilities: Whether scores in [0, 1] are probabilities.
        aspects: Of captions by one criterion, such as `mistakes`: by criterion and id.
        counts: Of shares that are pooled over captions: by share and id.
    """

    name: str
    source: str
    captions: Mapping[str, float | None]
    sentences: Mapping[tuple[str, int], float | None]
    spans: Mapping[str, tuple[ScoredSpan, ...]]
    reasons: Mapping[str, int]
    threshold: float | None = None
    of_captions: bool = True
    probabilities: bool = True
    omissions: Mapping[str, tuple[ScoredSpan, ...]] = field(default_factory=dict)
    aspects: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    counts: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)

    @property
    def scores_captions(self) -> bool:
        """Whether it has scores for whole captions."""
        return self.of_captions and bool(self.captions or self.sentences)

    def caption(self, name: str, axis: str = "") -> float | None:
        """The caption's score by a criterion, if there are such, or else its own, or else the mean
        of its scored sentences."""
        if axis in self.aspects:
            return self.aspects[axis].get(name)
        if name in self.captions:
            return self.captions[name]
        found = []
        number = 0
        while (name, number) in self.sentences:
            found.append(self.sentences[name, number])
            number += 1
        known = [value for value in found if value is not None]
        return sum(known) / len(known) if known else None


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
        raise UserError(
            f"there is no score file {path}",
            hint=f"expected a file, NAME=FILE, {METRIC}NAME, or one of {', '.join(known_floors())}",
        )
    return _joined(name, f"sha256 {_digest(Path(path))}", _entries(Path(path)), examples, column)


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
        logger.warning("%s read %s of %d texts in part only", name, truncated, len(every))
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


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def _entries(path: Path) -> Iterator[Entry]:
    return csv_rows(path) if path.suffix == ".csv" else rows(path)


def known_floors() -> tuple[str, ...]:
    from revise_captions.pipelines.metrics.baselines import BASELINES

    return (*PLAIN, *BASELINES, *GIVEN)


def all_floors(examples: Sequence[Example]) -> tuple[list[Scores], dict[str, str]]:
    """All floors that need nothing but the benchmark, and why others are left out."""
    found: list[Scores] = []
    left_out: dict[str, str] = {}
    for name in (n for n in known_floors() if n not in GIVEN):
        try:
            scores = floor(name, examples, Path())
        except UserError as error:
            left_out[name] = str(error)
            continue
        values = {*scores.captions.values(), *scores.sentences.values()} - {None}
        if len(values) > 1:
            found.append(scores)
        elif values:
            left_out[name] = "it gives everything the same score"
        else:
            left_out[name] = next(iter(scores.reasons), "there are no labeled sentences")
    return found, left_out


def floor(given: str, examples: Sequence[Example], folder: Path) -> Scores:
    """Scores of a trivial baseline, from `PLAIN`, `baselines.BASELINES` or `GIVEN`."""
    from revise_captions.pipelines.metrics import baselines

    name, _, argument = given.partition("=")
    if given in PLAIN:
        return _plain(given, examples)
    if given in baselines.BASELINES:
        captions, source = baselines.baseline(given, examples)
        return _of_floor(given, source, captions, {}, baselines.NO_REFERENCES)
    if name == "floor:numbers" and argument:
        from revise_captions.pipelines.metrics import number_floors

        texts = number_floors.texts_of(examples, Path(argument), folder)
        sentences = number_floors.not_found(examples, texts)
        source = f"{number_floors.READER}, sha256 {_digest(Path(argument))}"
        return _of_floor(name, source, {}, sentences, number_floors.NO_TEXT)
    raise UserError(f"there is no {given}", hint=f"known are: {', '.join(known_floors())}")


def _plain(given: str, examples: Sequence[Example]) -> Scores:
    from revise_captions.pipelines.metrics.number_floors import digits

    length = given == "floor:length"
    if given == "floor:digits":
        return _of_floor(given, "floor", {}, digits(examples), "")
    sentences: dict[tuple[str, int], float | None] = {
        (e.id, k): float(-len(s.span.of(e.caption)) if length else -k)
        for e in examples
        for k, s in enumerate(e.sentences)
    }
    captions: dict[str, float | None] = {}
    if length:
        captions = {e.id: float(len(e.caption.split())) for e in examples}
    scores = _of_floor(given, "floor", captions, sentences, "")
    return scores if length else replace(scores, of_captions=False)


def _of_floor(
    name: str,
    source: str,
    captions: Mapping[str, float | None],
    sentences: Mapping[tuple[str, int], float | None],
    why: str,
) -> Scores:
    missing = sum(v is None for v in (sentences or captions).values())
    reasons = {why: missing} if missing else {}
    return Scores(name, source, captions, sentences, {}, reasons, probabilities=False)


def _joined(
    name: str, source: str, entries: Iterator[Entry], examples: Sequence[Example], column: str
) -> Scores:
    known = {example.id: example for example in examples}
    captions: dict[str, float | None] = {}
    sentences: dict[tuple[str, int], float | None] = {}
    spans: dict[str, tuple[ScoredSpan, ...]] = {}
    omissions: dict[str, tuple[ScoredSpan, ...]] = {}
    aspects: dict[str, dict[str, float | None]] = {}
    reasons: Counter[str] = Counter()
    thresholds: set[float] = set()
    strangers, signatures = 0, set()
    for entry in entries:
        which = str(entry["id"])
        if which not in known:
            strangers += 1
            continue
        if "revision" in entry.data:
            with mended_by_user(f"{entry.place}: `revision` is not of revise-captions"):
                signature = str(entry["revision"]["signature"])
                signatures.add(signature)
                thresholds.add(float(entry["revision"]["threshold"]))
                _judged(entry, known[which], sentences, reasons)
        elif is_scored_pair(entry.data):
            with mended_by_user(f"{entry.place}: it is not of captions posh"):
                found = read_line(entry.data)
            captions[which] = found.value
            if found.value is None:
                reasons[found.reason] += 1
            for axis, value in found.aspects.items():
                aspects.setdefault(axis, {})[which] = value
            spans[which], omissions[which] = found.spans or (), found.omissions or ()
        elif "spans" in entry.data:
            spans[which] = _spans(entry, "spans")
            if "omissions" in entry.data:
                omissions[which] = _spans(entry, "omissions")
        elif entry.data.get("sentence") not in (None, ""):
            number = int(entry.number_at("sentence"))
            if not 0 <= number < len(known[which].sentences):
                many = len(known[which].sentences)
                raise entry.error(f"there is no sentence {number}: {which} has {many}, from 0")
            sentences[which, number] = _score(entry, column, reasons)
        else:
            captions[which] = _score(entry, column, reasons)
    if not (captions or sentences or spans):
        raise UserError(
            f"no score of {name} belongs to this benchmark ({strangers:,} unknown ids)",
            hint="use the ids that `captions benchmarks export` writes",
        )
    if len(signatures) > 1:
        raise UserError(
            f"{name} mixes answers with different signatures",
            hint="judge all captions with the same settings",
        )
    if sentences:
        _complete(sentences, examples, reasons)
    # of a panel's experts, each with its own, none is the threshold of all
    threshold = thresholds.pop() if len(thresholds) == 1 else None
    return Scores(
        name,
        source,
        captions,
        sentences,
        spans,
        reasons,
        threshold,
        omissions=omissions,
        aspects=aspects,
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
