"""The loop against an exact outside truth: a critic that is a pure function of (context, sentence).

Whatever rewrites are accepted, dropped or taken back, P after must be what that function says of
the final caption; and the stages run apart must end where they end run together.
"""

from __future__ import annotations

import json
import random

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
from PIL import Image

from revise_captions.critic.scripted import ScriptedCritic
from revise_captions.io.decoding import full_size, reduced
from revise_captions.pipelines.draft import new_draft, resumed, revision_of
from revise_captions.pipelines.job import rounds as loop
from revise_captions.pipelines.job.rounds import LoadedModels, RevisionSettings, run_stages
from revise_captions.pipelines.output.schema import from_json, to_json
from revise_captions.records import (
    Evidence,
    Fix,
    Rationale,
    Span,
    UnknownWord,
    Unscored,
    Verdict,
    Why,
)
from revise_captions.reviser.protocol import RewriteRequest


def test_nothing_flagged_nothing_changes() -> None:
    critic = FakeCritic(good_unless_bad)
    draft = run("  one.\n\n two.\t three. ", critic, FakeReviser(lambda r: "never."))
    assert revised(draft) == "  one.\n\n two.\t three. "
    assert critic.judged == 3


def test_flagged_sentence_is_rewritten_in_place() -> None:
    draft = run(" one.\n\nbad.\ttwo. ", FakeCritic(good_unless_bad), FakeReviser(lambda r: "fine."))
    assert revised(draft) == " one.\n\nfine.\ttwo. "
    attempt = draft.sentences[1].attempts[0]
    assert (attempt.accepted, attempt.why) == (True, Why.BETTER)
    assert (attempt.p_before, attempt.p_after) == (0.1, 0.9)


def test_a_rewrite_that_stays_wrong_is_taken_back() -> None:
    draft = run("one. bad. two.", FakeCritic(good_unless_bad), FakeReviser(lambda r: "badder."))
    assert revised(draft) == "one. bad. two."
    assert [a.why for a in draft.sentences[1].attempts] == [Why.NOT_FACTUAL] * 2


@pytest.mark.parametrize("after", [0.6, 0.7])
def test_passing_a_lower_threshold_without_being_better_is_refused(after: float) -> None:
    # Flagged at 0.8 in one stage, judged at 0.5 in the next: both pass, but 0.7 stood there.
    critic = FakeCritic(lambda _, s: 0.7 if s == "bad." else after, threshold=0.8)
    reviser = FakeReviser(lambda r: "fine.")
    start = new_draft(IMAGE, "bad.", spans_of("bad."))
    judged = loop.judge([start], critic)
    waiting = loop.revise(judged, reviser, "warn")
    critic.threshold = 0.5
    done = loop.judge(waiting, critic)[0]
    assert done.sentences[0].attempts[0].why is Why.NO_BETTER
    assert revised(done) == "bad."


@pytest.mark.parametrize(
    ("after", "why"), [(0.4999, Why.NOT_FACTUAL), (THRESHOLD, Why.BETTER), (0.5001, Why.BETTER)]
)
def test_a_rewrite_is_accepted_from_the_threshold_on(after: float, why: Why) -> None:
    critic = FakeCritic(lambda _, s: 0.1 if s == "bad." else after)
    draft = run("bad.", critic, FakeReviser(lambda r: "fine."), rounds=1)
    assert draft.sentences[0].attempts[0].why is why
    assert revised(draft) == ("bad." if why is Why.NOT_FACTUAL else "fine.")


@pytest.mark.parametrize(
    ("unscored", "why"),
    [
        (UnknownWord("dragon"), Why.UNKNOWN_WORD),
        (Unscored.TOO_LONG, Why.UNSCORED),
    ],
)
def test_a_rewrite_that_the_critic_cannot_judge_is_refused_with_its_reason(unscored, why) -> None:
    class Blind(FakeCritic):
        def judge(self, paragraphs):
            return [
                [Verdict(None, unscored) if "dragon" in s.of(q.text) else Verdict(0.1)
                 for s in q.spans[q.first :]]
                for q in paragraphs
            ]  # fmt: skip

    draft = run("bad.", Blind(good_unless_bad), FakeReviser(lambda r: "dragon."), rounds=1)
    (attempt,) = draft.sentences[0].attempts
    assert (attempt.accepted, attempt.why, attempt.p_after) == (False, why, None)
    assert revised(draft) == "bad."
    stored = to_json(revision_of(draft, ""))
    assert from_json("bad.", json.loads(json.dumps(stored))) == revision_of(draft, "")


def test_the_reviser_sees_what_stands_around_the_sentence() -> None:
    """The caption before this round's rewrites, with those of earlier rounds in it."""
    asked: list[RewriteRequest] = []

    def rewriter(request: RewriteRequest) -> str:
        asked.append(request)
        return "fine." if request.sentence == "bad." or request.failed else "worse-bad."

    run(" one. bad. two.\nother-bad. end.", FakeCritic(good_unless_bad), FakeReviser(rewriter))
    seen = [(r.context, r.sentence, r.after, r.rationale) for r in asked]
    assert seen == [
        (" one. ", "bad.", " two.\nother-bad. end.", "wrong: bad."),
        (" one. bad. two.\n", "other-bad.", " end.", "wrong: other-bad."),
        (" one. fine. two.\n", "other-bad.", " end.", "wrong: other-bad."),
    ]


def test_the_reviser_sees_the_nearest_text_of_a_long_caption() -> None:
    asked: list[RewriteRequest] = []
    before, after = ("".join(f"{k:04}. " for k in range(500)) for _ in range(2))
    reviser = FakeReviser(lambda r: asked.append(r))
    run(f"{before}bad. {after}", FakeCritic(good_unless_bad), reviser, rounds=1)
    assert asked[0].context == before[-loop.CONTEXT_CHARACTERS :]
    assert asked[0].after == f" {after}"[: loop.CONTEXT_CHARACTERS]


def test_later_tries_see_the_failed_ones() -> None:
    seen: list[tuple[str, ...]] = []

    def rewriter(request: RewriteRequest) -> str:
        seen.append(request.failed)
        return "bad again." if not request.failed else "fine."

    draft = run("bad.", FakeCritic(good_unless_bad), FakeReviser(rewriter))
    assert seen == [(), ("bad again.",)]
    assert revised(draft) == "fine."


def test_what_a_changed_context_makes_wrong_enters_the_next_round() -> None:
    def p(context: str, sentence: str) -> float:
        if sentence == "it." and "fine." in context:
            return 0.2
        return good_unless_bad(context, sentence)

    def rewriter(request: RewriteRequest) -> str:
        return "fine." if "bad" in request.sentence else "this."

    draft = run("bad. it.", FakeCritic(p), FakeReviser(rewriter))
    assert revised(draft) == "fine. this."
    assert draft.sentences[1].attempts[0].round == 2


def test_an_acceptance_that_a_refusal_undoes_is_taken_back() -> None:
    # "b-fixed" is only true while "a-fixed" stands before it, and "a-fixed" is refused.
    def p(context: str, sentence: str) -> float:
        table = {"a-bad.": 0.1, "a-fixed.": 0.2, "b-bad.": 0.1}
        if sentence == "b-fixed.":
            return 0.9 if "a-fixed." in context else 0.3
        return table.get(sentence, 0.9)

    rewriter = FakeReviser(lambda r: r.sentence.replace("bad", "fixed"))
    draft = run("a-bad. b-bad. end.", FakeCritic(p), rewriter, rounds=1)
    assert revised(draft) == "a-bad. b-bad. end."
    assert [s.attempts[0].accepted for s in draft.sentences[:2]] == [False, False]


def test_an_acceptance_of_an_earlier_round_stays() -> None:
    # "b-fixed" was accepted in the first round; what the second writes before it makes it wrong.
    def p(context: str, sentence: str) -> float:
        if sentence == "b-fixed.":
            return 0.3 if "a-fixed." in context else 0.9
        return good_unless_bad(context, sentence)

    tries = iter([None, "b-fixed.", "a-fixed."])
    draft = run("a-bad. b-bad.", FakeCritic(p), FakeReviser(lambda r: next(tries)))
    assert revised(draft) == "a-fixed. b-fixed."
    assert [s.attempts[-1].accepted for s in draft.sentences] == [True, True]
    assert draft.sentences[1].now.p_factual == 0.3


@pytest.mark.parametrize(("by_rule", "expected"), [(True, "fine."), (False, "bad.")])
def test_strict_guards_are_not_for_what_a_rule_wrote(by_rule: bool, expected: str) -> None:
    class Ruled(FakeReviser):
        def by_rule(self, request: RewriteRequest) -> bool:
            return by_rule

    tools = LoadedModels(FakeCritic(good_unless_bad), Ruled(lambda r: "fine."), "")
    draft = new_draft(IMAGE, "bad.", spans_of("bad."))
    (done,) = run_stages([draft], tools, RevisionSettings(guard="strict", rounds=1))
    assert revised(done) == expected
    assert (done.sentences[0].attempts[0].why is Why.NEW_CONTENT) is not by_rule


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bad.", ""),
        (" bad. ", "  "),
        ("bad.  one. two.", "one. two."),
        ("\tbad.  bad. two.", "\ttwo."),
        ("one.\n\nbad.  two.\n", "one.  two.\n"),
        ("one. bad.\n", "one.\n"),
        ("one.  bad.\tbad.\ntwo.", "one.\ntwo."),
    ],
)
def test_a_deletion_takes_one_gap_with_it(text: str, expected: str) -> None:
    draft = run(text, FakeCritic(good_unless_bad), FakeReviser(lambda r: ""))
    assert revised(draft) == expected
    assert all(s.dropped == ("bad" in s.span.of(text)) for s in draft.sentences)


def test_on_unfixable_drop_removes_the_sentence_and_judges_what_follows_again() -> None:
    def p(context: str, sentence: str) -> float:
        if sentence == "it.":
            return 0.9 if "bad." in context else 0.1
        return good_unless_bad(context, sentence)

    critic, reviser = FakeCritic(p), FakeReviser(lambda r: None)
    assert revised(run("one. bad. it. two.", critic, reviser)) == "one. bad. it. two."
    dropped = run("one. bad. it. two.", critic, reviser, on_unfixable="drop")
    assert revised(dropped) == "one. two."


@pytest.mark.parametrize("on_unfixable", ["keep", "drop", "flag"])
def test_p_after_is_of_the_caption_as_it_stands(on_unfixable: str) -> None:
    for seed in range(150):
        rng = random.Random(seed)
        text = "".join(f"s{k}." + rng.choice([" ", "\n", "  "]) for k in range(rng.randrange(9)))
        critic, reviser = FakeCritic(chaos(seed)), FakeReviser(chaotic_rewriter(seed))
        draft = run(text, critic, reviser, on_unfixable=on_unfixable, rounds=3)
        present, spans = loop.compose(text, draft.sentences)
        for sentence, span in zip(draft.sentences, spans, strict=True):
            assert sentence.pending is None
            if span is None:
                assert sentence.dropped
                continue
            truth = round(critic.p(present[: span.start], span.of(present)), 4)
            assert sentence.now.p_factual == truth
            if on_unfixable == "drop":
                assert truth >= THRESHOLD
            if not sentence.attempts:
                assert span.of(present) == sentence.span.of(text)


def test_stages_run_in_turn_end_where_all_ends() -> None:
    for seed in range(100):
        rng = random.Random(seed)
        text = " ".join(f"s{k}." for k in range(rng.randrange(1, 8)))
        critic, reviser = FakeCritic(chaos(seed)), FakeReviser(chaotic_rewriter(seed))
        policy = rng.choice(["keep", "drop", "flag"])
        whole = run(text, critic, reviser, rounds=2, on_unfixable=policy)
        row: dict[str, object] = {}
        for stage in ("critique", "revise", "critique", "revise", "critique"):
            tools = LoadedModels(critic, reviser, "")
            draft = (
                resumed(IMAGE, from_json(text, row))
                if row
                else new_draft(IMAGE, text, spans_of(text))
            )
            settings = RevisionSettings(stage=stage, rounds=2, on_unfixable=policy, guard="warn")
            draft = run_stages([draft], tools, settings)[0]
            row = json.loads(json.dumps(to_json(revision_of(draft, ""))))
        assert row == json.loads(json.dumps(to_json(revision_of(whole, ""))))


def test_a_long_caption_costs_linear_judging() -> None:
    text = " ".join("bad." if k % 2 else "one." for k in range(2_000))
    critic = FakeCritic(good_unless_bad)
    draft = run(text, critic, FakeReviser(lambda r: "badder."), rounds=1)
    assert revised(draft) == text
    assert critic.judged <= 3 * 2_000


def test_boxes_are_told_in_pixels_of_the_whole_image():
    """2000 × 1500 is reduced by √2, so that its boxes are told √2 times as far out."""
    whole = Image.new("RGB", (2000, 1500), "white")
    image = reduced(whole)
    assert (image.size, full_size(image)) == ((1414, 1060), (2000, 1500))
    box = (707, 530, 1414, 1060)
    fix = Fix(Span(0, 3), "x", evidence=(Evidence(box, "a"), Evidence((0, 0, 1, 2), "b")))
    rationale = Rationale("why", (fix, Fix(Span(4, 5), "y")))
    critic = ScriptedCritic(rationales=lambda request: rationale, default=Verdict(0.1))
    found = {}
    for name, picture in (("reduced", image), ("whole", whole)):
        (draft,) = loop.judge([new_draft(picture, "bad.", spans_of("bad."))], critic)
        (draft,) = loop.explain([draft], critic)
        found[name] = draft.sentences[0].rationale
    assert found["whole"] == rationale
    told, plain = found["reduced"].fixes
    assert [one.box for one in told.evidence] == [(1000, 750, 2000, 1500), (0, 0, 1, 3)]
    assert [one.label for one in told.evidence] == ["a", "b"]
    assert (told.span, told.right, plain) == (fix.span, "x", rationale.fixes[1])


def test_whose_verdict_is_to_be_explained_is_told():
    critic = ScriptedCritic(
        rationales=lambda request: f"by {request.by}", default=Verdict(0.1, by="x")
    )
    (draft,) = loop.judge([new_draft(IMAGE, "bad.", spans_of("bad."))], critic)
    (draft,) = loop.explain([draft], critic)
    assert draft.sentences[0].rationale == Rationale("by x")
