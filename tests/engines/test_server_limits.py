"""Limits of servers and of users: waiting, parallelism, prices, keys."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import chat_server
import pytest
from chat_server import MODEL, Manners, Raw, serving
from PIL import Image

from revise_captions.critic.load import load_critic
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.protocol import JudgeRequest
from revise_captions.engines.model_spec import Placement
from revise_captions.engines.openai import http, pace
from revise_captions.engines.openai.pace import Pace
from revise_captions.engines.openai.probe import connect
from revise_captions.engines.openai.server import Instead, stated
from revise_captions.engines.openai.usage import counted
from revise_captions.engines.protocol import AnswerScores, Completion, Data, Failed, Prompt
from revise_captions.engines.server_options import ServerOptions
from revise_captions.errors import EngineDead, UserError
from revise_captions.records import Span, Unscored

WORDS = ("Yes", "No")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(http, "FIRST_PAUSE", 0.002)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def prompts(count: int) -> list[Prompt]:
    return [Prompt((Data(f"sentence {k}"),)) for k in range(count)]


def limited(status: int, after: str, times: int, body: bytes = b"{}", together: int = 1) -> Any:
    """A server that refuses the first so many requests about sentences, some of them together."""
    left = iter(range(times))
    lock, gathered = threading.Lock(), threading.Barrier(together)

    def spoil(text: str, answer: dict[str, Any]) -> Raw | None:
        with lock:
            meets = "sentence" in text and next(left, None) is not None
        if meets:
            gathered.wait(30)
        return Raw(body, status, {"Retry-After": after} if after else {}) if meets else None

    return spoil


@pytest.mark.parametrize("status", [429, 503])
def test_a_limit_is_waited_out_visibly_and_halves_what_is_on_its_way(status, caplog, monkeypatch):
    monkeypatch.setattr(pace, "NOTED", 0.2)
    with serving(Manners("vllm", spoil=limited(status, "0.3", 8, together=8))) as url:
        engine = connect(MODEL, url, in_flight=8)
        began = time.monotonic()
        answers = engine.generate(prompts(8), 9)
    assert all(isinstance(answer, Completion) for answer in answers)
    assert time.monotonic() - began >= 0.3
    said = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert said[0] == "waiting 0.3 s: the server's limit"
    assert len(said) == 1  # for all that were sent together
    assert 4 < engine.http.pace.at_once < 8


IN_TWO_HOURS = format_datetime(datetime.now(UTC) + timedelta(hours=2))


@pytest.mark.parametrize("after", ["3600", IN_TWO_HOURS], ids=["seconds", "date"])
def test_a_server_that_asks_for_hours_ends_the_run_which_can_go_on(after):
    with serving(Manners("vllm", spoil=limited(429, after, 1))) as url:
        engine = connect(MODEL, url)
        with pytest.raises(EngineDead, match="accepts no more requests for now and asks for"):
            engine.generate(prompts(3), 9)


def test_credit_that_is_used_up_is_not_waited_for():
    body = b'{"error": {"code": "insufficient_quota", "message": "You exceeded your quota"}}'
    with serving(Manners("vllm", spoil=limited(429, "", 9, body))) as url:
        engine = connect(MODEL, url)
        with pytest.raises(EngineDead, match="You exceeded your quota"):
            engine.generate(prompts(1), 9)


def test_a_limit_that_never_ends_costs_its_prompt_only(monkeypatch):
    monkeypatch.setattr(http, "PATIENCE", 0.1)
    with serving(Manners("vllm", spoil=limited(503, "", 10**9))) as url:
        (answer,) = connect(MODEL, url).generate(prompts(1), 9)
    assert isinstance(answer, Failed)


def test_parallelism_rises_by_one_a_round_and_is_halved_once_a_round():
    own = Pace(8)
    rounds = [own.begin() for _ in range(8)]
    for number in rounds:
        own.refused(number, 0.0)
        own.end(None)
    assert own.at_once == 4
    for _ in range(4):
        own.begin()
        own.end(10)
    assert 4.8 < own.at_once <= 5
    for _ in range(99):
        own.begin()
        own.end(10)
    assert own.at_once == 8


def test_who_waits_for_a_run_that_is_over_waits_no_longer():
    own = Pace(1)
    own.begin()
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(own.begin), pool.submit(own.sleep, 60.0)]
        time.sleep(0.1)
        own.stop()
        assert all(isinstance(each.exception(5), EngineDead) for each in waiting)
    own.end(None)
    assert own.begin() == 0  # another run may go on


@pytest.mark.parametrize("limits", [(1200, None), (None, 12_000)])
def test_requests_are_spaced_by_the_users_limits(limits):
    own = Pace(4, *limits)  # 20 requests of 10 tokens a second

    def ask(_: int) -> None:
        own.begin()
        own.end(10)

    began = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(ask, range(11)))
    assert 0.45 <= time.monotonic() - began < 3


def test_a_run_counts_and_stops_where_its_money_is_spent():
    options = ServerOptions(price_in=1.0, price_out=1e6, max_cost=5.0)
    with serving(Manners("vllm")) as url, counted(options) as spending:
        engine = connect(MODEL, url, in_flight=1, options=options)
        before = spending.total
        with pytest.raises(EngineDead, match="--max-cost 5 is spent"):
            engine.generate(prompts(20), 9)
    assert spending.total.requests == before.requests + 4  # one token each, after that of the start
    assert spending.total.tokens_in > before.tokens_in > 0
    assert "cost 5" in spending.line()
    with pytest.raises(UserError, match="needs prices"):
        ServerOptions(max_cost=1.0).check()


def test_keys_are_of_hosts_and_headers_and_versions_are_sent(monkeypatch):
    monkeypatch.setenv("MINE", "mine-secret")
    monkeypatch.setenv("OTHERS", "others-secret")
    named = ServerOptions(key_variable=("OTHERS", "127.0.0.1=MINE"), header=("X-Team: a: b",))
    manners = Manners("vllm", key="mine-secret")
    with serving(manners) as url:
        client = connect(MODEL, url, options=named).http._client
        assert client.headers["X-Team"] == "a: b"
        with pytest.raises(UserError) as caught:
            connect(MODEL, url, options=ServerOptions(key_variable=("OTHERS",)))
        assert "set OTHERS to its key" in caught.value.hint
    azure = http.Http(
        "https://host/openai/deployments/gpt?api-version=2024-10-21", key="secret-key"
    )
    assert azure.base == "https://host/openai/deployments/gpt"
    assert azure._client.headers["api-key"] == "secret-key"
    assert "Authorization" not in azure._client.headers
    asked = azure._client.build_request("POST", f"{azure.base}/chat/completions")
    assert str(asked.url).endswith("/chat/completions?api-version=2024-10-21")
    with pytest.raises(UserError, match="NAME: VALUE"):
        ServerOptions(header=("nothing",)).check()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_certificates_of_your_own_are_trusted(tmp_path):
    made = tmp_path / "company.pem"
    asked = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test"
    place = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", made, "-out", tmp_path / "c.pem"]
    subprocess.run([*asked.split(), *place], check=True, capture_output=True)
    made.write_bytes(made.read_bytes() + (tmp_path / "c.pem").read_bytes())
    with serving(Manners("openai"), made) as url:
        trusting = ServerOptions(ca_bundle=tmp_path / "c.pem")
        assert connect(MODEL, url, options=trusting).generate(prompts(1), 9)
        with pytest.raises(UserError, match="CERTIFICATE_VERIFY_FAILED") as caught:
            connect(MODEL, url)
        assert "--ca-bundle" in caught.value.hint
        (tmp_path / "no.pem").write_text("nothing")
        with pytest.raises(UserError, match=r"no\.pem holds no certificates"):
            connect(MODEL, url, options=ServerOptions(ca_bundle=tmp_path / "no.pem"))


def test_a_proxy_of_the_environment_is_asked(monkeypatch):
    with serving(Manners("openai")) as url:
        monkeypatch.setenv("HTTP_PROXY", url.removesuffix("/v1"))
        assert connect(MODEL, "http://nowhere.invalid/v1").generate(prompts(1), 9)


def test_other_providers_are_asked_through_litellm(monkeypatch):
    class TooMany(Exception):
        status_code = 429

    class Refuses(Exception):
        status_code = 400

    seen: list[dict[str, Any]] = []

    def completion(**asked: Any) -> Any:
        seen.append(asked)
        if "logprobs" in asked or "chat_template_kwargs" in asked:
            raise Refuses("unsupported parameters: ['logprobs', 'chat_template_kwargs']")
        if len(seen) == 5:
            raise TooMany("slow down")
        found = chat_server.completion(asked, chat_server.text_of(asked["messages"]), "serve")
        return SimpleNamespace(model_dump_json=lambda: json.dumps(found))

    monkeypatch.setitem(sys.modules, "litellm", SimpleNamespace(completion=completion))
    placed = Placement(server=ServerOptions(without_logprobs="label", header=("X-Team: a",)))
    critic = load_critic("litellm/anthropic/claude", CriticOptions(placed))
    (revision,) = critic.judge([JudgeRequest(Image.new("RGB", (4, 4)), "A cat.", (Span(0, 6),))])
    assert revision[0].p_factual in (0.0, 1.0)
    assert critic.settings["critic"] == "anthropic/claude"
    assert critic.settings["logprobs"] == "hard labels"
    assert {asked["model"] for asked in seen} == {"anthropic/claude"}
    assert {tuple(asked["extra_headers"].items()) for asked in seen} == {(("X-Team", "a"),)}


@pytest.mark.parametrize("way", ["stated", "label"])
def test_without_log_probabilities_the_users_choice_stands_for_them(way):
    def spoil(text: str, answer: dict[str, Any]) -> None:
        percent = "percent from 0 to 100" in text
        answer["choices"][0]["message"]["content"] = "85 %" if percent else "**No**, it is not."

    with serving(Manners("serve", spoil=spoil)) as url:
        engine = connect(MODEL, url, scores=True, instead=Instead(without=way))
        (answer,) = engine.answer_logprobs(prompts(1), WORDS)
        placed = Placement(server=ServerOptions(without_logprobs=way))
        critic = load_critic(f"{MODEL}@{url}", CriticOptions(placed))
    assert isinstance(answer, AnswerScores)
    assert answer.answer_mass == pytest.approx(1)
    expected = {"stated": "stated probability", "label": "hard labels"}[way]
    assert engine.settings["logprobs"] == critic.settings["logprobs"] == expected
    assert (answer.logprobs[1] > answer.logprobs[0]) is (way == "label")


@pytest.mark.parametrize(
    ("text", "share"),
    [("85", 0.85), ("85 %", 0.85), ("**0**", 0.0), ("100.", 1.0), ("12.5%", 0.125)],
)
def test_a_stated_probability_is_read(text, share):
    answer = stated(text)
    assert isinstance(answer, AnswerScores)
    assert answer.answer_mass == pytest.approx(1)
    assert math.exp(answer.logprobs[0]) == pytest.approx(share)


@pytest.mark.parametrize("text", ["", "Yes", "850", "1234", "101"])
def test_what_states_no_probability_is_no_answer(text):
    answer = stated(text)
    assert isinstance(answer, Failed)
    assert answer.reason is Unscored.NO_ANSWER
