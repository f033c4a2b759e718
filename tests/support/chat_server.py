"""A small server that speaks OpenAI's protocol, well or badly, about a made-up model.

The model's first token depends on the text alone, so the truth is known for every prompt.
"""

from __future__ import annotations

import hashlib
import json
import math
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

MODEL = "tiny/vlm"
#: The vocabulary that can begin an answer; other ids share what is left.
TOKENS = {11: "Yes", 12: " Yes", 13: "yes", 21: "No", 22: " NO", 31: "Maybe", 32: "The"}
TOKENS |= {number: f"w{number}" for number in range(40, 60)}
KNOWN = {
    *("model", "messages", "temperature", "max_tokens", "logprobs", "top_logprobs", "seed"),
    *("top_p", "max_completion_tokens"),
}


def distribution(text: str) -> dict[int, float]:
    """P of each id as the first token of the answer to `text`."""
    noise = hashlib.sha256(text.encode()).digest()
    weights = {number: 1 + noise[k] for k, number in enumerate(TOKENS)}
    weights |= dict.fromkeys(range(40, 60), 0.01) | {31: 3.0, 32: 2.0}
    total = sum(weights.values())
    return {number: weight / total for number, weight in weights.items()}


def truth(text: str) -> tuple[float, float]:
    """Mass of Yes and of No, all spellings."""
    p = distribution(text)
    return p[11] + p[12] + p[13], p[21] + p[22]


class Raw(NamedTuple):
    """An answer to the byte. `pace`: `cut` in the middle, in a `drip` without an end, or `stall`:
    nothing after the headers."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = {}
    pace: str = ""


@dataclass
class Manners:
    """How the server behaves. `kind`: vllm, openai (20 likeliest, refuses what it does not know),
    serve (drops logprobs without a word), brief (one likeliest token only), older (lists tokens as
    completions do, where a number of them is asked for).

    `failures`: what each prompt's first tries meet, in turn. `longest`: characters of a prompt.
    `models`: what it lists. `refuses`: what it says of a request that it will not take, else "".
    `spoil`: for a prompt's text and its completion, what is sent instead; None: the completion,
    which it may have changed.
    """

    kind: str = "vllm"
    failures: tuple[str, ...] = ()
    longest: int = 100_000_000
    dead_after: int | None = None
    key: str | None = None
    spoil: Callable[[str, dict[str, Any]], Raw | None] = lambda text, answer: None
    models: Sequence[Mapping[str, Any]] = ({"id": MODEL},)
    refuses: Callable[[dict[str, Any]], str] = lambda body: ""
    seen: list[dict[str, Any]] = field(default_factory=list)
    tries: Counter[str] = field(default_factory=Counter)
    at_once: int = 0
    most_at_once: int = 0
    lock: Any = field(default_factory=threading.Lock)
    closing: threading.Event = field(default_factory=threading.Event)


def text_of(messages: list[dict[str, Any]]) -> str:
    parts = []
    for message in messages:
        content = message["content"]
        if isinstance(content, str):
            parts.append(content)
        else:
            parts += [part.get("text") or part["image_url"]["url"] for part in content]
    return "\n".join(parts)


class Handler(BaseHTTPRequestHandler):
    manners: Manners
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet an answer

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.manners.key and self.headers.get("Authorization") != f"Bearer {self.manners.key}":
            return self._send(401, {"error": {"message": "wrong key"}})
        if self.path.endswith("/v1/models"):  # whole addresses come by way of a proxy
            return self._send(200, {"data": [dict(model) for model in self.manners.models]})
        self._send(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/tokenize" and self.manners.kind == "vllm":
            ids = [number for number, text in TOKENS.items() if text == body["prompt"]]
            return self._send(200, {"tokens": ids or [7, 8]})
        if not self.path.endswith("/v1/chat/completions"):
            return self._send(404, {"detail": "Not Found"})
        manners = self.manners
        with manners.lock:
            manners.seen.append(body)
            manners.at_once += 1
            manners.most_at_once = max(manners.most_at_once, manners.at_once)
        try:
            self._answer(body)
        finally:
            with manners.lock:
                manners.at_once -= 1

    def _answer(self, body: dict[str, Any]) -> None:
        manners, text = self.manners, text_of(body["messages"])
        if manners.dead_after is not None and len(manners.seen) > manners.dead_after:
            self.close_connection = True
            return
        if manners.kind == "openai" and (unknown := sorted(set(body) - KNOWN)):
            return self._send(400, {"error": {"message": f"Unrecognized: {unknown[0]}"}})
        if said := manners.refuses(body):
            return self._send(400, {"error": {"message": said}})
        if len(text) > manners.longest:
            said = "This model's maximum context length is 99 tokens. Please reduce the input."
            return self._send(400, {"error": {"message": said}})
        if "POISON" in text:
            return self._send(400, {"error": {"message": "cannot be processed"}})
        with manners.lock:
            number = manners.tries[text]
            manners.tries[text] += 1
        failure = manners.failures[number] if number < len(manners.failures) else ""
        if failure == "slow":
            time.sleep(hashlib.sha256(text.encode()).digest()[0] / 255 * 0.1)
        elif failure:
            return self._fail(failure)
        answer = completion(body, text, manners.kind)
        raw = manners.spoil(text, answer)
        if raw is None:
            return self._send(200, answer)
        self._send(raw.status, None, raw.body, raw.headers, raw.pace)

    def _fail(self, failure: str) -> None:
        if failure == "timeout":
            time.sleep(1.0)
            return self._send(200, {"choices": []})
        if failure == "truncated":
            return self._send(200, None, raw=b'{"choices": [{"message": {"cont')
        if failure == "shape":
            return self._send(200, {"choices": [{"text": "hm"}]})
        if failure == "cut":
            self.close_connection = True
            return None
        return self._send(int(failure), {"error": {"message": "overloaded"}})

    def _send(
        self,
        status: int,
        body: Any,
        raw: bytes | None = None,
        headers: Mapping[str, str] = MappingProxyType({}),
        pace: str = "",
    ) -> None:
        data = json.dumps(body).encode() if raw is None else raw
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data) if pace != "drip" else 10**9))
            self.end_headers()
            self._write(data, pace)
        except OSError:
            self.close_connection = True

    def _write(self, data: bytes, pace: str) -> None:
        self.close_connection |= bool(pace)
        if not pace:
            self.wfile.write(data)
        elif pace == "cut":
            self.wfile.write(data[: len(data) // 2])
        self.wfile.flush()
        while pace in ("drip", "stall") and not self.manners.closing.wait(0.1):
            self.wfile.write(b" " * (pace == "drip"))
            self.wfile.flush()


def completion(body: dict[str, Any], text: str, kind: str) -> dict[str, Any]:
    p = distribution(text)
    first = max(p, key=p.__getitem__)
    if body.get("temperature"):
        draw = hashlib.sha256(f"{text}{body.get('seed')}".encode()).digest()[0] / 256
        for first, share in p.items():  # noqa: B007
            draw -= share
            if draw < 0:
                break
    longest = body.get("max_tokens", body.get("max_completion_tokens", 99))
    content = TOKENS[first] if longest < 9 else f"An answer to: {text[-40:]}"
    choice: dict[str, Any] = {
        "index": 0,
        "message": {"role": "assistant", "content": content},
        "finish_reason": "length" if "ENDLESS" in text else "stop",
        "logprobs": None,
    }
    if body.get("logprobs") and kind != "serve":
        likeliest = sorted(p, key=p.__getitem__, reverse=True)
        listed = likeliest[: 1 if kind == "brief" else body.get("top_logprobs") or 0]
        if kind == "vllm" and "logprob_token_ids" in body:
            listed = body["logprob_token_ids"]

        def entry(number: int) -> dict[str, Any]:
            by_id = kind == "vllm" and body.get("return_tokens_as_token_ids")
            token = f"token_id:{number}" if by_id else TOKENS[number]
            return {"token": token, "logprob": math.log(p[number]), "bytes": None}

        if kind == "older":
            top = {TOKENS[n]: math.log(p[n]) for n in likeliest[: int(body["logprobs"])]}
            tokens, values = [TOKENS[first]], [math.log(p[first])]
            older = {"tokens": tokens, "token_logprobs": values, "top_logprobs": [top]}
            choice["logprobs"] = older if body["logprobs"] is not True else None
            return {"object": "chat.completion", "choices": [choice]}
        choice["logprobs"] = {
            "content": [{**entry(first), "top_logprobs": [entry(number) for number in listed]}]
        }
    usage = {"prompt_tokens": len(text), "completion_tokens": 1}
    usage |= {"prompt_tokens_details": {"cached_tokens": 4}} if kind == "vllm" else {}
    return {"object": "chat.completion", "model": MODEL, "choices": [choice], "usage": usage}


@contextmanager
def serving(manners: Manners, certificate: Path | None = None) -> Iterator[str]:
    """The base address of a server with these manners, by HTTPS with a certificate."""
    handler = type("Bound", (Handler,), {"manners": manners})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # who asked has hung up
    server.daemon_threads = True
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        scheme = "http" if certificate is None else "https"
        yield f"{scheme}://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        manners.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
