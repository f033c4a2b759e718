"""Fixes that a model's rationale names in words, as spans of the sentence."""

from __future__ import annotations

import random

import pytest

from revise_captions.critic.named_fixes import with_named_fixes
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
def test_denied_words_are_replaced_by_as_many_and_not_certain(text, wrong, right):
    assert fixes(text) == [(wrong, right, False)]
    assert [fix.basis for fix in with_named_fixes(text, SENTENCE).fixes] == ["named by “not”"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The car is blue.",
        "The car is blue, not green.",  # the sentence says nothing of green
        "“green” should be “blue”",
        "“re” should be “blue”",  # no word of it
        "The car is blue, not ed.",
        "Blue, not tall trees.",  # one word before, two denied
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
    assert fixes("The car is blue, not red.", twice) == []
    assert fixes("“red bus” should be “blue bus”", twice) == [("red bus", "blue bus", True)]


def test_a_long_text_is_no_list_of_corrections():
    text = "“red” should be “blue”. "
    assert fixes(text + "x" * (1000 - len(text))) == [("red", "blue", True)]
    assert fixes(text + "x" * (1001 - len(text))) == []


def test_fixes_do_not_overlap_and_come_by_place():
    """The first named wins, and quotes are named first."""
    text = "“tall trees” should be “hedges”. The car is blue, not red. “two tall” should be “many”."
    assert fixes(text) == [("red", "blue", False), ("tall trees", "hedges", True)]
    same = "It is blue, not red. “red” should be “green”."
    assert fixes(same) == [("red", "green", True)]


def test_whatever_a_model_writes_the_fixes_are_spans_of_the_sentence():
    rng = random.Random(0)
    parts = ["“", "”", '"', "'", " should be ", " must be ", ", not ", "red", "car", "two", " ",
             "(", "[a", "\\", ".", "\n", "é", "’", "the", "trees."]  # fmt: skip
    seen = 0
    for _ in range(3000):
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
