"""JSON over HTTP with retries: exponential backoff with jitter and a cap.

Retried: no connection, timeouts, 408, 409, 425, 429 and 5xx (a `Retry-After` is kept to, up to the
cap), and answers that are no JSON or not of the expected form. Everything else that a server
refuses stays refused.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Any

from revise_captions.errors import UserError
from revise_captions.records import Unscored

TRIES = 5
#: Seconds: the first pause's upper bound, doubled each time, and the longest.
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
_AGAIN = frozenset({408, 409, 425, 429})


class Refused(Exception):
    """The server will not do this, however often it is asked. `detail`: its words, one line."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{status}: {detail}")
        self.status, self.detail = status, detail

    @property
    def reason(self) -> Unscored:
        """A prompt that is too long has a reason of its own."""
        text = self.detail.lower()
        long = "context length" in text or "context window" in text or "too long" in text
        return Unscored.TOO_LONG if long else Unscored.ENGINE_ERROR


class Unanswered(Exception):
    """No usable answer after all retries. `gone`: nothing listens there any more."""

    def __init__(self, detail: str, *, gone: bool) -> None:
        super().__init__(detail)
        self.gone = gone


class Http:
    """One server. Threads may share it. `sleep` is for tests."""

    def __init__(
        self,
        base: str,
        *,
        key: str | None = None,
        timeout: float = 300.0,
        tries: int = TRIES,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        try:
            import httpx
        except ImportError:
            raise UserError(
                "models on servers need the package httpx",
                hint="pip install 'revise-captions[server]'",
            ) from None
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
        self.base = base
        self._client = httpx.Client(
            headers=headers,
            limits=limits,
            timeout=httpx.Timeout(timeout, connect=10.0),
            follow_redirects=False,
            verify=base.startswith("https:"),  # reading the certificates takes time
        )
        self._tries, self._sleep = tries, sleep
        self._random = random.Random(0)
        self._lock = threading.Lock()

    def get(self, path: str) -> dict[str, Any]:
        """Raises `Refused` or `Unanswered`."""
        return self._json("GET", path, None, None)

    def post(
        self,
        path: str,
        body: dict[str, Any],
        *,
        check: Callable[[dict[str, Any]], bool] | None = None,
    ) -> dict[str, Any]:
        """`path` is relative to the base; `../` leaves its last part (`/v1`). `check`: whether an
        answer has the expected form. Raises `Refused` or `Unanswered`.
        """
        return self._json("POST", path, body, check)

    def _json(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None,
        check: Callable[[dict[str, Any]], bool] | None,
    ) -> dict[str, Any]:
        import httpx

        url = f"{self.base}/{path}"
        if path.startswith("../"):
            url = f"{self.base.rsplit('/', 1)[0]}/{path[3:]}"
        problem, gone, pause = "", False, 0.0
        for number in range(self._tries):
            if number:
                self._sleep(max(pause, self._pause(number)))
                pause = 0.0
            try:
                response = self._client.request(method, url, json=body)
            except httpx.TransportError as error:
                gone = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                problem = str(error) or type(error).__name__
                continue
            gone = False
            if response.status_code >= 500 or response.status_code in _AGAIN:
                problem, pause = _words(response), _retry_after(response)
                continue
            if response.status_code >= 300:
                raise Refused(response.status_code, _words(response))
            try:
                found = response.json()
            except ValueError:
                problem = "its answer is not JSON"
                continue
            if isinstance(found, dict) and (check is None or check(found)):
                return found
            problem = "its answer is not of the expected form"
        raise Unanswered(f"{problem} ({self._tries} tries)", gone=gone)

    def _pause(self, number: int) -> float:
        longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (number - 1))
        with self._lock:
            return self._random.uniform(longest / 2, longest)


def _words(response: Any) -> str:
    """What a refusal says, in one line."""
    try:
        found = response.json()
    except ValueError:
        found = None
    said = found
    for key in ("error", "message"):
        said = said.get(key, said) if isinstance(said, dict) else said
    if isinstance(said, dict):
        said = said.get("detail", said)
    text = " ".join(str(said if said is not None else response.text).split())
    return f"{response.status_code} {text[:300]}".strip()


def _retry_after(response: Any) -> float:
    value = response.headers.get("retry-after", "")
    return min(LONGEST_PAUSE, float(value)) if value.replace(".", "", 1).isdigit() else 0.0
