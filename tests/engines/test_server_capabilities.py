"""What servers can do is found out at the start, and what they refuse is not asked for again."""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from chat_server import MODEL, Manners, Raw, serving, truth
from PIL import Image

from revise_captions.critic.load import load_critic
from revise_captions.engines.openai import http
from revise_captions.engines.openai.capabilities import Capabilities
from revise_captions.engines.openai.probe import LARGEST_SIDE, SIDE, connect
from revise_captions.engines.openai.server import Instead
from revise_captions.engines.protocol import (
    AnswerScores,
    Completion,
    Data,
    Picture,
    Prompt,
    Sampling,
)
from revise_captions.errors import UserError

WORDS = ("Yes", "No")
ASKED = Prompt((Data("sentence"),), system="Be brief.")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(http, "FIRST_PAUSE", 0.002)
    monkeypatch.setattr(http, "PATIENCE", 0.5)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def at_most(limit: int, said: str) -> Callable[[dict[str, Any]], str]:
    return lambda body: said if (body.get("top_logprobs") or 0) > limit else ""


def without(*names: str, said: str = "") -> Callable[[dict[str, Any]], str]:
    """Refuses these parameters, naming the first unless something else is to be said."""

    def refuses(body: dict[str, Any]) -> str:
        first = body["messages"][0]
        found = [*body, *(["system"] if first["role"] == "system" else [])]
        named = next((name for name in names if name in found), "")
        return named and (said or f"Unsupported parameter: {named!r}")

    return refuses


PLAIN = Capabilities(scoring="top", thinking=False, images=True)
SERVERS = {
    "five": (at_most(5, "logprobs of 20 is greater than max allowed: 5"), {"top": 5}),
    "some number": (
        at_most(11, "Invalid 'top_logprobs': expected a value <= 11, but got 20"),
        {"top": 11},
    ),
    "five, unnamed": (at_most(5, "bad request"), {"top": 5}),
    "one": (at_most(1, "top_logprobs must be small"), {"top": 1}),
    "newer limit": (
        without("max_tokens", said="Use 'max_completion_tokens' instead of 'max_tokens'"),
        {"limit": "max_completion_tokens"},
    ),
    "no seed": (without("seed"), {"seed": False}),
    "reasoning": (
        without("temperature", "logprobs"),
        {"temperature": False, "scoring": "none", "top": 0},
    ),
    "no system": (without("system", said="Conversation roles must alternate"), {"system": False}),
    "repeats all": (
        without("seed", said="invalid: {'seed': 0, 'logprobs': true, 'max_tokens': 1}"),
        {"seed": False},
    ),
    "says nothing": (
        without("seed", "max_tokens", said="invalid request"),
        {"seed": False, "limit": "max_completion_tokens"},
    ),
}


@pytest.mark.parametrize("server", SERVERS)
def test_what_is_refused_is_left_out_and_all_else_is_asked_for(server):
    refuses, differs = SERVERS[server]
    manners = Manners("openai", refuses=refuses)
    with serving(manners) as url:
        engine = connect(MODEL, url, scores=True, images=True)
        fields = PLAIN.__dataclass_fields__
        assert engine.can == Capabilities(**{n: getattr(PLAIN, n) for n in fields} | differs)
        asked = len(manners.seen)
        (scores,) = engine.answer_logprobs([ASKED], WORDS)
        (written,) = engine.generate([ASKED], 20, Sampling())
    assert isinstance(written, Completion)
    assert isinstance(scores, AnswerScores) is (engine.can.scoring != "none")
    assert len(manners.seen) <= asked + 2  # nothing was refused after the start
    bodies = [repr(body) for body in manners.seen]
    assert len(set(bodies)) == len(bodies)  # and nothing asked twice
    assert engine.settings["server-can"] == engine.can.line


@pytest.mark.parametrize("status", [500, 501])
def test_what_a_server_fails_on_is_left_out_like_what_it_refuses(status):
    def spoil(text: str, answer: dict[str, Any]) -> Raw | None:
        return Raw(b"oops", status) if answer["choices"][0]["logprobs"] else None

    with serving(Manners("openai", spoil=spoil)) as url:
        engine = connect(MODEL, url, scores=True, images=True)
        (written,) = engine.generate([ASKED], 20)
    assert engine.can == Capabilities(scoring="none", top=0, thinking=False, images=True)
    assert isinstance(written, Completion)


def test_a_server_that_takes_no_system_message_gets_its_text_from_the_user():
    manners = Manners("openai", refuses=without("system"))
    with serving(manners) as url:
        connect(MODEL, url).generate([ASKED], 20)
    assert manners.seen[-1]["messages"] == [{"role": "user", "content": "Be brief.\n\nsentence"}]


def test_log_probabilities_in_the_form_of_completions_are_read():
    with serving(Manners("older")) as url:
        engine = connect(MODEL, url, scores=True)
        (answer,) = engine.answer_logprobs([Prompt((Data("sentence"),))], WORDS)
    assert (engine.can.scoring, engine.can.top) == ("completions", 5)
    assert isinstance(answer, AnswerScores)
    assert answer.answer_mass <= sum(truth("sentence")) + 1e-9


def test_a_model_that_takes_no_images_is_no_critic():
    shown = lambda body: "does not support images" if "image_url" in repr(body) else ""  # noqa: E731
    with serving(Manners("vllm", refuses=shown)) as url:
        assert connect(MODEL, url).generate([ASKED], 20)
        with pytest.raises(UserError, match="takes no images"):
            load_critic(f"{MODEL}@{url}")


def sides(body: dict[str, Any]) -> list[tuple[int, int]]:
    """Width and height of each image in a request."""
    urls = re.findall(r"data:image/png;base64,([A-Za-z0-9+/=]+)", json.dumps(body["messages"]))
    return [Image.open(io.BytesIO(base64.b64decode(url))).size for url in urls]


TOO_MUCH = {
    "bytes": Raw(b"<html><h1>413 Request Entity Too Large</h1></html>", 413),
    "tokens": Raw(b'{"error": {"message": "maximum context length is 4096 tokens"}}', 400),
    "memory": Raw(b'{"error": {"message": "out of memory"}}', 500),
    "hangs up": Raw(b"{}" * 9, pace="cut"),
}


@pytest.mark.parametrize("answer", TOO_MUCH)
@pytest.mark.parametrize(("most", "found"), [(400, 306), (70, SIDE), (2000, LARGEST_SIDE)])
def test_images_are_sent_as_large_as_the_server_takes_them(answer, most, found):
    manners = Manners("openai")
    manners.spoil = lambda text, _: (
        TOO_MUCH[answer] if any(w * h > most**2 for w, h in sides(manners.seen[-1])) else None
    )
    with serving(manners) as url:
        engine = connect(MODEL, url, scores=True, images=True)
        asked = len(manners.seen)
        shown = Prompt((Picture(Image.new("RGB", (1600, 800))), Data("sentence")))
        (answered,) = engine.generate([shown], 20)
        small = Prompt((Picture(Image.new("RGB", (60, 20))), Data("sentence")))
        engine.generate([small], 20)
    assert isinstance(answered, Completion)
    (size,), (kept,) = (sides(body) for body in manners.seen[asked:])
    assert size[0] * size[1] == pytest.approx(min(found**2, 1600 * 800), rel=0.03)
    assert size[0] / size[1] == pytest.approx(2, rel=0.05)
    assert kept == (60, 20)
    said = f"images up to {found**2 / 1e6:.2g} megapixels"
    assert said in engine.settings["server-can"]


@pytest.mark.parametrize("heeds", [True, False])
def test_a_server_that_heeds_no_temperature_has_nothing_to_count(heeds):
    def spoil(text: str, answer: dict[str, Any]) -> None:
        if not heeds:
            answer["choices"][0]["message"]["content"] = "Yes"

    with serving(Manners("serve", spoil=spoil)) as url:
        instead = Instead(samples=5)
        if heeds:
            assert connect(MODEL, url, scores=True, instead=instead).instead == instead
        else:
            with pytest.raises(UserError, match="always gives the same answer at temperature 1"):
                connect(MODEL, url, scores=True, instead=instead)
        assert connect(MODEL, url, instead=instead)  # a reviser, say, is not sampled


def test_a_cache_that_is_reported_is_found():
    with serving(Manners("vllm")) as url:
        engine = connect(MODEL, url)
    assert engine.can.caching
    assert "cached" not in engine.can.line  # no answer depends on it
    assert engine.spending.total.cached == 4


GGUF = "/models/SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.mark.parametrize(
    ("asked", "models", "sent", "named"),
    [
        ("", [{"id": GGUF}], GGUF, "SmolLM2-135M-Instruct.Q4_1.gguf"),
        (GGUF, [{"id": GGUF}], GGUF, GGUF),
        ("smollm2-135m-instruct.q4_1", [{"id": GGUF}], GGUF, "smollm2-135m-instruct.q4_1"),
        ("mine", [{"id": "a"}, {"id": "b", "aliases": ["mine"]}], "b", "mine"),
        ("owner/base", [{"id": "served", "root": "owner/base"}], "served", "owner/base"),
        ("owner/name", [{"id": "owner/name@main"}], "owner/name", "owner/name"),
        ("gpt", [], "gpt", "gpt"),
        ("x/y/z:free", [{"id": "x/y/z:free"}, {"id": "a"}], "x/y/z:free", "x/y/z:free"),
    ],
)
def test_a_name_is_matched_against_ids_aliases_and_paths(asked, models, sent, named):
    manners = Manners("openai", models=models)
    with serving(manners) as url:
        engine = connect(asked, url)
    assert manners.seen[-1]["model"] == sent
    assert engine.settings["model"] == named


def test_a_name_that_means_no_model_or_several_is_an_error():
    models = [{"id": "x/base"}, {"id": "y/base"}]
    with serving(Manners("openai", models=models)) as url:
        for asked in ("", "base", "other"):
            with pytest.raises(UserError) as caught:
                connect(asked, url)
            assert "x/base" in caught.value.hint
