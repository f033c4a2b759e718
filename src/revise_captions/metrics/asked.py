"""Metrics that ask a chat model about a text: VQAScore, and judges asked for a number.

    vqascore    P(Yes) as the answer to “Does this figure show "…"? Please answer yes or no.”
                (Lin et al. 2024, section 3): of the answer's first token, over all of its spellings
    asked       the number that a judge answers with, with the user's own prompt: a JSON file
                {"prompt", "system", "answers", "low", "high"}

In `prompt`, `{caption}`, `{context}` and `{references}` (one per line) are filled in; the image
precedes it. With `answers`, such as [1, 2, 3, 4, 5], the score is their mean under the
probabilities of the answer's first token, as G-VEval smooths it. Without, the answer is generated
and its first number is the score, unscored outside `low` to `high`. FLEUR smooths the two decimals
of its number by later tokens' probabilities, which engines do not give: its prompt works, but
unsmoothed.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revise_captions.engines.load import load_engine
from revise_captions.engines.protocol import (
    AnswerScores,
    Completion,
    Data,
    Engine,
    Failed,
    Part,
    Picture,
    Prompt,
    Template,
)
from revise_captions.errors import UserError
from revise_captions.io.rows import parse_json
from revise_captions.metrics.protocol import Metric, MetricInput, MetricScore, Needs
from revise_captions.metrics.registry import MetricOptions, scored_alone
from revise_captions.records import Span

if TYPE_CHECKING:
    from PIL.Image import Image

_WINDOW = 64
_YES_NO = ("Yes", "No")
#: With less probability on all answers together, the model is not answering the question.
_LEAST_MASS = 0.01
_MAX_TOKENS = 256
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_FIELD = re.compile(r"\{(caption|context|references)\}")


@dataclass(frozen=True, slots=True)
class ScoreQuestion:
    """What a judge is asked.

    Attributes:
        prompt: The user's turn, with fields in braces.
        system: The system's turn; "" for none.
        answers: Numbers that the answer's first token may be; () if the answer is generated.
        low: The lowest score.
        high: The highest.
    """

    prompt: str
    system: str = ""
    answers: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 1.0


VQA = ScoreQuestion('Does this figure show "{caption}"? Please answer yes or no.', answers=_YES_NO)


class AskedScore:
    """A chat model asked one question about each text. `name`: `vqascore` or `asked`."""

    threshold: float | None = None

    def __init__(self, name: str, engine: Engine, question: ScoreQuestion, version: str) -> None:
        self.name, self.engine, self.question = name, engine, question
        self.settings = {"metric": name, "question": version, **engine.settings}
        context, references = ("{context}" in question.prompt, "{references}" in question.prompt)
        self.needs = frozenset(
            {Needs.IMAGE}
            | ({Needs.CONTEXT} if context else set())
            | ({Needs.REFERENCES} if references else set())
        )

    def score(self, items: Sequence[MetricInput]) -> list[MetricScore]:
        found: list[MetricScore] = []
        for start in range(0, len(items), _WINDOW):  # limits the images held at a time
            part = items[start : start + _WINDOW]
            sources = {item.image.key: item.image for item in part if item.image is not None}
            images = {key: source.load() for key, source in sources.items()}
            prompts = [self.prompt(item, images) for item in part]
            if self.question.answers:
                scores = self.engine.answer_logprobs(prompts, self.question.answers)
                found += map(self._expected, scores)
            else:
                found += map(self._written, self.engine.generate(prompts, _MAX_TOKENS))
        return found

    def score_parts(
        self, items: Sequence[MetricInput], spans: Sequence[Sequence[Span]]
    ) -> list[list[MetricScore]]:
        """Asks about each part alone, without the text around it."""
        return scored_alone(self, items, spans)

    def prompt(self, item: MetricInput, images: Mapping[str, Image]) -> Prompt:
        """The question about one text; everything from outside is data."""
        assert item.image is not None
        values = {
            "caption": item.text,
            "context": item.context,
            "references": "\n".join(item.references),
        }
        parts: list[Part] = [Picture(images[item.image.key])]
        for k, piece in enumerate(_FIELD.split(self.question.prompt)):
            if piece:
                parts.append(Data(values[piece]) if k % 2 else Template(piece))
        return Prompt(tuple(parts), self.question.system, shared=1)

    def _expected(self, answer: AnswerScores | Failed) -> MetricScore:
        if isinstance(answer, Failed):
            return _failed(answer)
        shares = [math.exp(value) for value in answer.logprobs]
        if self.question.answers == _YES_NO:
            return MetricScore(shares[0])
        if sum(shares) < _LEAST_MASS:
            return MetricScore(None, "the answer is none of the numbers asked for")
        numbers = map(float, self.question.answers)
        mean = math.fsum(p * n for p, n in zip(shares, numbers, strict=True)) / math.fsum(shares)
        return MetricScore(mean)

    def _written(self, answer: Completion | Failed) -> MetricScore:
        if isinstance(answer, Failed):
            return _failed(answer)
        found = _NUMBER.search(answer.text.rpartition("</think>")[2])
        if found is None or not self.question.low <= float(found[0]) <= self.question.high:
            return MetricScore(None, "the answer holds no number of the scale")
        return MetricScore(float(found[0]))


def _failed(answer: Failed) -> MetricScore:
    return MetricScore(None, f"{answer.reason}: {answer.detail}".removesuffix(": "))


def read_question(path: Path) -> ScoreQuestion:
    """A judge's question, from a JSON file.

    Raises:
        UserError: It cannot be read, or does not ask about a caption.
    """
    try:
        found: Any = parse_json(path.read_text(encoding="utf-8"))
        question = ScoreQuestion(
            str(found["prompt"]),
            str(found.get("system", "")),
            tuple(str(float(one)).removesuffix(".0") for one in found.get("answers", ())),
            float(found.get("low", 0)),
            float(found.get("high", 1)),
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise UserError(
            f"{path} holds no question: {type(error).__name__}: {error}",
            hint='expected {"prompt": "… {caption} …", "answers": [1, 2, 3]}, or "low" and "high"',
        ) from None
    if "{caption}" not in question.prompt:
        raise UserError(f"the prompt in {path} has no {{caption}}")
    return question


def load_vqascore(argument: str, options: MetricOptions) -> Metric:
    """VQAScore: P(Yes) of a vision–language model that the image shows the text =MODEL."""
    if not argument:
        raise UserError("vqascore needs a model", hint="vqascore=MODEL, a folder, hub id or server")
    engine = load_engine(argument, options.placement, option="the model of vqascore", scores=True)
    return AskedScore("vqascore", engine, VQA, "Lin et al. 2024")


def load_asked(argument: str, options: MetricOptions) -> Metric:
    """The number that a judge gives in answer to a prompt from a file =MODEL#FILE."""
    model, _, file = argument.rpartition("#")
    if not model or not file:
        raise UserError("asked needs a model and a file", hint="asked=MODEL#question.json")
    question = read_question(Path(file))
    version = f"sha256 {hashlib.sha256(Path(file).read_bytes()).hexdigest()[:12]}"
    smooth = bool(question.answers)
    engine = load_engine(model, options.placement, option="the model of asked", scores=smooth)
    return AskedScore("asked", engine, question, version)
