"""Connects to a server and finds out what it can do, before any data is sent.

One small question asks for everything. What is refused (400, 422) is left out or lowered, and
whatever was left out without being named in a refusal is then asked for again, alone.
"""

from __future__ import annotations

import logging
import math
import os
import random
from dataclasses import replace
from urllib.parse import urlsplit

from PIL import Image

from revise_captions.engines.load import EngineUse
from revise_captions.engines.model_spec import LITELLM, ModelSpec, served
from revise_captions.engines.openai import messages
from revise_captions.engines.openai.capabilities import (
    Capabilities,
    fewer_logprobs,
    named_in,
    other_limit,
    other_scoring,
    with_option,
)
from revise_captions.engines.openai.http import Http, Refused, Unanswered
from revise_captions.engines.openai.litellm import by_litellm
from revise_captions.engines.openai.names import model_at
from revise_captions.engines.openai.pace import Pace
from revise_captions.engines.openai.server import (
    NOTHING,
    Instead,
    OpenAIEngine,
    by_id,
    id_options,
)
from revise_captions.engines.openai.usage import spending_of
from revise_captions.engines.protocol import Data, Picture, Prompt, Template
from revise_captions.engines.server_options import DEFAULT, ServerOptions
from revise_captions.errors import UserError
from revise_captions.io.decoding import LARGEST

logger = logging.getLogger(__name__)

#: Default number of requests in flight.
IN_FLIGHT = 16
QUESTION = Prompt(
    (Template("Is the sky above the ground? Answer Yes or No: "), Data("sky")), "Answer briefly."
)
WORDS = ("Yes", "No")
#: A question with many possible answers, and how often to ask it until two of them differ.
OPEN_QUESTION, DRAWS = Prompt((Template("Write a few words that come to your mind."),)), 8
#: Sides, in pixels, of images in questions: one that every model's tower accepts, and the largest
#: that is ever sent; if that is refused, half of it, and so on.
SIDE, LARGEST_SIDE = 64, math.isqrt(LARGEST)
#: Statuses of a refusal that concerns a parameter, or an image.
_PARAMETERS, _IMAGES = (400, 422), (400, 404, 413, 415, 422)
#: The same from servers that fail on anything unknown, on every try.
_FAILING = (500, 501)
_OPTIONAL = ("system", "seed", "temperature", "thinking")


def settle(engine: OpenAIEngine, *, scores: bool, images: bool) -> Capabilities:
    """What the engine's server can do.

    Args:
        engine: Connected.
        scores: Whether it will be asked for log-probabilities.
        images: Whether it will be shown images.

    Raises:
        Refused: It answers no question, however little is asked for.
        Unanswered: It does not answer.
        ValueError: Its log-probabilities are not valid ones.
    """
    can = Capabilities(scoring="none")
    if scores:
        can = Capabilities(scoring="top" if engine.word_ids(WORDS) is None else "id")
    can, listed = _granted(engine, can)
    while not _usable(engine, can, listed) and (weaker := other_scoring(can)) is not None:
        can, listed = _granted(engine, weaker)
    if can.scoring in ("top", "completions"):
        can = replace(can, top=min(can.top, len(listed)))
    if images:
        can = replace(can, images=_is_shown(engine, can, SIDE))
    if can.images:
        can = replace(can, pixels=_most_pixels(engine, can))
    return replace(can, caching=engine.reports_cache)


def _usable(engine: OpenAIEngine, can: Capabilities, listed: dict[str, float]) -> bool:
    ids = engine.word_ids(WORDS)
    return by_id(listed, ids) is not None if can.scoring == "id" and ids else bool(listed)


def _granted(engine: OpenAIEngine, can: Capabilities) -> tuple[Capabilities, dict[str, float]]:
    """As much of what is asked for as the server accepts, and the log-probabilities that it gave.

    Raises `Refused` or `Unanswered` if it accepts nothing.
    """
    while True:
        try:
            return can, _ask(engine, can)
        except Refused as error:
            if error.status not in _PARAMETERS:
                raise
            logger.info(
                "%s rejects a request, retrying with fewer features: %s", engine.http.base, error
            )
            weaker = named_in(error.detail, can)
        except Unanswered as error:
            if error.status not in _FAILING:
                raise
            logger.info(
                "%s fails on a request, retrying with fewer features: %s", engine.http.base, error
            )
            weaker = None
        if weaker is None:
            return _built_up(engine, can)
        can = weaker


def _built_up(engine: OpenAIEngine, wanted: Capabilities) -> tuple[Capabilities, dict[str, float]]:
    """The same, adding one thing at a time, for when a refusal does not say what it is about."""
    can = replace(wanted, scoring="none")
    for name in _OPTIONAL:
        can = with_option(can, name, False)
    listed = _attempt(engine, can)
    if listed is None:
        can = other_limit(can) or can
        listed = _ask(engine, can)
    for name in _OPTIONAL:
        more = with_option(can, name, getattr(wanted, name))
        if more not in (can, wanted) and _attempt(engine, more) is not None:
            can = more
    way: Capabilities | None = replace(can, scoring=wanted.scoring, top=wanted.top)
    while way is not None and way != can:
        found = None if way == wanted else _attempt(engine, way)  # already refused
        if found is not None:
            return way, found
        way = fewer_logprobs(way)
    return can, listed


def _attempt(engine: OpenAIEngine, can: Capabilities) -> dict[str, float] | None:
    """The log-probabilities in the answer; None if the question is refused."""
    try:
        return _ask(engine, can)
    except Refused as error:
        if error.status not in _PARAMETERS:
            raise
        return None
    except Unanswered as error:
        if error.status not in _FAILING:
            raise
        return None


def _ask(engine: OpenAIEngine, can: Capabilities) -> dict[str, float]:
    """The log-probabilities in the question's answer; empty if it lists none."""
    asking = engine.able(can)
    options = can.wanted()
    ids = engine.word_ids(WORDS) if can.scoring == "id" else None
    if ids is not None:
        options = id_options(ids, can.limit)
    if can.seed:
        options["seed"] = 0
    listed = messages.first_logprobs(asking.chat(QUESTION, **options))
    engine.reports_cache |= asking.reports_cache
    return listed


def _is_shown(engine: OpenAIEngine, can: Capabilities, side: int) -> bool:
    """Whether a question with an image is answered. Servers refuse images in many ways."""
    shown = replace(QUESTION, parts=(Picture(_picture(side)), *QUESTION.parts))
    try:
        engine.able(can).chat(shown, **{can.limit: 1})
    except Refused as error:
        if error.status not in _IMAGES:
            raise
        logger.info("%s takes no image of side %d: %s", engine.http.base, side, error)
        return False
    except Unanswered as error:  # llama.cpp's server gives 500; some hang up on long requests
        known = "image" in str(error).lower() if side == SIDE else error.status in (0, *_FAILING)
        if error.gone or not known:
            raise
        logger.info("%s takes no image of side %d: %s", engine.http.base, side, error)
        return False
    return True


def draws(engine: OpenAIEngine) -> bool:
    """Whether answers at a temperature of 1 differ: some servers accept one but ignore it."""
    said = {engine.sampled(OPEN_QUESTION, 0)}
    return any(engine.sampled(OPEN_QUESTION, seed) not in said for seed in range(1, DRAWS))


def _picture(side: int) -> Image.Image:
    """Gray noise of 16 levels, which compresses to about as many bytes as a photograph."""
    levels = bytes(range(120, 136)) * 16
    noise = random.Random(side).randbytes(3 * side * side).translate(levels)
    return Image.frombytes("RGB", (side, side), noise)


def _most_pixels(engine: OpenAIEngine, can: Capabilities) -> int:
    """Pixels of the largest image that gets an answer, given that one of `SIDE` does."""
    side = LARGEST_SIDE
    while side > SIDE and not _is_shown(engine, can, side):
        side //= 2
    return max(side, SIDE) ** 2 if side < LARGEST_SIDE else LARGEST


def load_engine(spec: ModelSpec, use: EngineUse) -> OpenAIEngine:
    """A model on a server that speaks OpenAI's protocol, found by its name (`connect`)."""
    found = served(spec.name)
    if found is None:
        raise UserError(f"{spec.name} names no server: expected MODEL@http://host:8000/v1")
    model, url = found
    return connect(
        *(model, url),
        in_flight=spec.placement.batch_size or IN_FLIGHT,
        instead=Instead(use.samples, spec.placement.server.without_logprobs),
        scores=use.scores,
        images=use.images,
        options=spec.placement.server,
    )


def _expect(model: str, *, alike: bool, images: bool | None) -> None:
    """Refuses a model whose samples are all alike, or that takes no images, if that matters."""
    if alike:
        raise UserError(
            f"{model} always gives the same answer at temperature 1, so --samples has nothing to "
            "count",
            hint="--without-logprobs label asks once; `transformers serve` draws where the model's "
            'generation_config.json has "do_sample": true',
        )
    if images is False:
        raise UserError(
            f"{model} takes no images, so it cannot judge captions",
            hint="name a vision–language model; a language model can be the --reviser",
        )


def _server(url: str) -> str:
    return "LiteLLM" if url == LITELLM else f"the server at {url}"


def _refusal(url: str, variable: str, error: Refused) -> UserError:
    """The error for the user. `variable`: the key's, except for LiteLLM, which has its own."""
    hint = ""
    if error.status in (401, 403):
        hint = f"set {variable} to its key"
        if url == LITELLM:
            hint = "set the key variable that LiteLLM names for it, such as ANTHROPIC_API_KEY"
    elif url == LITELLM:
        hint = "a model's name has its provider in front: litellm/anthropic/claude-sonnet-4-5"
    elif error.status in (404, 405):
        hint = "check the address: those of most servers end in /v1"
    return UserError(f"{_server(url)} refuses: {error.detail}", hint=hint)


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _http(url: str, options: ServerOptions, pace: Pace, timeout: float) -> Http:
    """What sends requests to the server, which is LiteLLM for its own address."""
    variable = options.variable(_host(url))
    return Http(
        url,
        key=None if url == LITELLM else os.environ.get(variable),  # it uses its own variables
        headers=options.headers,
        certificates=options.ca_bundle,
        pace=pace,
        send=by_litellm(options, timeout) if url == LITELLM else None,
        timeout=timeout,
    )


def connect(
    model: str,
    url: str,
    *,
    in_flight: int = IN_FLIGHT,
    instead: Instead = NOTHING,
    scores: bool = False,
    images: bool = False,
    options: ServerOptions = DEFAULT,
    timeout: float = 300.0,
) -> OpenAIEngine:
    """Connects to a model on a server and asks it what it can do.

    Args:
        model: The model's name on the server; "" if it has only one model.
        url: For example `http://host:8000/v1`.
        in_flight: How many requests wait for answers at the same time.
        instead: What replaces log-probabilities that the server does not give.
        scores: Whether it will be asked for log-probabilities.
        images: Whether it will be shown images.
        options: Key, headers, limits, prices.
        timeout: Seconds for one try.

    Raises:
        UserError: The server does not answer, does not have the model, refuses, or does not accept
            images.
    """
    options.check()
    variable, spending = options.variable(_host(url)), spending_of(options)
    http = _http(url, options, spending.pace(_host(url), in_flight), timeout)
    try:
        found = model_at(http, model)
        engine = OpenAIEngine(
            *(http, found.id, {}), in_flight=in_flight, instead=instead, spending=spending
        )
        can = settle(engine, scores=scores, images=images)
        counted = bool(scores and can.scoring == "none" and instead.samples)
        alike = counted and not draws(engine.able(can))
    except Unanswered as error:
        raise UserError(f"{_server(url)} does not answer a test question: {error}") from None
    except Refused as error:
        raise _refusal(url, variable, error) from None
    except ValueError as error:
        raise UserError(f"{_server(url)} gives no usable scores: {error}") from None
    _expect(f"{found.name} at {url}", alike=alike, images=can.images)
    settings = {"engine": "openai", "model": found.name, "server": http.base}
    settings["server-can"] = told = can.line if scores else can.takes
    if scores:
        settings["logprobs"] = instead.said if can.scoring == "none" else can.logprobs
    caching = "reports cached tokens" if can.caching else "reports no cached tokens"
    logger.info("%s at %s: %s; %s", found.name, url, told, caching)
    return engine.able(can, settings)
