"""Changes without a reason are undone; those that the rationale asks for stay as they are."""

from __future__ import annotations

import pytest

from revise_captions.critic.reading.faults import fault_of
from revise_captions.reviser import restoring


def restored(rewrite: str, sentence: str, rationale: str, *, beside: bool = True) -> str:
    return restoring.restored(rewrite, sentence, fault_of(rationale, sentence), beside=beside)


def strays(rewrite: str, sentence: str, rationale: str) -> bool:
    return restoring.strays(rewrite, sentence, fault_of(rationale, sentence))


LIST = "The picture features two girls, an orange cat, a tree, and a house."


@pytest.mark.parametrize(
    ("sentence", "rationale", "rewrite", "expected"),
    [
        # slips of copying
        ("To the right of a red car is a tree.", "The car is blue.",
         "In the right of a blue car is a tree.", "To the right of a blue car is a tree."),
        ("A lake and dark green mountains lie beyond a red house.", "The house is white.",
         "A lake and green mountains lie beyond a white house.",
         "A lake and dark green mountains lie beyond a white house."),
        ("The windshield is obscured by a  shade.", "No dog.",
         "The windshield is obscure by a shade.", "The windshield is obscured by a  shade."),
        # what belongs to a change that is asked for
        ("A dog is running on sand.", "There are two dogs.", "Two dogs are running on sand.",
         "Two dogs are running on sand."),
        ("A dog stands there.", "There are two dogs.", "Two dogs stand there.",
         "Two dogs stand there."),
        (LIST, "There is no house.", "The picture features two girls, an orange cat, and a tree.",
         "The picture features two girls, an orange cat, and a tree."),
        ("He sits in a chair.", "He sits on it, not in.", "He sits on a chair.",
         "He sits on a chair."),
        ("A red bus, seen from far away.", "It is an orange bus.",
         "An orange bus, seen from far away.", "An orange bus, seen from far away."),
        ("White posters hang there.", "The posters are not white.", "Posters hang there.",
         "Posters hang there."),
        ("The room is well-lit and clean.", "The room is dimly lit.",
         "The room is dimly lit and clean.", "The room is dimly lit and clean."),
        # what stands beside a word that is replaced, or is praised
        ("A person walks on spiral bikes.", "It is stairs, not bikes.",
         "A person walks on stairs.", "A person walks on spiral stairs."),
        ("Tiny, faint gold leaves.", "The leaves are not faint but intricate.",
         "Tiny, intricate leaves.", "Tiny, intricate gold leaves."),
        ("Behind the handle is a grid.", "The handle is actually a drawing.",
         "Drawing is a grid.", "Behind the drawing is a grid."),
        ("A series of balls with varied patterns.",
         "While the patterns are described correctly, there are six series.",
         "Six series of balls.", "Six series of balls with varied patterns."),
        ("An orange cat sits.", "The cat is not orange but blue.", "A blue cat sits.",
         "A blue cat sits."),
        ("Its tail sticks out in front of it.", "It is not in front of but behind.",
         "Its tail sticks out behind it.", "Its tail sticks out behind it."),
        ("Five skies full of kites.", "One sky, not five.", "One sky full of kites.",
         "One sky full of kites."),
        ("A man sits with other men.", "“Other” is not correct.", "A man sits with men.",
         "A man sits with men."),
        # more than is called wrong is deleted
        ("A step with light wood and a piece of furniture atop it with long poles.",
         "There are no poles.", "A step.",
         "A step with light wood and a piece of furniture atop it."),
        ("A margarita sits on a bar with another counter filled with bottles.",
         "“filled with bottles” is not supported.", "A margarita sits on a bar.",
         "A margarita sits on a bar with another counter."),
        ("A man next to a tall tree.", "Calling the tree tall has no basis in the photo.",
         "A man.", "A man next to a tree."),
        ("The stacks on the white side table.", '"white" is wrong.', "The stacks on the table.",
         "The stacks on the side table."),
        ("A car has a shiny grill and gray paint.", "The paint is shiny.",
         "A car has a grill and gray paint.", "A car has a shiny grill and gray paint."),
        ("A wall, along with several dogs.", "I see no dogs.", "A wall.", "A wall."),
        ("A cat that is an informational cat.", "Whether it is « informational » is unknown.",
         "A cat that is a cat.", "A cat that is a cat."),
        # nothing asked for, or a deletion
        ("A small dog.", "The elevator is broken.", "A dog.", "A small dog."),
        ("A small dog.", "There is no dog.", "", ""),
    ],
)  # fmt: skip
def test_only_changes_with_a_reason_stay(
    sentence: str, rationale: str, rewrite: str, expected: str
) -> None:
    assert restored(rewrite, sentence, rationale) == expected


def test_a_change_far_from_all_that_is_named_strays() -> None:
    sentence = "A brown shed made of faint planks and, next to that, an open yellow sign."
    there = sentence.replace("an open", "a bright")
    elsewhere = sentence.replace("faint", "bright")
    assert [strays(t, sentence, "The sign is bright.") for t in (there, elsewhere)] == [False, True]
    assert not strays(elsewhere, sentence, "The wood is bright.")  # named otherwise
    assert not strays(sentence, sentence, "The sign is bright.")
    assert not strays("", sentence, "The sign is bright.")


def test_of_equal_words_the_one_nearest_to_what_is_named_is_meant() -> None:
    sentence = "Two lit lamps stand on a shelf, and two larger mirrors hang there."
    rationale = "The sentence says two mirrors, but the image shows one."
    far = sentence.replace("Two lit lamps stand", "One lit lamp stands")
    near = sentence.replace("two larger mirrors hang", "one larger mirror hangs")
    assert [strays(text, sentence, rationale) for text in (far, near)] == [True, False]


def test_the_same_change_elsewhere_is_undone() -> None:
    sentence = "The boy in a purple shirt has a green hat and holds a purple umbrella."
    rationale = "The boy is wearing an orange shirt, not a purple shirt."
    right = sentence.replace("a purple shirt", "an orange shirt")
    assert restored(right.replace("purple", "orange shirt"), sentence, rationale) == right
    assert restored(right, sentence, rationale) == right


def test_after_a_failed_rewrite_words_beside_a_change_may_go() -> None:
    said = "It shows a sandy beach.", "It is not a beach. It shows a room."
    assert restored("It shows a room.", *said) == "It shows a sandy room."
    assert restored("It shows a room.", *said, beside=False) == "It shows a room."


def test_a_number_that_may_be_said_of_several_things_is_left_open() -> None:
    sentence = "A kangaroo in a red car on a road."
    rewrite = sentence.replace("A kangaroo", "Three kangaroos")
    assert strays(rewrite, sentence, "Three, not one.")
    assert not strays(rewrite, sentence, "Three kangaroos, not one.")
    assert not strays("Six skies full of kites.", "A sky full of kites.", "Six, not one.")
