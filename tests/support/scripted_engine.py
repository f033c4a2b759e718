"""An engine that answers from a script."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from revise_captions.engines.protocol import (
    AnswerScores,
    Completion,
    Data,
    Failed,
    Picture,
    Prompt,
    Sampling,
)

Judge = Callable[[Prompt], AnswerScores | Failed]
Write = Callable[[Prompt], Completion | Failed]


def text_of(prompt: Prompt) -> str:
    """The user's turn as plain text, pictures as `<image>`."""
    return "".join("<image>" if isinstance(p, Picture) else p.text for p in prompt.parts)


def data_of(prompt: Prompt) -> list[str]:
    """The untrusted parts, in order."""
    return [part.text for part in prompt.parts if isinstance(part, Data)]


@dataclass(frozen=True, slots=True)
class ScriptedEngine:
    """`judge` and `write` answer one prompt each; `asked` holds every prompt, in order."""

    judge: Judge = lambda prompt: AnswerScores((0.0, float("-inf")), 1.0)
    write: Write = lambda prompt: Completion("", True)
    settings: Mapping[str, str] = field(default_factory=lambda: {"engine": "scripted"})
    asked: list[Prompt] = field(default_factory=list)

    def answer_logprobs(
        self, prompts: Sequence[Prompt], words: Sequence[str]
    ) -> list[AnswerScores | Failed]:
        self.asked.extend(prompts)
        return [self.judge(prompt) for prompt in prompts]

    def generate(
        self, prompts: Sequence[Prompt], max_tokens: int, sampling: Sampling | None = None
    ) -> list[Completion | Failed]:
        self.asked.extend(prompts)
        return [self.write(prompt) for prompt in prompts]
