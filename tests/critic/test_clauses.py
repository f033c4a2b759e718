"""Clauses of a sentence, what a critic makes of each, and how the wrong one is mended."""

import pytest
from PIL import Image

from revise_captions.critic.clauses import ClauseJudge
from revise_captions.critic.protocol import ExplainRequest, JudgeRequest
from revise_captions.records import CLAUSE, DOUBTED_CLAUSE, Fix, Rationale, Span, Verdict, Why
from revise_captions.reviser.bundled_model.reviser import BundledReviser, _alone, _in_sentence
from revise_captions.reviser.guards import check
from revise_captions.reviser.protocol import RewriteRequest
from revise_captions.text.clauses import clauses, with_clause, without_clause


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The dog is brown, and it is asleep.", ["The dog is brown.", "It is asleep."]),
        (
            "A cat is here, a dog sits and a car, and it is red!",
            ["A cat is here.", "A dog sits and a car.", "It is red."],
        ),
        ("The image shows a dog, a cat and a ball.", []),
        ("A boy and a girl are standing.", []),
        ('A sign says "STOP", and it is red.', []),
        ("There is a dog that is brown, and a cat is white.", []),
        ("It is not true that a cat is white and a dog is brown.", []),
        ("In the sky, a bird flies.", []),
        ("", []),
    ],
)
def test_clauses_have_verbs_of_their_own(sentence, expected):
    found = clauses(sentence)
    assert [part.text for part in found] == expected
    for part in found:
        assert part.span.of(sentence).lower() == part.text[:-1].lower()


@pytest.mark.parametrize(
    ("sentence", "gone", "left"),
    [
        ("The dog is brown, and it is asleep.", 0, "It is asleep."),
        ("The dog is brown, and it is asleep!", 1, "The dog is brown!"),
        ("A is red, the B is blue, and C is on.", 1, "A is red and c is on."),
        (
            "A is red, it is blue, NASA is on, and A is in.",
            0,
            "It is blue, NASA is on, and a is in.",
        ),
    ],
)
def test_without_one_clause_the_others_are_a_sentence(sentence, gone, left):
    assert without_clause(sentence, clauses(sentence)[gone].span) == left


def test_a_place_that_is_no_clause_takes_nothing_out():
    assert without_clause("A dog is brown.", Span(0, 3)) == "A dog is brown."
    joined = "The dog is brown, and it is asleep."
    assert without_clause(joined, Span(0, 3)) == joined


def test_a_rewritten_clause_goes_into_its_place():
    sentence = "The dog is brown, and the cat is red."
    first, second = clauses(sentence)
    assert with_clause(sentence, second.span, "The cat is white.") == (
        "The dog is brown, and the cat is white."
    )
    assert with_clause(sentence, first.span, "It rains.") == "It rains, and the cat is red."


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


def _asked_about(asked):
    return [Rationale(one.spans[one.index].of(one.text)) for one in asked]


SEARCH = ClauseJudge(0.3, _judge, _asked_about)


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
    assert SEARCH.bounded([_request(text, before)], [[Verdict(0.9)]])[0][0].p_factual == p


def test_what_is_unscored_stays_so_and_statements_instead_are_not_taken_apart():
    instead = JudgeRequest(IMAGE, JOINED, (Span(0, len(JOINED)),), instead=((0, JOINED),))
    assert SEARCH.bounded([instead], [[Verdict(0.9)]]) == [[Verdict(0.9)]]
    assert SEARCH.bounded([_request(JOINED)], [[Verdict(None)]]) == [[Verdict(None)]]


def test_the_least_factual_clause_is_explained_and_its_place_named():
    texts = (JOINED, "The cat is red.")
    asked = [ExplainRequest(IMAGE, text, (Span(0, len(text)),), 0) for text in texts]
    joined, alone = SEARCH.rationales(asked)
    assert joined.text == alone.text == "The cat is red."
    assert [(fix.span, fix.kind, fix.certain) for fix in joined.fixes] == [(PLACE, CLAUSE, False)]
    assert alone.fixes == ()


@pytest.mark.parametrize(("p", "kind"), [(0.01, CLAUSE), (0.02, DOUBTED_CLAUSE)])
def test_a_clause_in_doubt_is_named_as_such(p, kind):
    def judge(requests):
        return [[Verdict(p if text == "The cat is red." else 0.9) for _, text in request.asked]
                for request in requests]  # fmt: skip

    asked = ExplainRequest(IMAGE, JOINED, (Span(0, len(JOINED)),), 0)
    (told,) = ClauseJudge(0.3, judge, _asked_about).rationales([asked])
    assert [fix.kind for fix in told.fixes] == [kind]


def test_only_the_wrong_clause_is_rewritten_and_goes_where_that_fails():
    fixes = (Fix(PLACE, "", CLAUSE, certain=False),)
    request = RewriteRequest("It is day. ", JOINED, "The cat is white.", fixes=fixes)
    alone = _alone(request, PLACE)
    assert (alone.sentence, alone.fixes) == ("The cat is red.", ())
    assert alone.context == "It is day. The dog is brown, and "
    mended = _in_sentence(request, PLACE, "The cat is white.")
    assert mended == "The dog is brown, and the cat is white."
    assert _in_sentence(request, PLACE, None) == "The dog is brown."
    again = RewriteRequest("", JOINED, "", failed=(mended,), fixes=fixes)
    assert _in_sentence(again, PLACE, "The cat is white.") == "The dog is brown."
    spent = RewriteRequest("", JOINED, "", failed=(mended, "The dog is brown."), fixes=fixes)
    assert _in_sentence(spent, PLACE, None) is None


def test_a_clause_in_doubt_goes_without_a_rewrite():
    class Answers(BundledReviser):
        def _rewrite(self, requests):
            assert [request.sentence for request in requests] == ["The cat is red."]
            return ["The cat is white."]

    reviser = Answers(None, None, {})
    sure, doubted = (
        RewriteRequest(
            "", JOINED, "The cat is white.", fixes=(Fix(PLACE, "", kind, certain=False),)
        )
        for kind in (CLAUSE, DOUBTED_CLAUSE)
    )
    mended = "The dog is brown, and the cat is white."
    assert reviser.rewrite([doubted, sure, doubted]) == [
        "The dog is brown.", mended, "The dog is brown."
    ]  # fmt: skip
    assert check(doubted, "The dog is brown.", mode="strict").why is None


def test_the_guards_let_a_named_clause_go_and_no_other():
    fixes = (Fix(PLACE, "", CLAUSE, certain=False),)
    said = "It is wrong."
    request = RewriteRequest("", JOINED, said, fixes=fixes)
    assert check(request, "The dog is brown.", mode="strict").why is None
    for refused, text in ((RewriteRequest("", JOINED, said), "The dog is brown."),
                          (request, "The cat is red.")):  # fmt: skip
        assert check(refused, text, mode="strict").why is Why.LOST_CONTENT
