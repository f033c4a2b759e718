"""What a metric is: something that scores texts, with their image, context and references.

Higher is better, on any scale. A metric that cannot judge a text says why; it never guesses.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from revise_captions.io.images import load_image
from revise_captions.records import ImageRef, Span

if TYPE_CHECKING:
    from PIL.Image import Image


class Needs(StrEnum):
    """What a metric requires besides the text."""

    IMAGE = "image"
    CONTEXT = "context"
    REFERENCES = "references"


class ImageSource(Protocol):
    """An image that is read only when a metric asks for it.

    Attributes:
        key: Sources with the same key have the same pixels, so that features can be cached.
    """

    @property
    def key(self) -> str: ...

    def load(self) -> Image:
        """The image, RGB and upright. Raises BadRecord if it cannot be read."""
        ...


@dataclass(frozen=True, slots=True)
class StoredImage:
    """An image of a data set.

    Attributes:
        ref: Where it is.
        folder: The data set's folder; nothing outside it is read.
    """

    ref: ImageRef
    folder: Path | None = None

    @property
    def key(self) -> str:
        if self.ref.data is not None:
            return hashlib.sha256(self.ref.data).hexdigest()
        return f"{self.folder or ''}:{self.ref.path or self.ref.url or ''}"

    def load(self) -> Image:
        return load_image(self.ref, folder=self.folder)


@dataclass(frozen=True, slots=True)
class MetricInput:
    """One text to score.

    Attributes:
        text: The caption or description.
        image: Its image; None if there is none.
        context: The text around the image, such as an article's.
        references: Other descriptions of the same image, by people.
    """

    text: str
    image: ImageSource | None = None
    context: str = ""
    references: tuple[str, ...] = ()

    def lacks(self, needs: frozenset[Needs]) -> str:
        """Why a metric with these needs cannot score it; "" if it can."""
        if not self.text.strip():
            return "the text is empty"
        if Needs.IMAGE in needs and self.image is None:
            return "no image"
        if Needs.CONTEXT in needs and not self.context.strip():
            return "no context"
        if Needs.REFERENCES in needs and not any(text.strip() for text in self.references):
            return "no references"
        return ""


@dataclass(frozen=True, slots=True)
class ScoredSpan:
    """A span of a text that a metric judges.

    Attributes:
        span: Place in the text, `[start, end)` in code points.
        score: Higher means more certainly wrong; None if there is only the mark.
        marked: Whether the metric says that it is wrong; otherwise it only has a score.
    """

    span: Span
    score: float | None = None
    marked: bool = True


@dataclass(frozen=True, slots=True)
class MetricScore:
    """A metric's result for one text.

    Attributes:
        value: Higher is better; None exactly where `reason` says why.
        reason: Why it could not judge.
        truncated: How many tokens of text or context exceeded the model's limit and were not read.
        aspects: Scores by single criteria, such as `mistakes`; higher is better.
        spans: Parts of the text that it judges individually; None if it does not.
        omissions: The same for the first reference.
        counts: For shares that are pooled over texts, such as CHAIR_i: this text's contribution to
            the numerator and to the denominator.
    """

    value: float | None
    reason: str = ""
    truncated: int = 0
    aspects: Mapping[str, float | None] = field(default_factory=dict)
    spans: tuple[ScoredSpan, ...] | None = None
    omissions: tuple[ScoredSpan, ...] | None = None
    counts: Mapping[str, tuple[float, float]] = field(default_factory=dict)


class Metric(Protocol):
    """Scores texts.

    Attributes:
        name: What tables call it.
        settings: Everything that determines a score, by name: model, digest, versions, prompt.
        needs: What a text must have to be given to `score`.
    """

    @property
    def name(self) -> str: ...

    @property
    def settings(self) -> Mapping[str, str]: ...

    @property
    def needs(self) -> frozenset[Needs]: ...

    def score(self, items: Sequence[MetricInput]) -> list[MetricScore]:
        """Scores texts, one result for each, in order.

        Args:
            items: Texts that have all that the metric needs. An image may still prove
                unreadable: `load` then raises BadRecord, and `scored` makes that item unscored.
        """
        ...


@runtime_checkable
class ScoresParts(Metric, Protocol):
    """A metric that also scores parts of a text, such as the sentences that people labeled.

    Attributes:
        threshold: A part that scores below it is wrong; None if there is no such score.
    """

    @property
    def threshold(self) -> float | None: ...

    def score_parts(
        self, items: Sequence[MetricInput], spans: Sequence[Sequence[Span]]
    ) -> list[list[MetricScore]]:
        """Scores parts of texts as given; nothing is split or left out.

        Args:
            items: As for `score`.
            spans: The parts of each text, in order; they need not cover it.

        Returns:
            For each text, one result per part.
        """
        ...
