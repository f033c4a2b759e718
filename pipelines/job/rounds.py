"""Critic-and-revise (VNLI-Critique, section 5.1) on a window of captions at once.

    judge    every sentence whose text or context changed since it was last judged
    explain  those judged nonfactual that have no rationale yet
    revise   one rewrite for each; guards refuse some at once, the others await the critic
    judge    …in the revised context, from the first changed sentence on; accept or revert

`revise_captions` in two stages (`critique`, `revise`) alternates the same functions in separate
processes; the state between them is the `Revision` itself, so both ways give the same captions.

A rewrite is accepted when P after >= threshold and P after > P before. When one is reverted, the
context of everything after it changes, so that is judged again, and acceptances from the same round
that no longer hold are reverted too. Every further pass reverts at least one rewrite, so the loop
ends, and each P after that is written was computed in the caption as it now stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

from revise_captions.critic.protocol import (
    ChoosesByImage,
    Critic,
    ExplainRequest,
    JudgeRequest,
    chosen,
)
from revise_captions.critic.reading.rationale import read
from revise_captions.io.decoding import full_size
from revise_captions.pipelines.draft import NOT_JUDGED, Draft, compose, flagged
from revise_captions.pipelines.options import Guard, OnUnfixable, Stage
from revise_captions.records import (
    Attempt,
    Box,
    Fix,
    Rationale,
    Sentence,
    Span,
    UnknownWord,
    Unscored,
    Verdict,
    Why,
)
from revise_captions.reviser import clauses as by_clause
from revise_captions.reviser.guards import check, leaked
from revise_captions.reviser.protocol import (
    KnowsWords,
    Reviser,
    RewriteRequest,
    WritesByRule,
)

if TYPE_CHECKING:
    from PIL import Image

    from revise_captions.pipelines.verify.verifier import Verifier

#: The reviser sees the last so many characters before a sentence, which bounds each request.
CONTEXT_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class RevisionSettings:
    """What determines the rounds, besides the critic (with its threshold) and the reviser.

    `in_place`: whether the corrected captions replace the originals.
    """

    stage: Stage = "all"
    rounds: int = 2
    on_unfixable: OnUnfixable = "keep"
    guard: Guard = "strict"
    in_place: bool = False


@dataclass(frozen=True, slots=True)
class LoadedModels:
    """A run's models: stage `critique` needs no reviser, `revise` no critic.

    `threshold`: flags sentences in stage `revise`, where it overrides the previous stage's.
    """

    critic: Critic | None
    reviser: Reviser | None
    signature: str
    verifier: Verifier | None = None
    threshold: float | None = None

    @property
    def limit(self) -> float | None:
        """The threshold of all captions; None where the previous stage, or the expert of a panel
        that judges a caption, sets it."""
        if self.critic is None:
            return self.threshold
        return None if isinstance(self.critic, ChoosesByImage) else self.critic.threshold


def run_stages(
    drafts: list[Draft], models: LoadedModels, settings: RevisionSettings
) -> list[Draft]:
    """`all`: judges, explains, then alternates rewriting and judging. A stage does its part."""
    if settings.stage == "revise":
        assert models.reviser is not None
        return _rewrite_open(drafts, models, settings)
    assert models.critic is not None
    drafts = explain(judge(drafts, models.critic), models.critic)
    if settings.stage == "all":
        for _ in range(settings.rounds):
            drafts = _rewrite_open(drafts, models, settings)
            drafts = explain(judge(drafts, models.critic), models.critic)
    if settings.on_unfixable == "drop":
        spent = [draft.rounds >= settings.rounds for draft in drafts]
        dropped = iter(
            drop_unfixable([d for d, s in zip(drafts, spent, strict=True) if s], models.critic)
        )
        drafts = [next(dropped) if s else d for d, s in zip(drafts, spent, strict=True)]
    return drafts


def _rewrite_open(
    drafts: list[Draft], models: LoadedModels, settings: RevisionSettings
) -> list[Draft]:
    """One round for the drafts that have rounds left and flagged sentences."""
    assert models.reviser is not None
    open_ = [
        k
        for k, draft in enumerate(drafts)
        if draft.stale is None and draft.rounds < settings.rounds and flagged(draft)
    ]
    revised = revise([drafts[k] for k in open_], models.reviser, settings.guard)
    result = list(drafts)
    for k, draft in zip(open_, revised, strict=True):
        result[k] = draft
    return result


def judge(drafts: Sequence[Draft], critic: Critic) -> list[Draft]:
    """Judges stale sentences and decides pending rewrites, until nothing is stale."""
    result = list(drafts)
    while todo := [i for i, draft in enumerate(result) if draft.stale is not None]:
        views = [compose(result[i].caption, result[i].sentences) for i in todo]
        paragraphs = [
            _paragraph(result[i], text, spans) for i, (text, spans) in zip(todo, views, strict=True)
        ]
        asked = [paragraph for paragraph in paragraphs if paragraph is not None]
        whose = iter(chosen(critic, [paragraph.image for paragraph in asked]))
        answers = iter(critic.judge(asked))
        for i, (_, spans), paragraph in zip(todo, views, paragraphs, strict=True):
            if paragraph is None:
                result[i] = _settle(result[i], spans, [])
            else:
                who = next(whose)
                draft = replace(result[i], threshold=who.threshold, expert=who.expert)
                result[i] = _settle(draft, spans, next(answers))
    return result


def _paragraph(draft: Draft, text: str, spans: Sequence[Span | None]) -> JudgeRequest | None:
    """The critic's request for a stale draft; None where no sentence is left to judge."""
    first = sum(span is not None for span in spans[: draft.stale])
    kept = tuple(span for span in spans if span is not None)
    assert draft.image is not None
    return JudgeRequest(draft.image, text, kept, first) if first < len(kept) else None


def _settle(draft: Draft, spans: Sequence[Span | None], verdicts: Sequence[Verdict]) -> Draft:
    """Stores the verdicts from `draft.stale` on; afterwards stale is what a refusal changed."""
    assert draft.stale is not None
    sentences = list(draft.sentences)
    answers = iter(verdicts)
    taken_back: int | None = None
    for index in range(draft.stale, len(sentences)):
        sentence = sentences[index]
        if spans[index] is None:
            sentences[index] = _delete(sentence)
            continue
        verdict = next(answers)
        first = verdict if sentence.verdict is NOT_JUDGED else sentence.verdict
        sentence = Sentence(  # most of a run's sentences pass through here, and `replace` is slow
            sentence.span, first, verdict, sentence.rationale, sentence.attempts, sentence.dropped
        )
        if _undecided(sentence, draft.rounds):
            decided = _decided(sentence.attempts, verdict, draft.threshold)
            sentence = replace(sentence, attempts=decided)
            if taken_back is None and not sentence.attempts[-1].accepted:
                taken_back = index
        sentences[index] = sentence
    return replace(draft, sentences=tuple(sentences), stale=taken_back)


def _undecided(sentence: Sentence, rounds: int) -> bool:
    """Whether the last rewrite is pending, or was accepted in the round being settled."""
    if not sentence.attempts:
        return False
    last = sentence.attempts[-1]
    return last.accepted is None or (bool(last.accepted) and last.round == rounds)


def _decided(
    attempts: tuple[Attempt, ...], verdict: Verdict, threshold: float
) -> tuple[Attempt, ...]:
    """Marks the last rewrite accepted or reverted, by the critic's verdict on it."""
    *earlier, last = attempts
    after = verdict.p_factual
    if verdict.unscored is Unscored.TEXT_BORNE_OUT:
        why = Why.TEXT_BORNE_OUT
    elif after is None:
        unknown = isinstance(verdict.unscored, UnknownWord)
        why = Why.UNKNOWN_WORD if unknown else Why.UNSCORED
    elif after < threshold:
        why = Why.NOT_FACTUAL
    elif last.p_before is not None and after <= last.p_before:
        why = Why.NO_BETTER
    else:
        why = Why.BETTER
    accepted = why in (Why.BETTER, Why.TEXT_BORNE_OUT)
    return (*earlier, replace(last, accepted=accepted, why=why, p_after=after))


def _delete(sentence: Sentence) -> Sentence:
    """Accepts a proposed deletion, which leaves nothing for a critic to judge."""
    if sentence.pending is None:
        return sentence  # already gone
    gone = replace(sentence.attempts[-1], accepted=True, why=Why.DELETED)
    return replace(sentence, attempts=(*sentence.attempts[:-1], gone), dropped=True)


def explain(drafts: Sequence[Draft], critic: Critic) -> list[Draft]:
    """Adds a rationale to every sentence now judged nonfactual that has none."""
    places: list[tuple[int, int]] = []
    claims: list[ExplainRequest] = []
    for i, draft in enumerate(drafts):
        wanted = [k for k in flagged(draft) if draft.sentences[k].rationale is None]
        if not wanted:
            continue
        assert draft.image is not None
        text, spans = compose(draft.caption, draft.sentences)
        kept = tuple(span for span in spans if span is not None)
        rank = list(accumulate((span is not None for span in spans), initial=0))
        places += [(i, k) for k in wanted]
        claims += [
            ExplainRequest(draft.image, text, kept, rank[k], draft.sentences[k].now.by)
            for k in wanted
        ]
    rationales = critic.explain(claims) if claims else []
    changes: list[dict[int, Sentence]] = [{} for _ in drafts]
    for (i, k), rationale in zip(places, rationales, strict=True):
        image = drafts[i].image
        assert image is not None
        told = _in_full_pixels(rationale, image)
        changes[i][k] = replace(drafts[i].sentences[k], rationale=told)
    return [_changed(draft, change) for draft, change in zip(drafts, changes, strict=True)]


def _in_full_pixels(rationale: Rationale, image: Image.Image) -> Rationale:
    """The rationale with its boxes in pixels of the image before it was downscaled."""
    full = full_size(image)
    if full == image.size:
        return rationale
    sides = [full[k % 2] / image.size[k % 2] for k in range(4)]
    return replace(
        rationale,
        fixes=tuple(
            replace(
                fix,
                evidence=tuple(replace(one, box=_scaled(one.box, sides)) for one in fix.evidence),
            )
            for fix in rationale.fixes
        ),
    )


def _scaled(box: Box, sides: Sequence[float]) -> Box:
    left, top, right, bottom = (round(a * b) for a, b in zip(box, sides, strict=True))
    return left, top, right, bottom


def revise(drafts: Sequence[Draft], reviser: Reviser, guard: str) -> list[Draft]:
    """One more rewrite for every flagged sentence. Guards refuse some; the critic judges the rest.

    A sentence whose attempts have all failed is tried again, and the reviser sees them.
    """
    asked = [_requests(draft) for draft in drafts]
    flat = [request for requests in asked for request in requests.values()]
    foreign = reviser.foreign(flat) if isinstance(reviser, KnowsWords) else [False] * len(flat)
    known = [request for request, unknown in zip(flat, foreign, strict=True) if not unknown]
    written = iter(by_clause.rewrite(reviser, known, guard))
    rewrites = iter([Why.OUTSIDE_WORDS if unknown else next(written) for unknown in foreign])
    ruling = reviser if isinstance(reviser, WritesByRule) else None
    result = []
    for draft, requests in zip(drafts, asked, strict=True):
        number = draft.rounds + 1
        tried: dict[int, Sentence] = {}
        for k, request in requests.items():
            sentence = draft.sentences[k]
            ruled = ruling is not None and ruling.by_rule(request)
            mode = "warn" if ruled else guard
            if ruled and sentence.now.by:
                mode = ""  # a rule corrected one part, but guards weigh words of whole sentences
            attempt = _attempt(request, next(rewrites), mode, number, sentence.now.p_factual)
            tried[k] = replace(sentence, attempts=(*sentence.attempts, attempt))
        pending = [k for k, sentence in tried.items() if sentence.pending is not None]
        stale = min(pending, default=None)
        result.append(replace(_changed(draft, tried), rounds=number, stale=stale))
    return result


def _requests(draft: Draft) -> dict[int, RewriteRequest]:
    """The reviser's requests, by sentence index. Their context is the caption before this round."""
    wanted = flagged(draft)
    if not wanted:
        return {}
    text, spans = compose(draft.caption, draft.sentences)
    requests = {}
    for k in wanted:
        span, sentence = spans[k], draft.sentences[k]
        assert span is not None
        context = text[max(0, span.start - CONTEXT_CHARACTERS) : span.start]
        failed = tuple(a.text for a in sentence.attempts if a.accepted is False and a.text)
        said = sentence.rationale.text if sentence.rationale is not None else ""
        requests[k] = RewriteRequest(
            context,
            span.of(text),
            said,
            failed,
            text[span.end : span.end + CONTEXT_CHARACTERS],
            _standing_fixes(sentence),
            sentence.now.by or draft.expert,
            read(said, span.of(text), apart=not failed),
        )
    return requests


def _standing_fixes(sentence: Sentence) -> tuple[Fix, ...]:
    """The fixes; none once a rewrite has been accepted, as they refer to the original text."""
    if sentence.rationale is None or sentence.accepted is not None:
        return ()
    return sentence.rationale.fixes


def _attempt(
    request: RewriteRequest,
    rewrite: str | None,
    guard: str,
    number: int,
    before: float | None,
) -> Attempt:
    if rewrite is None or isinstance(rewrite, Why):
        return Attempt("", False, rewrite or Why.NO_REWRITE, number, before)
    why, warning = Why.LEAKED_MARKUP if leaked(rewrite, request.sentence) else None, ""
    if guard:
        why, warning = check(request, rewrite, mode=guard)
    if why is not None:
        return Attempt(rewrite, False, why, number, before)
    return Attempt(rewrite, None, Why.AWAITING_CRITIC, number, before, warning=warning)


def drop_unfixable(drafts: Sequence[Draft], critic: Critic) -> list[Draft]:
    """Removes the sentences that are still nonfactual. What follows them is judged again."""
    result = list(drafts)
    while any(flagged(draft) for draft in result):
        result = judge([_drop_flagged(draft) for draft in result], critic)
    return result


def _drop_flagged(draft: Draft) -> Draft:
    gone = flagged(draft)
    if not gone:
        return draft
    sentences = tuple(
        replace(sentence, dropped=True) if k in gone else sentence
        for k, sentence in enumerate(draft.sentences)
    )
    behind = any(not s.dropped for s in sentences[gone[0] :])
    return replace(draft, sentences=sentences, stale=gone[0] if behind else None)


def _changed(draft: Draft, changes: Mapping[int, Sentence]) -> Draft:
    if not changes:
        return draft
    sentences = tuple(changes.get(k, s) for k, s in enumerate(draft.sentences))
    return replace(draft, sentences=sentences)
