"""The share of a scene that a caption tells, counted by hand."""

from __future__ import annotations

import random

import pytest

from revise_captions.picturebook.generate import rows_of_scene
from revise_captions.picturebook.oracle.coverage import coverage, facts_of, told
from revise_captions.picturebook.oracle.truth import Truth, oracle
from revise_captions.picturebook.world.sample import sample_scene
from revise_captions.picturebook.world.scene import Scene, Thing

DOG = Thing(
    0, "dog", (0.1, 0.7, 0.28, 0.85), {"coat": "brown", "pose": "sitting", "collar": "none"}
)
BALL = Thing(1, "ball", (0.7, 0.8, 0.8, 0.9), {"colour": "red", "pattern": "plain"})
SCENE = Scene(0, "test", "meadow", "day", "clear", (DOG, BALL), 0)


def test_the_facts_of_a_scene():
    assert facts_of(SCENE) == {
        ("setting", None), ("time", None), ("weather", None),
        ("exists", 0), ("where", 0), ("coat", 0), ("pose", 0),
        ("exists", 1), ("where", 1), ("colour", 1), ("pattern", 1),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("caption", "facts"),
    [
        ("There is a dog.", {("exists", 0)}),
        ("A brown dog is sitting.", {("exists", 0), ("coat", 0), ("pose", 0)}),
        ("There is a dog. It is brown.", {("exists", 0), ("coat", 0)}),
        ("The dog is on the left of the picture.", {("exists", 0), ("where", 0)}),
        ("It is day.", {("time", None)}),
        ("A black dog is sitting.", set()),  # false as a whole
        ("There is no cat.", set()),
        ("The scene feels calm.", set()),
        (
            "A brown dog is sitting. A brown dog is sitting.",
            {("exists", 0), ("coat", 0), ("pose", 0)},
        ),
        ("There is a red ball. There is a cat.", {("exists", 1), ("colour", 1)}),
        ("", set()),
    ],
)
def test_what_a_caption_tells(caption, facts):
    assert told(SCENE, caption) == facts
    assert coverage(SCENE, caption) == len(facts) / 11


def test_false_sentences_and_repetitions_tell_nothing():
    """On sampled captions: without its false sentences, or told twice, a caption tells the same."""
    for number in range(12):
        scene = sample_scene(number, "validation")
        (row,) = rows_of_scene(scene, number, captions=1, mode="balanced", raters=False)
        whole = row["caption"]
        assert told(scene, f"{whole} {whole}") >= told(scene, whole)
        words = [whole[s["start"] : s["end"]] for s in row["sentences"]]
        random.Random(number).shuffle(words)
        alone = [w for w in words if oracle(scene, "", w) is Truth.FALSE]
        assert not told(scene, alone[0]) if alone else True
        assert 0 <= coverage(scene, whole) <= 1


def test_more_true_sentences_never_tell_less():
    scene = sample_scene(5, "test")
    (row,) = rows_of_scene(scene, 5, captions=1, mode="balanced", raters=False)
    ends = [s["end"] for s in row["sentences"]]
    shares = [coverage(scene, row["caption"][:end]) for end in ends]
    assert shares == sorted(shares)
