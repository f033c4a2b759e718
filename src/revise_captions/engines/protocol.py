"""What an engine is: something that continues prompts, and says how likely an answer word is.

A prompt is one user's turn of a chat, in parts. What the program says (`Template`) and what comes
from captions or models (`Data`) are kept apart to the end: data never becomes a special token or a
part of the chat format, whatever is written in it. How it is prevented is the engine's business;
where the engine cannot know the model's special tokens (a server), everything that looks like one
is broken up (`plain_text.defused`).

One bad prompt costs its own answer only (`Failed`). An engine that is gone raises
`errors.EngineDead`, and the run stops, resumable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from revise_captions.records import Unscored

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, slots=True)
class Template:
    """Text of the program's own."""

    text: str


@dataclass(frozen=True, slots=True)
class Data:
    """Text of a caption or of a model: untrusted."""

    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """An image of the prompt, RGB and upright. Two are the same where the object is the same."""

    image: Image


Part = Template | Data | Picture


@dataclass(frozen=True, slots=True)
class Prompt:
    """A user's turn, the model's answer to follow.

    `shared`: so many leading parts are the same in many prompts (at least up to the last picture,
    and never inside a word), so that an engine may prepare them once.
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

    `logprobs[i]`: natural logarithm of the probability mass of all one-token spellings of word i
    ("Yes", " yes", …), `-inf` where it has none. `share`: the probability of all words together,
    in [0, 1]; what is missing to 1 went to other tokens.
    """

    logprobs: tuple[float, ...]
    share: float


@dataclass(frozen=True, slots=True)
class Completion:
    """Generated text. `complete`: the model ended it itself, it was not cut at the limit."""

    text: str
    complete: bool


@dataclass(frozen=True, slots=True)
class Failed:
    """No answer to this prompt. `detail` is for people: one line."""

    reason: Unscored
    detail: str = ""


class Engine(Protocol):
    """Answers come in the order asked, whatever is computed together.

    `settings` names everything that decides an answer: model, digest, dtype, versions, and how
    log-probabilities are come by.
    """

    @property
    def settings(self) -> Mapping[str, str]: ...

    def answer_logprobs(
        self, prompts: Sequence[Prompt], words: Sequence[str]
    ) -> list[AnswerScores | Failed]:
        """For each prompt, how likely its answer begins with each of `words`."""
        ...

    def generate(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Completion | Failed]:
        """Greedy answers of at most so many tokens, without what ends them."""
        ...
