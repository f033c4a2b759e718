"""Guards against hand-made cases: what may go to the critic, and what no rewrite gets past."""

from __future__ import annotations

import pytest

from revise_captions.records import Why
from revise_captions.reviser import guards
from revise_captions.reviser.losses import lost_content
from revise_captions.text.content_words import content, new_content, repeated_content, words
from tests.support.growth import is_linear
from tests.support.requests_read import asked


def check(sentence: str, rationale: str, rewrite: str, *, mode: str) -> guards.GuardResult:
    return guards.check(asked(sentence, rationale), rewrite, mode=mode)


#: sentence, rationale, rewrite, expected in strict mode
CASES = [
    # taken from the rationale, in whatever form
    ("The car is red.", "The car is blue.", "The car is blue.", None),
    ("The car is red.", "It's a blue car, not a red one.", "The car is blue.", None),
    ("A man holds a cup.", "He holds two cups.", "A man holds 2 cups.", None),
    ("There are 3 dogs.", "Only two dogs are there.", "There are two dogs.", None),
    ("There are ten birds.", "There are twenty-one birds.", "There are 21 birds.", None),
    ("Two dogs run.", "There is only one dog.", "One dog runs.", None),
    ("Two dogs run.", "There is a dog.", "A single dog runs.", None),
    ("A woman sits.", "She is standing.", "A woman stands.", None),
    ("A woman sits.", "She stood there.", "A woman is standing.", None),
    ("A dog is sitting.", "The dog sleeps.", "A dog is sleeping.", None),
    ("A child plays.", "There are three children, playing.", "Three children play.", None),
    ("A wolf howls.", "These are wolves.", "Wolves howl.", None),
    ("The tree is bare.", "Its leaf is green.", "The leaves are green.", None),
    ("A goose swims.", "Two geese swim.", "Two geese are swimming.", None),
    ("A big dog.", "The cat is bigger.", "A big cat.", None),
    ("The sign says “STOP”.", "It says 'EXIT'.", "The sign says “EXIT”.", None),
    ("A cup is on the table.", "It is beneath the table.", "A cup is under the table.", None),
    ("A cup is on the table.", "It is beside the table.", "A cup is next to the table.", None),
    ("The girl's hat is red.", "The hat of the girl is blue.", "The girl’s hat is blue.", None),
    ("He wears a t-shirt.", "It is a sweater.", "He wears a sweater.", None),
    ("A grey cat.", "The cat is black and gray.", "A black and grey cat.", None),
    ("Le chat est noir.", "Le chat est blanc.", "Le chat est blanc.", None),
    ("猫坐在桌子上。", "猫在椅子上。", "猫坐在椅子上。", None),
    ("The cat sleeps.", "There is no cat.", "", None),
    ("The man wears a hat.", "He wears no hat.", "The man does not wear a hat.", None),
    ("The man isn't sitting.", "He is sitting.", "The man is sitting.", None),
    # from nowhere
    ("The car is red.", "The car is blue.", "The car is green.", Why.NEW_CONTENT),
    ("The car is red.", "The car is blue.", "The shiny car is blue.", Why.NEW_CONTENT),
    ("There are 3 dogs.", "There are fewer dogs.", "There are two dogs.", Why.NEW_CONTENT),
    ("A dog runs.", "The dog sits.", "Many dogs sit.", Why.NEW_CONTENT),
    ("The sign says STOP.", "It says EXIT.", "The sign says EXIT NOW.", Why.NEW_CONTENT),
    ("A cup is on the table.", "It is a bowl.", "A bowl is behind the table.", Why.NEW_CONTENT),
    ("The car is red.", "The car is blue.", "The car is not red.", Why.NEW_CONTENT),
    ("The car is red.", "The car is blue.", "The car isn't red.", Why.NEW_CONTENT),
    ("The car is red.", "The car is blue.", "There is never a red car.", Why.NEW_CONTENT),
    ("A man waves.", "He is sitting.", "A man sits without waving.", Why.NEW_CONTENT),
    ("猫坐在桌子上。", "猫在椅子上。", "狗坐在椅子上。", Why.NEW_CONTENT),
    ("The wall is red.", "The paint is white.", "The painter is white.", Why.NEW_CONTENT),
    # what is put in, over something that was right
    ("A sign, a bird and a dog.", "A cat, not a bird.", "A sign, a cat and a cat.", Why.REPEATED),
    ("A cat is near a car.", "It is a dog, not a cat.", "A dog is near a dog.", Why.REPEATED),
    ("Two dogs sit.", "One dog is red.", "A red dog and a dog sit.", None),
    ("A dog sits near a dog.", "It is a cat.", "A cat sits near a dog.", None),
    ("他坐在椅子上。", "她在桌子上。", "她坐在桌子上,她在桌子上。", None),
    # one absence for another, or an absence that the rationale does not state
    ("There are no dogs.", "A dog, but no lamps.", "There are no lamps.", Why.OTHER_ABSENCE),
    ("No dog is there.", "A dog, but no lamp.", "There isn't any lamp.", Why.OTHER_ABSENCE),
    ("There is a dog and a cat.", "It is a bird.", "There is no cat.", Why.OTHER_ABSENCE),
    ("There are no dogs.", "There is a dog, but no lamp.", "There is a dog.", None),
    ("There are no dogs or cats.", "There is a cat.", "There are no dogs.", None),
    ("There is a dog.", "There is no dog.", "There is no dog.", None),
    ("There is a dog.", "There are not any dogs; it is a cat.", "There are no dogs.", None),
    # nothing to judge
    ("The car is red.", "The car is blue.", "  ", Why.EMPTY),
    ("The car is red.", "The car is blue.", " … ", Why.EMPTY),
    ("The car is red.", "The car is blue.", "The car is red.", Why.UNCHANGED),
    ("The car is red.", "The car is blue.", "the car  is red", Why.UNCHANGED),
    # more than was asked for
    ("The car is red.", "It is blue.", "The car is blue. It is red.", Why.NOT_ONE_SENTENCE),
    ("The car is red.", "It is blue.", "The car is blue\nThe car is red", Why.NOT_ONE_SENTENCE),
    # prompt and mark-up
    ("The car is red.", "It is blue.", "<PREFIX> The car is blue.", Why.LEAKED_MARKUP),
    ("The car is red.", "It is blue.", "The car is blue\ue000.", Why.LEAKED_MARKUP),
    ("The car is red.", "It is blue.", "The car is blue\U0001fffe.", Why.LEAKED_MARKUP),
    ("The car is red.", "It is blue.", "The car is blue.</TARGET>", Why.LEAKED_MARKUP),
    ("The car is red.", "It is blue.", "The car is blue.<|im_end|>", Why.LEAKED_MARKUP),
    ("The car is red.", "It is blue.", "[INST] The car is blue.", Why.LEAKED_MARKUP),
    ("The car is red.", "It is blue.", "```The car is blue.```", Why.LEAKED_MARKUP),
    ("The car is red.", "It is blue.", "**The car is blue.**", Why.LEAKED_MARKUP),
    ("The car is red.", "It is blue.", "# The car is blue.", Why.LEAKED_MARKUP),
    ("The car is red.", "It is blue.", "Rationale: The car is blue.", Why.LEAKED_MARKUP),
    ("The car is red.", "It is blue.", "Rewritten sentence: The car is blue.", Why.LEAKED_MARKUP),
    ("The car is red.", "It is blue.", "Sure, the car is blue.", Why.LEAKED_MARKUP),
    ("The car is red.", "It is blue.", "I'm sorry, the car is blue.", Why.LEAKED_MARKUP),
    ("The car is red.", "It is blue.", "The car is\x00 blue.", Why.LEAKED_MARKUP),
    ("The car is red.", "It is blue.", "The car is\tblue.", Why.LEAKED_MARKUP),
    ("The car is red.", "It is blue.", "The car is \u202eblue.", Why.LEAKED_MARKUP),
    ("The car is red.", "It is blue.", "The car is \ufffdblue.", Why.LEAKED_MARKUP),
    ("The car is red.", "It is blue.", "The car is \ud800blue.", Why.LEAKED_MARKUP),
    # the same, but the sentence has it too
    ("**The car** is red.", "It is blue.", "**The car** is blue.", None),
    ("- The car is red.", "It is blue.", "- The car is blue.", None),
    ("It shows <b>STOP</b> in red.", "It is blue.", "It shows <b>STOP</b> in blue.", None),
    ("Note: the car is red.", "It is blue.", "Note: the car is blue.", None),
    ("The car\tis red.", "It is blue.", "The car\tis blue.", None),
    ("A red car 👩‍🚒.", "It is blue.", "A blue car 👩‍🚒.", None),
]


@pytest.mark.parametrize(("sentence", "rationale", "rewrite", "expected"), CASES)
def test_strict(sentence: str, rationale: str, rewrite: str, expected: Why | None) -> None:
    assert check(sentence, rationale, rewrite, mode="strict") == (expected, "")


@pytest.mark.parametrize(("sentence", "rationale", "rewrite", "expected"), CASES)
def test_warn_lets_only_words_pass(
    sentence: str, rationale: str, rewrite: str, expected: Why | None
) -> None:
    why, warning = check(sentence, rationale, rewrite, mode="warn")
    mild = expected in (Why.NEW_CONTENT, Why.REPEATED)
    assert why == (None if mild else expected)
    assert bool(warning) == mild


def test_the_warning_names_the_words_as_they_stand_there() -> None:
    _, warning = check("The car is red.", "Blue.", "Two shiny cars are Blue.", mode="warn")
    assert warning == "content words from neither sentence nor rationale: two, shiny"


@pytest.mark.timeout(20)
def test_a_rewrite_of_a_megabyte_of_tags_is_refused_in_seconds() -> None:
    result = check("a dog " * 170_000, "It is a cat.", "<a> " * 250_000, mode="strict")
    assert result.why is Why.LEAKED_MARKUP


def test_as_many_sentences_as_before_are_fine() -> None:
    before, after = "A car stops. It is red.", "A car stops. It is blue."
    assert check(before, "It is blue.", after, mode="strict").why is None


def test_an_unknown_mode_is_an_error_even_for_a_deletion() -> None:
    with pytest.raises(ValueError, match="strict, warn"):
        check("The car is red.", "It is blue.", "", mode="lax")


def test_words_are_cut_and_folded() -> None:
    assert words("The girl’s T-shirt, No. 7.5: ÉTÉ") == [
        "the", "girl's", "t", "shirt", "no", "7.5", "été",
    ]  # fmt: skip


def test_content_leaves_out_what_only_glues() -> None:
    assert list(content("It is the dog that was under a table with them.")) == [
        "dog", "under", "table",
    ]  # fmt: skip


def test_everything_in_a_text_is_known_from_that_text() -> None:
    text = "Forty-two bigger geese aren't sitting; the wolves' 3.5 leaves lay beneath, unlit."
    assert new_content(text, text) == []
    assert new_content(text.upper(), text) == []


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("twenty one", ["21"]),
        ("thirty-nine dogs", ["39", "dog"]),
        ("twenty ten", ["20", "10"]),
        ("twenty zero", ["20", "0"]),
        ("twenty dogs", ["20", "dog"]),
        ("one twenty", ["1", "20"]),
        ("a dozen, a hundred, a thousand, single", ["12", "100", "1000", "1"]),
        ("the dogs' and dog's bowls", ["dog", "bowl"]),
        ("cannot, isn't, none, lacking", ["not"]),
        ("grey and gray, below and under", ["gray", "under"]),
        ("猫と犬", ["猫", "と", "犬"]),
        ("7:45, 3.5 and 1,000", ["7:45", "3.5", "1,000"]),
    ],
)
def test_keys_of_content(text: str, keys: list[str]) -> None:
    assert list(content(text)) == keys


def test_every_form_of_a_word_is_known() -> None:
    """Spelled rules, where the dictionary takes a form for a word of its own."""
    forms = {
        "sitting": "sit", "making": "make", "leaves": "leaf", "knives": "knife", "gloves": "glove",
        "zorgs": "zorg", "bigger": "big", "biggest": "big",
    }  # fmt: skip
    for form, plain in forms.items():
        assert new_content(f"The {form} thing.", f"A {plain} thing.") == [], form
    assert new_content("a painter, a king", "paint, k") == ["painter", "king"]


def test_repeats_are_counted() -> None:
    """Once more than in the sentence where the rationale names the word, never less than once."""
    said = repeated_content
    assert said("A cat and a cat.", "A bird and a cat.", "It is a cat.") == []
    assert said("A cat, a cat and a cat.", "A bird and a cat.", "It is a cat.") == ["cat"]
    assert said("A cat and a cat.", "A cat and a bird.", "No bird.") == ["cat"]
    assert said("A cat and a cat.", "A bird.", "A cat and a cat.") == ["cat"]
    assert said("A cat.", "A bird.", "Nothing.") == []
    assert said("猫猫猫", "猫", "") == []
    assert said("x x x", "x", "") == ["x"]


def test_an_endless_word_costs_little() -> None:
    assert new_content("x" * 200_000, "y") == ["x" * 200_000]


def test_what_many_different_words_lose_takes_time_linear_in_them():
    """Six thousand took three seconds, four times as much as three thousand."""

    def lose(count: int) -> None:
        sentence = " ".join(f"w{number}x" for number in range(count))
        assert lost_content(f"{sentence} cat", sentence, "It is a cat.") == []

    assert is_linear(lose, 750, 6000)
