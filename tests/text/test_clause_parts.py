"""A sentence taken apart into clauses, and put together again."""

import pytest

from revise_captions.records import Span
from revise_captions.text.clauses import clauses, with_clauses


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The dog is brown, and it is asleep.", ["The dog is brown.", "It is asleep."]),
        (
            "A cat is here, a dog sits and a car, and it is red!",
            ["A cat is here.", "A dog sits and a car.", "It is red."],
        ),
        # a subject of several things, behind a comma, at the beginning and at the end
        (
            "A car is red, a boy wearing a top and a hat is jumping, and it is day.",
            ["A car is red.", "A boy wearing a top and a hat is jumping.", "It is day."],
        ),
        (
            "A boy in a top and a hat is here, it is day, and a girl with a cat and a ball sits.",
            [
                "A boy in a top and a hat is here.",
                "It is day.",
                "A girl with a cat and a ball sits.",
            ],
        ),
        (
            "We can see a car, a cat and a big ball can be seen, and it is day.",
            ["We can see a car.", "A cat and a big ball can be seen.", "It is day."],
        ),
        ("It is day, a cat and a dog are asleep.", ["It is day.", "A cat and a dog are asleep."]),
        (
            "It is day, a cat sits and two dogs are asleep.",
            ["It is day.", "A cat sits.", "Two dogs are asleep."],
        ),
        # the end of a list, before another clause
        (
            "There is a car, a boy in a hat and it is day.",
            ["There is a car, a boy in a hat.", "It is day."],
        ),
        ("The image shows a dog, a cat and a ball.", []),
        ("A boy and a girl are standing.", []),
        # a predicate without a subject, and nouns that look like verbs
        ("The dog is brown and has a collar.", []),
        (
            "The dog is brown, has a collar, and a cat sits.",
            ["The dog is brown, has a collar.", "A cat sits."],
        ),
        ("I can see soda and a can of paint.", []),
        ("The image shows a beach and waves.", []),
        ("It is day and the waves are high.", ["It is day.", "The waves are high."]),
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
        ("A is red, the B is blue, and C is on.", 1, "A is red, and C is on."),
        (
            "A is red, it is blue, NASA is on, and A is in.",
            0,
            "It is blue, NASA is on, and A is in.",
        ),
        ("a cat is red, Bob is tall, and it is day", 0, "Bob is tall, and it is day"),
        ("a cat is red and a dog is asleep", 0, "a dog is asleep"),
        ("A is red, while it is blue, but Bob is tall.", 2, "A is red, while it is blue."),
        ("A is red, it is blue, and Bob is tall.", 2, "A is red, and it is blue."),
        # whatever the language
        (
            "De hond is bruin, de kat is wit, de bal is rood.",
            1,
            "De hond is bruin, de bal is rood.",
        ),
    ],
)
def test_without_one_clause_the_others_are_a_sentence(sentence, gone, left):
    assert with_clauses(sentence, {clauses(sentence)[gone].span: ""}) == left


@pytest.mark.parametrize("put", ["", "It rains."])
def test_a_place_that_is_no_clause_changes_nothing(put):
    for sentence in ("A dog is brown.", "The dog is brown, and it is asleep."):
        assert with_clauses(sentence, {Span(0, 3): put}) == sentence


def test_a_rewritten_clause_goes_into_its_place():
    sentence = "The dog is brown, and the cat is red."
    first, second = clauses(sentence)
    assert with_clauses(sentence, {second.span: "The cat is white."}) == (
        "The dog is brown, and the cat is white."
    )
    for text, said, expected in (
        ("a dog is brown and it is day", "A dog is red.", "a dog is red and it is day"),
        ("It is day, and a dog is brown.", "A dog is red.", "It is day, and a dog is red."),
        ("It is day, and Bob is brown.", "Bob is red.", "It is day, and Bob is red."),
    ):
        (place,) = (part.span for part in clauses(text) if "brown" in part.text)
        assert with_clauses(text, {place: said}) == expected
    put = {first.span: "It rains."}
    assert with_clauses(sentence, put) == "It rains, and the cat is red."
    assert with_clauses(sentence, put | {second.span: ""}) == "It rains."
    assert with_clauses(sentence, {first.span: "", second.span: ""}) == ""
