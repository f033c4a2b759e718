"""The far world: exact truth, errors that are errors, rationales told right from wrong."""

from __future__ import annotations

import random

import numpy as np
import pytest

from revise_captions.picturebook.world import scene
from scripts.research.new_domains.far_domain import (
    ASPECTS,
    KINDS,
    Cupboard,
    DomainClaim,
    DomainThing,
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
        (DomainThing("cup", "red", "plain"), DomainThing("candle", "blue", "burning")),
        (
            DomainThing("box", "white", "shut"),
            DomainThing("bowl", "green", "empty"),
            DomainThing("clock", "black", "set to six"),
        ),
    ),
    7,
)


@pytest.mark.parametrize(
    ("claim", "true"),
    [
        (DomainClaim("wall", "", "grey"), "cream"),
        (DomainClaim("count", "", "five"), "five"),
        (DomainClaim("count", "lower", "two"), "three"),
        (DomainClaim("board", "cup", "lower"), "upper"),
        (DomainClaim("colour", "bowl", "red"), "green"),
        (DomainClaim("state", "clock", "set to nine"), "set to six"),
        (DomainClaim("ordinal", "lower second", "clock"), "bowl"),
        (DomainClaim("presence", "vase", "there"), "absent"),
        (DomainClaim("neighbour", "bowl", "clock"), "clock"),
        (DomainClaim("neighbour", "bowl", "box"), "box"),
        (DomainClaim("neighbour", "cup", "bowl"), "candle"),
    ],
)
def test_the_truth_by_hand(claim, true):
    assert truth_of(KITCHEN, claim) == true
    assert is_true(KITCHEN, claim) == (claim.said == true)


@pytest.mark.parametrize(
    ("claim", "text", "right"),
    [
        (DomainClaim("colour", "bowl", "red"), "The bowl is green, not red.", True),
        (DomainClaim("colour", "bowl", "red"), "The bowl is not red.", False),
        (DomainClaim("colour", "bowl", "red"), "The bowl is blue, not red.", False),
        (DomainClaim("colour", "bowl", "red"), "The bowl is green or blue.", False),
        (DomainClaim("colour", "bowl", "red"), "The cup is green.", False),
        (DomainClaim("board", "cup", "lower"), "The cup rests on the upper board.", True),
        (DomainClaim("board", "cup", "lower"), "The cup rests on the lower board.", False),
        (DomainClaim("presence", "vase", "there"), "The cupboard holds no vase.", True),
        (DomainClaim("presence", "vase", "there"), "The vase is red.", False),
        (
            DomainClaim("ordinal", "lower second", "box"),
            "Second on the lower board is a bowl.",
            True,
        ),
        (
            DomainClaim("ordinal", "lower second", "box"),
            "Second on the upper board is a bowl.",
            False,
        ),
        (DomainClaim("neighbour", "bowl", "cup"), "Beside the bowl is the box, not the cup.", True),
        (DomainClaim("neighbour", "bowl", "cup"), "Beside the bowl is the candle.", False),
        (DomainClaim("count", "lower", "two"), "There are three items on the lower board.", True),
        (DomainClaim("count", "lower", "two"), "There are four items on the lower board.", False),
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
    out = Cupboard("cream", ((cup, DomainThing("candle", "blue", "blown out")), lit), 7)
    changed = np.abs(np.asarray(draw(out, 128)).astype(int) - plain).max(-1) > 40
    assert candle.state == "burning"
    assert 10 < changed.sum() < 400
    assert changed[64:].sum() == 0
    assert np.array_equal(np.asarray(draw(KITCHEN, 128)), plain)
