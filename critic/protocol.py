"""What a critic is: nothing outside an engine knows which one answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from PIL import Image

from revise_captions.records import Span, Verdict

#: With a smaller answer mass (the probability of Yes and No together) a sentence is unscored.
LEAST_MASS = 0.5


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """A caption to judge: sentences `spans[first:]`, each with the text before it as context.

    Attributes:
        image: RGB, upright.
        text: The caption.
        spans: Its sentences, half-open `[start, end)` in code points.
        first: Index of the first sentence to judge.
        instead: Statements to judge in the place of sentences, each with the index of the sentence
            whose context it has; None: the sentences themselves.
    """

    image: Image.Image
    text: str
    spans: tuple[Span, ...]
    first: int = 0
    instead: tuple[tuple[int, str], ...] | None = None

    @property
    def asked(self) -> tuple[tuple[int, str], ...]:
        """What is judged, in order: the index of a sentence, and the text in its place."""
        if self.instead is not None:
            return self.instead
        indexes = range(self.first, len(self.spans))
        return tuple((index, self.spans[index].of(self.text)) for index in indexes)


@dataclass(frozen=True, slots=True)
class ExplainRequest:
    """A sentence to explain, which the critic judged nonfactual.

    Attributes:
        image: RGB, upright.
        text: The caption.
        spans: Its sentences, half-open `[start, end)` in code points.
        index: Which of `spans` to explain.
    """

    image: Image.Image
    text: str
    spans: tuple[Span, ...]
    index: int


#: Completes a critic's verdicts on requests, where images are outside its domain.
Beyond = Callable[[Sequence[JudgeRequest], list[list[Verdict]]], list[list[Verdict]]]


def as_judged(_: Sequence[JudgeRequest], verdicts: list[list[Verdict]]) -> list[list[Verdict]]:
    """The verdicts as they are."""
    return verdicts


class Critic(Protocol):
    """Judges sentences against images. Answers come in the order asked, however they are batched.

    Attributes:
        settings: Everything that decides an answer, by name: model, revision, prompt version,
            attention mode, dtype, library versions. It ends up in each row's signature.
        threshold: A sentence with P(factual) below it is nonfactual.
    """

    @property
    def settings(self) -> Mapping[str, str]: ...

    @property
    def threshold(self) -> float: ...

    def judge(self, requests: Sequence[JudgeRequest]) -> list[list[Verdict]]:
        """Judges captions.

        Args:
            requests: Captions, each with its image.

        Returns:
            For each request one verdict per text of `asked`, P(factual) rounded to four
            decimals. A sentence that cannot be judged has a verdict that says why; only an engine
            that is gone raises.

        Raises:
            EngineDead: The model stopped answering for good.
        """
        ...

    def explain(self, requests: Sequence[ExplainRequest]) -> list[str]:
        """Writes rationales.

        Args:
            requests: Sentences judged nonfactual.

        Returns:
            For each request what is wrong, and what is there instead; "" where the critic has no
            answer.

        Raises:
            EngineDead: The model stopped answering for good.
        """
        ...
