"""Rewrites of joined sentences of which a critic names one clause: that clause alone is mended.

A clause that is wrong without doubt is rewritten by the reviser as a sentence of its own, and goes
into its place; where that fails, or is no rewrite, the clause goes. One in doubt goes at once, as
what is left is as true as it was. The sentence stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from revise_captions.records import CLAUSE, DOUBTED_CLAUSE, Fix, Span
from revise_captions.reviser.protocol import Reviser, RewriteRequest
from revise_captions.text.clauses import with_clause, without_clause


def rewrite(reviser: Reviser, requests: Sequence[RewriteRequest]) -> list[str | None]:
    """One rewrite per request, as `Reviser.rewrite`; see the module."""
    named = [wrong_clause(request) for request in requests]
    asked = [
        request if fix is None else _alone(request, fix.span)
        for request, fix in zip(requests, named, strict=True)
        if fix is None or fix.kind == CLAUSE
    ]
    written = iter(reviser.rewrite(asked) if asked else [])
    answers: list[str | None] = []
    for request, fix in zip(requests, named, strict=True):
        text = next(written) if fix is None or fix.kind == CLAUSE else None
        answers.append(text if fix is None else _in_sentence(request, fix.span, text))
    return answers


def wrong_clause(request: RewriteRequest) -> Fix | None:
    """The fix that says which clause is wrong; None where the critic names none."""
    return next((fix for fix in request.fixes if fix.kind in (CLAUSE, DOUBTED_CLAUSE)), None)


def _alone(request: RewriteRequest, place: Span) -> RewriteRequest:
    """The request about a clause alone, after those before it."""
    text = place.of(request.sentence)
    before = request.context + request.sentence[: place.start]
    alone = f"{text[:1].upper()}{text[1:]}."
    return replace(request, context=before, sentence=alone, fixes=(), failed=(), faults=None)


def _in_sentence(request: RewriteRequest, place: Span, text: str | None) -> str | None:
    """The sentence with the clause rewritten; without it where that failed, or is no rewrite."""
    mended = with_clause(request.sentence, place, text) if text else request.sentence
    if mended not in (request.sentence, *request.failed):
        return mended
    left = without_clause(request.sentence, place)
    return None if left in (request.sentence, *request.failed) else left
