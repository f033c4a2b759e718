"""Images in other colours: what is asked about them, and what they show."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from finetuning import FINETUNE as main
from tinycritic import saved
from toyworld import write

from revise_captions.finetune.data.recolor import (
    colorless,
    names_color,
    recolored,
    replaced_colors,
    rotated_hues,
    shifted_hues,
)
from revise_captions.finetune.data.records import (
    AuxiliaryExample,
    TrainingExample,
    TrainingSentence,
    parse,
)
from revise_captions.finetune.data.targets import without_colors
from revise_captions.finetune.models.dense_labels import Heads
from revise_captions.records import Span

CAPTION = "There is a red circle. It is on the left. A square is shown. No dog."
EXAMPLE = TrainingExample(
    "1",
    "1.png",
    CAPTION,
    (
        TrainingSentence(Span(0, 22), True, True, (), "", True),
        TrainingSentence(Span(23, 41), False, True, ("It is right.",), "It is on the right."),
        TrainingSentence(Span(42, 60), False, True, (), "A circle is shown.", True),
        TrainingSentence(Span(61, 68), False, True, (), "A white dog.", True),
    ),
    "A red circle.",
    (
        AuxiliaryExample("A dog is left of a cat.", True),
        AuxiliaryExample("The cat sleeps.", False, "The black cat sits."),
    ),
)


@pytest.mark.parametrize(
    ("text", "named"),
    [("A red car.", True), ("A reddish car.", False), ("Nobody blushes.", False),
     ("Two WHITE dogs", True), ("Its colour is odd.", True), ("It is a dark night.", True)],
)  # fmt: skip
def test_words_for_colours(text, named):
    assert names_color(text) is named


def test_only_what_names_no_colour_and_stands_alone_is_asked():
    assert colorless(EXAMPLE) == ((2,), (0,))
    choice = without_colors(EXAMPLE, np.random.default_rng(0), rewrites=1.0, auxiliary_sentences=8)
    assert (choice.sentences, choice.auxiliary_sentences, choice.rewrites) == (
        (2,),
        ((0, False),),
        (2,),
    )
    assert (choice.rationales, choice.describe) == ((), False)
    colourful = replace(EXAMPLE, sentences=EXAMPLE.sentences[:2], auxiliary_sentences=())
    assert without_colors(colourful, np.random.default_rng(0), 1.0, 8) is None


def test_a_sentence_stands_alone_only_where_the_row_says_so():
    whole = {"start": 0, "end": 6, "label": "factual"}
    row = {"image": "1.png", "caption": "A dog. It.", "sentences": [whole]}
    assert [s.stands_alone for s in parse(row).sentences] == [False]
    for needs, alone in ((True, False), (False, True)):
        row["sentences"] = [whole | {"needs_context": needs}]
        assert [s.stands_alone for s in parse(row).sentences] == [alone]


def test_turned_colours_depend_on_the_colour_alone():
    """Grey stays grey, equal pixels stay equal, lighter greys stay lighter."""
    rng = np.random.default_rng(0)
    greys = np.repeat(np.linspace(0, 1, 52, dtype=np.float32)[None, :, None], 3, axis=2)
    paint = rng.random((4, 4, 3), dtype=np.float32)
    for seed in range(60):
        made = rotated_hues(greys, np.random.default_rng(seed))
        assert np.ptp(made, axis=2).max() <= 0.01
        assert (np.diff(made[0, :, 0]) >= 0).all()
        large = rotated_hues(
            np.kron(paint, np.ones((3, 3, 1), np.float32)), np.random.default_rng(seed)
        )
        assert np.allclose(
            large[::3, ::3], rotated_hues(paint, np.random.default_rng(seed)), atol=1e-5
        )


def test_replaced_colours_are_those_of_things_and_keep_their_shades():
    """A red thing, shaded, on a blue ground that is most of the image, with a little of green."""
    image = np.tile(np.array([0.2, 0.3, 0.9], np.float32), (32, 32, 1))
    image[4:12, 4:12] = np.array([0.8, 0.1, 0.1]) * np.linspace(0.9, 1.1, 8)[:, None, None]
    image[20:28, 20:28] = [0.1, 0.7, 0.2]
    changed = []
    for seed in range(80):
        made = replaced_colors(image, np.random.default_rng(seed))
        assert np.allclose(made[16:18], image[16:18])
        thing = made[4:12, 4:12]
        assert np.allclose(thing, thing[:, :1], atol=1e-5)
        steps = (thing - image[4:12, 4:12])[:, 0]
        assert np.ptp(steps, axis=0).max() < 0.6 * max(1e-6, np.abs(steps).max())
        changed.append(np.abs(steps).max() > 0.1)
        assert np.allclose(made[20:28, 20:28], made[20, 20], atol=1e-5)
    assert 0.5 < np.mean(changed) < 1


def test_seeds_decide_what_becomes_of_an_image():
    paint = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    made = [recolored(paint, seed) for seed in range(1, 20)]
    assert all(one.dtype == np.uint8 for one in made)
    assert np.array_equal(recolored(paint, 7), made[6])
    assert len({one.tobytes() for one in made}) > 12  # turned to grey, some are the same


def test_colour_labels_of_recoloured_images_have_no_gradient():
    torch.manual_seed(0)
    heads = Heads(6, (3, 4))
    features = torch.randn(2, 4, 6, requires_grad=True)
    labels = torch.stack([torch.randint(0, n, (2, 4)) for n in (3, 4)], -1)
    holds = torch.tensor([[True, True], [True, False]])
    loss, _ = heads(features, labels, holds)
    other = labels.clone()
    other[1, :, 1] = (other[1, :, 1] + 1) % 4
    assert torch.equal(heads(features, other, holds)[0], loss)
    assert not torch.equal(heads(features, other)[0], heads(features, labels)[0])
    loss.backward()
    weights = heads.linear.weight.grad
    assert weights is not None
    assert weights.abs().sum() > 0


@pytest.mark.slow
def test_training_with_recoloured_images(tmp_path: Path):
    """The command asks fewer sentences, the same ones again with the same seed."""
    data = write(tmp_path / "data", {"train": 24, "validation": 8}, grid=4)
    for split in ("train", "validation"):
        rows = [json.loads(line) for line in (data / f"{split}.jsonl").read_text().splitlines()]
        for row in rows:
            for sentence in row["sentences"]:
                sentence["needs_context"] = False
        (data / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    base = saved(tmp_path / "base", sure=False)
    asked = []
    for name, share in (("none", 0), ("all", 1), ("again", 1)):
        out = tmp_path / name
        words = [data, "--base", base, "--out", out, "--steps", 3, "--no-compile", "--batch-size",
                 8, "--dtype", "float32", "--recolor-share", share, "--warmup", 1]  # fmt: skip
        result = CliRunner().invoke(main, [str(w) for w in words], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        log = [json.loads(x) for x in (out / "training" / "log.jsonl").read_text().splitlines()]
        asked.append(log[-1]["sentences"])
    assert 0 < asked[1] < asked[0]
    assert asked[1] == asked[2]
    one, two = ((tmp_path / n / "model.safetensors").read_bytes() for n in ("all", "again"))
    assert one == two


def test_a_slight_shift_turns_every_hue_alike_and_leaves_gray():
    image = np.array([[[250, 0, 0], [0, 250, 0], [90, 90, 90], [255, 255, 255]]], dtype=np.uint8)
    turned = shifted_hues(image, 60 / 360).astype(int)
    assert np.abs(turned[0] - [[250, 250, 0], [0, 250, 250], [90] * 3, [255] * 3]).max() <= 6
    assert (shifted_hues(image, 0.0) == image).all()
    assert (recolored(image, -3) == recolored(image, -3)).all()
    assert np.abs(recolored(image, -3).astype(int)[0, 0] - image[0, 0]).max() < 120
    assert (recolored(image, -3)[0, 2] == 90).all()
