"""What a reviser is: nothing outside it knows what rewrites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class RewriteRequest:
    """One flagged sentence to rewrite.

    `context` is the caption before the sentence (its end, where it is long), `rationale` says what
    is wrong and what is there instead, `failed` holds earlier rewrites of the same sentence that
    were refused, oldest first.
    """

    context: str
    sentence: str
    rationale: str
    failed: tuple[str, ...] = ()


class Reviser(Protocol):
    """Rewrites sentences. Answers come in the order asked, whatever the batches.

    `settings` names everything that decides an answer (model, revision, prompt version, dtype,
    versions). `strict`: whether rewrites with content of their own are refused by default, which
    suits models that are too small to be trusted with any (`guards.check`).
    """

    @property
    def settings(self) -> Mapping[str, str]: ...

    @property
    def strict(self) -> bool: ...

    def rewrite(self, requests: Sequence[RewriteRequest]) -> list[str | None]:
        """One rewrite per request, without surrounding white space, none of its `failed` ones.

        "" proposes to delete the sentence; None where the reviser gave no usable answer.
        """
        ...
