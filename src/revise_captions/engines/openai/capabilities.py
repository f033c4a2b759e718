"""What a server can do, and what to ask for instead of what it refuses.

Servers that speak OpenAI's protocol differ in what they accept: a refusal (400, 422) usually names
the parameter, which is then left out or lowered. The same request is never sent twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from revise_captions.io.decoding import LARGEST

#: How answers are scored, strongest first, see `server`. `top` lists the likeliest tokens as
#: OpenAI's chat does; `completions` lists them as OpenAI's older completions do.
Scoring = Literal["id", "top", "completions", "none"]
#: How many tokens to ask for: OpenAI's limit, then other servers' limits.
TOP = (20, 5, 1)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a server accepts and returns. The defaults are what it is asked for first.

    Attributes:
        scoring: How it gives log-probabilities.
        top: How many likeliest tokens it lists, if scoring uses them.
        limit: Its parameter for the most tokens of an answer.
        system: Whether it accepts a system message; otherwise the user's turn begins with it.
        seed: Whether it accepts a seed.
        temperature: Whether it accepts a temperature; reasoning models may not.
        thinking: Whether it accepts `chat_template_kwargs`, which switches thinking off.
        images: Whether it accepts images; None: not asked.
        pixels: Of the largest image that it accepts; larger ones are scaled down.
        caching: Whether it reports how many prompt tokens came from its cache; no answer depends
            on it.
    """

    scoring: Scoring = "id"
    top: int = TOP[0]
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    system: bool = True
    seed: bool = True
    temperature: bool = True
    thinking: bool = True
    images: bool | None = None
    pixels: int = LARGEST
    caching: bool = False

    @property
    def logprobs(self) -> str:
        """A description of how it gives log-probabilities."""
        by_id = "by token id" if self.scoring == "id" else f"top {self.top}"
        return "none" if self.scoring == "none" else by_id

    @property
    def line(self) -> str:
        """The findings that answers depend on, on one line."""
        return f"log-probabilities {self.logprobs}; {self.takes}"

    @property
    def takes(self) -> str:
        """Those of a model that is asked for no log-probabilities."""
        size = f" up to {self.pixels / 1e6:.2g} megapixels" if self.images else ""
        flags = {
            f"images{size}": self.images,
            "system messages": self.system,
            "seeds": self.seed,
            "temperatures": self.temperature,
            "chat_template_kwargs": self.thinking,
        }
        taken = [name for name, yes in flags.items() if yes]
        refused = [name for name, yes in flags.items() if yes is False]
        told = f"takes {', '.join([self.limit, *taken])}"
        return f"{told}; refuses {', '.join(refused)}" if refused else told

    def wanted(self) -> dict[str, Any]:
        """The parameters that ask for log-probabilities of the likeliest first tokens."""
        asked: dict[str, Any] = {self.limit: 1}
        if self.scoring == "completions":
            asked["logprobs"] = self.top
        elif self.scoring == "top":
            asked |= {"logprobs": True, "top_logprobs": self.top}
        return asked


#: What is asked for first.
EVERYTHING = Capabilities()
Weaker = Callable[[Capabilities, str], Capabilities | None]
#: What to try next if a way of scoring fails, and with how many tokens.
_OTHER: dict[Scoring, tuple[Scoring, int]] = {
    "id": ("top", TOP[0]),
    "top": ("completions", TOP[1]),
    "completions": ("none", 0),
}


def other_scoring(can: Capabilities) -> Capabilities | None:
    """The next weaker way of giving log-probabilities; None after the last."""
    scoring, top = _OTHER.get(can.scoring, (None, 0))
    return None if scoring is None else replace(can, scoring=scoring, top=top)


def fewer_logprobs(can: Capabilities, detail: str = "") -> Capabilities | None:
    """Asks for fewer tokens, down to the limit that a refusal names; then scores another way."""
    if can.scoring not in ("top", "completions"):
        return other_scoring(can)
    named = [int(text) for text in re.findall(r"\b\d{1,2}\b", detail) if 0 < int(text) < can.top]
    lower = max(named, default=next((number for number in TOP if number < can.top), 0))
    return replace(can, top=lower) if lower else other_scoring(can)


def with_option(can: Capabilities, name: str, taken: bool) -> Capabilities:
    """With one of the boolean fields changed, by its name."""
    changed: dict[str, Any] = {name: taken}
    return replace(can, **changed)


def _without(name: str) -> Weaker:
    return lambda can, detail: with_option(can, name, False) if getattr(can, name) else None


def other_limit(can: Capabilities, detail: str = "") -> Capabilities | None:
    """Uses the newer name of the limit; None if that has been tried."""
    return replace(can, limit="max_completion_tokens") if can.limit == "max_tokens" else None


#: Patterns that find a parameter in a refusal, and what to ask for instead.
_STEPS: tuple[tuple[re.Pattern[str], Weaker], ...] = (
    (re.compile(r"chat_template_kwargs|enable_thinking"), _without("thinking")),
    (re.compile(r"logprob|token_ids"), fewer_logprobs),
    (re.compile(r"max_tokens"), other_limit),
    (re.compile(r"\bseed\b"), _without("seed")),
    (re.compile(r"\bsystem\b|roles must alternate", re.IGNORECASE), _without("system")),
    (re.compile(r"\btemperature\b"), _without("temperature")),
)


def named_in(detail: str, can: Capabilities) -> Capabilities | None:
    """What to ask for instead of what a refusal names; None if it names nothing, or several things,
    as when it repeats the whole request."""
    named = [weaker(can, detail) for pattern, weaker in _STEPS if pattern.search(detail)]
    found = [can for can in named if can is not None]
    return found[0] if len(found) == 1 else None
