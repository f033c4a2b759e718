"""Primitive information units, and the protocols for making, matching and verifying them.

DCScore (2503.07906, section 3.1) decomposes a caption, sentence by sentence, into the smallest
statements that can be understood on their own, and asks two questions about each: does the
reference state it, and does the image show it? The answers may come from rules, a critic, or a
language model. What cannot be answered is `unscored`, with its reason; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from revise_captions.records import Span

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, slots=True)
class InformationUnit:
    """A primitive information unit.

    Attributes:
        text: A sentence that can be understood on its own ("The bookshelf is wooden.").
        sentence: Index of the sentence of the caption that says it.
        span: Where that sentence says it, half-open `[start, end)` in code points of the caption;
            the whole sentence if the decomposer cannot locate it more precisely.
        descriptive: Whether the image can show it: objects, attributes, relations, text, counts.
            Opinions, framing and guesses are not descriptive.
    """

    text: str
    sentence: int
    span: Span
    descriptive: bool = True


@dataclass(frozen=True, slots=True)
class UnscoredSentence:
    """A sentence that could not be decomposed.

    Attributes:
        sentence: Its index.
        reason: Why.
    """

    sentence: int
    reason: str


@dataclass(frozen=True, slots=True)
class Decomposition:
    """A text and its units.

    Attributes:
        text: The text.
        sentences: Its sentences, half-open, in code points.
        units: In the order of the text.
        unscored: The sentences that could not be decomposed. A sentence in neither has no units:
            it says nothing.
    """

    text: str
    sentences: tuple[Span, ...]
    units: tuple[InformationUnit, ...]
    unscored: tuple[UnscoredSentence, ...] = ()


@dataclass(frozen=True, slots=True)
class UnitMatch:
    """What a reference says about a unit of a caption.

    Attributes:
        references: Indices of the reference's units that the unit states, or that it follows from;
            () if the reference does not state it.
        unscored: Why there is no answer; "" if there is one.
    """

    references: tuple[int, ...] = ()
    unscored: str = ""


@dataclass(frozen=True, slots=True)
class UnitVerdict:
    """Whether a unit is true of the image.

    Attributes:
        correct: None exactly where `unscored` says why.
        p_correct: P(correct) in [0, 1]; None if the verifier gives a bare yes or no.
        unscored: Why there is no answer.
        votes: For an ensemble, each member's answer, in order; None if a member had none.
    """

    correct: bool | None
    p_correct: float | None = None
    unscored: str = ""
    votes: tuple[bool | None, ...] = ()


@dataclass(frozen=True, slots=True)
class MatchTask:
    """A caption's units to look for among a reference's."""

    caption: Decomposition
    reference: Decomposition


@dataclass(frozen=True, slots=True)
class VerifyTask:
    """A caption's units to verify against its image.

    Attributes:
        image: RGB, upright.
        caption: The caption's units.
        reference: What people wrote about the image, which a verifier may read too; "": nothing.
    """

    image: Image
    caption: Decomposition
    reference: str = ""


class Decomposer(Protocol):
    """Decomposes texts.

    Attributes:
        settings: Everything that determines a unit, by name, for the signature.
    """

    @property
    def settings(self) -> Mapping[str, str]: ...

    def decompose(self, texts: Sequence[str]) -> list[Decomposition]:
        """One decomposition per text, in order; no text makes it raise."""
        ...


class UnitMatcher(Protocol):
    """Finds a caption's units among a reference's.

    Attributes:
        settings: Everything that determines a match, by name.
    """

    @property
    def settings(self) -> Mapping[str, str]: ...

    def match(self, tasks: Sequence[MatchTask]) -> list[tuple[UnitMatch, ...]]:
        """For each task, one match per unit of its caption, in order."""
        ...


class UnitVerifier(Protocol):
    """Decides whether units are true of their image.

    Attributes:
        settings: Everything that determines a verdict, by name.
    """

    @property
    def settings(self) -> Mapping[str, str]: ...

    def verify(self, tasks: Sequence[VerifyTask]) -> list[tuple[UnitVerdict, ...]]:
        """For each task, one verdict per unit of its caption, in order."""
        ...
