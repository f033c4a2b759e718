"""How models on servers are asked: options of the commands that may name one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from revise_captions.command_line.options import option
from revise_captions.errors import UserError

Without = Literal["unscored", "stated", "label"]
_AT_LEAST_0 = click.FloatRange(0)


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Models on servers."""

    without_logprobs: Without = option(
        "unscored",
        "What to ask of a critic's server without log-probabilities, besides --samples: a "
        "`stated` probability (one request, coarse), or a `label`, Yes or No (one request, "
        "P(factual) is 0 or 1).",
    )
    header: tuple[str, ...] = option(
        (), "Header of every request to a server; repeatable.", metavar="'NAME: VALUE'"
    )
    key_variable: tuple[str, ...] = option(
        (),
        "Environment variable that holds the API key, of one host if one is named; repeatable.  "
        "[default: OPENAI_API_KEY]",
        metavar="[HOST=]NAME",
    )
    ca_bundle: Path | None = option(
        None,
        "PEM file of certificates to trust instead of the system's.",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
    )
    requests_per_minute: int | None = option(
        None, "Maximum requests per minute to a server.", type=click.IntRange(1)
    )
    tokens_per_minute: int | None = option(
        None, "Maximum tokens per minute to and from a server.", type=click.IntRange(1)
    )
    price_in: float | None = option(None, "Price per million prompt tokens.", type=_AT_LEAST_0)
    price_out: float | None = option(None, "Price per million answer tokens.", type=_AT_LEAST_0)
    max_cost: float | None = option(
        None,
        "Stop when this much is spent at the two prices; the run can be resumed. Requests in "
        "flight are still paid for.",
        type=_AT_LEAST_0,
    )

    def check(self) -> None:
        """Raises `UserError` where options contradict each other."""
        if self.max_cost is not None and self.price_in is None and self.price_out is None:
            raise UserError(
                "--max-cost needs prices",
                hint="add --price-in and --price-out, per million tokens",
            )
        for text in self.header:
            if not text.partition(":")[0].strip() or ":" not in text or not text.isprintable():
                raise UserError(f"--header {text[:40]!r}: expected 'NAME: VALUE'")

    @property
    def headers(self) -> dict[str, str]:
        """Headers by name."""
        parts = (text.partition(":") for text in self.header)
        return {name.strip(): value.strip() for name, _, value in parts}

    def variable(self, host: str) -> str:
        """The environment variable that holds a host's key."""
        named = dict(text.rpartition("=")[::2] for text in self.key_variable)
        return named.get(host) or named.get("") or "OPENAI_API_KEY"

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """The cost of tokens; None without prices."""
        if self.price_in is None and self.price_out is None:
            return None
        paid = tokens_in * (self.price_in or 0.0) + tokens_out * (self.price_out or 0.0)
        return paid / 1e6


DEFAULT = ServerOptions()
