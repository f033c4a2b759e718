"""Servers that speak OpenAI's protocol: as vLLM does, as others do, and badly."""

from __future__ import annotations

import base64
import gzip
import io
import json
import math
import socket
import time
import tracemalloc
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import chat_server
import numpy as np
import pytest
import zstandard
from chat_server import MODEL, Manners, Raw, serving, truth
from PIL import Image

from revise_captions.critic.instruct import InstructCritic
from revise_captions.critic.load import load_critic
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.protocol import ExplainRequest, JudgeRequest
from revise_captions.engines.model_spec import Placement
from revise_captions.engines.openai import http
from revise_captions.engines.openai.messages import begins_with, messages_of
from revise_captions.engines.openai.plain_text import defused
from revise_captions.engines.openai.probe import connect
from revise_captions.engines.openai.server import Instead
from revise_captions.engines.protocol import (
    AnswerScores,
    Completion,
    Data,
    Failed,
    Picture,
    Prompt,
    Sampling,
    Template,
)
from revise_captions.errors import EngineDead, UserError
from revise_captions.records import Unscored
from revise_captions.reviser.load import load_reviser
from revise_captions.reviser.protocol import RewriteRequest
from revise_captions.text.sentences import split

WORDS = ("Yes", "No")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(http, "FIRST_PAUSE", 0.002)
    monkeypatch.setattr(http, "PATIENCE", 0.5)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def prompts(count: int = 12) -> list[Prompt]:
    return [Prompt((Template("Is it true? "), Data(f"sentence {k}"))) for k in range(count)]


def told(prompt: Prompt) -> tuple[float, float]:
    return truth(chat_server.text_of(messages_of(prompt)))


def close(answer: AnswerScores | Failed, prompt: Prompt) -> bool:
    assert isinstance(answer, AnswerScores), answer
    found = [math.exp(mass) for mass in answer.logprobs]
    return np.allclose(found, told(prompt), atol=1e-9) and math.isclose(
        answer.answer_mass, sum(found)
    )


def test_vllm_gives_every_spelling_by_token_id():
    manners = Manners("vllm")
    with serving(manners) as url:
        engine = connect(MODEL, url, scores=True)
        assert engine.settings["logprobs"] == "by token id"
        answers = engine.answer_logprobs(prompts(), WORDS)
    assert all(map(close, answers, prompts()))
    assert manners.seen[-1]["logprob_token_ids"] == [11, 12, 13, 21, 22]
    assert manners.seen[-1]["max_tokens"] == 1


def test_a_strict_server_gives_the_likeliest_tokens():
    manners = Manners("openai")
    with serving(manners) as url:
        engine = connect(MODEL, url, scores=True)
        assert engine.settings["logprobs"] == "top 20"
        answers = engine.answer_logprobs(prompts(), WORDS)
    assert all(map(close, answers, prompts()))
    assert not {"logprob_token_ids", "chat_template_kwargs"} & set(manners.seen[-1])


def test_a_word_that_is_not_listed_counts_as_none_and_no_word_as_no_answer():
    with serving(Manners("brief")) as url:
        engine = connect(MODEL, url, scores=True)
        answers = engine.answer_logprobs(prompts(40), WORDS)
    for prompt, answer in zip(prompts(40), answers, strict=True):
        assert isinstance(answer, AnswerScores)
        p = chat_server.distribution(chat_server.text_of(messages_of(prompt)))
        assert math.isclose(answer.answer_mass, max(p.values()))
        assert min(answer.logprobs) == -math.inf


def test_a_server_that_drops_logprobs_without_a_word_leaves_sentences_unscored():
    with serving(Manners("serve")) as url:
        engine = connect(MODEL, url, scores=True)
        assert engine.settings["logprobs"] == "none"
        answers = engine.answer_logprobs(prompts(3), WORDS)
        critic = load_critic(f"{MODEL}@{url}")
        assert critic.judge([paragraph()])[0][0].unscored is Unscored.NO_LOGPROBS
    assert [a.reason for a in answers if isinstance(a, Failed)] == [Unscored.NO_LOGPROBS] * 3


def test_a_server_without_logprobs_can_be_sampled():
    with serving(Manners("serve")) as url:
        engine = connect(MODEL, url, scores=True, instead=Instead(100))
        assert engine.settings["logprobs"] == "100 samples"
        (answer,) = engine.answer_logprobs(prompts(1), WORDS)
        again = connect(MODEL, url, scores=True, instead=Instead(100)).answer_logprobs(
            prompts(1), WORDS
        )
    assert isinstance(answer, AnswerScores)
    assert again == [answer]
    yes, no = told(prompts(1)[0])
    # 100 draws: within four standard errors
    assert abs(math.exp(answer.logprobs[0]) - yes) < 4 * math.sqrt(yes * (1 - yes) / 100)
    assert abs(math.exp(answer.logprobs[1]) - no) < 4 * math.sqrt(no * (1 - no) / 100)


@pytest.mark.parametrize(
    "failures",
    [("500", "429"), ("truncated", "shape"), ("cut", "503"), ("slow",), ("timeout",)],
    ids="-".join,
)
def test_what_passes_is_tried_again_and_answers_stay_in_order(failures):
    manners = Manners("vllm", failures=failures)
    with serving(manners) as url:
        engine = connect(MODEL, url, scores=True, in_flight=6, timeout=0.6)
        answers = engine.answer_logprobs(prompts(), WORDS)
    assert all(map(close, answers, prompts()))
    if failures != ("timeout",):  # a server goes on with what nobody waits for any more
        assert manners.most_at_once <= 6


def test_answers_are_sampled_with_a_seed_each():
    manners = Manners("openai")
    with serving(manners) as url:
        engine = connect(MODEL, url)
        asked = [prompts(1)[0]] * 3
        manners.seen.clear()
        found = engine.generate(asked, 8, Sampling(0.8, 0.7, seed=5))
        again = engine.generate(asked, 8, Sampling(0.8, 0.7, seed=5))
    assert found == again
    assert len({answer.text for answer in found}) > 1, "equal prompts have samples of their own"
    said = sorted((body["seed"], body["temperature"], body["top_p"]) for body in manners.seen[:3])
    assert said == [(5, 0.8, 0.7), (6, 0.8, 0.7), (7, 0.8, 0.7)]


def test_one_bad_prompt_costs_its_own_answer_only():
    asked = prompts(6)
    asked[2] = Prompt((Data("POISON"),))
    asked[4] = Prompt((Data("long " * 100),))
    with serving(Manners("vllm", longest=300)) as url:
        engine = connect(MODEL, url, scores=True)
        answers = engine.answer_logprobs(asked, WORDS)
        written = engine.generate(asked, 50)
    for k, (prompt, answer) in enumerate(zip(asked, answers, strict=True)):
        if k in (2, 4):
            reason = {2: Unscored.ENGINE_ERROR, 4: Unscored.TOO_LONG}[k]
            assert isinstance(answer, Failed)
            assert answer.reason is reason
            assert written[k] == answer
        else:
            assert close(answer, prompt)
            assert written[k] == Completion(f"An answer to: Is it true? sentence {k}", True)


def listed(*logprobs: object) -> Callable[[str, dict[str, Any]], Raw | None]:
    """A server that gives these log-probabilities to three spellings of Yes, for sentence 2."""

    def spoil(text: str, answer: dict[str, Any]) -> Raw | None:
        if "sentence 2" in text:
            entries = [
                {"token": token, "logprob": value}
                for token, value in zip(("Yes", " Yes", "yes"), logprobs, strict=True)
            ]
            answer["choices"][0]["logprobs"]["content"] = [{**entries[0], "top_logprobs": entries}]
        return None

    return spoil


@pytest.mark.parametrize(
    ("logprobs", "said"),
    [
        ((0.0, 0.0, 0.0), "no log-probabilities"),
        ((5.0, -1.0, -2.0), "5.0 is no log-probability"),
        ((10**400, -1.0, -2.0), "is no log-probability"),
        ((-(10**400), -(10**400), -(10**400)), "no answer word"),
    ],
)
def test_log_probabilities_that_are_none_cost_their_own_answer_only(logprobs, said):
    with serving(Manners("openai", spoil=listed(*logprobs))) as url:
        engine = connect(MODEL, url, scores=True)
        answers = engine.answer_logprobs(prompts(4), WORDS)
    bad = answers.pop(2)
    assert isinstance(bad, Failed)
    assert said in bad.detail
    assert all(isinstance(answer, AnswerScores) for answer in answers)


def test_a_log_probability_below_every_float_is_that_of_nothing():
    with serving(Manners("openai", spoil=listed(-0.5, -1.5, -(10**400)))) as url:
        *_, answer = connect(MODEL, url, scores=True).answer_logprobs(prompts(3), WORDS)
    assert isinstance(answer, AnswerScores)
    assert math.isclose(math.exp(answer.logprobs[0]), math.exp(-0.5) + math.exp(-1.5))


def test_a_server_whose_first_scores_are_none_is_the_users_error():
    def spoil(text: str, answer: dict[str, Any]) -> None:
        if (scores := answer["choices"][0]["logprobs"]) is not None:
            scores["content"][0]["top_logprobs"][0]["logprob"] = 5

    with (
        serving(Manners("openai", spoil=spoil)) as url,
        pytest.raises(UserError, match="no usable scores"),
    ):
        connect(MODEL, url, scores=True)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (Raw(b"garbage", headers={"Content-Encoding": "gzip"}), "is compressed (gzip)"),
        (Raw(b"[" * 100_000), "not JSON"),
        (Raw(b'{"choices": ' + b"[" * 100_000), "not JSON"),
        (Raw(b"[" * 100_000, 500), "500"),
        (Raw(b"<html><h1>Sign in</h1></html>"), "is not JSON: Sign in"),
        (Raw(b"<html><title>Bad Gateway</title></html>", 502), "502 Bad Gateway"),
        (Raw(b""), "is not JSON, but empty"),
        (Raw(b'{"error": "no capacity"}'), 'is not of the expected form: {"error": "no capacity"}'),
        (Raw(b"", 307, {"Location": "http://elsewhere/"}), "307 Temporary Redirect"),
        (Raw(b"{}", 503, {"Retry-After": "\u00b2"}), "503"),
        (Raw(b'"\xff"', 400), "400"),
    ],
)
def test_answers_that_cannot_be_read_cost_their_own_prompt_only(raw, said):
    spoil = lambda text, answer: raw if "sentence 2" in text else None  # noqa: E731
    with serving(Manners("vllm", spoil=spoil)) as url:
        engine = connect(MODEL, url, scores=True)
        answers = engine.answer_logprobs(prompts(4), WORDS)
    bad = answers.pop(2)
    assert isinstance(bad, Failed)
    assert bad.reason is Unscored.ENGINE_ERROR
    assert said in bad.detail
    assert all(isinstance(answer, AnswerScores) for answer in answers)


@pytest.mark.parametrize("status", [401, 402, 404])
def test_a_key_or_a_model_that_is_gone_ends_the_run_which_can_go_on(status):
    def spoil(text: str, answer: dict[str, Any]) -> Raw | None:
        return Raw(b'{"error": "expired"}', status) if "sentence 2" in text else None

    with serving(Manners("vllm", spoil=spoil)) as url:
        engine = connect(MODEL, url, scores=True)
        with pytest.raises(EngineDead, match=f"accepts no more requests: {status} expired"):
            engine.answer_logprobs(prompts(4), WORDS)


def test_the_first_refusal_is_told(caplog):
    with serving(Manners("vllm")) as url:
        connect(MODEL, url).generate([Prompt((Data("POISON"),))] * 3, 9)
    said = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert [text.partition("/v1 ")[2] for text in said] == [
        "refused a prompt: 400 cannot be processed"
    ]


def test_a_message_may_come_in_parts():
    def spoil(text: str, answer: dict[str, Any]) -> None:
        parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "A "}]
        answer["choices"][0]["message"]["content"] = [*parts, {"type": "text", "text": "dog."}]

    with serving(Manners("vllm", spoil=spoil)) as url:
        assert connect(MODEL, url).generate(prompts(1), 9) == [Completion("A dog.", True)]


def test_lone_surrogates_which_cannot_be_sent_are_replaced():
    asked = [*prompts(2), Prompt((Data("\ud800"),))]
    with serving(Manners("vllm")) as url:
        engine = connect(MODEL, url, scores=True)
        answers = engine.answer_logprobs(asked, WORDS)
    assert all(isinstance(answer, AnswerScores) for answer in answers)


def test_a_prompt_that_always_fails_is_given_up_after_some_tries():
    manners = Manners("vllm", failures=("500",) * 99)
    with serving(Manners("vllm")) as good:
        engine = connect(MODEL, good, scores=True)
        engine.answer_logprobs(prompts(1), WORDS)
    with serving(manners) as url:
        engine.http.base = url
        (answer,) = engine.generate(prompts(1), 9)
    assert isinstance(answer, Failed)
    assert answer.reason is Unscored.ENGINE_ERROR
    assert len(manners.seen) == http.TRIES


def test_a_dead_server_stops_the_run():
    with serving(Manners("vllm")) as url:
        engine = connect(MODEL, url, scores=True)
    with pytest.raises(EngineDead, match="stopped responding"):
        engine.answer_logprobs(prompts(40), WORDS)
    manners = Manners("vllm", dead_after=9)
    with serving(manners) as url:
        engine = connect(MODEL, url, scores=True, in_flight=2)
        with pytest.raises(EngineDead):
            engine.answer_logprobs(prompts(200), WORDS)
    assert len(manners.seen) < 200


def test_pauses_grow_up_to_a_cap_and_keep_to_retry_after(monkeypatch, caplog):
    monkeypatch.setattr(http, "FIRST_PAUSE", 1.0)
    caplog.set_level("INFO", "revise_captions")
    pauses: list[float] = []
    with serving(Manners("vllm", failures=("500",) * 99)) as url:
        client = http.Http(url, tries=9, sleep=pauses.append)
        with pytest.raises(http.Unanswered, match="9 tries"):
            client.post("chat/completions", {"messages": [{"content": "x"}]})
    bounds = [min(30.0, 2.0**k) for k in range(8)]
    assert all(b / 2 <= pause <= b for pause, b in zip(pauses, bounds, strict=True))
    assert pauses != bounds
    # threads of the dead server's test may still be retrying theirs
    logged = [record.args for record in caplog.records if record.name == http.__name__]
    assert [pause for base, _, pause in logged if base == url] == pauses


@pytest.mark.parametrize(
    ("pace", "said"),
    [("drip", "not there within 0.3 s"), ("stall", "ReadTimeout"), ("cut", "RemoteProtocolError")],
)
def test_an_answer_that_does_not_end_is_given_up(pace, said):
    manners = Manners("vllm", spoil=lambda text, answer: Raw(b"{}", pace=pace))
    with serving(manners) as url:
        client = http.Http(url, tries=2, timeout=0.3, sleep=lambda seconds: None)
        began = time.monotonic()
        with pytest.raises(http.Unanswered, match=said):
            client.post("chat/completions", {"messages": [{"content": "x"}]})
        assert time.monotonic() - began < 5


def _twice(data: bytes) -> bytes:
    return gzip.compress(gzip.compress(data))


@pytest.mark.parametrize(
    ("packed", "pack"),
    [
        ("gzip", gzip.compress),
        ("gzip, gzip", _twice),
        ("zstd", zstandard.compress),
        ("br", gzip.compress),
    ],
)
def test_a_compressed_answer_is_refused_unread(packed, pack):
    body = pack(bytes(1 << 24))
    asked: list[str] = []
    raw = Raw(body, headers={"Content-Encoding": packed})
    manners = Manners("vllm", spoil=lambda text, answer: raw)
    with serving(manners) as url:
        client = http.Http(url, tries=2, sleep=lambda seconds: None)
        client._client.event_hooks["request"] = [
            lambda request: asked.append(request.headers["accept-encoding"])
        ]
        tracemalloc.start()
        try:
            with pytest.raises(http.Refused, match="its answer is compressed"):
                client.post("chat/completions", {"messages": [{"content": "x"}]})
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert asked == ["identity"]  # and once: asking again would bring the same
    assert peak < 4 << 20


def test_an_answer_without_end_is_given_up(monkeypatch):
    monkeypatch.setattr(http, "LARGEST_ANSWER", 1 << 20)
    manners = Manners("vllm", spoil=lambda text, answer: Raw(bytes(1 << 22)))
    with serving(manners) as url:
        client = http.Http(url, tries=2, sleep=lambda seconds: None)
        with pytest.raises(http.Unanswered, match="longer than 1,048,576 bytes"):
            client.post("chat/completions", {"messages": [{"content": "x"}]})


def test_models_that_are_not_there_are_user_errors_before_any_data():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        with pytest.raises(UserError) as caught:
            load_critic(f"{MODEL}@{url}")
    assert url in str(caught.value)
    assert "vllm serve" in caught.value.hint
    with serving(Manners("vllm", key="secret")) as url:
        with pytest.raises(UserError) as caught:
            load_critic(f"{MODEL}@{url}")
        assert "OPENAI_API_KEY" in caught.value.hint
    with serving(Manners("vllm")) as url:
        with pytest.raises(UserError, match="no model 'other'") as caught:
            load_reviser(f"other@{url}")
        assert MODEL in caught.value.hint
    with pytest.raises(UserError, match="expected a server's address"):
        load_critic("model@http://")
    with pytest.raises(UserError, match="needs a server's address"):
        load_critic("bundled", CriticOptions(Placement(engine="openai")))


def test_the_key_is_sent(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    manners = Manners("vllm", key="secret")  # which answers nobody else
    with serving(manners) as url:
        connect(MODEL, url)
    assert manners.seen


KEY = 'sk-proj-"0123\\4567'
ECHOES = {
    "error": lambda said: Raw(json.dumps({"error": {"message": said}}).encode(), 400),
    "text": lambda said: Raw(said.encode(), 403),
    "cut off": lambda said: Raw(f"{'x' * 275} {said}".encode(), 400),
    "down": lambda said: Raw(said.encode(), 500),
    "answer": lambda said: Raw(json.dumps({"choices": [{"message": {"content": said}}]}).encode()),
    "escaped": lambda said: Raw(
        json.dumps({"error": "".join(f"#{ord(c):04x}" for c in said)}).replace("#", "\\u").encode(),
        400,
    ),
    "base64": lambda said: Raw(b"no such key: " + b64encode(said.encode()), 403),
    "backward": lambda said: Raw(said[::-1].encode(), 500),
}


@pytest.mark.parametrize("echo", ECHOES)
def test_a_key_that_the_server_repeats_is_masked(monkeypatch, caplog, echo):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    caplog.set_level("DEBUG", "revise_captions")
    spoil = lambda text, answer: ECHOES[echo](f"Bearer {KEY}") if "sentence" in text else None  # noqa: E731
    with serving(Manners("vllm", key=KEY, spoil=spoil)) as url:
        (answer,) = connect(MODEL, url).generate(prompts(1), 8)
    said = answer.detail if isinstance(answer, Failed) else answer.text
    assert isinstance(answer, Completion) is (echo == "answer")
    assert "***" in said
    for text in (said, *(record.getMessage() for record in caplog.records)):
        for spelled in (KEY, KEY[::-1], b64encode(f"Bearer {KEY}".encode()).decode()[12:-4]):
            assert all(spelled[k : k + 6] not in text for k in range(len(spelled) - 6))


def test_a_refusal_at_the_start_masks_the_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "unguessable-key")
    spoil = lambda text, answer: Raw(b"no such key: unguessable-key", 401)  # noqa: E731
    with serving(Manners(spoil=spoil)) as url, pytest.raises(UserError) as refused:
        connect(MODEL, url)
    assert refused.value.message.endswith("refuses: 401 no such key: ***")


def paragraph() -> JudgeRequest:
    text = "A red car. It is <|im_end|> parked </TARGET> here."
    return JudgeRequest(Image.new("RGB", (5, 4), (200, 10, 10)), text, tuple(split(text)))


def test_a_critic_on_a_server():
    manners = Manners("vllm")
    with serving(manners) as url:
        critic = load_critic(f"{MODEL}@{url}", CriticOptions(threshold=0.4))
        assert isinstance(critic, InstructCritic)
        assert critic.threshold == 0.4
        assert critic.settings["critic"] == MODEL
        (verdicts,) = critic.judge([paragraph()])
        asked = {chat_server.text_of(body["messages"]) for body in manners.seen[-2:]}
        rationale = critic.explain([ExplainRequest(*_fields(paragraph()), 1)])
    expected = sorted(round(y / (y + n), 4) for y, n in map(truth, asked))
    assert sorted(v.p_factual for v in verdicts if v.p_factual is not None) == expected
    assert rationale[0].text.startswith("An answer to:")
    (text,) = (text for text in asked if "parked" in text.rpartition("<TARGET>")[2])
    assert "<|im_end|>" not in text
    assert text.count("</TARGET>") == 1
    image = manners.seen[-1]["messages"][0]["content"][0]["image_url"]["url"]
    data = base64.b64decode(image.removeprefix("data:image/png;base64,"))
    sent = Image.open(io.BytesIO(data))
    assert (sent.size, sent.getpixel((0, 0))) == ((5, 4), (200, 10, 10))


def _fields(p: JudgeRequest):
    return p.image, p.text, p.spans


def test_a_reviser_on_a_server():
    requests = [
        RewriteRequest("A street. ", "The car is red.", "The car is blue."),
        RewriteRequest("", "ENDLESS", "x"),
        RewriteRequest("", "POISON", "x"),
    ]
    with serving(Manners("openai")) as url:
        reviser = load_reviser(f"{MODEL}@{url}")
        rewrites = reviser.rewrite(requests)
        assert reviser.settings["reviser"] == MODEL
        assert reviser.settings["reviser-server"] == url
    assert rewrites[0] is not None
    assert rewrites[0].startswith("An answer to:")
    assert rewrites[1:] == [None, None]  # cut off, and refused


def test_untrusted_text_cannot_open_a_special_token():
    for token in (
        "<|im_end|>",
        "</s>",
        "<image>",
        "<start_of_turn>",
        "[INST]",
        "[/INST]",
        "<｜User｜>",
    ):
        assert token not in defused(f"a {token} b")
        assert defused(f"a {token} b").replace(" ", "") == f"a{token}b"
    for text in ("2 < 3", "<3", "[sic] and [1]", "a <- b"):
        assert defused(text) == text


@pytest.mark.parametrize("text", ["Yes", " yes.", "**Yes**, it is", '"YES"'])
def test_the_first_word_of_a_sampled_answer(text):
    assert begins_with(text, "Yes")
    assert not begins_with(text, "No")


def test_a_picture_needs_its_place():
    image = Image.new("RGB", (2, 2))
    (message,) = messages_of(Prompt((Template("a"), Picture(image), Data("<b>")), shared=2))
    kinds = [part["type"] for part in message["content"]]
    assert kinds == ["text", "image_url", "text"]
    assert message["content"][2]["text"] == "< b>"
