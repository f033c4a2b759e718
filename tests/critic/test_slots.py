"""Readings of rationales: which words are wrong, which are right, in wordings that no rule has."""

import pytest

from revise_captions.charts.claims.edits import with_fixes
from revise_captions.critic.reading.slots import LEAST, likely_fix, overreaches, readings

SENTENCE = "Two men in brown coats walk a small dog along the river."


def mended(text):
    found = likely_fix(text, SENTENCE)
    if found is None or not found.fix.certain:
        return SENTENCE
    assert LEAST <= found.likely <= 1
    return with_fixes(SENTENCE, [found.fix])


@pytest.mark.parametrize(
    ("text", "wrong", "right"),
    [
        ("The caption alleges brown, yet the photograph plainly shows grey.", "brown", "grey"),
        ("I'd flag \"small dog\": the visible animal is labelled \"large cat\".",
         "small dog", "large cat"),
        ("The text speaks of the river, while the picture has the beach.", "river", "beach"),
        ("Mismatch: men (caption) versus women (image).", "men", "women"),
        ("Although it states along the river, what one sees is across the bridge.",
         "along the river", "across the bridge"),
    ],
)  # fmt: skip
def test_words_are_exchanged_in_a_wording_that_the_weights_were_not_fitted_on(text, wrong, right):
    assert mended(text) == SENTENCE.replace(wrong, right)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Nobody can tell whether the dog is small.",
        "The river is invented.",
        "The dog should be happy.",
        "The caption says a small dog, and that is right.",
        "A woman reads a newspaper.",
    ],
)
def test_a_rationale_that_names_no_right_words_gives_none(text):
    assert mended(text) == SENTENCE


def test_no_noun_is_put_for_a_preposition():
    sentence = "The picture shows four buds in a pond."
    fix = likely_fix("In the image, there is a nest instead of a bud.", sentence)
    assert fix is None or fix.fix.span.of(sentence) != "in"
    swapped = likely_fix("The caption says on, but it is under the table.", "A cat on the table.")
    assert swapped is not None
    assert swapped.fix.right == "under"


def test_what_is_wrong_stands_in_the_sentence_and_what_is_right_elsewhere():
    found = readings("The caption says river, but the image shows a lake.", SENTENCE)
    assert not found[0].wrong
    assert {one.wrong for one in found[1:]} == {"river"}
    assert "a lake" in {one.right for one in found}


def test_words_about_texts_are_the_wordings_own():
    assert overreaches("scene includes a lake", SENTENCE)
    assert not overreaches("a lake", SENTENCE)
    assert not overreaches("a scene", "They paint the scene.")


def test_a_long_rationale_has_no_readings():
    assert readings("The caption says river, but the image shows a lake. " * 8, SENTENCE) == []
