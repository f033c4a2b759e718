"""JSON over HTTP with retries: exponential backoff with jitter and a cap.

Retried: no connection, timeouts, 408, 409, 425, 429 and 5xx, and answers that are not JSON or not
of the expected form. Any other refusal is final. 429 and 503 mean that a server's limit is reached,
or that it is not ready: they are waited out for up to `PATIENCE`, as long as `Retry-After` asks,
and fewer requests are sent at once from then on (`pace`). A server that asks for more than
`LONGEST_ASKED` counts as dead. If an answer repeats the key that was sent, it is masked before
anything else sees it.
"""

from __future__ import annotations

import logging
import random
import re
import ssl
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from revise_captions.engines.openai.pace import Pace
from revise_captions.engines.openai.usage import usage_of
from revise_captions.errors import EngineDead, UserError, described
from revise_captions.io.rows import parse_json
from revise_captions.outside_text import masked, without_secrets
from revise_captions.records import Unscored
from revise_captions.text.formatting import duration

if TYPE_CHECKING:
    from tenacity import RetryCallState

logger = logging.getLogger(__name__)

TRIES = 5
#: Seconds: the first pause's upper bound, doubled each time, and the longest.
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
#: Seconds: how long a limit is waited out, and the longest pause that a server may ask for.
PATIENCE, LONGEST_ASKED = 600.0, 300.0
#: Most bytes of an answer. The longest are lists of log-probabilities, some kilobytes long.
LARGEST_ANSWER = 64 << 20
#: A kilobyte compressed twice can inflate to a gigabyte, so answers are requested uncompressed.
_PLAIN = {"Accept-Encoding": "identity"}
_AGAIN = frozenset({408, 409, 425, 429})
_LIMITS = frozenset({429, 503})
Check = Callable[[dict[str, Any]], bool]


class Answer(NamedTuple):
    """A server's answer; `retry_after`: its header of that name, "" for none."""

    status: int
    retry_after: str
    content: bytes


Send = Callable[[str, str, "dict[str, Any] | None"], Answer]


class Refused(Exception):
    """The server will not do this, however often it is asked. `detail`: its message, one line."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{status}: {detail}")
        self.status, self.detail = status, detail

    @property
    def reason(self) -> Unscored:
        """The reason for output rows; a prompt that is too long has its own."""
        text = self.detail.lower()
        long = "context length" in text or "context window" in text or "too long" in text
        return Unscored.TOO_LONG if long else Unscored.ENGINE_ERROR


class Unanswered(Exception):
    """No usable answer after all retries. `gone`: nothing is listening any more. `status`: of the
    last answer, 0 if there was none."""

    def __init__(self, detail: str, *, gone: bool, status: int = 0) -> None:
        super().__init__(detail)
        self.gone, self.status = gone, status


class _FailedTry(Exception):
    """The next try may succeed. `pause`: seconds that the server asked for. `round`: of a request
    that hit the server's limit. `status`: of its answer, 0 if there was none."""

    def __init__(
        self,
        problem: str,
        *,
        gone: bool = False,
        pause: float = 0.0,
        round_: int | None = None,
        status: int = 0,
    ) -> None:
        super().__init__(problem)
        self.gone, self.pause, self.round, self.status = gone, pause, round_, status


class Http:
    """One server, safe to share between threads.

    Args:
        base: The address that paths are relative to, without a final slash; a query after `?`,
            such as Azure's `api-version`, is sent with every request.
        key: Sent as a bearer token, and as `api-key` where there is an `api-version`.
        headers: Sent with every request.
        certificates: A PEM file of certificates to trust instead of the system's.
        pace: Decides when a request may be sent.
        send: Sends a request (method, address, body) instead of HTTP.
        timeout: Seconds for one try.
        tries: How often a request is sent before it counts as unanswered.
        sleep: Replaced in tests.

    Raises:
        UserError: The extra `server` is not installed.
    """

    def __init__(
        self,
        base: str,
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        certificates: Path | None = None,
        pace: Pace | None = None,
        send: Send | None = None,
        timeout: float = 300.0,
        tries: int = TRIES,
        sleep: Callable[[float], None] | None = None,
    ) -> None:
        try:
            import httpx
            import tenacity
        except ImportError as error:
            raise UserError(
                f"models on servers need the package {error.name}",
                hint="pip install 'revise-captions[server]'",
            ) from None
        self.base, _, query = base.partition("?")
        self._tries, self._key, self._timeout = tries, key, timeout
        self.pace, self._send = pace or Pace(1 << 16), send or self._by_httpx
        keyed = {"Authorization": f"Bearer {key}"} if key else {}
        if key and "api-version=" in query:
            keyed = {"api-key": key}
        secure = base.startswith("https:")  # loading the certificates takes time
        verify: Any = secure
        if secure and certificates is not None:
            verify = _trusting(certificates)
        self._client = httpx.Client(
            headers={**_PLAIN, **keyed, **(headers or {})},
            params=httpx.QueryParams(query) if query else None,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
            timeout=httpx.Timeout(timeout, connect=10.0),
            follow_redirects=False,
            verify=verify,
        )
        self._retrying = tenacity.Retrying(
            stop=self._given_up,
            wait=_pause,
            retry=tenacity.retry_if_exception_type(_FailedTry),
            sleep=sleep or self.pace.sleep,
            before_sleep=self._log,
            reraise=True,
        )

    def get(self, path: str) -> dict[str, Any]:
        """Raises `Refused` or `Unanswered`."""
        return self._json("GET", path, None, None)

    def post(
        self, path: str, body: dict[str, Any], *, check: Check | None = None
    ) -> dict[str, Any]:
        """The JSON object that the server answers with.

        Args:
            path: Relative to the base; `../` drops its last part (`/v1`).
            body: Sent as JSON.
            check: Whether an answer has the expected form.

        Raises:
            Refused: The server will not do it.
            Unanswered: There was no usable answer after all tries.
        """
        return self._json("POST", path, body, check)

    def _json(
        self, method: str, path: str, body: dict[str, Any] | None, check: Check | None
    ) -> dict[str, Any]:
        url = f"{self.base}/{path}"
        if path.startswith("../"):
            url = f"{self.base.rsplit('/', 1)[0]}/{path[3:]}"
        try:
            return self._retrying(self._try, method, url, body, check)
        except _FailedTry as error:
            tries = self._retrying.statistics["attempt_number"]
            detail = f"{error} ({tries} tries)"
            raise Unanswered(detail, gone=error.gone, status=error.status) from error

    def _try(
        self, method: str, url: str, body: dict[str, Any] | None, check: Check | None
    ) -> dict[str, Any]:
        sent, tokens = self.pace.begin(), None
        try:
            answer = self._send(method, url, body)
            self._expect_success(answer, sent)
            found = self._parsed(answer.content, check)
            used = usage_of(found)[0]
            tokens = used.tokens_in + used.tokens_out
            return found
        finally:
            self.pace.end(tokens)

    def _by_httpx(self, method: str, url: str, body: dict[str, Any] | None) -> Answer:
        import httpx

        try:
            with self._client.stream(method, url, json=body) as response:
                content = self._content(response)
        except (httpx.RequestError, httpx.StreamError) as error:
            gone = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
            raise _FailedTry(masked(described(error), self._key), gone=gone) from error
        return Answer(response.status_code, response.headers.get("retry-after", ""), content)

    def _expect_success(self, answer: Answer, sent: int) -> None:
        status, content = answer.status, answer.content
        if status < 300:
            return
        words = _words(status, content, self._key)
        pause = _seconds(answer.retry_after)
        if pause > LONGEST_ASKED or (status == 429 and b"insufficient_quota" in content):
            asked = f" and asks for {duration(pause)} of patience" if pause else ""
            raise EngineDead(f"{self.base} accepts no more requests for now{asked}: {words}")
        if status >= 500 or status in _AGAIN:
            limit = sent if status in _LIMITS else None
            raise _FailedTry(words, pause=pause, round_=limit, status=status)
        raise Refused(status, words)

    def _parsed(self, content: bytes, check: Check | None) -> dict[str, Any]:
        found = _json_of(content, self._key)
        if found is None:
            raise _FailedTry(f"its answer is not JSON{_beginning(content, self._key)}")
        if not isinstance(found, dict) or (check is not None and not check(found)):
            start = _beginning(content, self._key)
            raise _FailedTry(f"its answer is not of the expected form{start}")
        return found

    def _content(self, response: Any) -> bytes:
        """The answer's body, as it was sent.

        Raises:
            _FailedTry: It is too large, or arrives too slowly.
            Refused: It is compressed, which was not requested.
        """
        packed = response.headers.get("content-encoding", "").strip().lower()
        if packed not in ("", "identity"):
            detail = f"its answer is compressed ({packed[:40]}); expected it as it is"
            raise Refused(response.status_code, detail)
        content, deadline = bytearray(), time.monotonic() + self._timeout
        for part in response.iter_raw():
            content += part
            if len(content) > LARGEST_ANSWER:
                raise _FailedTry(f"its answer is longer than {LARGEST_ANSWER:,} bytes")
            if time.monotonic() > deadline:
                raise _FailedTry(f"its answer is not there within {self._timeout:g} s")
        return bytes(content)

    def _given_up(self, state: RetryCallState) -> bool:
        """Whether to stop retrying: limits are waited out, other failures get a few tries."""
        error = state.outcome.exception() if state.outcome is not None else None
        if isinstance(error, _FailedTry) and error.round is not None:
            return (state.seconds_since_start or 0.0) > PATIENCE
        return state.attempt_number >= self._tries

    def _log(self, state: RetryCallState) -> None:
        assert state.outcome is not None
        problem = state.outcome.exception()
        if isinstance(problem, _FailedTry) and problem.round is not None:
            self.pace.refused(problem.round, state.upcoming_sleep)
        logger.info("%s: %s; next try in %.1f s", self.base, problem, state.upcoming_sleep)


def _trusting(certificates: Path) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=certificates)
    except (OSError, ssl.SSLError) as error:
        raise UserError(
            f"--ca-bundle {certificates} holds no certificates: {described(error)}",
            hint="expected a PEM file: -----BEGIN CERTIFICATE----- …",
        ) from None


def _pause(state: RetryCallState) -> float:
    """Seconds before the next try: half of a doubling bound, plus jitter up to the other half."""
    bound = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (state.attempt_number - 1))
    error = state.outcome.exception() if state.outcome is not None else None
    asked = error.pause if isinstance(error, _FailedTry) else 0.0
    return max(asked, random.uniform(bound / 2, bound))


def _words(status: int, content: bytes, secret: str | None) -> str:
    """A refusal's message, in one line."""
    said = _json_of(content, secret)
    for key in ("error", "message"):
        said = said.get(key, said) if isinstance(said, dict) else said
    if isinstance(said, dict):
        said = said.get("detail", said)
    text = _readable(content) if said is None else " ".join(str(said)[:100_000].split())
    # masked before it is cut, as half a key would not be recognized
    return f"{status} {masked(text, secret)[:300] or _PHRASES.get(status, '')}".strip()


def _beginning(content: bytes, secret: str | None) -> str:
    """The beginning of an unusable answer, for a message."""
    text = masked(_readable(content), secret)
    return f": {text[:100]}" if text else ", but empty"


def _readable(content: bytes) -> str:
    """An answer's text in one line; for an HTML page, without its tags."""
    text = content[:100_000].decode(errors="replace").strip()
    return " ".join((_TAG.sub(" ", text) if text.startswith("<") else text).split())


_TAG = re.compile(r"<[^<>]*>")
_PHRASES = {int(status): status.phrase for status in HTTPStatus}


def _seconds(value: str) -> float:
    """Seconds that a server asks for, or until the time that it names; 0 if it does neither, or
    asks for more than a day, which must be a mistake."""
    if _SECONDS.fullmatch(value):
        return _within_a_day(float(value))
    try:
        then = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    then = then if then.tzinfo is not None else then.replace(tzinfo=UTC)
    return _within_a_day((then - datetime.now(UTC)).total_seconds())


def _within_a_day(seconds: float) -> float:
    return seconds if 0 <= seconds <= _DAY else 0.0


_SECONDS = re.compile(r"[0-9]+(\.[0-9]*)?|\.[0-9]+")
_DAY = 86_400.0


def _json_of(content: bytes, secret: str | None) -> Any:
    """The JSON value of an answer; None if it is not JSON, nests too deeply, or is `null`."""
    try:
        found = parse_json(content.decode("utf-8-sig"))
    except ValueError:
        return None
    return _without(found, secret) if secret else found


def _without(value: Any, secret: str) -> Any:
    """A JSON value with the secret masked in its texts, whatever their escapes were."""
    if isinstance(value, str):
        return without_secrets(value, secret)
    if isinstance(value, list):
        return [_without(item, secret) for item in value]
    if isinstance(value, dict):
        return {_without(name, secret): _without(item, secret) for name, item in value.items()}
    return value
