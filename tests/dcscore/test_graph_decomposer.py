"""The offline decomposer: sentences that a caption says, their places, what it cannot read."""

from __future__ import annotations

import pytest

from revise_captions.dcscore.decomposers.descriptive import is_descriptive, parts_of
from revise_captions.dcscore.decomposers.graph import NOT_ENGLISH, GraphDecomposer
from revise_captions.dcscore.units import Decomposition
from revise_captions.text.sentences import split

CAPTION = (
    "A small brown dog sits to the left of the red house. It is wearing a hat. "
    "There are no people. The scene feels calm, suggesting a quiet morning."
)


@pytest.fixture(scope="module")
def taken_apart() -> Decomposition:
    (found,) = GraphDecomposer().decompose([CAPTION])
    return found


def test_what_the_caption_says(taken_apart):
    texts = {unit.text for unit in taken_apart.units}
    assert {
        "There is a dog.",
        "There is a small dog.",
        "There is a brown dog.",
        "There is a red house.",
        "A dog sits to the left of the house.",
        "The dog is wearing a hat.",
        "There are no people.",
    } <= texts


def test_places(taken_apart):
    """Every span lies in the sentence that its unit names, and holds a word of it."""
    for unit in taken_apart.units:
        home = taken_apart.sentences[unit.sentence]
        assert home.start <= unit.span.start < unit.span.end <= home.end
    by_text = {unit.text: unit for unit in taken_apart.units}
    assert by_text["There is a red house."].span.of(CAPTION) == "red"


def test_what_a_text_denies_is_nowhere_asserted():
    texts = [
        "There are no chairs in the room.",
        "There isn't any snow on the roof.",
        "The sign has no text on it.",
        "The room does not have windows.",
    ]
    for found in GraphDecomposer().decompose(texts):
        thing = next(w for w in ("chairs", "snow", "text", "windows") if w in found.text)
        said = [unit.text for unit in found.units if thing in unit.text]
        assert said
        assert all(any(no in text for no in ("no ", "not ", "n't")) for text in said)


def test_no_unit_twice(taken_apart):
    texts = [unit.text for unit in taken_apart.units]
    assert len(set(texts)) == len(texts)


def test_descriptive(taken_apart):
    flags = {unit.text: unit.descriptive for unit in taken_apart.units}
    assert flags["There is a dog."]
    assert flags["There are no people."]
    assert not any(flags[text] for text in flags if "calm" in text or "morning" in text)


def test_parts():
    """Places in front of a thing are no purposes; an enumeration goes on as it began."""
    text = "To the left of the car, a man stands, likely a driver, or a thief, to wait."
    (sentence,) = split(text)
    assert [shows for _, shows in parts_of(text, sentence)] == [True, True, False, False, False]
    assert is_descriptive("A sign can be seen behind the tree.")
    assert not is_descriptive("")


def test_other_languages_are_unscored_and_nothing_else_is_lost():
    texts = [
        "Una mujer camina por la calle con su perro negro. There is a red car.",
        "这是一只狗。",
        "",
        "😀",
        "\x00 <PREFIX> ]]>",
    ]
    spanish, chinese, empty, face, odd = GraphDecomposer().decompose(texts)
    assert [(one.sentence, one.reason) for one in spanish.unscored] == [(0, NOT_ENGLISH)]
    assert spanish.units
    assert all(unit.sentence == 1 for unit in spanish.units)
    assert chinese.unscored
    assert not chinese.units
    assert not empty.units
    assert not empty.unscored
    assert not face.units
    assert odd.text == texts[-1]
