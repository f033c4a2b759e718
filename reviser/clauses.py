"""Rewrites of joined sentences of which a critic names clauses: these alone are mended.

A clause that is wrong without doubt is rewritten by the reviser as a sentence of its own, and goes
into its place; where that fails, or guards refuse it, the clause goes. One in doubt goes at once,
as what is left is as true as it was; where nothing would be left, it is rewritten, too. A sentence
goes only where the reviser has nothing to say in place of any clause: what becomes of one that
cannot be mended is not for a reviser to decide. No clause goes that something right after it may
refer to: of "A dog sleeps, and it is brown", only "it is brown". `drop` minds no such thing: it
deletes whatever is flagged.
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
        [_alone(request, fix) for fix in _to_rewrite(request, fixes)] if fixes else [request]
        for request, fixes in zip(requests, wrong, strict=True)
    ]
    flat = [one for some in asked for one in some]
    written = zip(flat, reviser.rewrite(flat) if flat else (), strict=True)
    answers: list[str | None] = []
    for request, fixes, alone in zip(requests, wrong, asked, strict=True):
        texts = [next(written)[1] for _ in alone]
        if not fixes:
            answers += texts
            continue
        put = dict.fromkeys((fix.span for fix in fixes), "")
        for fix, one, text in zip(_to_rewrite(request, fixes), alone, texts, strict=True):
            put[fix.span] = _passed(one, text, guard)
        keeps = not isinstance(reviser, DropReviser)
        may_go = all(text == "" for text in texts)
        answers.append(_mended(request, put, keeps=keeps, may_go=may_go))
    return answers


def _to_rewrite(request: RewriteRequest, fixes: Sequence[Fix]) -> Sequence[Fix]:
    """The wrong clauses to rewrite; all of them where there are no others."""
    if len(fixes) == len(clauses(request.sentence)):
        return fixes
    return [fix for fix in fixes if fix.kind == CLAUSE]


def _alone(request: RewriteRequest, fix: Fix) -> RewriteRequest:
    """The request about a clause alone, between those before and behind it."""
    return replace(
        request,
        context=request.context + request.sentence[: fix.span.start],
        sentence=as_sentence(fix.span.of(request.sentence)),
        after=request.sentence[fix.span.end :] + request.after,
        rationale=fix.basis,
        fixes=(),
        failed=(),
        faults=None,
    )


def _passed(alone: RewriteRequest, text: str | None, guard: str) -> str:
    """A clause's rewrite; "" where there is none, or guards refuse it."""
    return text if text and check(alone, text, mode=guard).why is None else ""


def _mended(
    request: RewriteRequest, put: Mapping[Span, str], *, keeps: bool, may_go: bool
) -> str | None:
    """The sentence with each wrong clause rewritten, or gone; without all of them where that
    failed before. `keeps`: whether what is referred to stays; `may_go`: whether all of it may go.
    """
    tries = (
        with_clauses(request.sentence, _loose(request, each) if keeps else each)
        for each in (put, dict.fromkeys(put, ""))
    )
    refused = (request.sentence, *request.failed)
    return next((text for text in tries if text not in refused and (text or may_go)), None)


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
