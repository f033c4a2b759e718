"""Tokens that servers counted."""

from __future__ import annotations

import threading
from dataclasses import astuple, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Usage:
    """What was sent to servers and came back, as they counted it.

    Attributes:
        requests: Answers.
        tokens_in: Tokens of prompts, images included.
        cached: Those of them that came from a prefix cache.
        tokens_out: Tokens of answers.
    """

    requests: int = 0
    tokens_in: int = 0
    cached: int = 0
    tokens_out: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


def _count(value: Any) -> int:
    return value if isinstance(value, int) and 0 < value < 1 << 40 else 0


class Meter:
    """Adds up the usage of one server's answers; any thread may."""

    def __init__(self) -> None:
        self.total, self.reports_cache = Usage(), False
        self._lock = threading.Lock()

    def add(self, said: Any) -> Usage:
        """The usage of an answer, from its member `usage`."""
        said = said if isinstance(said, dict) else {}
        details = said.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else None
        found = Usage(
            *(1, _count(said.get("prompt_tokens")), _count(cached)),
            _count(said.get("completion_tokens")),
        )
        with self._lock:
            self.total += found
            self.reports_cache |= isinstance(cached, int)
        return found
