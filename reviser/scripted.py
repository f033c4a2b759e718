"""Revisers without a model: `drop`, the baseline, and scripted answers for tests and trials."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from revise_captions.reviser.protocol import RewriteRequest

Script = Callable[[RewriteRequest], str | None] | Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class DropReviser:
    """Proposes deleting every flagged sentence: the baseline that rewrites have to beat."""

    strict: bool = False

    @property
    def settings(self) -> Mapping[str, str]:
        return {"reviser": "drop"}

    def rewrite(self, requests: Sequence[RewriteRequest]) -> list[str | None]:
        return [""] * len(requests)


@dataclass(frozen=True, slots=True)
class ScriptedReviser:
    """Answers from a function, or from a table by sentence (None for sentences not in it)."""

    script: Script
    strict: bool = False

    @property
    def settings(self) -> Mapping[str, str]:
        return {"reviser": "scripted"}

    def rewrite(self, requests: Sequence[RewriteRequest]) -> list[str | None]:
        return [_stripped(self._answer(request)) for request in requests]

    def _answer(self, request: RewriteRequest) -> str | None:
        if callable(self.script):
            return self.script(request)
        return self.script.get(request.sentence)


def _stripped(text: str | None) -> str | None:
    return None if text is None else text.strip()
