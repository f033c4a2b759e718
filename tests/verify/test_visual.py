"""Components as sentences: in forms that the picture-book oracle reads, asked once, in order."""

from __future__ import annotations

import pytest
from graph_notes import graph
from PIL import Image

from revise_captions.critic.protocol import JudgeRequest
from revise_captions.critic.scripted import ScriptedCritic
from revise_captions.graphs.graph import Graph
from revise_captions.picturebook.oracle.parse import parse
from revise_captions.pipelines.verify.visual import look, questions
from revise_captions.records import Unscored, Verdict

SCENE = (
    "A girl wears a red hat by the house. The house has a roof. A dog is sitting. "
    "Two cats are left of a tree. There are no birds."
)
GRAPH = graph(
    SCENE,
    {
        "girl": ["girl"],
        "hat": ["hat"],
        "house": ["house", "house"],
        "roof": ["roof"],
        "dog": ["dog"],
        "cats": ["cats"],
        "tree": ["tree"],
        "no birds": ["birds"],
    },
    [("hat", "red"), ("dog", "sitting"), ("cats", "2")],
    [
        ("girl", "wear", "hat"),
        ("girl", "by", "house"),
        ("house", "have", "roof"),
        ("cats", "left of", "tree"),
    ],
)


def texts(made: Graph) -> list[str]:
    return [question.text for question in questions(made)]


def test_every_component_is_asked_about_once_and_nothing_denied():
    assert texts(GRAPH) == [
        "There is a girl.",
        "The girl is wearing a hat.",
        "There is a house.",
        "The house has a roof.",
        "There is a dog.",
        "There are cats.",
        "There is a tree.",
        "The hat is red.",
        "The dog is sitting.",
        "There are two cats.",
        "The girl is by the house.",
        "The cats are left of the tree.",
    ]


@pytest.mark.parametrize("text", texts(GRAPH))
def test_the_forms_are_those_of_the_picture_book(text):
    """What the bundled critic was trained on is what the oracle reads."""
    assert parse(text)


def test_of_several_with_one_name_one_is_said_to_be_there():
    """ "The dog is brown" would not say which of the two."""
    made = graph(
        "A brown dog and an old dog that is sitting. The dogs are near a house.",
        {"dog": ["dog"], "dog#2": ["dog"], "house": ["house"]},
        [("dog", "brown"), ("dog#2", "old"), ("dog#2", "sitting")],
        [("dog", "near", "house")],
    )
    assert texts(made) == [
        "There is a dog.",
        "There is a house.",
        "There is a brown dog.",
        "There is an old dog.",
        "A dog is sitting.",
        "A dog is near the house.",
    ]


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        ("to left of", "The dog is to the left of the tree."),
        ("on top of", "The dog is on top of the tree."),
        ("sit on", "The dog is sitting on the tree."),
        ("be next to", "The dog is next to the tree."),
        ("with", "The dog has a tree."),
        ("hold", "The dog is holding a tree."),
    ],
)
def test_relations_in_words(relation, expected):
    """`span` of a relation does not matter here."""
    text = f"dog {relation} tree"
    made = graph(text, {"dog": ["dog"], "tree": ["tree"]}, (), [("dog", relation, "tree")])
    assert texts(made)[-1] == expected


def test_a_room_does_not_own_what_is_in_it():
    made = graph("A room with a chair.", {"room": ["room"], "chair": ["chair"]}, (),
                 [("room", "with", "chair")])  # fmt: skip
    assert texts(made)[:2] == ["The picture shows a room.", "There is a chair."]


def test_whose_a_thing_is_says_which():
    """What is held, or worn by one of several, is asked about with its owner."""
    made = graph(
        "A girl who wears a red hat holds a blue flag. A boy wears a green hat with two feathers.",
        {"girl": ["girl"], "hat": ["hat"], "flag": ["flag"], "boy": ["boy"], "hat#2": ["hat"],
         "feathers": ["feathers"]},
        [("hat", "red"), ("flag", "blue"), ("hat#2", "green"), ("feathers", "2")],
        [("girl", "wear", "hat"), ("girl", "hold", "flag"), ("boy", "wear", "hat#2"),
         ("hat#2", "with", "feathers")],
    )  # fmt: skip
    assert texts(made) == [
        "There is a girl.",
        "The girl is wearing a hat.",
        "The girl is holding a flag.",
        "There is a boy.",
        "The boy is wearing a hat.",
        "A hat has feathers.",
        "The girl is wearing a red hat.",
        "The girl is holding a blue flag.",
        "The boy is wearing a green hat.",
        "A hat has two feathers.",
    ]


def test_answers_come_in_order_and_equal_questions_are_asked_once():
    one, two = Image.new("RGB", (2, 2)), Image.new("RGB", (3, 3))
    asked: list[tuple[int, str]] = []

    def judge(paragraph: JudgeRequest, index: int) -> Verdict:
        asked.append((paragraph.image.width, paragraph.text))
        if "tree" in paragraph.text:
            return Verdict(None, Unscored.NO_ANSWER)
        return Verdict(0.9 if "dog" in paragraph.text else 0.2)

    critic = ScriptedCritic(verdicts=judge)
    dogs = questions(graph("a dog, a cat, a tree", {n: [n] for n in ("dog", "cat", "tree")}))
    found = look([(one, dogs), (one, dogs[::-1]), (two, dogs[:1]), (two, [])], critic)
    assert [[answer.yes for answer in answers] for answers in found] == [
        [True, False, None],
        [None, False, True],
        [True],
        [],
    ]
    assert asked == [
        (2, "There is a dog."),
        (2, "There is a cat."),
        (2, "There is a tree."),
        (3, "There is a dog."),
    ]
