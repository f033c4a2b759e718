"""Rewrites of joined sentences of which a critic names clauses: these alone are mended.

A clause that is wrong without doubt is rewritten by the reviser as a sentence of its own, and goes
into its place; where that fails, or guards refuse it, the clause goes. One in doubt goes at once,
as what is left is as true as it was. The sentence stays, unless every clause of it goes. None goes
that something right after it may refer to: of "A dog sleeps, and it is brown", only "it is brown".
`drop` minds no such thing: it deletes whatever is flagged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from revise_captions.records import CLAUSE, Fix, Span
from revise_captions.reviser.guards import check, wrong_clauses
from revise_captions.reviser.protocol import Reviser, RewriteRequest
from revise_captions.reviser.scripted import DropReviser
from revise_captions.text.clauses import as_sentence, clauses, refers_back, with_clauses


def rewrite(reviser: Reviser, requests: Sequence[RewriteRequest], guard: str) -> list[str | None]:
    """One rewrite per request, as `Reviser.rewrite`; see the module.

    Args:
        reviser: Of whole sentences.
        requests: Flagged sentences.
        guard: The mode of the guards (`guards.check`).
    """
    wrong = [wrong_clauses(request) for request in requests]
    asked = [
        [_alone(request, fix) for fix in fixes if fix.kind == CLAUSE] if fixes else [request]
        for request, fixes in zip(requests, wrong, strict=True)
    ]
    flat = [one for some in asked for one in some]
    written = iter(zip(flat, reviser.rewrite(flat), strict=True) if flat else ())
    answers: list[str | None] = []
    for request, fixes in zip(requests, wrong, strict=True):
        if not fixes:
            answers.append(next(written)[1])
            continue
        put = {
            fix.span: _passed(*next(written), guard) if fix.kind == CLAUSE else "" for fix in fixes
        }
        answers.append(_mended(request, put, keeps=not isinstance(reviser, DropReviser)))
    return answers


def _alone(request: RewriteRequest, fix: Fix) -> RewriteRequest:
    """The request about a clause alone, after those before it."""
    return replace(
        request,
        context=request.context + request.sentence[: fix.span.start],
        sentence=as_sentence(fix.span.of(request.sentence)),
        rationale=fix.basis,
        fixes=(),
        failed=(),
        faults=None,
    )


def _passed(alone: RewriteRequest, text: str | None, guard: str) -> str:
    """A clause's rewrite; "" where there is none, or guards refuse it."""
    return text if text and check(alone, text, mode=guard).why is None else ""


def _mended(request: RewriteRequest, put: Mapping[Span, str], *, keeps: bool) -> str | None:
    """The sentence with each wrong clause rewritten, or gone; without all of them where that
    failed before. `keeps`: whether what is referred to stays."""
    tries = (
        with_clauses(request.sentence, _loose(request, each) if keeps else each)
        for each in (put, dict.fromkeys(put, ""))
    )
    return next((text for text in tries if text not in (request.sentence, *request.failed)), None)


def _loose(request: RewriteRequest, put: Mapping[Span, str]) -> dict[Span, str]:
    """What goes into which place, without clauses that would go and are referred to."""
    found = dict(put)
    follows = request.after
    for part in reversed(clauses(request.sentence)):
        goes = not found.get(part.span, part.text)
        if goes and refers_back(follows) and not refers_back(part.text):
            del found[part.span]
            goes = False
        if not goes:
            follows = part.text
    return found
