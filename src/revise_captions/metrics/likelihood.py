"""Likelihood of the description for a model that sees the image (ContextRef, section 3.1).

    likelihood           mean log-likelihood of the description's tokens as the answer to “[Context:
                         …] High quality, accessible, image description:” (`text_if_good`, `reduce`
                         and `diff`)
    whole-likelihood     the same text with the description as the answer to the image alone, the
                         mean over all of its tokens: best in the paper (`reduce` without `diff`)
    rating-likelihood    log-likelihood of the rating 5 of the description (`good_if_text`)

The templates are those of appendix H.1, as a user turn; a language model without a chat format,
such as GPT-2 or OPT, reads them as plain text. As in the authors' code, the sequence's first token
counts toward the number of tokens, although nothing predicts it. A language model without a vision
tower scores the text alone, so its results owe nothing to the image.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from revise_captions.engines.load import load_engine
from revise_captions.engines.protocol import (
    Data,
    Failed,
    Part,
    Picture,
    Prompt,
    ScoresAnswers,
    Template,
)
from revise_captions.errors import UserError
from revise_captions.metrics.protocol import Metric, MetricInput, MetricScore, Needs
from revise_captions.metrics.registry import MetricOptions

if TYPE_CHECKING:
    from PIL.Image import Image

_WINDOW = 64
_PLAIN, _WHOLE, _RATING = "likelihood", "whole-likelihood", "rating-likelihood"
_GOOD = "High quality, accessible, image description:"
_RATE = (
    "rate the description from 1-5 based on whether it is a high quality, accessible, image "
    "description. Description: "
)


class Likelihood:
    """One of the three, by `name`; `sees`: whether the model has a vision tower."""

    def __init__(self, name: str, engine: ScoresAnswers, *, sees: bool) -> None:
        self.name, self.engine, self.sees = name, engine, sees
        template = "good_if_text" if name == _RATING else "text_if_good"
        self.settings = {"metric": self.name, "template": template, **engine.settings}
        self.needs = frozenset({Needs.IMAGE} if sees else ())

    def score(self, items: Sequence[MetricInput]) -> list[MetricScore]:
        found: list[MetricScore] = []
        for start in range(0, len(items), _WINDOW):  # limits the images held at a time
            part = items[start : start + _WINDOW]
            sources = {item.image.key: item.image for item in part if item.image is not None}
            images = {key: own.load() for key, own in sources.items()} if self.sees else {}
            prompts = [self.prompt(item, images) for item in part]
            answers = [self.answer(item) for item in part]
            found += map(_mean, self.engine.given_logprobs(prompts, answers))
        return found

    def prompt(self, item: MetricInput, images: Mapping[str, Image]) -> Prompt:
        """The paper's template, without the context if there is none."""
        parts: list[Part] = []
        if item.image is not None and item.image.key in images:
            parts.append(Picture(images[item.image.key]))
        if self.name == _WHOLE:
            return Prompt(tuple(parts), shared=len(parts))
        if item.context.strip():
            parts += [Template("[Context: "), Data(item.context), Template("] ")]
        if self.name != _RATING:
            parts.append(Template(_GOOD))
        else:
            seen = "context, photo, and" if item.context.strip() else "photo and"
            parts += [Template(f"Look at the {seen} description and {_RATE}"), Data(item.text)]
        return Prompt(tuple(parts), shared=1 if isinstance(parts[0], Picture) else 0)

    def answer(self, item: MetricInput) -> str:
        """The text to score."""
        if self.name == _RATING:
            return "5"
        context = f"[Context: {item.context}] " if item.context.strip() else ""
        return f"{context}{_GOOD} {item.text}" if self.name == _WHOLE else item.text


def _mean(logprobs: tuple[float, ...] | Failed) -> MetricScore:
    if isinstance(logprobs, Failed):
        return MetricScore(None, f"{logprobs.reason}: {logprobs.detail}".removesuffix(": "))
    if not logprobs:
        return MetricScore(None, "the text has no token")
    return MetricScore(sum(logprobs) / len(logprobs))


def _load(name: str, argument: str, options: MetricOptions) -> Metric:
    if not argument:
        raise UserError(f"{name} needs a model", hint=f"{name}=MODEL, a folder or hub id")
    engine = load_engine(argument, options.placement, option=f"the model of {name}", plain=True)
    if not isinstance(engine, ScoresAnswers):
        raise UserError(
            f"{name} needs a model in this process, and {argument} runs elsewhere",
            hint="name a folder or hub id, and use --engine transformers",
        )
    encoder = getattr(engine, "encoder", None)
    return Likelihood(name, engine, sees=getattr(encoder, "processor", None) is not None)


def load_likelihood(argument: str, options: MetricOptions) -> Metric:
    """Mean log-likelihood of the description for a model that sees the image =MODEL."""
    return _load(_PLAIN, argument, options)


def load_whole_likelihood(argument: str, options: MetricOptions) -> Metric:
    """The same, over context, prompt and description, as ContextRef found best =MODEL."""
    return _load(_WHOLE, argument, options)


def load_rating_likelihood(argument: str, options: MetricOptions) -> Metric:
    """Log-likelihood of a model's rating the description 5 of 5 =MODEL."""
    return _load(_RATING, argument, options)
