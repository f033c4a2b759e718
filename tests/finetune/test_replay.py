"""`--replay`: other data mixed in, so that what they taught is not forgotten."""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from finetuning import SMALL, command
from PIL import Image
from safetensors.numpy import load_file
from tinycritic import saved
from toyworld import write

from revise_captions.critic.paligemma.image_prefetch import resized
from revise_captions.errors import UserError
from revise_captions.finetune.config import TrainingSettings
from revise_captions.finetune.data.check import check_data
from revise_captions.finetune.data.image_cache import pixel_cache
from revise_captions.finetune.data.order import Replayed, batches
from revise_captions.finetune.data.records import add_replay, open_split


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = write(tmp_path_factory.mktemp("data"), {"train": 8, "validation": 8}, grid=4)
    (folder / "labels" / "train.npy").unlink()
    return folder


@pytest.fixture(scope="module")
def old(tmp_path_factory) -> Path:
    """Nine captions of other images, whose files have the names of those of `data`."""
    return write(tmp_path_factory.mktemp("old"), {"train": 9}, seed=1, grid=4)


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    return saved(tmp_path_factory.mktemp("base"), sure=False)


def test_what_is_replayed_has_its_share_and_comes_back_last():
    """640 captions and a quarter of all from 500 others: these are all seen before any is twice."""
    lengths = np.random.default_rng(1).integers(10, 1000, 640 + 500).tolist()
    seen: Counter[int] = Counter()
    for number in range(7):
        order = batches(lengths, 16, 3, number, window=10, replayed=Replayed(500, 213))
        drawn = [i for batch in order for i in batch if i >= 640]
        own = [i for batch in order for i in batch if i < 640]
        assert len(own) == len(set(own))
        assert len(own) + len(drawn) == 848  # 853, in whole batches
        seen.update(drawn)
        assert max(seen.values()) <= math.ceil((number + 1) * 213 / 500)
    assert set(seen) == set(range(640, 1140))


def test_examples_stand_behind_the_datas_own_with_their_own_images(data, old):
    train = open_split(data, "train")
    add_replay(train, str(old), 0.5)
    own, others = open_split(data, "train"), open_split(old, "train")
    assert (train.own, train.own_images, len(train), len(train.images)) == (8, 8, 17, 17)
    assert [train[i].caption for i in range(17)] == [e.caption for e in [*own, *others]]
    assert [train[i].sentences for i in range(17)] == [e.sentences for e in [*own, *others]]
    cache = pixel_cache(train.root, train.images, data / ".try", size=32, variants=0)
    for i in range(17):
        folder, example = (data, own[i]) if i < 8 else (old, others[i - 8])
        expected = resized(Image.open(folder / example.image).convert("RGB"), 32)
        shown = cache.take([train.image_of[i]], [0])[0]
        np.testing.assert_array_equal(shown, expected)
        assert train.root / train[i].image == folder / example.image


@pytest.mark.slow
def test_a_run_that_was_resumed_replays_what_it_would_have(data, old, base, tmp_path):
    words = (data, "--base", base, "--replay", old, "--replay-share", 0.6, *SMALL)
    words = (*words, "--schedule", "constant", "--allow", "missing-rationales")
    for out, steps, more in (("a", 7, ()), ("b", 3, ()), ("b", 7, ("--resume",))):
        made = command(*words, "--out", tmp_path / out, "--steps", steps, *more)
        assert made.exit_code == 0, made.output
    a, b = (load_file(tmp_path / out / "model.safetensors") for out in "ab")
    assert all(np.array_equal(a[name], b[name]) for name in a)
    plain = tmp_path / "plain"
    assert command(data, "--base", base, "--out", plain, *SMALL, "--steps", 7).exit_code == 0
    assert any(
        not np.array_equal(a[name], w) for name, w in load_file(plain / "model.safetensors").items()
    )
    start = json.loads((tmp_path / "a" / "training" / "log.jsonl").read_text().splitlines()[0])
    assert (start["captions"], start["replayed"]) == (8, 9)
    card = json.loads((tmp_path / "a" / "critic.json").read_text())["training"]
    assert (card["train_captions"], card["replayed_captions"]) == (8, 9)
    page = (tmp_path / "a" / "README.md").read_text()
    assert "8 captions of 8 images" in page
    assert "Mixed in, 60% of all: 9 captions of other data (license: not stated" in page
    assert "This is a benchmark" not in page


def test_a_replayed_benchmark_marks_the_critic(data, old, base, tmp_path):
    """As data of one's own would: what was trained on it cannot be measured by it."""
    replayed = shutil.copytree(old, tmp_path / "replayed")
    about = {"title": "A benchmark", "licence": "CC-BY", "benchmark": True}
    (replayed / "data.json").write_text(json.dumps(about))
    words = ("--out", tmp_path / "out", "--replay", replayed, "--steps", 1, *SMALL)
    assert command(data, "--base", base, *words).exit_code == 0
    page = (tmp_path / "out" / "README.md").read_text()
    assert "9 captions of A benchmark (license: CC-BY)." in page
    assert "**This is a benchmark: the critic cannot be measured by it.**" in page
    card = json.loads((tmp_path / "out" / "critic.json").read_text())
    assert card["training"]["replayed_data"] == about


def test_an_epoch_counts_what_is_replayed(data, old, base, tmp_path):
    """Eight captions and twice as many: six steps of four are an epoch."""
    words = ("--replay", old, "--replay-share", 2 / 3, "--epochs", 1)
    made = command(data, "--base", base, "--out", tmp_path / "out", *words, *SMALL)
    assert made.exit_code == 0, made.output
    end = json.loads((tmp_path / "out" / "training" / "log.jsonl").read_text().splitlines()[-1])
    assert (end["step"], end["captions"]) == (6, 24)


def test_what_cannot_be_replayed_is_said(data, old, base, tmp_path):
    def check(replay: Path, share: float = 0.5) -> str:
        return check_data(
            data, (), (), TrainingSettings().with_options(replay=str(replay), replay_share=share)
        )

    assert f"replayed: 9 captions of {old}" in check(old)
    with pytest.raises(UserError, match="replay-share 1: expected a number between 0 and 1"):
        check(old, 1.0)
    with pytest.raises(UserError, match="no train data"):
        check(tmp_path)
    with pytest.raises(UserError, match="are in validation too"):
        check(data / "validation.jsonl")  # which must not be trained on this way, either
    dense = write(tmp_path / "dense", {"train": 8, "validation": 8}, grid=4)
    made = command(
        dense, "--base", base, "--out", tmp_path / "out", "--replay", old, *SMALL, "--steps", 1
    )
    assert made.exit_code == 2
    assert "--tower-weight 0" in made.output
