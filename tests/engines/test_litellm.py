"""Providers behind LiteLLM: what is said of a refusal, and LiteLLM before Anthropic's messages."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from PIL import Image

from revise_captions.critic.load import load_critic
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.protocol import JudgeRequest
from revise_captions.engines.model_spec import Placement, served
from revise_captions.engines.server_options import ServerOptions
from revise_captions.errors import UserError
from revise_captions.records import Span

NAME = "litellm/anthropic/claude-sonnet-4-5"
#: What Anthropic's messages take; anything else is refused.
TAKEN = {"model", "messages", "max_tokens", "system", "temperature"}


def options() -> CriticOptions:
    return CriticOptions(
        Placement(server=ServerOptions(without_logprobs="label", header=("X-Team: a",)))
    )


@pytest.mark.parametrize(
    ("status", "hint"),
    [(401, "such as ANTHROPIC_API_KEY"), (400, "has its provider in front: litellm/anthropic/")],
)
def test_a_refusal_says_what_litellm_wants(monkeypatch, status, hint):
    class Refuses(Exception):
        status_code = status

    def completion(**_: Any) -> Any:
        raise Refuses("no")

    monkeypatch.setitem(sys.modules, "litellm", SimpleNamespace(completion=completion))
    with pytest.raises(UserError, match="LiteLLM refuses: ") as caught:
        load_critic(NAME, options())
    assert hint in caught.value.hint


def test_a_name_without_a_model_is_refused():
    with pytest.raises(UserError, match="litellm/ names no model"):
        served("litellm/")


class Anthropic(BaseHTTPRequestHandler):
    """Anthropic's messages: what they refuse, their form of answers, and a limit now and then."""

    protocol_version = "HTTP/1.1"
    seen: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.seen.append({**body, "key": self.headers["x-api-key"], "team": self.headers["X-Team"]})
        if strange := sorted(body.keys() - TAKEN):
            return self._refuse(400, f"{strange[0]}: Extra inputs are not permitted")
        if len(self.seen) == 12:
            return self._refuse(429, "slow down")
        usage = {"input_tokens": 100, "output_tokens": 3, "cache_read_input_tokens": 40}
        self._send(
            200,
            {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": body["model"],
                "content": [{"type": "text", "text": "No" if "dog" in str(body) else "Yes"}],
                "stop_reason": "end_turn",
                "stop_sequence": None,
                "usage": usage,
            },
        )

    def _refuse(self, status: int, message: str) -> None:
        self._send(status, {"type": "error", "error": {"type": "error", "message": message}})

    def _send(self, status: int, answer: dict[str, Any]) -> None:
        content = json.dumps(answer).encode()
        self.send_response(status)
        if status == 429:
            self.send_header("retry-after", "1")
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    monkeypatch.setattr(Anthropic, "seen", [])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Anthropic)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    monkeypatch.setenv("ANTHROPIC_API_BASE", f"http://127.0.0.1:{server.server_port}")
    yield Anthropic.seen
    server.shutdown()
    server.server_close()


@pytest.mark.skipif(find_spec("litellm") is None, reason="needs the extra litellm")
def test_a_model_of_anthropic_judges(provider):
    critic = load_critic(NAME, options())
    image = Image.new("RGB", (8, 8))
    asked = [
        JudgeRequest(image, "A cat. A dog.", (Span(0, 6), Span(7, 13))),
        JudgeRequest(image, "A cat sleeps.", (Span(0, 13),)),
    ] * 3
    found = critic.judge(asked)
    assert [[one.p_factual for one in row] for row in found[:2]] == [[1.0, 0.0], [1.0]]
    assert {one["key"] for one in provider} == {"sk-test"}
    assert {one["team"] for one in provider} == {"a"}
    assert {one["model"] for one in provider} == {"claude-sonnet-4-5"}
    shown = [part["type"] for part in provider[-1]["messages"][0]["content"]]
    assert sorted(shown) == ["image", "text"]
    assert len(provider) > 12  # the limit was met, and waited out
