"""The near world and the rows of both: exact truth, rationales told right from wrong."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from click.testing import CliRunner

from revise_captions.finetune.data.records import open_split
from revise_captions.picturebook.world import scene
from scripts.research.new_domains.far_domain import DomainClaim
from scripts.research.new_domains.generate import DOMAINS, main
from scripts.research.new_domains.near_domain import (
    ASPECTS,
    COLORS,
    KINDS,
    STATES,
    Exhibit,
    Yard,
    corrupt,
    is_true,
    rationale_is_right,
    rationales,
    sample,
    true_claims,
    truth_of,
)
from scripts.research.new_domains.near_domain_drawing import draw

#: From the left: a red closed tent, a blue smoking rocket, a green empty wagon, on a beach.
SHOW = Yard(
    "beach",
    (
        Exhibit("tent", "red", "zipped up"),
        Exhibit("rocket", "blue", "smoking"),
        Exhibit("wagon", "green", "unloaded"),
    ),
    3,
)


@pytest.mark.parametrize(
    ("claim", "true"),
    [
        (DomainClaim("setting", "", "beach"), True),
        (DomainClaim("setting", "", "street"), False),
        (DomainClaim("colour", "rocket", "blue"), True),
        (DomainClaim("colour", "tent", "blue"), False),
        (DomainClaim("presence", "wagon", ""), True),
        (DomainClaim("presence", "robot", ""), False),
        (DomainClaim("state", "tent", "wide open"), False),
        (DomainClaim("state", "rocket", "smoking"), True),
        (DomainClaim("order", "tent", "wagon"), True),
        (DomainClaim("order", "wagon", "rocket"), False),
        (DomainClaim("end", "left", "tent"), True),
        (DomainClaim("end", "right", "rocket"), False),
        (DomainClaim("count", "", "three"), True),
        (DomainClaim("count", "", "four"), False),
    ],
)
def test_the_truth_by_hand(claim, true):
    assert is_true(SHOW, claim) is true


@pytest.mark.parametrize(
    ("claim", "text", "right"),
    [
        (DomainClaim("colour", "tent", "blue"), "The tent is red, not blue.", True),
        (DomainClaim("colour", "tent", "blue"), "The tent is green, not blue.", False),
        (DomainClaim("colour", "tent", "blue"), "The rocket is red.", False),
        (DomainClaim("presence", "robot", ""), "There is no robot here.", True),
        (DomainClaim("presence", "robot", ""), "The robot is a rocket.", False),
        (DomainClaim("order", "wagon", "rocket"), "The rocket comes before the wagon.", True),
        (DomainClaim("order", "wagon", "rocket"), "The wagon comes before the rocket.", False),
        (DomainClaim("end", "right", "tent"), "The wagon stands at the right end.", True),
        (DomainClaim("end", "right", "tent"), "The wagon stands at the left end.", False),
        (DomainClaim("end", "right", "tent"), "At the right end is the rocket.", False),
        (DomainClaim("count", "", "four"), "One counts three exhibits.", True),
        (DomainClaim("state", "tent", "wide open"), "The tent is in fact zipped up.", True),
        (DomainClaim("state", "tent", "wide open"), "The tent is not wide open.", False),
    ],
)
def test_rationales_by_hand(claim, text, right):
    assert rationale_is_right(SHOW, claim, text) is right


def test_every_error_is_one_and_every_rationale_of_it_is_right():
    seen = set()
    for seed in range(60):
        yard, rng = sample(seed), random.Random(seed)
        for claim in true_claims(yard, rng):
            assert is_true(yard, claim)
            wrong = corrupt(yard, claim, rng)
            assert not is_true(yard, wrong)
            assert truth_of(yard, wrong) != wrong.said
            assert all(rationale_is_right(yard, wrong, t) for t in rationales(yard, wrong))
            seen.add(claim.aspect)
    assert seen == set(ASPECTS)


def test_its_things_are_new_and_its_settings_and_colours_are_not():
    held = {value for kind in scene.KINDS.values() for value in kind.slots.get("holding", ())}
    assert set(KINDS).isdisjoint(set(scene.KINDS) | held)
    assert set(COLORS) <= set(scene.COLORS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_picture_shows_state_and_colour(kind):
    """Another state or colour gives other pixels at the thing, and nowhere else."""

    def alone(color: str, state: str) -> np.ndarray:
        yard = Yard("meadow", (Exhibit("tent", "red", "zipped up"), Exhibit(kind, color, state)), 5)
        return np.asarray(draw(yard, 128)).astype(int)

    first, second = STATES[kind]
    plain = alone("blue", first)
    for other in (alone("blue", second), alone("yellow", first)):
        changed = np.abs(other - plain).max(-1) > 40
        assert changed.sum() > 20
        assert changed[:, :60].sum() == 0


@pytest.mark.parametrize("name", DOMAINS)
def test_rows_are_training_rows(name, tmp_path):
    domain = DOMAINS[name]
    for split, count in (("train", 6), ("validation", 3)):
        command = [str(tmp_path), "--domain", name, "--split", split, "--count", str(count)]
        made = CliRunner().invoke(main, command)
        assert made.exit_code == 0, made.output
    train = open_split(tmp_path, "train")
    assert len(train) == 6
    assert all((tmp_path / image).is_file() for image in train.images)
    first = json.loads((tmp_path / "train.jsonl").read_text().splitlines()[0])
    assert first == domain.row("train", 0)[2]
    said = domain.caption(domain.sample(0), 0)
    for one, item in zip(said, first["sentences"], strict=True):
        assert first["caption"][item["start"] : item["end"]] == one.text
        assert (item["label"] == "factual") == one.factual
        assert bool(item["rationales"]) != one.factual
    others = {domain.row("train", k)[2]["caption"] for k in range(50)}
    assert others.isdisjoint(domain.row("test", k)[2]["caption"] for k in range(50))
