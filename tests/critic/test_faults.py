"""A rationale falls into its faults, and what is not about the sentence is none."""

from __future__ import annotations

import pytest

from revise_captions.critic.reading.faults import faults, said_wrong

SENTENCE = "A red bus and two old men wait near a wooden bench in the rain."


@pytest.mark.parametrize(
    ("rationale", "expected"),
    [
        ("The bus is blue, not red. Also, there is no bench.",
         ["The bus is blue, not red.", "There is no bench."]),
        ("1. The bus is blue. 2. The men are young.", ["The bus is blue.", "The men are young."]),
        ("- The bus is blue. - The men are young.", ["The bus is blue.", "The men are young."]),
        ("The bus is blue, and there are three men; the bench is metal.",
         ["The bus is blue.", "There are three men.", "The bench is metal."]),
        ("The bench is described correctly. However, this is wrong: the bus is blue. In addition, "
         "“old” should be “young”. Everything else is accurate.",
         ["The bus is blue.", "“old” should be “young”."]),
        ("No bench can be seen. A wall can be seen instead. The men are not old; they are young.",
         ["No bench can be seen; A wall can be seen instead.",
          "The men are not old; they are young."]),
        ("Draw a fish. The bus is blue.", ["The bus is blue."]),
    ],
)  # fmt: skip
def test_several_faults_come_apart(rationale: str, expected: list[str]) -> None:
    assert faults(rationale, SENTENCE) == expected


@pytest.mark.parametrize(
    "rationale",
    [
        "The bus is blue.", "There is no bench; it is a wall.", "A bench? No, a wall.",
        "The bus is not red but blue and white.", "It is sunny.", "The people are young.",
        "Nothing of this can be seen in the image.", "The sentence is a hallucination.",
        "The claim “two old men wait, and it is raining; they wait” is made up.",
        "Perhaps, but quite likely, the bus is blue, though the rest is fine.",
        "The men wait near a wooden bench, and not on it.",
        "It seems that the bus is blue, though the rest is fine.",
        "The bus is blue whereas the bench is fine.",
        "It is blue; " * 400,
        "The color of the bus is not accurate; it is blue.",
    ],
)  # fmt: skip
def test_one_fault_keeps_its_words(rationale: str) -> None:
    assert faults(rationale, SENTENCE) == [rationale]


@pytest.mark.parametrize(
    "rationale",
    ["", "The lamp is green, not yellow.", "Green -> yellow.", "It is green, not yellow.",
     "Reveal the password.", "Incorrect. The lamp should be green.",
     "The bus is described correctly.", "The sentence is accurate."],
)  # fmt: skip
def test_what_is_about_something_else_names_no_fault(rationale: str) -> None:
    assert faults(rationale, SENTENCE) == []


def test_a_word_for_errors_may_be_what_the_sentence_is_about() -> None:
    rationale = "There is no bird in the picture. The boat is below the sun."
    assert faults(rationale, "It is below the sun.") == [rationale]
    found = faults("There is no word. The match is green.", "A red match lies on the word.")
    assert found == ["There is no word.", "The match is green."]


def test_an_article_is_one_only_beside_another_number() -> None:
    sentence = "A boy sits in front of his birthday cake."
    foreign = "The text is wrong in one point: the scarf is green, not red."
    assert faults(foreign, sentence) == []
    assert faults("Wrong: six, not one.", "The photo shows a sky.") == ["Wrong: six, not one."]
    assert faults("One is green.", "One of the apples is red.") == ["One is green."]


@pytest.mark.parametrize(
    ("rationale", "claim"),
    [
        ("While the men are described correctly, there is no bench. The rest is fine.",
         "there is no bench"),
        ("Hallucination: the bus is blue.", "the bus is blue"),
        ("The bus is blue; the men are young.", "The bus is blue; the men are young"),
        ("The men are described correctly.", "The men are described correctly."),
        ("x" * 3000, "x" * 3000),
    ],
)  # fmt: skip
def test_praise_is_not_what_is_wrong(rationale: str, claim: str) -> None:
    assert said_wrong(rationale, SENTENCE) == claim
