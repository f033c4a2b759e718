"""Drafts: what is judged again after a sentence is gone, and what a stored revision starts with."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fake_loop import spans_of

from revise_captions.errors import BadRecord
from revise_captions.pipelines.draft import (
    Draft,
    flagged,
    new_draft,
    resumed,
    revision_of,
    settled,
)
from revise_captions.pipelines.job.rounds import _drop_flagged, _requests
from revise_captions.pipelines.job.window import drafts_of
from revise_captions.records import (
    Attempt,
    Evidence,
    Fix,
    ImageRef,
    Rationale,
    Record,
    Sentence,
    Span,
    Verdict,
    Why,
)

TEXT = "one. two. three."


def judged(*p: float):
    draft = new_draft(None, TEXT, spans_of(TEXT))
    sentences = [
        replace(s, verdict=Verdict(v), now=Verdict(v))
        for s, v in zip(draft.sentences, p, strict=True)
    ]
    return replace(draft, sentences=tuple(sentences), stale=None)


@pytest.mark.parametrize(
    ("p", "dropped", "stale"),
    [
        ((0.9, 0.9, 0.9), (False, False, False), None),
        ((0.9, 0.1, 0.9), (False, True, False), 1),
        ((0.1, 0.9, 0.1), (True, False, True), 0),
        ((0.9, 0.9, 0.1), (False, False, True), None),
        ((0.9, 0.1, 0.1), (False, True, True), None),
    ],
)
def test_only_what_stands_behind_a_dropped_sentence_is_judged_again(p, dropped, stale):
    draft = _drop_flagged(judged(*p))
    assert tuple(s.dropped for s in draft.sentences) == dropped
    assert draft.stale == stale


def test_a_stored_revision_goes_on_from_its_first_open_rewrite():
    draft = replace(
        judged(0.9, 0.1, 0.1), rounds=2, error="OSError: disk", threshold=0.25, expert="charts"
    )
    assert resumed(None, revision_of(draft, "s")) == draft
    waiting = Attempt("two!", None, Why.AWAITING_CRITIC, 3, 0.1)
    first, *others = draft.sentences
    open_ = replace(draft, sentences=(first, *(replace(s, attempts=(waiting,)) for s in others)))
    found = revision_of(open_, "s")
    assert found.revised_caption == TEXT
    assert resumed(None, found) == replace(open_, stale=1)


def test_a_sentence_without_its_open_rewrite_is_otherwise_the_same():
    refused = Attempt("two?", False, Why.NO_BETTER, 1, 0.1, 0.1)
    waiting = Attempt("two!", None, Why.AWAITING_CRITIC, 2, 0.1)
    before = replace(
        judged(0.1, 0.9, 0.9).sentences[0], rationale=Rationale("r"), attempts=(refused,)
    )
    for dropped in (False, True):
        whole = replace(before, dropped=dropped)
        assert settled(whole) == whole
        assert settled(replace(whole, attempts=(refused, waiting))) == whole


FIX = Fix(Span(0, 3), "ten", "value", basis="the bar", evidence=(Evidence((1, 2, 3, 4), "2014"),))


def explained(text: str, span: Span, *fixes: Fix, expert: str = ""):
    """A draft of one flagged sentence, explained with fixes."""
    verdict = Verdict(0.1)
    sentence = Sentence(span, verdict, verdict, Rationale("it is ten", fixes))
    return Draft(None, text, (sentence,), stale=None, expert=expert)


def test_the_reviser_is_told_who_flagged_a_sentence_and_what_should_stand_there():
    (request,) = _requests(explained("two.", Span(0, 4), FIX, expert="charts")).values()
    assert (request.sentence, request.rationale) == ("two.", "it is ten")
    assert (request.fixes, request.expert) == ((FIX,), "charts")


def test_fixes_are_of_the_original_and_not_of_a_rewrite_that_stands():
    draft = explained("two.", Span(0, 4), FIX)
    (sentence,) = draft.sentences
    taken = Attempt("six.", True, Why.BETTER, 1, 0.1, 0.2)
    refused = replace(taken, accepted=False, why=Why.NO_BETTER)
    standing = replace(draft, sentences=(replace(sentence, attempts=(taken,)),))
    (request,) = _requests(standing).values()
    assert (request.sentence, request.rationale, request.fixes) == ("six.", "it is ten", ())
    tried = replace(draft, sentences=(replace(sentence, attempts=(refused,)),))
    (request,) = _requests(tried).values()
    assert (request.sentence, request.fixes, request.failed) == ("two.", (FIX,), ("six.",))


def test_who_judged_decides_what_is_flagged():
    draft = judged(0.1, 0.3, 0.9)
    assert flagged(replace(draft, threshold=0.2)) == [0]
    assert flagged(replace(draft, threshold=0.3)) == [0]
    assert flagged(replace(draft, threshold=0.95)) == [0, 1, 2]


def record_with(*ends: tuple[int, int]) -> Record:
    rows = [{"start": start, "end": end, "label": "factual"} for start, end in ends]
    return Record("in.jsonl", 1, ImageRef(path="a.png"), {"caption": TEXT}, {"sentences": rows})


def test_the_critique_stage_judges_labeled_sentences_as_they_are():
    two = record_with((0, 9), (10, 16))
    for stage, places in (("critique", [(0, 9), (10, 16)]), ("all", [(0, 4), (5, 9), (10, 16)])):
        (draft, _) = drafts_of(two, None, stage)["caption"]
        assert [sentence.span for sentence in draft.sentences] == places
    for wrong in (((5, 9), (0, 4)), ((0, 99),), ((4, 5),)):
        with pytest.raises(BadRecord, match="do not follow each other"):
            drafts_of(record_with(*wrong), None, "critique")
    other = replace(two, fields={"sentences": ["one.", "two."]})
    assert len(drafts_of(other, None, "critique")["caption"][0].sentences) == 3
