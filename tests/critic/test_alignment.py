"""Rationales in wordings that no rule knows, read by what they have in common with the sentence."""

import pytest

from revise_captions.charts.claims.edits import with_fixes
from revise_captions.critic.reading.rationale import with_named_fixes

SENTENCE = "At least six men carry a red and white canoe along the shore at noon."


def mended(text, sentence=SENTENCE):
    found = with_named_fixes(text, sentence).fixes
    return with_fixes(sentence, [fix for fix in found if fix.certain])


@pytest.mark.parametrize(
    ("text", "wrong", "right"),
    [
        ("Hallucinated detail: «canoe». Ground truth: «kayak».", "canoe", "kayak"),
        ("While the text claims a canoe, the photo features a kayak.", "canoe", "kayak"),
        ("Contrary to the text, the photo has a kayak where it says a canoe.", "canoe", "kayak"),
        ("s/canoe/kayak/", "canoe", "kayak"),
        ("Use `kayak` in place of `canoe`.", "canoe", "kayak"),
        ("I don't see six men. I see four men.", "six", "four"),
        ("**Error:** “at noon” → **Correct:** “at dusk”", "at noon", "at dusk"),
        ("The details don't match: canoe in the text versus kayak in the image.", "canoe", "kayak"),
        ("The author probably confused along the shore with across the bay.",
         "along the shore", "across the bay"),
    ],
)  # fmt: skip
def test_words_that_the_sentence_has_are_exchanged_for_those_it_has_not(text, wrong, right):
    assert mended(text) == SENTENCE.replace(wrong, right)


@pytest.mark.parametrize(
    "lead", ["", "Should be: ", "In truth, ", "Going by the photo, ", "The image shows this: "]
)
def test_talk_around_a_right_sentence_is_not_put_in(lead):
    right = SENTENCE.replace("noon", "dusk")
    assert mended(f"{lead}{right}") == right
    assert mended(f"A correct caption would be “{right}”") == right


@pytest.mark.parametrize(
    ("text", "wrong", "right"),
    [
        ("It's “… canoe along the beach at noon …”", "shore", "beach"),
        ("Color is off; should be red and black.", "red and white", "red and black"),
        ("Count is off; I get five.", "six", "five"),
        ("There are only four men.", "six", "four"),
        ("The canoe looks green to me.", "red and white", "green"),
        ("It appears to be dawn.", "noon", "dawn"),
    ],
)
def test_a_part_or_a_kind_of_the_sentence_says_what_is_meant(text, wrong, right):
    assert mended(text) == SENTENCE.replace(wrong, right)


@pytest.mark.parametrize(
    "text",
    [
        "The description contains an error: «along the shore» is speculation.",
        "The text is wrong in one point: there is no evidence for “at noon”.",
        "It looks like no canoe can be seen.",
        "Not a hint of men. The rest is fine.",
        "The men should be happy.",
        "The shore is green.",  # and not the canoe
        "There are two dogs.",
        "No, a kayak along the.",
    ],
)
def test_what_is_only_denied_or_said_of_something_else_gives_none(text):
    assert mended(text) == SENTENCE


def test_of_several_colors_the_one_of_the_thing_is_meant():
    sentence = "A man in a brown coat and a red hat waits."
    assert mended("The hat is green.", sentence) == sentence.replace("red", "green")
    assert mended("The color is green.", sentence) == sentence


def test_another_word_for_the_same_thing_is_no_difference_beside_a_count():
    sentence = "Two dogs run towards a truck near the old farm."
    text = "Three dogs run towards a lorry near the old farm."
    assert mended(text, sentence) == "Three dogs run towards a truck near the old farm."


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("The sentence is wrong: there are only 2 dogs", "There are 2 brown dogs."),
        ("there are two dogs", "There are two brown dogs."),
        ("There are two black dogs.", "There are two black dogs."),
    ],
)
def test_a_statement_of_a_count_may_be_silent_of_a_quality(text, right):
    assert mended(text, "There are three brown dogs.") == right


def test_one_stands_for_a_thing_and_is_not_put_in():
    text = "In the image, there is no wooden thing, but a broken one."
    assert "one" not in mended(text, "It is wooden.")


@pytest.mark.parametrize(
    ("sentence", "text", "right"),
    [
        (
            "Called the corner shop 3 weeks ago, before noon.",
            "2 weeks ago, to be accurate.",
            "Called the corner shop 2 weeks ago, before noon.",
        ),
        (
            "A man in a shopping mall.",
            "A man walks past a shop in a shopping.",
            "A man walks past a shop in a shopping mall.",
        ),
        (
            "On the street, a car is parked.",
            "The road, a white car is parked.",
            "On the street, a white car is parked.",
        ),
        (
            "It is a brick building with an arched door and a tower.",
            "A red brick structure with an arched door.",
            "It is a red brick building with an arched door and a tower.",
        ),
        (
            "The lower debt in relation to income was in 2000.",
            "The lower described is actually highest.",
            "The highest debt in relation to income was in 2000.",
        ),
    ],
)
def test_a_cut_statement_in_other_words_changes_only_what_it_corrects(sentence, text, right):
    assert mended(text, sentence) == right


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("It takes 10 miles instead of 2 days.", "The figure should be 10 days."),
        ("A lawn of flowers, their white petals open to white clouds.", "Pink and white petals"),
        ("The motorcycle is tan and black.", "White and, I think."),
        ("Two dogs are running to each other across the hill.",
         "Two canines are racing to each other on a meadow."),
    ],
)  # fmt: skip
def test_nothing_is_changed_where_it_does_not_show_what_is_meant(sentence, text):
    assert mended(text, sentence) == sentence
