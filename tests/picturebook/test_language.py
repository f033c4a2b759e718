"""The picture-book language: three scenes laid out by hand, and what a person says of sentences."""

from __future__ import annotations

import pytest

from revise_captions.picturebook.oracle.truth import (
    Truth,
    check_rationale,
    context_decides,
    failures,
    oracle,
)
from revise_captions.picturebook.world.scene import NONE, Scene, Thing


def meadow() -> Scene:
    """A house, left, with a sleeping brown dog beside it; right a tree above a standing black dog;
    between them, nearer, a waving girl with a red balloon; a blue kite in the clear sky; day.
    """
    girl = {"shirt": "yellow", "hat": NONE, "pose": "waving", "holding": "balloon", "held": "red"}
    house = {"walls": "white", "roof": "red", "door": "brown", "windows": "2"}
    return Scene(
        0, "test", "meadow", "day", "clear",
        (
            Thing(0, "kite", (0.40, 0.05, 0.54, 0.23), {"colour": "blue"}, 0),
            Thing(1, "house", (0.05, 0.40, 0.37, 0.76), house, 1),
            Thing(2, "tree", (0.70, 0.36, 0.90, 0.72), {"leaves": "green"}, 2),
            Thing(3, "dog", (0.38, 0.66, 0.56, 0.81),
                  {"coat": "brown", "pose": "sleeping", "collar": "red"}, 3),
            Thing(4, "dog", (0.72, 0.80, 0.84, 0.90),
                  {"coat": "black", "pose": "standing", "collar": NONE}, 4),
            Thing(5, "girl", (0.54, 0.65, 0.68, 0.95), girl, 5),
        ),
        7,
    )  # fmt: skip


def room() -> Scene:
    """Pink walls, night. A white cat sits on a brown table; beside the table a lamp, off; a boy in
    blue with a black hat stands left, a girl in green with a red hat sits right, in front of a
    chair; a red and a blue balloon.
    """
    boy = {"shirt": "blue", "hat": "black", "pose": "standing", "holding": NONE, "held": NONE}
    girl = {"shirt": "green", "hat": "red", "pose": "sitting", "holding": "flag", "held": "blue"}
    return Scene(
        1, "test", "room", "night", "clear",
        (
            Thing(0, "balloon", (0.10, 0.08, 0.19, 0.23), {"colour": "red"}, 0),
            Thing(1, "balloon", (0.70, 0.10, 0.79, 0.25), {"colour": "blue"}, 1),
            Thing(2, "table", (0.30, 0.62, 0.62, 0.84), {"top": "brown"}, 2),
            Thing(3, "cat", (0.38, 0.50, 0.53, 0.65), {"coat": "white", "pose": "sitting"}, 3, 2),
            Thing(4, "lamp", (0.64, 0.58, 0.74, 0.84), {"shade": "green", "light": "off"}, 4),
            Thing(5, "chair", (0.80, 0.60, 0.96, 0.86), {"seat": "yellow"}, 5),
            Thing(6, "boy", (0.05, 0.60, 0.20, 0.90), boy, 6),
            Thing(7, "girl", (0.79, 0.64, 0.95, 0.94), girl, 7),
        ),
        8, "pink",
    )  # fmt: skip


def street() -> Scene:
    """A rainy day. A large red car left, a white sign with the word CAFE right of it, two clouds,
    three trees: two green, one orange.
    """
    return Scene(
        2, "test", "street", "day", "rainy",
        (
            Thing(0, "cloud", (0.10, 0.05, 0.34, 0.16), {}, 0),
            Thing(1, "cloud", (0.60, 0.08, 0.84, 0.19), {}, 1),
            Thing(2, "tree", (0.02, 0.30, 0.20, 0.66), {"leaves": "green"}, 2),
            Thing(3, "tree", (0.42, 0.30, 0.60, 0.66), {"leaves": "orange"}, 3),
            Thing(4, "tree", (0.80, 0.30, 0.98, 0.66), {"leaves": "green"}, 4),
            Thing(5, "car", (0.08, 0.62, 0.46, 0.86), {"body": "red"}, 5),
            Thing(6, "sign", (0.62, 0.58, 0.86, 0.88), {"board": "white", "word": "CAFE"}, 6),
        ),
        9,
    )  # fmt: skip


T, F, N, U = Truth.TRUE, Truth.FALSE, Truth.NOTHING, Truth.UNPARSED

#: (scene, context, sentence, truth), each as a person sees it; most are in nobody's template.
CASES = [
    # what there is
    (meadow, "", "There is a house in the picture.", T),
    (meadow, "", "There's a cat.", F),
    (meadow, "", "A meadow with a house, a tree and two dogs is what the image shows.", U),
    (meadow, "", "The image shows a meadow with a house, a tree, and two dogs.", T),
    (meadow, "", "The image shows a meadow with a house, a tree, and three dogs.", F),
    (meadow, "", "There are exactly two dogs.", T),
    (meadow, "", "There is only one dog in the picture.", F),
    (meadow, "", "There are no cats or birds in the image.", T),
    (meadow, "", "There are no dogs in the image.", F),
    (meadow, "", "You can also see a kite in the sky.", T),
    (meadow, "", "Two animals are visible.", T),
    (street, "", "Three trees stand along the street.", U),
    (street, "", "Two green trees and an orange tree can be seen.", T),
    (street, "", "There are three green trees.", F),
    # colours and parts
    (meadow, "", "The house has white walls and a red roof.", T),
    (meadow, "", "The house has red walls and a white roof.", F),
    (meadow, "", "The roof of the house is red, not white.", T),
    (meadow, "", "The house's door is red.", F),
    (meadow, "", "The house has two windows and a brown door.", T),
    (meadow, "", "The house has three windows.", F),
    (meadow, "", "The dog with the red collar is sleeping.", U),
    (meadow, "", "The dog with a red collar is asleep.", T),
    (meadow, "", "The black dog has no collar.", T),
    (street, "", "A big red car is parked on the left.", T),
    (street, "", "The car isn't blue.", T),
    (street, "", "The car is blue.", F),
    # poses, clothes, things held
    (meadow, "", "A girl in a yellow shirt is waving and holding a red balloon.", T),
    (meadow, "", "A girl in a red shirt is holding a yellow balloon.", F),
    (meadow, "", "The girl doesn't wear a hat.", T),
    (meadow, "", "The girl is wearing a hat.", F),
    (room, "", "The boy wears a black hat and a blue shirt.", T),
    (room, "", "The boy is dressed in blue.", T),
    (room, "", "The girl holds a blue flag in front of a chair.", T),
    (room, "", "The lamp is turned off.", T),
    (room, "", "The lamp on the table is off.", F),
    # places and relations
    (meadow, "", "The sleeping dog is next to the house.", T),
    (meadow, "", "The black dog is next to the house.", F),
    (meadow, "", "The kite is flying above the girl.", T),
    (meadow, "", "To the right of the girl, there is a dog.", T),
    (meadow, "", "To the left of the house stands a tree.", F),
    (room, "", "The cat is on the table.", T),
    (room, "", "The cat is sitting on top of the chair.", F),
    (room, "", "On the table sits a white cat.", T),
    (room, "", "The cat is under the table.", F),
    (street, "", "The sign is to the right of the car, not to the left.", T),
    (street, "", "The tree on the left is green.", T),
    (street, "", "The tree in the middle is green.", F),
    # words, weather, time, walls
    (street, "", 'The sign says "CAFE".', T),
    (street, "", "A white sign reads STOP.", F),
    (street, "", "It is raining.", T),
    (street, "", "It's a clear day.", F),
    (street, "", "It is a rainy day on the street.", T),
    (room, "", "The scene is set in a room at night.", T),
    (room, "", "The walls of the room are pink rather than blue.", T),
    (room, "", "It is daytime.", F),
    # references
    (meadow, "A brown dog lies there. The girl is next to it.", "It is sleeping.", T),
    (meadow, "There is a brown dog.", "It is sleeping.", T),
    (meadow, "There is a black dog.", "It is sleeping.", F),
    (meadow, "There is a black dog. The girl is waving.", "It is standing.", T),
    (meadow, "The brown dog is next to the house.", "It has a red collar.", T),
    (meadow, "The brown dog is next to the house.", "Its roof is red.", F),
    (meadow, "There are two dogs. One of them is brown.", "The other one is black.", T),
    (meadow, "There are two dogs. One of them is brown.", "The other one is sleeping.", F),
    (meadow, "There are two dogs.", "Both are sleeping.", F),
    (meadow, "A girl is waving.", "She is holding a red balloon.", T),
    (meadow, "A girl is waving.", "He is holding a red balloon.", U),
    (meadow, "A brown dog is sleeping.", "Another dog is standing to the right of it.", T),
    (meadow, "", "It is sleeping.", U),
    (room, "The boy is to the left of the girl.", "Both wear hats.", T),
    (room, "The boy is to the left of the girl.", "Both hold flags.", F),
    (room, "A red balloon can be seen. There is a lamp next to the table.", "It is green.", T),
    (room, "There is a lamp next to the table.", "It is brown.", F),
    (room, "There are two balloons.", "One is red and the other is blue.", T),
    (room, "There are two balloons.", "They are both red.", F),
    (street, "There are three trees.", "All of them are green.", F),
    (street, "Two green trees are visible.", "They are green.", T),
    (street, "There is a large car.", "It is to the left of the sign.", T),
    (meadow, "There are two dogs.", "Neither of them is sleeping.", F),
    (room, "The boy is to the left of the girl.", "None of them is waving.", T),
    (room, "", "The girl in front of the chair holding a blue flag is sitting.", T),
    (room, "", "The boy stands to the left of the table, holding a red balloon.", F),
    (room, "", "There is a cat on the table instead of a dog.", T),
    # references to what an error brought in
    (meadow, "A white dog is sleeping next to the house.", "It has a red collar.", T),
    (meadow, "A cat is sleeping next to the house.", "It has a red collar.", F),
    (meadow, "A cat is sleeping next to the house.", "It is a dog.", T),
    (meadow, "A cat is waving in the sky.", "It is a dog.", F),
    (street, "There is a blue car.", "It is to the left of the sign.", T),
    (street, "There is a bus.", "It is to the left of the sign.", F),
    # nothing to assess, nothing understood
    (meadow, "", "The scene feels calm and peaceful.", N),
    (meadow, "", "The scene feels calm and rainy.", U),
    (meadow, "", "The dog dreams of electric sheep.", U),
    (meadow, "", "There is a dog and a sandwich.", U),
    (meadow, "", "The dog is", U),
    (meadow, "", "", U),
    (meadow, "", "dog dog dog", U),
    (meadow, "", "There is a dog. There is a cat.", U),
]  # fmt: skip


@pytest.mark.parametrize(
    ("scene", "context", "sentence", "truth"),
    CASES,
    ids=[f"{s.__name__}: {c} | {t}" for s, c, t, _ in CASES],
)
def test_the_oracle_agrees_with_a_person(scene, context, sentence, truth):
    assert oracle(scene(), context, sentence) is truth


RATIONALES = [
    (street, "The car is blue.", "The car is not blue; it is red.", True),
    (street, "The car is blue.", "The car is red.", True),
    (street, "The car is blue.", "The car is green, not blue.", False),
    (street, "The car is blue.", "The sign says CAFE.", False),
    (street, "The car is red.", "The car is red, not blue.", False),
    (street, "The car is blue.", "I do not like blue cars.", None),
    (street, "The sign says STOP.", "The sign says CAFE rather than STOP.", True),
    (street, "There are two trees.", "There are three trees, not two.", True),
    (street, "There are two trees.", "There are four trees, not two.", False),
    (meadow, "There is a cat next to the house.", "There is no cat next to the house; it is a dog.",
     True),
    (meadow, "There is a cat next to the house.",
     "The animal next to the house is a dog, not a cat.", True),
    (meadow, "There is a cat next to the house.", "There is no house in the picture.", False),
    (meadow, "There is a cat next to the house.",
     "There is no cat in the picture. A brown dog is sleeping there instead.", True),
    (meadow, "The black dog is sleeping.", "The black dog is standing.", True),
    (meadow, "The black dog is sleeping.", "The brown dog is sleeping.", None),
    (room, "It is day.", "It is night, not day.", True),
    (room, "The cat is under the table.", "The cat is on the table, not under the table.", True),
]  # fmt: skip


@pytest.mark.parametrize(("scene", "sentence", "rationale", "right"), RATIONALES)
def test_a_rationale_must_be_true_and_to_the_point(scene, sentence, rationale, right):
    if right is None:
        assert check_rationale(scene(), "", sentence, rationale) is not True
    else:
        assert check_rationale(scene(), "", sentence, rationale) is right


def test_failures_name_what_is_wrong():
    found = failures(meadow(), "", "The house has a blue roof and a brown door.")
    assert [(f.topic, f.kinds) for f in found] == [("slot:roof", ("house",))]
    assert failures(meadow(), "", "The house has a red roof.") == ()
    found = failures(street(), "", "There are two cars.")
    assert {f.topic for f in found} >= {"count"}
    found = failures(room(), "", "A dog is sitting next to the table.")
    assert ("exists", ("dog",)) in [(f.topic, f.kinds) for f in found]


def test_only_the_context_decides_where_other_things_would_change_the_truth():
    before = "A brown dog lies by the house."
    cases = {
        "It is brown.": True,  # the other dog is black
        "It is black.": True,
        "It is to the left of the girl.": True,  # the tree is not
        "It is pink.": False,  # nothing is
        "She is waving.": False,  # whoever was named, there is one girl
        "The black dog is on the left.": False,  # needs no context at all
        "The scene feels calm.": False,
        "It is frabjous.": False,  # nobody knows
    }
    found = {text: context_decides(meadow(), before, text) for text in cases}
    assert found == cases
