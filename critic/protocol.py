"""What a critic is: nothing outside an engine knows which one answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from PIL import Image

from revise_captions.records import Span, Verdict


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """A caption to judge: the sentences `spans[first:]` of `text`, each with `text[:start]` before
    it as its context. The image is RGB, upright.
    """

    image: Image.Image
    text: str
    spans: tuple[Span, ...]
    first: int = 0


@dataclass(frozen=True, slots=True)
class ExplainRequest:
    """A sentence to explain: `spans[index]` of `text`, which the critic judged nonfactual."""

    image: Image.Image
    text: str
    spans: tuple[Span, ...]
    index: int


class Critic(Protocol):
    """Judges sentences against images. Answers come in the order asked, whatever the batches.

    `settings` names everything that decides an answer (model, revision, prompt version, attention
    attention mode, dtype, versions); `threshold` is the P(factual) below which a sentence is
    nonfactual.
    """

    @property
    def settings(self) -> Mapping[str, str]: ...

    @property
    def threshold(self) -> float: ...

    def judge(self, paragraphs: Sequence[JudgeRequest]) -> list[list[Verdict]]:
        """One verdict per sentence of `spans[first:]`, P(factual) rounded to four decimals."""
        ...

    def explain(self, claims: Sequence[ExplainRequest]) -> list[str]:
        """A rationale for each claim: what is wrong with it, and what is there instead."""
        ...


@runtime_checkable
class PreparesImages(Protocol):
    """A critic that can do something with an image before it is asked about it."""

    def prepare(self, image: Image.Image) -> None:
        """Called by the thread that read the image, while the model is at others."""
        ...
