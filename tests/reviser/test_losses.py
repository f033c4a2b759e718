"""What a rewrite may drop: what the rationale speaks of, and what stands for something new."""

from __future__ import annotations

import pytest

from revise_captions.reviser.losses import lost_content
from revise_captions.text.denials import denied

GIRLS = "The picture features two girls, an orange cat, a tree, and a house."


@pytest.mark.parametrize(
    ("sentence", "rationale", "rewrite", "lost"),
    [
        (GIRLS, "The cat is white.", "The cat is a white animal.", "two girls tree house"),
        (GIRLS, "The cat is white.", "There are two girls, a white cat, a tree, and a house.", ""),
        (GIRLS, "The cat is white.", "Two girls, a white cat and a tree are there.", "house"),
        (GIRLS, "There is no cat.", "The image shows two girls, a tree, and a house.", ""),
        (GIRLS, "There is no cat.", "The image shows a tree, and a house.", "two girls"),
        ("A brown dog sleeps on the sofa next to a lamp.", "There is no dog.", "A lamp.", ""),
        ("A dog chases a cat near the house.", "There is no cat.", "A dog is there.", ""),
        ("A red bus is parked beside a house.", "It is a truck, not a bus.", "A truck.",
         "red parked beside house"),
        ("A red delivery van is parked.", "It is a truck.", "A truck is parked.", ""),
        ("The car is red.", "It is blue.", "The car is blue.", ""),
        ("Two people ride, and a child runs.", "The child sits.",
         "Two people ride, and a child sits.", ""),
        ("The sign says “STOP HERE”.", "It says “EXIT”.", "The sign says “EXIT”.", ""),
        ("The image shows a dog and a cat.", "It is a bird.", "A bird can be seen.", "dog cat"),
        ("Le chat noir dort sur la table.", "Le chat est blanc.", "Le chat blanc dort.",
         "sur la table"),
        ("A white wall, a navy star.", "The star is white.", "A white wall, a white star.", ""),
        ("猫坐在桌子上。", "猫在椅子上。", "猫坐在椅子上。", ""),
    ],
)  # fmt: skip
def test_what_is_lost(sentence: str, rationale: str, rewrite: str, lost: str) -> None:
    absent = list(denied(rationale).values())
    assert lost_content(rewrite, sentence, rationale, absent) == lost.split()


def test_a_number_is_one_word():
    sentence, rewrite = "Oil is at 16,939.5 tons.", "Oil is at 11,237 tons."
    assert lost_content(rewrite, sentence, "Oil is at 11,237, not 16,939.5.") == []
