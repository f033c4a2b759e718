"""What a run of the loop keeps of each sentence: verdicts, rationales, and every rewrite's fate."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from fake_loop import (
    IMAGE,
    THRESHOLD,
    FakeCritic,
    FakeReviser,
    chaos,
    chaotic_rewriter,
    good_unless_bad,
    revised,
    run,
    spans_of,
)

from revise_captions.critic.protocol import Chosen, JudgeRequest
from revise_captions.pipelines.draft import (
    NOT_JUDGED,
    compose,
    flagged,
    new_draft,
    present_text,
    resumed,
    revision_of,
    settled,
)
from revise_captions.pipelines.job import rounds as loop
from revise_captions.pipelines.job.rounds import LoadedModels, RevisionSettings, run_stages
from revise_captions.records import Attempt, Rationale, Sentence, Span, Unscored, Verdict, Why
from revise_captions.reviser.protocol import RewriteRequest


@pytest.mark.parametrize("on_unfixable", ["keep", "drop", "flag"])
def test_every_record_says_what_happened(on_unfixable: str) -> None:
    """Of arbitrary critics and revisers: reasons, rounds and probabilities belong together."""
    whys = set()
    for seed in range(60):
        rng = random.Random(seed)
        text = " ".join(f"s{k}." for k in range(rng.randrange(1, 7)))
        critic, reviser = FakeCritic(chaos(seed)), FakeReviser(chaotic_rewriter(seed))
        draft = run(text, critic, reviser, on_unfixable=on_unfixable, rounds=3)
        assert draft.stale is None
        assert draft.rounds <= 3
        for sentence in draft.sentences:
            own = sentence.span
            assert sentence.verdict.p_factual == round(critic.p(text[: own.start], own.of(text)), 4)
            assert first_p(sentence) >= THRESHOLD or sentence.rationale is not None
            assert not sentence.attempts or sentence.rationale is not None
            if sentence.rationale is not None and not sentence.attempts:
                assert first_p(sentence) < THRESHOLD or flagged_last(sentence)
            rounds = [attempt.round for attempt in sentence.attempts]
            assert rounds == sorted(set(rounds))
            assert set(rounds) <= set(range(1, draft.rounds + 1))
            for attempt in sentence.attempts:
                whys.add(attempt.why)
                _consistent(attempt)
            if sentence.dropped and on_unfixable != "drop":
                assert sentence.attempts[-1].why is Why.DELETED
    assert {Why.BETTER, Why.NOT_FACTUAL, Why.NO_REWRITE, Why.DELETED} <= whys


def first_p(sentence: Sentence) -> float:
    assert sentence.verdict.p_factual is not None
    return sentence.verdict.p_factual


def flagged_last(sentence: Sentence) -> bool:
    return sentence.now.p_factual is not None and sentence.now.p_factual < THRESHOLD


def _consistent(attempt: Attempt) -> None:
    assert attempt.p_before is not None
    assert attempt.p_before < THRESHOLD
    match attempt.why:
        case Why.BETTER:
            assert attempt.accepted
            assert attempt.text
            assert attempt.p_after is not None
            assert attempt.p_after >= THRESHOLD
        case Why.NOT_FACTUAL:
            assert attempt.accepted is False
            assert attempt.p_after is not None
            assert attempt.p_after < THRESHOLD
        case Why.DELETED:
            assert (attempt.accepted, attempt.text, attempt.p_after) == (True, "", None)
        case Why.NO_REWRITE:
            assert (attempt.accepted, attempt.text, attempt.p_after) == (False, "", None)
        case other:
            assert (attempt.accepted, attempt.p_after) == (False, None), other


def test_a_rationale_outlives_its_rewrite() -> None:
    draft = run("bad. it.", FakeCritic(good_unless_bad), FakeReviser(lambda r: "fine."))
    assert draft.sentences[0].rationale == Rationale("wrong: bad.")
    assert draft.sentences[0].verdict == Verdict(0.1)
    assert draft.sentences[0].now == Verdict(0.9)
    assert draft.sentences[1].rationale is None


@dataclass
class Shy(FakeCritic):
    """Does not judge a sentence that says “shy”."""

    def judge(self, paragraphs: Sequence[JudgeRequest]) -> list[list[Verdict]]:
        found = super().judge(paragraphs)
        return [
            [
                Verdict(None, Unscored.NO_ANSWER) if "shy" in s.of(q.text) else v
                for s, v in zip(q.spans[q.first :], verdicts, strict=True)
            ]
            for q, verdicts in zip(paragraphs, found, strict=True)
        ]


def test_a_rewrite_that_cannot_be_judged_is_taken_back() -> None:
    draft = run("bad. end.", Shy(good_unless_bad), FakeReviser(lambda r: "shy."), rounds=1)
    (attempt,) = draft.sentences[0].attempts
    assert (attempt.why, attempt.accepted, attempt.p_after) == (Why.UNSCORED, False, None)
    assert revised(draft) == "bad. end."


def test_a_guards_warning_is_kept_with_the_rewrite() -> None:
    draft = run("The car is bad.", FakeCritic(_car), FakeReviser(lambda r: "A lamp is good."))
    attempt = draft.sentences[3].attempts[0]
    assert attempt.accepted
    assert attempt.warning == "content words from neither sentence nor rationale: lamp, good"


def _car(_: str, sentence: str) -> float:
    return 0.1 if sentence == "bad." else 0.9


@dataclass
class Stranger(FakeReviser):
    """Knows only sentences that begin with “b”."""

    def foreign(self, requests: Sequence[RewriteRequest]) -> list[bool]:
        return [not request.sentence.startswith("b") for request in requests]


def test_a_reviser_is_not_asked_about_words_that_it_does_not_know() -> None:
    asked: list[str] = []

    def rewriter(request: RewriteRequest) -> str:
        asked.append(request.sentence)
        return "fine."

    critic = FakeCritic(good_unless_bad)
    draft = run("xbad. bad. ybad.", critic, Stranger(rewriter), rounds=1)
    assert asked == ["bad."]
    whys = [sentence.attempts[0].why for sentence in draft.sentences]
    assert whys == [Why.OUTSIDE_WORDS, Why.BETTER, Why.OUTSIDE_WORDS]
    assert revised(draft) == "xbad. fine. ybad."
    only = run("xbad.", critic, Stranger(rewriter), rounds=1)
    assert only.sentences[0].attempts[0].accepted is False
    assert asked == ["bad."]


def waiting() -> loop.Draft:
    """After stage `revise`: two rewrites that await the critic, the second one a deletion."""
    critic = FakeCritic(good_unless_bad)
    judged = loop.explain(
        loop.judge([new_draft(IMAGE, "one. bad. worse-bad.", spans_of("one. bad. worse-bad."))],
                   critic), critic
    )  # fmt: skip
    reviser = FakeReviser(lambda r: "" if "worse" in r.sentence else "fine.")
    (draft,) = loop.revise(judged, reviser, "warn")
    return draft


def test_rewrites_that_wait_stand_in_no_revised_caption() -> None:
    draft = waiting()
    assert [a.why for s in draft.sentences for a in s.attempts] == [Why.AWAITING_CRITIC] * 2
    assert draft.stale == 1
    assert compose(draft.caption, draft.sentences)[0] == "one. fine."
    found = revision_of(draft, "signed")
    assert (found.revised_caption, found.signature, found.rounds) == (draft.caption, "signed", 1)
    plain = settled(draft.sentences[1])
    assert (plain.attempts, plain.now, plain.rationale) == (
        (),
        Verdict(0.1),
        Rationale("wrong: bad."),
    )
    assert plain.span == draft.sentences[1].span
    again = resumed(IMAGE, found)
    assert again == replace(draft, image=IMAGE)
    (done,) = loop.judge([again], FakeCritic(good_unless_bad))
    assert revised(done) == "one. fine."
    assert [s.attempts[-1].why for s in done.sentences[1:]] == [Why.BETTER, Why.DELETED]


def test_stages_do_their_part_only() -> None:
    """`critique` never rewrites; `revise` never judges, and rewrites what has rounds left."""
    critic, text = FakeCritic(good_unless_bad), "bad. one."
    start = new_draft(IMAGE, text, spans_of(text))
    models = LoadedModels(critic, FakeReviser(lambda r: "fine."), "")
    settings = RevisionSettings(stage="critique", rounds=1, guard="warn")
    (judged,) = run_stages([start], models, settings)
    assert (judged.rounds, judged.sentences[0].attempts) == (0, ())
    assert judged.sentences[0].rationale == Rationale("wrong: bad.")
    asked = critic.judged
    (rewritten,) = run_stages([judged], models, replace(settings, stage="revise"))
    assert critic.judged == asked
    assert (rewritten.rounds, rewritten.stale) == (1, 0)
    spent = replace(judged, rounds=1)
    assert run_stages([spent], models, replace(settings, stage="revise")) == [spent]
    unfinished = replace(judged, stale=0)
    assert run_stages([unfinished], models, replace(settings, stage="revise")) == [unfinished]


def test_present_text_and_flags_of_a_sentence() -> None:
    sentence = Sentence(Span(0, 4), Verdict(0.1), Verdict(0.1))
    caption = "bad. one."
    assert present_text(sentence, caption) == "bad."
    refused = replace(sentence, attempts=(Attempt("x.", False, Why.NOT_FACTUAL, 1, 0.1, 0.2),))
    assert present_text(refused, caption) == "bad."
    taken = replace(sentence, attempts=(Attempt("x.", True, Why.BETTER, 1, 0.1, 0.9),))
    assert present_text(taken, caption) == "x."
    assert present_text(replace(taken, dropped=True), caption) == ""
    draft = replace(new_draft(IMAGE, caption, ()), sentences=(sentence,))
    assert flagged(replace(draft, threshold=0.1)) == []  # factual from the threshold on
    assert flagged(replace(draft, threshold=0.1001)) == [0]
    unjudged = replace(draft, sentences=(replace(sentence, now=NOT_JUDGED),), threshold=1.0)
    assert flagged(unjudged) == []
    assert new_draft(None, "", ()).stale is None


class ChoosingCritic(FakeCritic):
    """Has an expert for charts, whose threshold is lower."""

    def chosen(self, images: Sequence[object]) -> list[Chosen]:
        return [Chosen("charts", 0.3) for _ in images]


def test_whom_the_critic_chooses_is_kept_and_decides_what_is_flagged() -> None:
    draft = run("one.", ChoosingCritic(lambda context, text: 0.4), FakeReviser(lambda r: "two."))
    assert (draft.expert, draft.threshold, draft.rounds) == ("charts", 0.3, 0)
