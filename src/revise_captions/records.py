"""The data that flows: a `Record` comes in, a `Revision` of each of its captions goes out.

Everything is frozen. A sentence is never a copied string but a `Span` into its caption: half-open
`[start, end)` offsets in Unicode code points, without surrounding white space.
"""

from __future__ import annotations

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


class Label(StrEnum):
    FACTUAL = "factual"
    NONFACTUAL = "nonfactual"
    UNSCORED = "unscored"


class Unscored(StrEnum):
    """Why a sentence has no verdict. The values are part of the output format."""

    OUTSIDE_DOMAIN = "outside the model's domain"
    LANGUAGE = "language the critic does not know"
    TOO_LONG = "longer than the critic's context"
    NO_ANSWER = "the model's answer is neither yes nor no"
    NO_LOGPROBS = "the engine gives no log-probabilities"
    ENGINE_ERROR = "the engine failed on this sentence"


class Why(StrEnum):
    """Why a rewrite was accepted or not. The values are part of the output format."""

    BETTER = "judged factual, and better than before"
    NOT_FACTUAL = "still judged nonfactual"
    NO_BETTER = "no better than before"
    AWAITING_CRITIC = "not judged yet"
    DELETED = "deleted: the reviser saw nothing to keep"
    UNCHANGED = "same as the sentence"
    EMPTY = "empty"
    NOT_ONE_SENTENCE = "more than one sentence"
    LEAKED_MARKUP = "leaked prompt or markup"
    NEW_CONTENT = "content words from neither sentence nor rationale"
    REPEATED = "a content word more often than sentence and rationale account for"
    NO_REWRITE = "the reviser gave none"
    UNSCORED = "the critic could not judge it"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A critic's answer for one sentence.

    `p_factual` is in [0, 1], rounded to four decimals where the critic made it, so that every
    later comparison sees the written value; None exactly when `unscored` says why.
    `assessable` is None where the critic cannot say whether the sentence makes a claim. `share` is
    the probability that the model gave to Yes and No together, a sign of how well it takes to the
    question: in [0, 1], to four decimals; None where it is not known.
    """

    p_factual: float | None
    unscored: Unscored | None = None
    assessable: bool | None = None
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One rewrite of one sentence. `text` "" proposes deletion. `accepted` None: not judged yet.

    `round` counts from 1; `p_before` is the P(factual) that the rewrite has to beat.
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
    """What the run found out about one sentence of the original caption.

    `verdict` is of the original sentence in the original caption; `now` is of its present text in
    the present caption (the two are the same until something before it, or it itself, changes).
    """

    span: Span
    verdict: Verdict
    now: Verdict
    rationale: str | None = None
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
    """One caption and what became of it. `rounds`: how often the reviser has been asked."""

    caption: str
    revised_caption: str
    sentences: tuple[Sentence, ...]
    rounds: int = 0
    signature: str = ""


@dataclass(frozen=True, slots=True)
class ImageRef:
    """Where an image is, not yet read. Exactly one of the fields is set.

    `path` is as found in the record (resolved against the image root when read); `data` holds
    encoded bytes (JPEG, PNG, …); `url` is fetched only when URLs are allowed.
    """

    path: str | None = None
    data: bytes | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """One row of input. `raw` is the row's own text where the format has one (JSONL)."""

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
