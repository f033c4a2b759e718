"""What a server can do, from its answer to one question before any data is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from revise_captions.engines import openai_messages as messages
from revise_captions.engines.http import Refused
from revise_captions.engines.openai_server import (
    TOP,
    TOP_OPTIONS,
    OpenAIEngine,
    Scoring,
    by_id,
    id_options,
)
from revise_captions.engines.protocol import Data, Prompt, Template

QUESTION = Prompt((Template("Is the sky above the ground? Answer Yes or No: "), Data("sky")))
WORDS = ("Yes", "No")


def settle(engine: OpenAIEngine, *, scores: bool) -> OpenAIEngine:
    """The engine with options that its server takes, and `settings` that say how it scores.

    Raises `Refused` or `Unanswered`.
    """
    extras = True
    try:
        engine.chat(QUESTION, max_tokens=1)
    except Refused as error:
        if error.status not in (400, 422):
            raise
        extras = False  # a server that refuses what it does not know, as OpenAI's own does
    engine = _with(engine, extras, "top", dict(engine.settings))
    if not extras:
        engine.chat(QUESTION, max_tokens=1)
    if not scores:
        return engine
    scoring = _scoring(engine)
    none = f"{engine.samples} samples" if engine.samples else "none"
    said = {"id": "by token id", "top": f"top {TOP}", "none": none}[scoring]
    return _with(engine, extras, scoring, {**engine.settings, "logprobs": said})


def _with(
    engine: OpenAIEngine, extras: bool, scoring: Scoring, settings: dict[str, str]
) -> OpenAIEngine:
    return OpenAIEngine(
        engine.http,
        engine.model,
        settings,
        in_flight=engine.in_flight,
        samples=engine.samples,
        extras=extras,
        scoring=scoring,
    )


def _scoring(engine: OpenAIEngine) -> Scoring:
    ids = engine.word_ids(WORDS)
    if ids is not None and by_id(_logprobs(engine, id_options(ids)), ids) is not None:
        return "id"
    return "top" if _logprobs(engine, TOP_OPTIONS) else "none"


def _logprobs(engine: OpenAIEngine, options: Mapping[str, Any]) -> dict[str, float]:
    """What a server gives for these options; nothing where it does not know them."""
    try:
        return messages.first_logprobs(engine.chat(QUESTION, **options))
    except Refused as error:
        if error.status not in (400, 422):
            raise
        return {}
