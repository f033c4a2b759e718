"""What every benchmark is read as: captions with what people said of them, and preferences.

An `Example` is one caption of one image by one captioner. What people said stands beside it at the
level at which they said it: of sentences or sub-sentences, of spans, of atomic facts, of the whole
caption by axis. A `Preference` compares two captions of one image. What a data set does not have
is empty, never guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from revise_captions.records import Record, Span

#: The name under which a `Record` of a benchmark holds its caption.
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
    """One rater's answer about one sentence. `needs_image` None: was not asked."""

    rater: str
    vote: Vote
    rationale: str = ""
    needs_image: bool | None = None


@dataclass(frozen=True, slots=True)
class LabeledSentence:
    """A sentence, or the part of one, that people labelled.

    `span` is of the caption. `factual` None: they could not say, or there was nothing to say.
    `assessable` None: nobody was asked whether it makes a claim. `error_types` are the data set's
    own names.
    """

    span: Span
    factual: bool | None
    assessable: bool | None = None
    error_types: tuple[str, ...] = ()
    rationale: str | None = None
    ratings: tuple[Rating, ...] = ()


@dataclass(frozen=True, slots=True)
class ErrorSpan:
    """A span that a person marked. `kind` "omission" spans are of the first reference instead."""

    span: Span
    kind: str
    rater: str = ""


@dataclass(frozen=True, slots=True)
class HumanScore:
    """One rater's score of a caption on one axis; higher is better unless `axis` says else.

    `rater` "" where only an average was published.
    """

    axis: str
    value: float
    rater: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """An atomic statement that a caption makes. `supported` None: was not judged."""

    text: str
    supported: bool | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """One caption. `id` is unique in its benchmark; `image` names what is resampled.

    `doubts`: what of the published row does not add up, in words; counted when it is checked.
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

    @property
    def caption(self) -> str:
        return self.record.captions[CAPTION]


@dataclass(frozen=True, slots=True)
class Preference:
    """A comparison of two captions of one image on one axis.

    `value` > 0: the first is better; 0: equally good; its size is the data set's own step.
    `first_id`, `second_id`: the `Example`s, None where a caption was not published. `verdict` is
    the rater's answer as published.
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
