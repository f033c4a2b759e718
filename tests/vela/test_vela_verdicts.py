"""Features of a critic's verdicts: sums by hand, and captions that it cannot judge."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from revise_captions.picturebook.drawing.draw import draw
from revise_captions.picturebook.generate import rows_of_scene
from revise_captions.picturebook.world.sample import sample_scene
from revise_captions.vela.branches import VelaItem
from revise_captions.vela.feature_cache import FeatureCache
from revise_captions.vela.features import Branches
from revise_captions.vela.pairs.load import load_pair
from revise_captions.vela.pairs.verdicts import STATISTICS, verdict_features

#: Three tokens, each with a dimension of its own.
AXES = np.eye(3, dtype=np.float32)


def test_sums_are_weighted_by_the_sentences_verdicts():
    found = verdict_features([0.9, 0.1], [[0, 1, 1], [1, 2]], AXES, "dog, small, brown. cat.")
    assert found.shape == (6 + STATISTICS,)
    assert found[:3] == pytest.approx(np.array([0.9, 1.9, 0.1]) / 4)
    assert found[3:6] == pytest.approx(np.array([0.9, 0.9, 0.1]) / 4)
    assert np.isfinite(verdict_features([0.0], [[0]], AXES, "")).all()


def test_repetition_changes_only_the_plain_sum():
    once = verdict_features([0.9], [[0, 1]], AXES, "a.")
    twice = verdict_features([0.9, 0.9], [[0, 1], [0, 1]], AXES, "a.")
    assert twice[:3] == pytest.approx(2 * once[:3])
    assert twice[3:6] == pytest.approx(once[3:6])


def test_a_true_caption_has_more_true_tokens_than_a_false_one():
    pair = load_pair("bundled#verdict", device="cpu")
    scene = sample_scene(3, "test")
    image = draw(scene, 128)
    (row,) = rows_of_scene(scene, 3, captions=1, mode="balanced", raters=False)
    true = f"It is {scene.time}."
    false = "It is night." if scene.time == "day" else "It is day."
    items = [VelaItem(text, (row["description"],), image) for text in (true, false)]
    first, second = pair.encode(items, FeatureCache())
    assert len(first.vector) == pair.width
    width = 2 * 192
    assert np.linalg.norm(first.vector[:width]) > 2 * np.linalg.norm(second.vector[:width])


def test_what_the_critic_cannot_judge_is_unscored():
    pair = load_pair("bundled#verdict", device="cpu")
    noise = np.random.default_rng(0).integers(0, 255, (128, 128, 3), dtype=np.uint8)
    photo = Image.fromarray(noise)
    branches = Branches(None, pair, ("relevance",))
    item = VelaItem("There is a dog.", ("dog.",), photo)
    found = branches.compute([item], FeatureCache())
    assert found.reasons == ("the critic can judge none of its sentences",)
    assert branches.problem(VelaItem("There is a dog.", (), photo)).startswith("there is no ref")
