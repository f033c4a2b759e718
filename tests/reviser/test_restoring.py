"""Changes without a reason are undone; those that the rationale asks for stay as they are."""

from __future__ import annotations

import pytest

from revise_captions.reviser.restoring import restored, strays

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
