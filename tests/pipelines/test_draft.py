"""Drafts: what is judged again after a sentence is gone, and what a stored revision starts with."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fake_loop import spans_of

from revise_captions.pipelines.draft import new_draft, resumed, revision_of, settled
from revise_captions.pipelines.job.rounds import _drop_flagged, _requests
from revise_captions.records import Attempt, Verdict, Why

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
    draft = _drop_flagged(judged(*p), 0.5)
    assert tuple(s.dropped for s in draft.sentences) == dropped
    assert draft.stale == stale


def test_a_stored_revision_goes_on_from_its_first_open_rewrite():
    draft = replace(judged(0.9, 0.1, 0.1), rounds=2, error="OSError: disk")
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
    before = replace(judged(0.1, 0.9, 0.9).sentences[0], rationale="r", attempts=(refused,))
    for dropped in (False, True):
        whole = replace(before, dropped=dropped)
        assert settled(whole) == whole
        assert settled(replace(whole, attempts=(refused, waiting))) == whole


def test_the_reviser_is_told_which_critic_flagged_a_sentence():
    draft = judged(0.9, 0.1, 0.9)
    first, flagged, last = draft.sentences
    flagged = replace(flagged, now=Verdict(0.1, critic="charts"), rationale="it is ten")
    (request,) = _requests(replace(draft, sentences=(first, flagged, last)), 0.5).values()
    assert (request.sentence, request.rationale, request.critic) == ("two.", "it is ten", "charts")
