"""Fixes that a model's rationale names in words, as spans of the sentence."""

from __future__ import annotations

import random

import pytest

from revise_captions.critic.reading.rationale import read, with_named_fixes
from revise_captions.records import Fix, Rationale, Span

SENTENCE = "The red car is parked beside two tall trees."


def fixes(text: str, sentence: str = SENTENCE) -> list[tuple[str, str, bool]]:
    """What stands in the sentence, what should stand there, and whether that is certain."""
    found = with_named_fixes(text, sentence)
    assert found.text == text
    return [(fix.span.of(sentence), fix.right, fix.certain) for fix in found.fixes]


@pytest.mark.parametrize(
    "text",
    ["“red” should be “blue”.", 'The words "red" must be "blue".', "'red' should be 'blue'",
     "‘red’ must be ‘blue’, and the rest is so."],
)  # fmt: skip
def test_quoted_words_are_certain(text):
    assert fixes(text) == [("red", "blue", True)]
    (fix,) = with_named_fixes(text, SENTENCE).fixes
    assert (fix.span, fix.basis, fix.kind, fix.evidence) == (
        Span(4, 7), "named in quotes", "", (),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "wrong", "right"),
    [
        ("The car is blue, not red.", "red", "blue"),
        ("The car is blue instead of red.", "red", "blue"),
        ("The car is blue rather than red; all else is so.", "red", "blue"),
        ("There are three small trees, not two tall trees.", "two tall trees", "three small trees"),
        ("It is a van, not a car.", "car", "van"),
        ("The car is blue, not RED.", "red", "blue"),
    ],
)
def test_denied_words_are_replaced_by_those_that_are_right(text, wrong, right):
    assert fixes(text) == [(wrong, right, True)]
    (fix,) = with_named_fixes(text, SENTENCE).fixes
    assert fix.basis == "wrong and right words are named"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The car is blue, not green.",  # the sentence says nothing of green
        "“green” should be “blue”",
        "“re” should be “blue”",  # no word of it
        "The car is blue, not ed.",
        "It is blue, not the.",
        "“” should be “blue”",
        "Not red.",
    ],
)
def test_what_is_not_unmistakably_named_gives_none(text):
    assert fixes(text) == []


def test_words_that_stand_twice_are_ambiguous():
    twice = "A red car and a red bus."
    assert fixes("“red” should be “blue”", twice) == []
    assert fixes("It is blue, not red.", twice) == []
    assert fixes("The bus is blue, not red.", twice) == [("red", "blue", True)]
    assert fixes("“red bus” should be “blue bus”", twice) == [("red bus", "blue bus", True)]


def test_a_long_text_is_no_list_of_corrections():
    text = "“red” should be “blue”. "
    assert fixes(text + "x" * (1000 - len(text))) == [("red", "blue", True)]
    assert fixes(text + "x" * (1001 - len(text))) == []


def test_fixes_do_not_overlap_and_come_by_place():
    """What is named first stays."""
    text = "“tall trees” should be “hedges”. The car is blue, not red. “two tall” should be “many”."
    assert fixes(text) == [("red", "blue", True), ("tall trees", "hedges", True)]
    same = "It is blue, not red. “red” should be “green”."
    assert fixes(same) == [("red", "blue", True)]


@pytest.mark.parametrize(
    ("sentence", "text", "expected"),
    [
        ("At least six birds sit.", "At least four, not six.", ("six", "four", True)),
        ("About ten people stand.", "It is about twelve, not about ten.",
         ("About ten", "about twelve", True)),
        ("The clock shows 10:15 a.m.", "It is at 10:30, not 10:15.", ("10:15", "10:30", True)),
        ("The flag is purple.", "It is purple and white, not purple.",
         ("purple", "purple and white", True)),
        ("A bag of 5 kg.", "5 kg is wrong; it should be 7.5 pounds.",
         ("5 kg", "7.5 pounds", True)),
        ("A house without windows.", "It is with windows rather than without windows.",
         ("without windows", "with windows", True)),
        ("A plastic bottle stands there.", "There is no plastic bottle, but a wooden one.",
         ("plastic bottle", "wooden bottle", True)),
        ("Ten brown cows graze.", "There are three cows, not ten.", ("Ten", "three", True)),
        ("There are two dogs.", "There is one dog, not two dogs.",
         ("are two dogs", "is one dog", True)),
        ("A dog runs.", "The sentence says dog. A cat can be seen instead.", ("dog", "cat", True)),
        ("The car is red.", "Red? No, blue.", ("red", "blue", True)),
        ("One dog runs.", "It is two, not one.", ("One", "two", False)),
        ("A red car, tall trees.", "Blue, not tall trees.", ("tall trees", "blue", False)),
        # the sentence itself, rightly
        ("The cat sits on a mat.", "The dog sits on a mat.", ("cat", "dog", True)),
        ("A cup is on the table.", "It is under the table.", ("on", "under", True)),
    ],
)  # fmt: skip
def test_words_are_read_to_their_ends(sentence, text, expected):
    assert fixes(text, sentence) == [expected]


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("The red shirt is dirty.", "It is not red."),
        ("The white cat sleeps.", "The mention of the cat is accurate, but not white."),
        ("The wall is made of steel.", "The wall should be wooden."),
        ("Three windows are covered.", "The sentence mentions windows, but none can be seen."),
        ("The man in the red shirt is sitting on the bench.", "The man stands on the bench."),
        ("The cat is red.", "Nothing shows that the cat is red."),
    ],
)
def test_a_denial_alone_and_silence_name_nothing(sentence, text):
    assert fixes(text, sentence) == []


def test_what_no_wording_names_stays_in_words():
    one, other = read("There is no bench. The bus is blue, not red.", "A red bus and a bench.")
    assert (one.text, [fix.right for fix in one.fixes]) == ("The bus is blue, not red.", ["blue"])
    assert (other.text, other.fixes, other.denied) == ("There is no bench.", (), ("bench",))
    (whole,) = read("It is blue, not red.", "A red bus.", apart=False)
    assert not whole.fixes


def test_whatever_a_model_writes_the_fixes_are_spans_of_the_sentence():
    rng = random.Random(0)
    parts = ["“", "”", '"', "'", " should be ", " must be ", ", not ", "red", "car", "two", " ",
             "(", "[a", "\\", ".", "\n", "é", "’", "the", "trees."]  # fmt: skip
    seen = 0
    for _ in range(1000):
        text = "".join(rng.choices(parts, k=rng.randrange(14)))
        found = with_named_fixes(text, SENTENCE)
        ends = [side for fix in found.fixes for side in fix.span]
        assert ends == sorted(ends)
        assert all(0 <= fix.span.start < fix.span.end <= len(SENTENCE) for fix in found.fixes)
        seen += len(found.fixes)
    assert seen > 20


def test_a_rationale_without_fixes_is_its_text():
    assert with_named_fixes("There is no dog.", "A dog sleeps.") == Rationale("There is no dog.")
    assert with_named_fixes("“dog” should be “cat”", "A dog sleeps.") == Rationale(
        "“dog” should be “cat”", (Fix(Span(2, 5), "cat", basis="named in quotes"),)
    )
