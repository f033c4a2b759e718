"""The data that flows: a `Record` comes in, a `Revision` of each of its captions goes out.

Everything is frozen. A sentence is never a copied string but a `Span` into its caption: half-open
`[start, end)` offsets in Unicode code points, without surrounding white space.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple


class Span(NamedTuple):
    """Half-open `[start, end)`, in code points of the caption it belongs to."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """The text that the span covers."""
        return text[self.start : self.end]


#: (left, top, right, bottom) in pixels of an image, right and bottom exclusive.
Box = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Evidence:
    """A place in the image that supports a fix.

    Attributes:
        box: Where, in pixels of the upright image.
        label: What is there, such as "2014 (Men)".
    """

    box: Box
    label: str = ""


#: The kind of fix that says what is there, in a sentence that denied something else.
ABSENCE = "absence"
#: The kind of fix that marks a sentence's wrong clause, which may be removed.
CLAUSE = "clause"
#: The same for a clause that may also be right: it goes, as a rewrite might state a falsehood.
DOUBTED_CLAUSE = "doubted clause"


@dataclass(frozen=True, slots=True)
class Fix:
    """A wrong span of a sentence, and what should stand there.

    Attributes:
        span: Half-open, in code points of the sentence.
        right: What should stand there; "" to remove it.
        kind: The kind of claim corrected, such as "value"; "" where the critic has no kinds.
        certain: Whether it may be applied without a person checking it.
        basis: What it is based on, in a few words, for that person.
        evidence: Where the image shows it.
    """

    span: Span
    right: str
    kind: str = ""
    certain: bool = True
    basis: str = ""
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Rationale:
    """Why a sentence was flagged.

    Attributes:
        text: What is wrong, and what is there instead, for people and language models; "" where
            the critic has no answer.
        fixes: The same as data, by place, without overlaps; () where the critic names none.
    """

    text: str
    fixes: tuple[Fix, ...] = ()


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing that a rationale calls wrong, read from its words.

    Attributes:
        text: What the rationale says about it, for a language model.
        claim: The same without praise and preamble; changing words that it does not contain is
            unjustified.
        denied: The content words that it says are not there.
        fixes: The same as data; () where only a language model can tell what should change.
        likely: The probability of the reading that the fixes come from; 1 where the wording names
            them.
    """

    text: str
    claim: str
    denied: tuple[str, ...] = ()
    fixes: tuple[Fix, ...] = ()
    likely: float = 1.0


class Label(StrEnum):
    """A verdict's label at a threshold. The values are part of the output format."""

    FACTUAL = "factual"
    NONFACTUAL = "nonfactual"
    UNSCORED = "unscored"


class Unscored(StrEnum):
    """Why a sentence has no verdict. The values are part of the output format."""

    OUTSIDE_DOMAIN = "outside the model's domain"
    UNREADABLE_CHART = "chart could not be read"
    NEEDS_CHARTS = "may be a chart, and the extra charts is not installed"
    NO_QUOTE = "quotes no text"
    UNREADABLE_TEXT = "quoted text could not be read in the image"
    TEXT_BORNE_OUT = "only its quoted text was judged, and stands in the image"
    LANGUAGE = "language the critic does not know"
    TOO_LONG = "longer than the critic's context"
    NO_ANSWER = "the model's answer is neither yes nor no"
    NO_LOGPROBS = "the engine gives no log-probabilities"
    ENGINE_ERROR = "the engine failed on this sentence"
    UNEXPECTED = "an unexpected error on this caption"


class UnknownWord(str):
    """The reason, as text, why a sentence with a word that the critic was not taught is unscored.

    It is made from the word as written in the sentence.
    """

    KIND = "unknown word"

    def __new__(cls, word: str) -> UnknownWord:
        return super().__new__(cls, f"{cls.KIND} “{word}”")

    @property
    def word(self) -> str:
        return self[len(self.KIND) + 2 : -1]

    def __getnewargs__(self) -> tuple[str]:
        return (self.word,)


def reason_of(text: str) -> Unscored | UnknownWord:
    """The reason in an output row. Raises ValueError for any other text."""
    word = unknown_word_in(text)
    return UnknownWord(word) if word else Unscored(text)


def unknown_word_in(reason: str) -> str | None:
    """The word for which a sentence is unscored; None for other reasons."""
    found = re.fullmatch(rf"{UnknownWord.KIND} “(.+)”", reason, re.DOTALL)
    return found[1] if found else None


def kind_of_reason(reason: str) -> str:
    """A reason's kind, for counting: all unknown words are one kind."""
    return UnknownWord.KIND if unknown_word_in(reason) else str(reason)


class Why(StrEnum):
    """Why a rewrite was accepted or not. The values are part of the output format."""

    BETTER = "judged factual, and better than before"
    TEXT_BORNE_OUT = "its quoted text now stands in the image"
    NOT_FACTUAL = "still judged nonfactual"
    NO_BETTER = "no better than before"
    AWAITING_CRITIC = "not judged yet"
    DELETED = "deleted: the reviser saw nothing to keep"
    UNCHANGED = "same as the sentence"
    EMPTY = "empty"
    NOT_ONE_SENTENCE = "more than one sentence"
    LEAKED_MARKUP = "leaked prompt or markup"
    OTHER_ABSENCE = "says that another thing is absent"
    NOT_AS_NAMED = "leaves out what the rationale names as right"
    LOST_CONTENT = "lost more than the rationale names"
    NEW_CONTENT = "content words from neither sentence nor rationale"
    REPEATED = "a content word more often than sentence and rationale account for"
    NO_REWRITE = "the reviser gave none"
    OUTSIDE_WORDS = "the bundled reviser does not know these words"
    UNSCORED = "the critic could not judge it"
    UNKNOWN_WORD = "the critic was not taught one of its words"
    DECIDED = "a person decided so"
    OVERRULED = "a person decided otherwise"
    UNDECIDED = "nobody decided about it"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A critic's answer for one sentence.

    Attributes:
        p_factual: P(factual) in [0, 1], the softmax over the Yes and No logits (VNLI-Critique,
            section 4.2). The critic rounds it to four decimals, so that every later comparison
            uses the value that is written. None exactly where `unscored` says why.
        unscored: Why there is no P(factual).
        assessable: Whether the sentence makes a claim about the image; None where the critic cannot
            say.
        answer_mass: The probability of Yes and No together, in [0, 1], to four decimals; written as
            `share`. Low where the model does not answer the question. None where unknown.
        by: The expert that decided by a part of the sentence alone; "" for the image's critic.
    """

    p_factual: float | None
    unscored: Unscored | UnknownWord | None = None
    assessable: bool | None = None
    answer_mass: float | None = None
    by: str = ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One rewrite of one sentence.

    Attributes:
        text: The rewrite; "" proposes deletion.
        accepted: None until the critic has judged it.
        why: The reason for accepting or refusing it.
        round: Counts from 1.
        p_before: The P(factual) that the rewrite has to beat.
        p_after: The rewrite's P(factual) in the revised caption; None where it was not judged.
        warning: What a guard in mode `warn` objects to.
    """

    text: str
    accepted: bool | None
    why: Why
    round: int
    p_before: float | None = None
    p_after: float | None = None
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Sentence:
    """What a run found out about one sentence of the original caption.

    Attributes:
        span: Place in the original caption.
        verdict: Of the original sentence in the original caption.
        now: The verdict on its current text in the current caption: equal to `verdict` until the
            sentence, or something before it, changes.
        rationale: Why its original text was flagged; None for a sentence never flagged.
        attempts: Rewrites in order.
        dropped: Whether the sentence is gone from the revised caption.
    """

    span: Span
    verdict: Verdict
    now: Verdict
    rationale: Rationale | None = None
    attempts: tuple[Attempt, ...] = ()
    dropped: bool = False

    @property
    def pending(self) -> Attempt | None:
        """The rewrite that the critic has not judged yet: always the last attempt, if any."""
        last = self.attempts[-1] if self.attempts else None
        return last if last is not None and last.accepted is None else None

    @property
    def accepted(self) -> Attempt | None:
        """The rewrite that stands in the revised caption: the last accepted one, if any."""
        return next((a for a in reversed(self.attempts) if a.accepted), None)


@dataclass(frozen=True, slots=True)
class Revision:
    """One caption and its revision.

    Attributes:
        caption: The original text.
        revised_caption: The text with the accepted rewrites; elsewhere the same to the byte.
        sentences: In order, covering all text that is not white space.
        rounds: How often the reviser has been asked.
        signature: Everything that determined the answers, on one line.
        error: The exception that left it without answers, if any.
        threshold: P(factual) below which a sentence counts as nonfactual.
        expert: The expert of a panel that judged it (`critic.panel`); "" for a single critic.
    """

    caption: str
    revised_caption: str
    sentences: tuple[Sentence, ...]
    rounds: int = 0
    signature: str = ""
    error: str = ""
    threshold: float = 0.5
    expert: str = ""


@dataclass(frozen=True, slots=True)
class ImageRef:
    """Where an image is; it has not been read yet. Exactly one of the fields is set.

    Attributes:
        path: As found in the record; resolved against the image root when read.
        data: Encoded bytes (JPEG, PNG, …).
        url: Fetched only where URLs are allowed.
    """

    path: str | None = None
    data: bytes | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """One row of input.

    Attributes:
        source: Name of the file or data set.
        line: 1-based line, or number of the row where the format has no lines.
        image: Where its image is.
        captions: Caption by field name.
        fields: All fields of the row.
        raw: The row's exact text where the format has one (JSON Lines).
    """

    source: str
    line: int
    image: ImageRef
    captions: Mapping[str, str]
    fields: Mapping[str, Any] = field(default_factory=dict)
    raw: str | None = None


def label_of(verdict: Verdict, threshold: float) -> Label:
    """`factual` at P(factual) >= threshold; `unscored` exactly where the verdict says why."""
    if verdict.p_factual is None:
        return Label.UNSCORED
    return Label.FACTUAL if verdict.p_factual >= threshold else Label.NONFACTUAL
