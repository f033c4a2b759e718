"""What a reviser is: the rest of the package does not know what does the rewriting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from revise_captions.records import Complaint, Fix


@dataclass(frozen=True, slots=True)
class RewriteRequest:
    """One flagged sentence to rewrite.

    Attributes:
        context: The caption before the sentence; for a long caption, the end of that.
        sentence: The sentence, without list markers.
        rationale: What is wrong, and what is there instead, in words.
        failed: Earlier rewrites of the sentence that were refused, oldest first.
        after: The caption after the sentence; for a long caption, the beginning of that.
        fixes: The rationale as data, with spans of `sentence`; () where the critic names none.
        expert: The expert of a panel that flagged it, as in `Revision.expert`.
        faults: What the rationale calls wrong in the sentence, one by one, including what `fixes`
            say; () where it is not about the sentence, None where it has not been parsed.
    """

    context: str
    sentence: str
    rationale: str
    failed: tuple[str, ...] = ()
    after: str = ""
    fixes: tuple[Fix, ...] = ()
    expert: str = ""
    faults: tuple[Complaint, ...] | None = None

    @property
    def read_faults(self) -> tuple[Complaint, ...]:
        """The faults; the whole rationale as one fault where it has not been parsed."""
        return (Complaint(self.rationale, self.rationale),) if self.faults is None else self.faults


class Reviser(Protocol):
    """Rewrites sentences. Answers come in the order asked, however they are batched.

    Attributes:
        settings: Everything that determines an answer, by name: model, revision, prompt version,
            dtype, library versions. It ends up in each row's signature.
        strict: Whether rewrites that introduce content words of their own are refused by default
            (`guards.check`): right for models too small to be trusted with any.
    """

    @property
    def settings(self) -> Mapping[str, str]: ...

    @property
    def strict(self) -> bool: ...

    def rewrite(self, requests: Sequence[RewriteRequest]) -> list[str | None]:
        """Writes one rewrite per request.

        Args:
            requests: Flagged sentences.

        Returns:
            Rewrites without surrounding white space, none of them in the request's `failed`. ""
            proposes deleting the sentence; None where the reviser gave no usable answer.

        Raises:
            EngineDead: The model stopped answering for good.
        """
        ...


@runtime_checkable
class WritesByRule(Protocol):
    """A reviser that makes some rewrites by rule, exempt from the guards on a model's words."""

    def by_rule(self, request: RewriteRequest) -> bool:
        """Whether a rule writes the rewrite."""
        ...


@runtime_checkable
class KnowsWords(Protocol):
    """A reviser with a small vocabulary, which is not asked about sentences full of other words."""

    def foreign(self, requests: Sequence[RewriteRequest]) -> list[bool]:
        """For each request, whether too many words of sentence and rationale are unknown."""
        ...
