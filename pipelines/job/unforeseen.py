"""Finds the caption responsible for an unforeseen exception in a window's shared computation.

A caption that raises by itself becomes unscored, with the exception in `revision.error`. If the
models fail on a plain caption too, the run ends.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from PIL import Image

from revise_captions.critic.protocol import ExplainRequest, JudgeRequest
from revise_captions.critic.scripted import ScriptedCritic
from revise_captions.errors import BadRecord, Reason, described, own_step
from revise_captions.isolation import Raised, isolated, isolated_after
from revise_captions.pipelines.draft import Draft, new_draft, revision_of
from revise_captions.pipelines.job import rounds
from revise_captions.pipelines.job.rounds import LoadedModels, RevisionSettings
from revise_captions.records import Span, Unscored, Verdict
from revise_captions.reviser.protocol import RewriteRequest

if TYPE_CHECKING:
    from revise_captions.pipelines.verify.verifier import Case, Found, Verifier

logger = logging.getLogger(__name__)
PLAIN = "A dog stands near the tree."
_WHOLE = Span(0, len(PLAIN))


def run_stages_after(
    first: Exception, drafts: Sequence[Draft], models: LoadedModels, settings: RevisionSettings
) -> list[Draft | BadRecord]:
    """`rounds.run_stages` after it has raised `first`; the draft at fault comes back unscored."""
    done = isolated_after(
        first,
        drafts,
        lambda some: rounds.run_stages(list(some), models, settings),
        lambda: _ask(models),
    )
    return [
        _unscored(draft, found.error) if isinstance(found, Raised) else found
        for draft, found in zip(drafts, done, strict=True)
    ]


def verify(verifier: Verifier, cases: Sequence[Case]) -> list[Found]:
    """`verifier.verify`, where each check of a case that raises says why its result is missing."""

    from revise_captions.pipelines.verify.verifier import Case

    def ask() -> None:
        revision = revision_of(new_draft(None, PLAIN, (_WHOLE,)), "")
        verifier.verify([Case(revision, _gray(), (PLAIN,))])

    return [
        verifier.failed(_noted(found.error)) if isinstance(found, Raised) else found
        for found in isolated(cases, verifier.verify, ask)
    ]


def _ask(models: LoadedModels) -> None:
    """Asks each model about a plain caption."""
    if models.critic is not None:
        models.critic.judge([JudgeRequest(_gray(), PLAIN, (_WHOLE,))])
        models.critic.explain([ExplainRequest(_gray(), PLAIN, (_WHOLE,), 0)])
    if models.reviser is not None:
        models.reviser.rewrite([RewriteRequest("", PLAIN, "There is no dog.")])


def _gray() -> Image.Image:
    return Image.new("RGB", (64, 64), "gray")


def _unscored(draft: Draft, error: Exception) -> Draft | BadRecord:
    """The draft without the answers due; a `BadRecord` if the draft itself cannot be handled."""
    silent = ScriptedCritic(default=Verdict(None, Unscored.UNEXPECTED), threshold=draft.threshold)
    said = _noted(error)
    try:
        with own_step(Reason.UNEXPECTED_ERROR):
            (settled,) = rounds.judge([draft], silent)
    except BadRecord as bad:
        return bad
    return replace(settled, error=said)


def _noted(error: Exception) -> str:
    said = described(error)
    logger.warning("a caption makes a model fail and stays unscored: %s", said)
    return said
