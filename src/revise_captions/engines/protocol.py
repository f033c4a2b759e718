"""What an engine is: something that continues prompts, and says how likely an answer word is.

A prompt is one user turn of a chat, in parts. The program's own text (`Template`) and text from
captions or models (`Data`) are kept apart to the end: data never becomes a special token or part of
the chat format, whatever it contains. How to ensure that is up to the engine; if the engine cannot
know the model's special tokens (a server), everything that looks like one is broken up
(`plain_text.defused`).

A bad prompt costs only its own answer (`Failed`). A dead engine raises `errors.EngineDead`, and the
run stops, resumable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from revise_captions.records import Unscored

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, slots=True)
class Template:
    """The program's own text."""

    text: str


@dataclass(frozen=True, slots=True)
class Data:
    """Text of a caption or of a model: untrusted."""

    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """An image of the prompt, RGB and upright. Images are the same if they are the same object."""

    image: Image


Part = Template | Data | Picture


@dataclass(frozen=True, slots=True)
class Prompt:
    """A user's turn; the model's answer follows.

    Attributes:
        parts: Template text, untrusted data and images, in order.
        system: The system message.
        shared: How many leading parts are the same in many prompts, at least up to the last image
            and never ending inside a word, so that an engine may compute them once.
    """

    parts: tuple[Part, ...]
    system: str = ""
    shared: int = 0

    @property
    def pictures(self) -> list[Image]:
        return [part.image for part in self.parts if isinstance(part, Picture)]


@dataclass(frozen=True, slots=True)
class AnswerScores:
    """How likely the first token of the answer is each of the words asked for.

    Attributes:
        logprobs: For each word, the natural logarithm of the probability of all its one-token
            spellings ("Yes", " yes", …); `-inf` for probability 0.
        answer_mass: The probability of all words together, in [0, 1]. The rest is on other
            tokens.
    """

    logprobs: tuple[float, ...]
    answer_mass: float


@dataclass(frozen=True, slots=True)
class Completion:
    """Generated text.

    Attributes:
        text: Without the token that ends it.
        complete: Whether the model ended it, rather than being cut off at the limit.
    """

    text: str
    complete: bool


@dataclass(frozen=True, slots=True)
class Failed:
    """No answer to this prompt.

    Attributes:
        reason: Why, as in output rows.
        detail: One line for people.
    """

    reason: Unscored
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How an answer is sampled, if it is not decoded greedily.

    Attributes:
        temperature: Divides the logits.
        top_p: Samples only from the likeliest tokens with this total probability (nucleus).
        seed: For all answers of a call; the same call gives the same answers.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    seed: int = 0


class Engine(Protocol):
    """Runs a chat model. Answers come in the order asked, whatever is computed together.

    Attributes:
        settings: Everything that determines an answer, by name: model, digest, dtype, versions,
            and how log-probabilities are obtained.
    """

    @property
    def settings(self) -> Mapping[str, str]: ...

    def answer_logprobs(
        self, prompts: Sequence[Prompt], words: Sequence[str]
    ) -> list[AnswerScores | Failed]:
        """Scores answer words without generating.

        Args:
            prompts: What to answer.
            words: Words that the answer may begin with, such as Yes and No.

        Returns:
            For each prompt, how likely its answer is to begin with each word.

        Raises:
            EngineDead: The engine stopped answering for good.
        """
        ...

    def generate(
        self, prompts: Sequence[Prompt], max_tokens: int, sampling: Sampling | None = None
    ) -> list[Completion | Failed]:
        """Answers, greedily unless told otherwise.

        Args:
            prompts: What to answer. Equal prompts get separate answers when sampled.
            max_tokens: Where an answer is cut off.
            sampling: How to sample answers; None: the likeliest token each time.

        Returns:
            For each prompt, the text, without the token that ends it.

        Raises:
            EngineDead: The engine stopped answering for good.
        """
        ...


@runtime_checkable
class WritesJson(Protocol):
    """An engine that can decode under a JSON schema."""

    def generate_json(
        self, prompts: Sequence[Prompt], schema: Mapping[str, Any], max_tokens: int
    ) -> list[Completion | Failed]:
        """Answers greedily, in JSON that follows a schema as far as the model's server supports it.

        Args:
            prompts: What to answer; each asks for this JSON.
            schema: A JSON schema.
            max_tokens: Where an answer is cut off.

        Raises:
            EngineDead: The engine stopped answering for good.
        """
        ...


@runtime_checkable
class ScoresAnswers(Protocol):
    """An engine that can say how likely a given answer is."""

    @property
    def settings(self) -> Mapping[str, str]: ...

    def given_logprobs(
        self, prompts: Sequence[Prompt], answers: Sequence[str]
    ) -> list[tuple[float, ...] | Failed]:
        """Scores given answers.

        Args:
            prompts: What to answer.
            answers: One for each prompt, untrusted text.

        Returns:
            For each prompt, the natural logarithm of the probability of each token of its answer,
            given all before it; 0 for the sequence's first token, if that is the answer's.
        """
        ...
