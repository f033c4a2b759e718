"""From a revised caption to its verification. This module is the whole way; the steps have theirs.

    change        what stood there, what stands there now        claims.change_of
    graphs        what both captions, and the rationales, say    graphs.parse
    text          preservation and edit scope                    claims.check
    critic        single components, put to a critic             visual
    posh          mistakes and omissions beside a reference      posh.score

The checks are chosen by name (`--verify text,critic,posh`). What could not be checked says why in
`unscored`; nothing is guessed, and nothing of it changes a caption.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from revise_captions.io.fields import look_up
from revise_captions.pipelines.verify import claims, visual
from revise_captions.pipelines.verify.as_json import (
    found_by_critic,
    found_by_posh,
    found_in_text,
)
from revise_captions.records import Record, Revision

if TYPE_CHECKING:
    from PIL.Image import Image

    from revise_captions.critic.protocol import Critic
    from revise_captions.graphs.graph import Graph
    from revise_captions.posh.judge import Judge

Found = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One revised caption. `image` only for the critic, `references` only for POSH."""

    revision: Revision
    image: Image | None = None
    references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verifier:
    """Checks by name, and what they need. `threshold`: the one that sentences were flagged with."""

    checks: tuple[str, ...]
    threshold: float
    signature: str
    parser: str = "bundled"
    critic: Critic | None = None
    judge: Judge | None = None
    reference_field: str | None = None

    def verify(self, cases: Sequence[Case]) -> list[Found]:
        """For each case what `revision.verification` holds, in order; all of them in one batch."""
        found: list[Found] = [{"signature": self.signature} for _ in cases]
        graphs = self._graphs(cases)
        if "text" in self.checks:
            for case, result in zip(cases, found, strict=True):
                change = claims.change_of(case.revision, self.threshold)
                result |= found_in_text(change, graphs)
        if "critic" in self.checks:
            for result, seen in zip(found, self._looked_at(cases, graphs), strict=True):
                result["visual"] = seen
        if "posh" in self.checks:
            for result, scored in zip(found, self._scored(cases), strict=True):
                result["posh"] = scored
        return found

    def _graphs(self, cases: Sequence[Case]) -> Mapping[str, Graph]:
        """The graph of every text that a check looks at, each parsed once."""
        from revise_captions.graphs.parse import parse

        texts: dict[str, None] = {}
        for case in cases if {"text", "critic"} & set(self.checks) else ():
            texts |= dict.fromkeys((case.revision.caption, case.revision.revised_caption))
            if case.revision.caption != case.revision.revised_caption and "text" in self.checks:
                said = (s.rationale for s in case.revision.sentences if s.attempts or s.dropped)
                texts |= dict.fromkeys(filter(None, said))
        return dict(zip(texts, parse(texts, self.parser), strict=True))

    def _looked_at(self, cases: Sequence[Case], graphs: Mapping[str, Graph]) -> list[Found]:
        """Before and after, asked together: what both say is asked once."""
        assert self.critic is not None
        asked = [
            (case.image, visual.questions(graphs[text]))
            for case in cases
            if case.image is not None
            for text in (case.revision.caption, case.revision.revised_caption)
        ]
        answers = iter(visual.look(asked, self.critic))
        return [
            found_by_critic(None if case.image is None else (next(answers), next(answers)))
            for case in cases
        ]

    def _scored(self, cases: Sequence[Case]) -> list[Found]:
        """Against the references; a caption that did not change is scored once."""
        from revise_captions.posh.score import Pair, score_captions

        assert self.judge is not None
        pairs = dict.fromkeys(
            Pair(text, case.references)
            for case in cases
            if case.references
            for text in (case.revision.caption, case.revision.revised_caption)
            if text.strip()
        )
        scores = dict(zip(pairs, score_captions(pairs, self.judge, self.parser), strict=True))
        return [
            found_by_posh(
                case.references,
                scores.get(Pair(case.revision.caption, case.references)),
                scores.get(Pair(case.revision.revised_caption, case.references)),
            )
            for case in cases
        ]

    def case(self, record: Record, revision: Revision, image: Image | None) -> Case:
        references: tuple[str, ...] = ()
        if self.reference_field is not None:
            references = references_in(record.fields, self.reference_field)
        return Case(revision, image, references)


def references_in(row: Mapping[str, Any], field: str) -> tuple[str, ...]:
    """The texts in a row's reference field, a text or a list of them; () where there is none."""
    value = look_up(row, field)
    items = value if isinstance(value, list | tuple) else [value]
    return tuple(text for text in items if isinstance(text, str) and text.strip())
