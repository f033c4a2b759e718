"""What a critic is: only an engine knows which model answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from PIL import Image

from revise_captions.records import Rationale, Span, Unscored, Verdict

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
        instead: Statements to judge in place of the sentences, each with the index of the sentence
            whose context it takes; None to judge the sentences themselves.
    """

    image: Image.Image
    text: str
    spans: tuple[Span, ...]
    first: int = 0
    instead: tuple[tuple[int, str], ...] | None = None

    @property
    def asked(self) -> tuple[tuple[int, str], ...]:
        """What is judged, in order: the index of a sentence, and the text to judge there."""
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
        by: `Verdict.by` of the verdict to explain.
    """

    image: Image.Image
    text: str
    spans: tuple[Span, ...]
    index: int
    by: str = ""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Who judges an image.

    Attributes:
        expert: The expert's name in a panel; "" where one critic judges everything.
        threshold: P(factual) below which a sentence is nonfactual there.
    """

    expert: str
    threshold: float


class Critic(Protocol):
    """Judges sentences against images. Answers come in the order asked, however they are batched.

    Attributes:
        settings: Everything that determines an answer, by name: model, revision, prompt version,
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
            For each request, one verdict per text of `asked`, with P(factual) rounded to four
            decimals. For a sentence that cannot be judged, the verdict says why; only a dead
            engine raises.

        Raises:
            EngineDead: The model stopped answering for good.
        """
        ...

    def explain(self, requests: Sequence[ExplainRequest]) -> list[Rationale]:
        """Says what is wrong with sentences.

        Args:
            requests: Sentences judged nonfactual.

        Returns:
            A rationale per request, the boxes of its fixes in pixels of the request's image; its
            text is "" where the critic has no answer.

        Raises:
            EngineDead: The model stopped answering for good.
        """
        ...


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A gate's answer about an image.

    Attributes:
        mine: Whether the image is of the kind that the critic judges.
        unscored: Why it still cannot judge this one, such as an unreadable chart.
    """

    mine: bool
    unscored: Unscored | None = None


@runtime_checkable
class AcceptsImages(Protocol):
    """A critic with a gate, which does not take every image."""

    def accepts(self, images: Sequence[Image.Image]) -> list[Acceptance]:
        """Whether it takes each image, in order. Raises `EngineDead` as `judge` does."""
        ...


@runtime_checkable
class WrapsCritic(Protocol):
    """A critic that changes what another one says, but not about which images.

    Attributes:
        critic: The other one.
    """

    critic: Critic


def unwrapped(critic: Critic) -> Critic:
    """The critic that decides which images are judged, and whose engine answers."""
    while isinstance(critic, WrapsCritic):
        critic = critic.critic
    return critic


def accepted(critic: Critic, images: Sequence[Image.Image]) -> list[Acceptance]:
    """A critic's gate's answer about each image; a critic without a gate takes every image."""
    own = unwrapped(critic)
    if isinstance(own, AcceptsImages):
        return own.accepts(images)
    return [Acceptance(mine=True)] * len(images)


def gate_of(critic: Critic) -> object | None:
    """The critic's gate, by which runs warn before they judge anything; None without one."""
    return getattr(unwrapped(critic), "gate", None)


@runtime_checkable
class JudgesParts(Protocol):
    """A critic of one part of sentences, for any image: it refutes sentences by that part and
    leaves all others unscored. In a panel it complements the experts on images.

    Attributes:
        part: What it looks at, such as "quoted text".
    """

    @property
    def part(self) -> str: ...


@runtime_checkable
class ChoosesByImage(Protocol):
    """A critic made of several, one of which is chosen by the image."""

    def chosen(self, images: Sequence[Image.Image]) -> list[Chosen]:
        """Who judges each image. Raises `EngineDead` as `judge` does."""
        ...


def chosen(critic: Critic, images: Sequence[Image.Image]) -> list[Chosen]:
    """Who judges each image: the expert that the critic chooses, else the critic itself."""
    if isinstance(critic, ChoosesByImage):
        return critic.chosen(images)
    return [Chosen("", critic.threshold)] * len(images)
