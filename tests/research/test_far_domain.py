"""The far world: exact truth, errors that are errors, rationales told right from wrong."""

from __future__ import annotations

import random

import numpy as np
import pytest

from revise_captions.picturebook.world import scene
from scripts.research.new_domains.far_domain import (
    ASPECTS,
    KINDS,
    Claim,
    Cupboard,
    Thing,
    corrupt,
    is_true,
    rationale_is_right,
    rationales,
    sample,
    true_claims,
    truth_of,
)
from scripts.research.new_domains.far_domain_drawing import draw

#: Upper board: red plain cup, blue burning candle; lower: white shut box, empty green bowl, clock.
KITCHEN = Cupboard(
    "cream",
    (
        (Thing("cup", "red", "plain"), Thing("candle", "blue", "burning")),
        (
            Thing("box", "white", "shut"),
            Thing("bowl", "green", "empty"),
            Thing("clock", "black", "set to six"),
        ),
    ),
    7,
)


@pytest.mark.parametrize(
    ("claim", "true"),
    [
        (Claim("wall", "", "grey"), "cream"),
        (Claim("count", "", "five"), "five"),
        (Claim("count", "lower", "two"), "three"),
        (Claim("board", "cup", "lower"), "upper"),
        (Claim("colour", "bowl", "red"), "green"),
        (Claim("state", "clock", "set to nine"), "set to six"),
        (Claim("ordinal", "lower second", "clock"), "bowl"),
        (Claim("presence", "vase", "there"), "absent"),
        (Claim("neighbour", "bowl", "clock"), "clock"),
        (Claim("neighbour", "bowl", "box"), "box"),
        (Claim("neighbour", "cup", "bowl"), "candle"),
    ],
)
def test_the_truth_by_hand(claim, true):
    assert truth_of(KITCHEN, claim) == true
    assert is_true(KITCHEN, claim) == (claim.said == true)


@pytest.mark.parametrize(
    ("claim", "text", "right"),
    [
        (Claim("colour", "bowl", "red"), "The bowl is green, not red.", True),
        (Claim("colour", "bowl", "red"), "The bowl is not red.", False),
        (Claim("colour", "bowl", "red"), "The bowl is blue, not red.", False),
        (Claim("colour", "bowl", "red"), "The bowl is green or blue.", False),
        (Claim("colour", "bowl", "red"), "The cup is green.", False),
        (Claim("board", "cup", "lower"), "The cup rests on the upper board.", True),
        (Claim("board", "cup", "lower"), "The cup rests on the lower board.", False),
        (Claim("presence", "vase", "there"), "The cupboard holds no vase.", True),
        (Claim("presence", "vase", "there"), "The vase is red.", False),
        (Claim("ordinal", "lower second", "box"), "Second on the lower board is a bowl.", True),
        (Claim("ordinal", "lower second", "box"), "Second on the upper board is a bowl.", False),
        (Claim("neighbour", "bowl", "cup"), "Beside the bowl is the box, not the cup.", True),
        (Claim("neighbour", "bowl", "cup"), "Beside the bowl is the candle.", False),
        (Claim("count", "lower", "two"), "There are three items on the lower board.", True),
        (Claim("count", "lower", "two"), "There are four items on the lower board.", False),
    ],
)  # fmt: skip
def test_rationales_by_hand(claim, text, right):
    assert rationale_is_right(KITCHEN, claim, text) is right


def test_every_error_is_one_and_every_rationale_of_it_is_right():
    seen = set()
    for seed in range(60):
        cupboard, rng = sample(seed), random.Random(seed)
        for claim in true_claims(cupboard, rng):
            assert is_true(cupboard, claim)
            wrong = corrupt(cupboard, claim, rng)
            assert not is_true(cupboard, wrong)
            assert wrong.aspect == claim.aspect
            assert all(rationale_is_right(cupboard, wrong, t) for t in rationales(cupboard, wrong))
            seen.add(claim.aspect)
    assert seen == set(ASPECTS)


def test_nothing_of_the_old_world_is_in_it():
    assert set(KINDS).isdisjoint(scene.KINDS)
    assert "cupboard" not in scene.SETTINGS


def test_a_picture_shows_what_differs():
    """Each thing's colour and state can be seen: another one gives other pixels in its place."""
    plain = np.asarray(draw(KITCHEN, 128)).astype(int)
    assert plain.shape == (128, 128, 3)
    lit, (cup, candle) = KITCHEN.boards[1], KITCHEN.boards[0]
    out = Cupboard("cream", ((cup, Thing("candle", "blue", "blown out")), lit), 7)
    changed = np.abs(np.asarray(draw(out, 128)).astype(int) - plain).max(-1) > 40
    assert candle.state == "burning"
    assert 10 < changed.sum() < 400
    assert changed[64:].sum() == 0
    assert np.array_equal(np.asarray(draw(KITCHEN, 128)), plain)
