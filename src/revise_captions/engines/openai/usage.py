"""Tokens that servers counted, and what a run may spend."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, astuple, dataclass
from typing import Any

from revise_captions.engines.openai.pace import Pace
from revise_captions.engines.server_options import DEFAULT, ServerOptions
from revise_captions.errors import EngineDead


@dataclass(frozen=True, slots=True)
class Usage:
    """What was sent to servers and came back, by their own count.

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


def usage_of(answer: dict[str, Any]) -> tuple[Usage, bool]:
    """The usage of an answer, from its member `usage`; and whether it reports cached tokens."""
    said = answer.get("usage")
    said = said if isinstance(said, dict) else {}
    details = said.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    tokens = (said.get("prompt_tokens"), cached, said.get("completion_tokens"))
    return Usage(1, *map(_count, tokens)), isinstance(cached, int)


def _count(value: Any) -> int:
    return value if isinstance(value, int) and 0 < value < 1 << 40 else 0


class Spending:
    """Adds up what the engines of a run use; any thread may call it.

    `options`: prices, and the most that may be spent.
    """

    def __init__(self, options: ServerOptions = DEFAULT) -> None:
        self.options, self.total = options, Usage()
        self._lock = threading.Lock()
        self._paces: dict[str, Pace] = {}

    def pace(self, host: str, most: int) -> Pace:
        """The pace of a host, which critic and reviser may share."""
        with self._lock:
            if host not in self._paces:
                limits = self.options.requests_per_minute, self.options.tokens_per_minute
                self._paces[host] = Pace(most, *limits)
            return self._paces[host]

    def add(self, used: Usage) -> None:
        with self._lock:
            self.total += used

    def check(self) -> None:
        """Raises `EngineDead` if nothing more may be spent."""
        cost, most = self.cost, self.options.max_cost
        if most is not None and cost is not None and cost >= most:
            raise EngineDead(f"--max-cost {most:g} is spent ({cost:.4g}): raise it to continue")

    @property
    def cost(self) -> float | None:
        """The cost by the given prices; None without prices."""
        return self.options.cost(self.total.tokens_in, self.total.tokens_out)

    def as_json(self) -> dict[str, int | float | None] | None:
        """The figures for the summary; None if no server was asked."""
        return {**asdict(self.total), "cost": self.cost} if self.total.requests else None

    def line(self) -> str:
        """`12,000 tokens in (40 % cached), 300 out, cost 0.31`; "" if no server was asked."""
        return said(self.as_json())


def said(usage: dict[str, Any] | None) -> str:
    """The usage in words, from `Spending.as_json`."""
    if usage is None:
        return ""
    cached = 100 * usage["cached"] / max(usage["tokens_in"], 1)
    known = f" ({cached:.0f} % cached)" if usage["cached"] else ""
    paid = "" if usage["cost"] is None else f", cost {usage['cost']:.4g}"
    return f"{usage['tokens_in']:,} tokens in{known}, {usage['tokens_out']:,} out{paid}"


_SPENDING: ContextVar[Spending | None] = ContextVar("spending", default=None)


@contextmanager
def counted(options: ServerOptions) -> Iterator[Spending]:
    """A context in which loaded engines add up what they use."""
    spending = Spending(options)
    token = _SPENDING.set(spending)
    try:
        yield spending
    finally:
        _SPENDING.reset(token)


def spending_of(options: ServerOptions) -> Spending:
    """Where an engine loaded now adds what it uses: its run's spending, or its own."""
    return _SPENDING.get() or Spending(options)
