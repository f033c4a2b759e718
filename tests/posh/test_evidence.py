"""What the offline judge finds for and against a component: by name, value, direction, polarity."""

from __future__ import annotations

import pytest

from revise_captions.graphs.grading import links, values
from revise_captions.graphs.grading.senses import Kin, kin


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("dog", "dogs", Kin.SAME),
        ("sofa", "couch", Kin.SAME),
        ("person", "man", Kin.KIND),
        ("man", "person", Kin.WIDER),
        ("animal", "puppy", Kin.KIND),
        ("sign", "street sign", Kin.KIND),
        ("boy", "child", Kin.WIDER),
        ("dog", "cat", Kin.OTHER),
        ("hot dog", "dog", Kin.OTHER),
        ("something", "kite", Kin.KIND),
        ("dog", "frobnicator", Kin.UNKNOWN),
    ],
)
def test_names_are_compared_by_their_senses(first, second, expected):
    assert kin(first, second) is expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("gray", "silver", True),
        ("dark blue", "blue", True),
        ("red", "blue", False),
        ("glass", "plastic", False),
        ("wooden", "oak", True),
        ("open", "closed", False),
        ("sitting", "standing", False),
        ("above", "below", False),
        ("above the scene", "below the scene", False),
        ("standing in front", "standing behind", False),
        ("on the left", "on the right", False),
        ("facing left", "facing right", False),
        ("dark blue", "light blue", None),
        ("red", "tall", None),
    ],
)
def test_values_of_one_scale_exclude_each_other(first, second, expected):
    assert values.verdict(first, second) is expected
    assert values.verdict(second, first) is expected


def test_counts_are_compared_by_value():
    assert values.counts_agree("2", "2") is True
    assert values.counts_agree("2", "3") is False
    assert values.counts_agree("both", "2") is True
    assert values.counts_agree("several", "2") is False
    assert values.counts_agree("several", "5") is True
    assert values.counts_agree("few", "3") is None


@pytest.mark.parametrize(
    ("first", "second", "turned", "expected"),
    [
        ("bite", "bite", False, True),
        ("bite", "bite", True, False),
        ("sit on", "on", False, True),
        ("on", "under", False, False),
        ("on", "next to", False, False),
        ("to left of", "to right of", False, False),
        ("to left of", "right of", True, True),
        ("to left of", "on left side of", True, False),
        ("above", "below", True, True),
        ("in front of", "behind", True, True),
        ("stand in front of", "behind", False, False),
        ("next to", "beside", True, True),
        ("wear", "on", True, True),
        ("wear", "in", True, None),
        ("lead", "follow", True, True),
        ("push", "pull", False, False),
        ("sit on", "stand on", False, False),
        ("kiss", "kiss", True, True),
        ("hold", "swing", False, None),
        ("across", "walk across", False, True),
        ("below base of", "above", False, False),
        ("of", "for", False, None),
    ],
)
def test_relations_have_a_sense_and_a_direction(first, second, turned, expected):
    assert links.verdict(first, second, turned=turned) is expected


#: A reference, a text, what of the text is wrong, what of it is right.
TEXTS = [
    ("man bites dog", "dog bites man", ["dog bite man"], ["dog", "man"]),
    ("A dog bites a man.", "A man is bitten by a dog.", [], ["dog bite man"]),
    (
        "The cup is to the left of the plate.",
        "The cup is to the right of the plate.",
        ["cup to right of plate"],
        ["cup", "plate"],
    ),
    ("The lamp is above the bed.", "The bed is below the lamp.", [], ["bed below lamp"]),
    ("A man in front of a car.", "A car behind a man.", [], ["car behind man"]),
    ("A woman wearing a hat.", "A hat on a woman.", [], ["hat on woman"]),
    ("A glass vase.", "A plastic vase.", ["plastic vase"], ["vase"]),
    ("Men ride horses.", "Men are not riding horses.", ["men not ride horses"], ["men"]),
    ("Men are not riding horses.", "Men ride horses.", ["men ride horses"], ["men"]),
    ("The door is not open.", "The door is not open.", [], ["not open door"]),
    (
        "A white dog and a black cat.",
        "A black dog and a white cat.",
        ["black dog", "white cat"],
        ["dog", "cat"],
    ),
    (
        "A tall man at a wooden table.",
        "A wooden man at a tall table.",
        ["wooden man", "tall table"],
        ["man", "table"],
    ),
    ("Two dogs and three cats.", "Three dogs and two cats.", ["3 dogs", "2 cats"], ["dogs"]),
    ("A dog, a dog and a cat.", "Two cats.", ["2 cats"], []),
    ("A beach without people.", "People on a beach.", ["people", "people on beach"], ["beach"]),
    ("There is no dog.", "There is a puppy.", ["puppy"], []),
    (
        "A street without red cars.",
        "A red car on a street.",
        ["car", "red car", "car on street"],
        [],
    ),
    ("A blue car, but no red cars.", "There is a blue car.", [], ["car", "blue car"]),
    ("A gray elephant.", "An elephant that is grey.", [], ["elephant", "grey elephant"]),
    ("A man and a woman.", "People.", [], ["people"]),
]


@pytest.mark.parametrize(("reference", "text", "wrong", "right"), TEXTS)
def test_what_structure_contradicts_is_below_two_and_what_it_says_above_three(
    judge, reference, text, wrong, right
):
    from revise_captions.posh import Pair, score_captions

    (found,) = score_captions([Pair(text, (reference,))], judge)
    parts = found.generation.parts
    grades = {
        part.phrase(found.generation.graph): grade.score
        for part, grade in zip(parts, found.generation.grades, strict=True)
    }
    assert {name for name, grade in grades.items() if grade is not None and grade < 2} == set(wrong)
    assert all(grades[name] > 3 for name in right)


def test_a_denial_that_the_other_text_passes_over_has_no_grade(judge):
    from revise_captions.posh import Pair, score_captions

    (found,) = score_captions([Pair("A dog, but no cat.", ("A dog.",))], judge)
    assert [part.denied for part in found.generation.parts] == [False, True]
    assert [grade.score is None for grade in found.generation.grades] == [False, True]
    assert "denied" in found.generation.grades[1].unscored


@pytest.fixture(scope="module")
def judge():
    pytest.importorskip("spacy")
    from revise_captions import posh

    return posh.OfflineJudge(posh.load_encoder())


@pytest.mark.parametrize(
    ("name", "others", "expected"),
    [
        ("plastic", ["bench", "old stone"], True),
        ("plastic", ["stone", "vinyl"], False),
        ("plastic", ["bench", "old"], False),
        ("bench", ["stone"], False),
    ],
)
def test_another_material_excludes_one(name, others, expected):
    assert values.is_another_material(name, others) is expected
