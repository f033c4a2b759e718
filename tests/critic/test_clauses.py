"""What a critic makes of the clauses of a sentence, and how the wrong one is mended."""

from dataclasses import replace
from typing import ClassVar

import pytest
from PIL import Image
from scripted_engine import ScriptedEngine, data_of

from revise_captions.critic.clauses import ClauseCritic
from revise_captions.critic.instruct import InstructCritic
from revise_captions.critic.load import load_critic, resolve_critic
from revise_captions.critic.protocol import ExplainRequest, JudgeRequest
from revise_captions.engines.protocol import AnswerScores, Completion
from revise_captions.errors import UserError
from revise_captions.pipelines.draft import compose, new_draft
from revise_captions.pipelines.job.models import _engine_of, assembled
from revise_captions.pipelines.job.rounds import LoadedModels, RevisionSettings, run_stages
from revise_captions.pipelines.options import ModelOptions, RunOptions, VerifyOptions
from revise_captions.records import CLAUSE, DOUBTED_CLAUSE, Fix, Rationale, Span, Verdict, Why
from revise_captions.reviser.chat import ChatReviser
from revise_captions.reviser.clauses import rewrite
from revise_captions.reviser.guards import check
from revise_captions.reviser.protocol import RewriteRequest
from revise_captions.reviser.scripted import DropReviser, ScriptedReviser
from revise_captions.text.clauses import clauses, with_clauses

WRONG = "the cat is red"
JOINED = f"The dog is brown, and {WRONG}."
PLACE = Span(JOINED.index(WRONG), len(JOINED) - 1)
IMAGE = Image.new("RGB", (8, 8))


def _judge(requests):
    """Of a critic that overlooks what is wrong in a joined sentence."""
    return [
        [Verdict(0.01 if text == "The cat is red." else 0.9) for _, text in request.asked]
        for request in requests
    ]


class Overlooks:
    """Knows what is wrong in a sentence of one clause; explains what it is asked about."""

    settings: ClassVar = {"critic": "overlooks"}
    threshold = 0.3

    def __init__(self, judge=_judge):
        self.judge = judge

    def explain(self, requests):
        return [Rationale(one.spans[one.index].of(one.text)) for one in requests]


CRITIC = ClauseCritic(Overlooks())


def _request(text: str, before: str = "") -> JudgeRequest:
    spans = (Span(0, len(before)),) if before else ()
    start = len(before) + bool(before)
    whole = f"{before} {text}" if before else text
    return JudgeRequest(IMAGE, whole, (*spans, Span(start, len(whole))), len(spans))


@pytest.mark.parametrize(
    ("text", "p"), [(JOINED, 0.01), ("The dog is brown, and it sits.", 0.9), ("A dog sits.", 0.9)]
)
@pytest.mark.parametrize("before", ["", "It is day."])
def test_a_sentence_is_no_more_factual_than_its_wrong_clause(text, p, before):
    assert CRITIC.judge([_request(text, before)])[0][0].p_factual == p


def test_what_is_unscored_stays_so_and_statements_instead_are_not_taken_apart():
    instead = JudgeRequest(IMAGE, JOINED, (Span(0, len(JOINED)),), instead=((0, JOINED),))
    assert CRITIC.judge([instead]) == [[Verdict(0.9)]]
    silent = ClauseCritic(Overlooks(lambda requests: [[Verdict(None)] for _ in requests]))
    assert silent.judge([_request(JOINED)]) == [[Verdict(None)]]


def test_the_least_factual_clause_is_explained_and_its_place_named():
    texts = (JOINED, "The cat is red.")
    asked = [ExplainRequest(IMAGE, text, (Span(0, len(text)),), 0) for text in texts]
    joined, alone = CRITIC.explain(asked)
    assert joined.text == alone.text == "The cat is red."
    assert [(fix.span, fix.kind, fix.certain) for fix in joined.fixes] == [(PLACE, CLAUSE, False)]
    assert alone.fixes == ()


@pytest.mark.parametrize(("p", "kind"), [(0.01, CLAUSE), (0.02, DOUBTED_CLAUSE)])
def test_a_clause_in_doubt_is_named_as_such(p, kind):
    def judge(requests):
        return [[Verdict(p if text == "The cat is red." else 0.9) for _, text in request.asked]
                for request in requests]  # fmt: skip

    asked = ExplainRequest(IMAGE, JOINED, (Span(0, len(JOINED)),), 0)
    (told,) = ClauseCritic(Overlooks(judge)).explain([asked])
    assert [fix.kind for fix in told.fixes] == [kind]


FIXES = (Fix(PLACE, "", CLAUSE, certain=False, basis="The cat is white."),)
MENDED = "The dog is brown, and the cat is white."


def _written(request, answer):
    (text,) = rewrite(ScriptedReviser({"The cat is red.": answer}), [request], "strict")
    return text


def test_only_the_wrong_clause_is_rewritten_and_goes_where_that_fails():
    request = RewriteRequest("It is day. ", JOINED, "The cat is white.", fixes=FIXES)
    assert _written(request, "The cat is white.") == MENDED
    assert _written(request, None) == "The dog is brown."
    again = replace(request, failed=(MENDED,))
    assert _written(again, "The cat is white.") == "The dog is brown."
    spent = replace(request, failed=(MENDED, "The dog is brown."))
    assert _written(spent, None) is None
    assert rewrite(DropReviser(), [request], "strict") == ["The dog is brown."]


def test_a_reviser_is_asked_about_the_clause_in_its_place():
    seen = []

    def script(request):
        seen.append((request.context, request.sentence, request.after, request.fixes))
        return None

    request = RewriteRequest("It is day. ", JOINED, "", after=" It rains.", fixes=FIXES)
    rewrite(ScriptedReviser(script), [request], "strict")
    assert seen == [("It is day. The dog is brown, and ", "The cat is red.", ". It rains.", ())]


def test_a_clause_in_doubt_goes_without_a_rewrite():
    doubted = RewriteRequest(
        "", JOINED, "The cat is white.", fixes=(Fix(PLACE, "", DOUBTED_CLAUSE, certain=False),)
    )
    sure, whole = replace(doubted, fixes=FIXES), replace(doubted, fixes=())
    reviser = ScriptedReviser({"The cat is red.": "The cat is white.", JOINED: "It rains."})
    assert rewrite(reviser, [doubted, sure, whole, doubted], "strict") == [
        "The dog is brown.", MENDED, "It rains.", "The dog is brown."
    ]  # fmt: skip
    assert check(doubted, "The dog is brown.", mode="strict").why is None


CAT_AND_BIRD = "The cat is asleep, but the bird is flying."


@pytest.mark.parametrize(
    ("said", "gone", "after", "left"),
    [
        (CAT_AND_BIRD, 1, " It is big.", None),
        (CAT_AND_BIRD, 1, " The other one is on the right.", None),
        (CAT_AND_BIRD, 1, " The sun is red. It is big.", "The cat is asleep."),
        (CAT_AND_BIRD, 1, "", "The cat is asleep."),
        ("The dog is brown, and it is big.", 0, "", None),
        ("The dog is brown, and it is big.", 1, " It is wet.", "The dog is brown."),
        ("The dog is brown, and the cat is red.", 0, " It is wet.", "The cat is red."),
    ],
)
def test_no_clause_goes_that_is_referred_to(said, gone, after, left):
    fixes = (Fix(clauses(said)[gone].span, "", DOUBTED_CLAUSE, certain=False),)
    request = RewriteRequest("", said, "", after=after, fixes=fixes)
    assert rewrite(ScriptedReviser({}), [request], "strict") == [left]
    assert rewrite(DropReviser(), [request], "strict") == [with_clauses(said, {fixes[0].span: ""})]


FIVE = "The dog is brown, the cat is red, a bird flies, the sun is green, and the car is big."
#: P(factual) of what is wrong in `FIVE`; everything else is true.
DOUBTS = {"The cat is red.": 0.01, "The sun is green.": 0.2, "The cat is green.": 0.005}
_BIRD = "a bird flies, "


def _doubting(doubts):
    """A critic that overlooks what is wrong in whole sentences, by what it makes of clauses."""

    def judge(requests):
        return [[Verdict(doubts.get(text, 0.9)) for _, text in request.asked]
                for request in requests]  # fmt: skip

    return ClauseCritic(Overlooks(judge))


def _told(text, doubts):
    (told,) = _doubting(doubts).explain([ExplainRequest(IMAGE, text, (Span(0, len(text)),), 0)])
    return told


def test_every_wrong_clause_is_named_with_what_is_wrong_in_it():
    told = _told(FIVE, DOUBTS)
    assert told.text == "The cat is red. The sun is green."
    assert [(fix.span.of(FIVE), fix.kind, fix.basis) for fix in told.fixes] == [
        ("the cat is red", CLAUSE, "The cat is red."),
        ("the sun is green", DOUBTED_CLAUSE, "The sun is green."),
    ]


def test_the_least_factual_clause_is_named_where_only_the_whole_sentence_is_wrong():
    (fix,) = _told(FIVE, {"A bird flies.": 0.4}).fixes
    assert (fix.span.of(FIVE), fix.kind) == ("a bird flies", DOUBTED_CLAUSE)


def test_no_clause_is_named_where_none_could_be_judged():
    def judge(requests):
        return [[Verdict(0.1 if text == JOINED else None) for _, text in r.asked] for r in requests]

    (told,) = ClauseCritic(Overlooks(judge)).explain(
        [ExplainRequest(IMAGE, JOINED, (Span(0, len(JOINED)),), 0)]
    )
    assert told == Rationale(JOINED)


class Says(Overlooks):
    """Explains everything alike."""

    def explain(self, requests):
        return [Rationale("The cat is white. The sun is yellow or blue.") for _ in requests]


def _revised(text, doubts, reviser):
    """What becomes of a caption of one sentence, and P(factual) of what stands there."""
    critic = ClauseCritic(Says(_doubting(doubts).critic.judge))
    models = LoadedModels(critic, reviser, "")
    (draft,) = run_stages([new_draft(IMAGE, text, (Span(0, len(text)),))], models,
                          RevisionSettings())  # fmt: skip
    return compose(draft.caption, draft.sentences)[0], draft.sentences[0].now.p_factual


WHITE = {"The cat is red.": "The cat is white."}
BOTH = {**DOUBTS, "The sun is green.": 0.002}


@pytest.mark.parametrize(
    ("doubts", "script", "expected"),
    [
        (DOUBTS, WHITE, f"The dog is brown, the cat is white, {_BIRD}and the car is big."),
        (
            BOTH,
            WHITE | {"The sun is green.": "The sun is yellow."},
            f"The dog is brown, the cat is white, {_BIRD}the sun is yellow, and the car is big.",
        ),
        (BOTH, WHITE, f"The dog is brown, the cat is white, {_BIRD}and the car is big."),
        # the critic takes one of the rewrites for wrong: both clauses go
        (
            {**BOTH, "The sun is blue.": 0.1},
            WHITE | {"The sun is green.": "The sun is blue."},
            f"The dog is brown, {_BIRD}and the car is big.",
        ),
        # a rewrite that speaks of what nobody named: the guards have that clause go
        (
            BOTH,
            WHITE | {"The sun is green.": "The sun is a purple balloon."},
            f"The dog is brown, the cat is white, {_BIRD}and the car is big.",
        ),
    ],
)
def test_two_wrong_clauses_of_a_sentence_are_mended_and_nothing_else(doubts, script, expected):
    assert _revised(FIVE, doubts, ScriptedReviser(script, strict=True)) == (expected, 0.9)


def test_the_sentence_goes_only_with_all_its_clauses():
    drop = DropReviser()
    assert _revised(FIVE, BOTH, drop)[0] == f"The dog is brown, {_BIRD}and the car is big."
    assert _revised("The cat is red, and the sun is green.", BOTH, drop)[0] == ""


def test_a_sentence_of_wrong_clauses_is_rewritten_and_kept_where_that_fails():
    """`--on-unfixable` decides what becomes of it, as of any other sentence."""
    text = "The cat is red, and the sun is green."
    yellow = ScriptedReviser(WHITE | {"The sun is green.": "The sun is yellow."})
    for doubts in (BOTH, DOUBTS, {**BOTH, "The cat is red.": 0.2}):
        assert _revised(text, doubts, yellow)[0] == "The cat is white, and the sun is yellow."
    assert _revised(text, BOTH, ScriptedReviser(WHITE))[0] == "The cat is white."
    assert _revised(text, BOTH, ScriptedReviser({})) == (text, 0.002)
    refused = {**BOTH, "The cat is white.": 0.1}
    assert _revised(text, refused, ScriptedReviser(WHITE)) == (text, 0.002)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"The dog is brown, the cat is white, {_BIRD}and the car is big.", None),
        ("The dog is brown, a bird flies, the sun is yellow, and the car is big.", None),
        ("The dog is brown, a bird flies, and the car is big.", None),
        # another clause is changed, gone, or new
        ("The dog is white, a bird flies, and the car is big.", Why.LOST_CONTENT),
        ("The dog is brown, the cat is white, and the car is big.", Why.LOST_CONTENT),
        ("The dog is brown, a bird flies, the car is big, and it rains.", Why.LOST_CONTENT),
        ("A bird flies, the dog is brown, and the car is big.", Why.LOST_CONTENT),
        # what is put in is compared with the clause that stood there, not with its neighbors
        ("The dog is brown, the cat is big, a bird flies, and the car is big.", Why.NEW_CONTENT),
        ("The dog is brown, no car, a bird flies, and the car is big.", Why.OTHER_ABSENCE),
    ],
)
def test_the_guards_compare_a_rewrite_with_all_wrong_clauses(text, why):
    said = "The cat is white. The sun is yellow."
    request = RewriteRequest("", FIVE, said, fixes=_told(FIVE, DOUBTS).fixes)
    assert check(request, text, mode="strict").why is why


def test_any_critic_of_whole_sentences_is_asked_about_clauses(tmp_path):
    critic = load_critic("clauses")
    assert isinstance(critic, ClauseCritic)
    assert critic.settings["clauses"]
    assert critic.settings["critic"].startswith("bundled@")
    assert resolve_critic("clauses=M@http://localhost:1/v1").argument == "M@http://localhost:1/v1"
    with pytest.raises(UserError, match="clauses of bundled cannot be judged one by one"):
        load_critic("clauses=bundled")
    with pytest.raises(UserError, match="there is no critic 'picturebok'"):
        load_critic("clauses=picturebok")


def test_what_was_judged_without_clauses_is_not_judged_further_with_them():
    before = "critic:overlooks|revise-captions:1"
    run, verify = RunOptions(stage="critique"), VerifyOptions()
    with pytest.raises(UserError, match="by the critic overlooks, but this critic is overlooks by"):
        assembled(CRITIC, None, ModelOptions(), run, verify, before)
    assert assembled(CRITIC.critic, None, ModelOptions(), run, verify, before)
    assert assembled(CRITIC, None, ModelOptions(), run, verify, f"{before}|clauses:clauses/1")


def test_the_guards_let_a_named_clause_go_and_no_other():
    fixes = (Fix(PLACE, "", CLAUSE, certain=False),)
    said = "It is wrong."
    request = RewriteRequest("", JOINED, said, fixes=fixes)
    assert check(request, "The dog is brown.", mode="strict").why is None
    for refused, text in ((RewriteRequest("", JOINED, said), "The dog is brown."),
                          (request, "The cat is red.")):  # fmt: skip
        assert check(refused, text, mode="strict").why is Why.LOST_CONTENT


def test_a_model_for_instructions_mends_the_clause_that_it_named_itself():
    """Its engine is found behind the critic of clauses, and rewrites what that names."""

    def answer(prompt):
        asked = data_of(prompt)[-1]
        return AnswerScores((-5.0, -0.01) if asked == "The cat is red." else (-0.1, -2.4), 0.99)

    engine = ScriptedEngine(answer, lambda _: Completion("The cat is white.", True))
    critic = ClauseCritic(InstructCritic(engine, threshold=0.5))
    assert _engine_of(critic, "") is engine
    (verdict,) = critic.judge([_request(JOINED)])[0]
    assert verdict.p_factual == pytest.approx(0.0068, abs=1e-4)
    (rationale,) = critic.explain([ExplainRequest(IMAGE, JOINED, (Span(0, len(JOINED)),), 0)])
    assert [fix.span for fix in rationale.fixes] == [PLACE]
    request = RewriteRequest("", JOINED, rationale.text, fixes=rationale.fixes)
    assert rewrite(ChatReviser(engine), [request], "strict") == [MENDED]
