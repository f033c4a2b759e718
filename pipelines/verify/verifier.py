"""From a revised caption to its verification; this module is the whole path.

    change        the caption before and after                         claims.change_of
    graphs        scene graphs of captions and rationales              graphs.parse
    text          preservation and edit scope                          claims.check
    critic        single components, judged by a critic                visual
    posh          mistakes and omissions against a reference           posh.scoring

Checks are chosen by name (`--verify text,critic,posh`). A check that cannot be made says why in
`unscored`; nothing is guessed, and no check changes a caption.
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
from revise_captions.records import Record, Revision, Unscored

if TYPE_CHECKING:
    from PIL.Image import Image

    from revise_captions.critic.protocol import Critic
    from revise_captions.graphs.grading.judge import Judge
    from revise_captions.graphs.graph import Graph

Found = dict[str, Any]
#: What each check adds to a row.
PARTS = {"text": ("preservation", "edit_scope"), "critic": ("visual",), "posh": ("posh",)}


@dataclass(frozen=True, slots=True)
class Case:
    """One revised caption. Only the critic needs `image`, only POSH `references`."""

    revision: Revision
    image: Image | None = None
    references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verifier:
    """The chosen checks and their models."""

    checks: tuple[str, ...]
    signature: str
    parser: str = "bundled"
    critic: Critic | None = None
    judge: Judge | None = None
    reference_field: str | None = None

    def verify(self, cases: Sequence[Case]) -> list[Found]:
        """The value of `revision.verification` for each case, in order, computed as one batch."""
        found: list[Found] = [{"signature": self.signature} for _ in cases]
        graphs = self._graphs(cases)
        if "text" in self.checks:
            for case, result in zip(cases, found, strict=True):
                change = claims.change_of(case.revision)
                result |= found_in_text(change, graphs)
        if "critic" in self.checks:
            for result, seen in zip(found, self._looked_at(cases, graphs), strict=True):
                result["visual"] = seen
        if "posh" in self.checks:
            for result, scored in zip(found, self._scored(cases), strict=True):
                result["posh"] = scored
        return found

    def failed(self, error: str) -> Found:
        """What `verify` returns for a case that makes it fail."""
        unscored = {"unscored": f"{Unscored.UNEXPECTED}: {error}"}
        parts = [part for check in self.checks for part in PARTS[check]]
        return {"signature": self.signature} | {part: dict(unscored) for part in parts}

    def _graphs(self, cases: Sequence[Case]) -> Mapping[str, Graph]:
        """The graph of every text that a check needs, each parsed once."""
        from revise_captions.graphs.parse import parse

        texts: dict[str, None] = {}
        for case in cases if {"text", "critic"} & set(self.checks) else ():
            texts |= dict.fromkeys((case.revision.caption, case.revision.revised_caption))
            if case.revision.caption != case.revision.revised_caption and "text" in self.checks:
                changed = (s for s in case.revision.sentences if s.attempts or s.dropped)
                said = (s.rationale.text for s in changed if s.rationale is not None)
                texts |= dict.fromkeys(filter(None, said))
        return dict(zip(texts, parse(texts, self.parser), strict=True))

    def _looked_at(self, cases: Sequence[Case], graphs: Mapping[str, Graph]) -> list[Found]:
        """The critic's answers before and after, each distinct question asked once."""
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
        """POSH before and after; an unchanged caption is scored once."""
        from revise_captions.posh.scoring import Pair, score_captions

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
    """The texts in a row's reference field, which holds a text or a list of texts."""
    value = look_up(row, field)
    items = value if isinstance(value, list | tuple) else [value]
    return tuple(text for text in items if isinstance(text, str) and text.strip())
