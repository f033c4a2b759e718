"""Connects to a server and finds out what it can do by one question, before any data is sent."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

from revise_captions.engines.load import EngineUse
from revise_captions.engines.model_spec import ModelSpec, served
from revise_captions.engines.openai import messages
from revise_captions.engines.openai.http import Http, Refused, Unanswered
from revise_captions.engines.openai.server import (
    TOP,
    TOP_OPTIONS,
    OpenAIEngine,
    Scoring,
    by_id,
    id_options,
)
from revise_captions.engines.protocol import Data, Prompt, Template
from revise_captions.errors import UserError

logger = logging.getLogger(__name__)

#: Requests on their way at once, where nothing else is asked for.
IN_FLIGHT = 16
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
        logger.info("%s refuses chat_template_kwargs, asking without: %s", engine.http.base, error)
    engine = _with(engine, extras, "top", dict(engine.settings))
    if not extras:
        engine.chat(QUESTION, max_tokens=1)
    if not scores:
        return engine
    scoring = _scoring(engine)
    none = f"{engine.samples} samples" if engine.samples else "none"
    said = {"id": "by token id", "top": f"top {TOP}", "none": none}[scoring]
    logger.info("%s at %s gives log-probabilities: %s", engine.model, engine.http.base, said)
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


def load_engine(spec: ModelSpec, use: EngineUse) -> OpenAIEngine:
    """Connects to a server's model by its name; see `connect`."""
    found = served(spec.name)
    if found is None:
        raise UserError(f"{spec.name} names no server: expected MODEL@http://host:8000/v1")
    in_flight = spec.placement.batch_size or IN_FLIGHT
    return connect(*found, in_flight=in_flight, samples=use.samples, scores=use.scores)


def connect(
    model: str,
    url: str,
    *,
    in_flight: int = IN_FLIGHT,
    samples: int = 0,
    scores: bool = False,
    timeout: float = 300.0,
) -> OpenAIEngine:
    """Connects to a model on a server and asks it one question.

    The key, if the server wants one, is the environment's `OPENAI_API_KEY`.

    Args:
        model: The model's name on the server.
        url: For example `http://host:8000/v1`.
        in_flight: Requests that wait for answers at the same time.
        samples: Sampled answers per question if the server gives no log-probabilities; 0: none.
        scores: Whether it will be asked for log-probabilities.
        timeout: Seconds for one try.

    Raises:
        UserError: The server does not answer, does not have the model, or refuses.
    """
    http = Http(url, key=os.environ.get("OPENAI_API_KEY"), timeout=timeout)
    try:
        known = http.get("models").get("data")
    except Unanswered as error:
        raise UserError(
            f"no server answers at {url}: {error}",
            hint=f"start one (vllm serve {model}), or correct the address",
        ) from None
    except Refused as error:
        raise _refused(url, error) from None
    listed = known if isinstance(known, list) else []
    names = [str(m.get("id")) for m in listed if isinstance(m, dict)]
    if names and model not in names and not any(n.startswith(f"{model}@") for n in names):
        raise UserError(
            f"the server at {url} has no model {model!r}",
            hint=f"it has {', '.join(names[:5])}",
        )
    settings = {"engine": "openai", "model": model, "server": url}
    engine = OpenAIEngine(http, model, settings, in_flight=in_flight, samples=samples)
    try:
        return settle(engine, scores=scores)
    except Unanswered as error:
        raise UserError(f"the server at {url} does not answer a question: {error}") from None
    except Refused as error:
        raise _refused(url, error) from None
    except ValueError as error:
        raise UserError(f"the server at {url} gives no usable scores: {error}") from None


def _refused(url: str, error: Refused) -> UserError:
    hint = "set OPENAI_API_KEY to its key" if error.status in (401, 403) else ""
    return UserError(f"the server at {url} refuses: {error.detail}", hint=hint)
