"""The common form of all benchmarks: captions with human labels, and preferences.

An `Example` is one caption of one image by one captioner. Its human labels are kept at the level at
which they were given: for sentences or sub-sentences, spans, atomic facts, or the whole caption by
axis. A `Preference` compares two captions of one image. What a data set does not have is empty,
never guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from revise_captions.records import Record, Span

#: The name of the caption field in a benchmark's `Record`.
CAPTION = "caption"
#: The captioner of captions that people wrote.
HUMAN = "human"
Triple = tuple[str, ...]


class Vote(StrEnum):
    """One rater's label of one sentence (VNLI-Critique, section 3)."""

    ENTAILMENT = "entailment"
    NEUTRAL = "neutral"
    CONTRADICTION = "contradiction"
    NOTHING = "nothing to assess"


@dataclass(frozen=True, slots=True)
class Rating:
    """One rater's answer about one sentence.

    Attributes:
        rater: Who.
        vote: The label.
        rationale: What the rater wrote.
        needs_image: Whether judging it requires the image; None if that was not asked.
    """

    rater: str
    vote: Vote
    rationale: str = ""
    needs_image: bool | None = None


@dataclass(frozen=True, slots=True)
class LabeledSentence:
    """A sentence, or part of one, that people labeled.

    Attributes:
        span: Place in the caption, `[start, end)` in code points.
        factual: None if they could not say, or there was nothing to judge.
        assessable: Whether it makes a claim; None if that was not asked.
        error_types: The data set's own names.
        rationale: What is wrong.
        ratings: The raters' answers, if published.
    """

    span: Span
    factual: bool | None
    assessable: bool | None = None
    error_types: tuple[str, ...] = ()
    rationale: str | None = None
    ratings: tuple[Rating, ...] = ()


@dataclass(frozen=True, slots=True)
class ErrorSpan:
    """A span that a person marked.

    Attributes:
        span: Place in the caption; for an omission, in the first reference.
        kind: The data set's name, or `omission`.
        rater: Who; "" where unknown.
    """

    span: Span
    kind: str
    rater: str = ""


@dataclass(frozen=True, slots=True)
class HumanScore:
    """One rater's score of a caption on one axis.

    Attributes:
        axis: The data set's name; higher is better unless it says otherwise.
        value: The score.
        rater: Who; "" where only a mean was published.
    """

    axis: str
    value: float
    rater: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """An atomic statement that a caption makes.

    Attributes:
        text: The statement.
        supported: Whether the image shows it; None if that was not judged.
    """

    text: str
    supported: bool | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """One caption with its human labels. What a data set does not have is empty.

    Attributes:
        id: Unique in the benchmark.
        record: The caption's row.
        image: Name of the image, the unit of resampling.
        captioner: Who wrote the caption.
        subset: Part of the benchmark.
        sentences: Labels of sentences.
        errors: Marked spans.
        scores: Scores of the whole caption.
        facts: Its atomic statements.
        references: Reference captions.
        graph: Its scene graph.
        doubts: Inconsistencies in the published row, in words.
        context: The text around the image.
    """

    id: str
    record: Record
    image: str
    captioner: str = ""
    subset: str = ""
    sentences: tuple[LabeledSentence, ...] = ()
    errors: tuple[ErrorSpan, ...] = ()
    scores: tuple[HumanScore, ...] = ()
    facts: tuple[Fact, ...] = ()
    references: tuple[str, ...] = ()
    graph: tuple[Triple, ...] = ()
    doubts: tuple[str, ...] = ()
    context: str = ""

    @property
    def caption(self) -> str:
        return self.record.captions[CAPTION]


@dataclass(frozen=True, slots=True)
class Preference:
    """A comparison of two captions of one image on one axis.

    Attributes:
        image: Name of the image.
        first: Captioner of the first caption.
        second: Captioner of the second.
        axis: The data set's name.
        value: Above 0 the first is better, 0 is a tie; its size is in the data set's own steps.
        first_id: `Example.id` of the first caption; None if it was not published.
        second_id: The same for the second.
        subset: Part of the benchmark.
        rater: Who; "" where unknown.
        verdict: The rater's answer as published.
    """

    image: str
    first: str
    second: str
    axis: str
    value: float
    first_id: str | None = None
    second_id: str | None = None
    subset: str = ""
    rater: str = ""
    verdict: str = ""


Item = Example | Preference
