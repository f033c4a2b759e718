"""Public data as training data: labels as published, images on one side, benchmarks marked."""

from __future__ import annotations

import io
import itertools
import json
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner
from finetuning import FINETUNE as finetune_critic
from PIL import Image
from tinycritic import saved

from revise_captions.benchmarks.catalog.table import benchmark
from revise_captions.benchmarks.checks import check
from revise_captions.errors import UserError
from revise_captions.finetune.config import TrainingSettings
from revise_captions.finetune.data.check import check_data
from revise_captions.finetune.data.records import open_split
from revise_captions.io.perceptual_hash import alike, fingerprint, groups
from revise_captions.pipelines.annotate.cli import annotate
from revise_captions.training_data.folder import splits

DATA = Path(__file__).parents[3] / "shared" / "data"
CAPTION = "A red bus.  It is late. Nobody waits. Two dogs."


def convert(*arguments: object):
    return CliRunner().invoke(annotate, ["convert", *map(str, arguments)])


def pictures(folder: Path, count: int, start: int = 0) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    for k in range(start, start + count):
        Image.effect_noise((16, 16), 40 + k).convert("RGB").save(folder / f"{k}.png")
    return [f"{k}.png" for k in range(start, start + count)]


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_sides_are_the_names_and_shares_are_kept():
    names = [f"{k}.png" for k in range(200)]
    own = {name: name for name in names}
    sides = splits(own, 0.1, 0.2)
    assert Counter(sides.values()) == {"train": 140, "validation": 20, "test": 40}
    assert splits(dict(reversed(own.items())), 0.1, 0.2) == sides
    two = {"a": "a", "b": "b", "c": "a"}
    found = splits(two, 0.01)
    assert {found["a"], found["b"]} == {"train", "validation"}
    assert found["a"] == found["c"]
    with pytest.raises(UserError, match="1 different images cannot be split"):
        splits({"a": "a", "b": "a"}, 0.1)


@pytest.fixture
def m_haldetect(tmp_path) -> Path:
    """Rows of the published shape, made here: the four labels, white space, an overlap."""
    folder = tmp_path / "mhal"
    names = pictures(folder / "coco", 6)

    def row(image: str) -> dict:
        def part(start: int, end: int, label: str) -> dict:
            return {"start": start, "end": end, "text": CAPTION[start:end], "label": label}

        return {
            "question": "Describe it.",
            "response": CAPTION,
            "image": image,
            "annotations": [
                part(0, 12, "ACCURATE"), part(12, 24, "INACCURATE"), part(20, 24, "ACCURATE"),
                part(24, 37, "ANALYSIS"), part(37, 38, "ACCURATE"), part(38, 47, "UNSURE"),
            ],
        }  # fmt: skip

    (folder / "train_raw.json").write_text(json.dumps([row(name) for name in names[:5]]))
    (folder / "val_raw.json").write_text(json.dumps([row(name) for name in names[5:]]))
    return folder


def test_m_haldetect(m_haldetect, tmp_path):
    out = tmp_path / "out"
    result = convert("m-haldetect", m_haldetect, out, "--image-root", m_haldetect / "coco")
    assert result.exit_code == 0, result.output
    examples = [*open_split(out, "train"), *open_split(out, "validation")]
    assert len(examples) == 5  # val_raw.json is what others evaluate on
    for example in examples:
        texts = [(s.span.of(example.caption), s.factual, s.assessable) for s in example.sentences]
        assert texts == [
            ("A red bus.", True, True),
            ("It is late.", False, True),
            ("Nobody waits.", True, False),
        ]
        assert (out / example.image).is_file()
    about = json.loads((out / "data.json").read_text())
    assert about["left_out"] == {
        "captions of other subsets": 1,
        "sentences that people could not judge": 5,
        "spans of white space": 5,
        "spans that overlap an earlier one": 5,
    }
    assert "Gunjal" in about["citation"]
    assert about["benchmark"] is False
    assert "in-domain" in about["note"]
    assert "--rationale-weight 0" in result.output
    result = convert(
        *("m-haldetect", m_haldetect, tmp_path / "v", "--image-root", m_haldetect / "coco"),
        *("--subset", "val_raw"),
    )
    assert "1 different images cannot be split" in str(result.exception)


def annotations(folder: Path, images: int = 4) -> Path:
    """Rows of the protocol: a factual sentence, and a wrong one with two rationales."""
    names = pictures(folder, images)
    wrong = {"a": ("contradiction", "It is early."), "c": ("entailment", ""),
             "b": ("neutral", "The sun is up, it is early.")}  # fmt: skip
    right = {"a": ("entailment", ""), "b": ("entailment", "")}
    lines = [
        {"image": name, "model": "m", "caption": CAPTION, "start": start, "end": end, "rater": who,
         "label": label, "rationale": why}
        for name in names
        for start, end, votes in ((0, 10, right), (12, 23, wrong))
        for who, (label, why) in votes.items()
    ]  # fmt: skip
    (folder / "annotations.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_the_benchmark_is_taken_only_on_demand_and_marked(tmp_path):
    folder = annotations(tmp_path / "in")
    refused = convert("docci-critique", folder, tmp_path / "out")
    assert isinstance(refused.exception, UserError)
    assert "--allow-benchmark" in str(refused.exception)
    assert not (tmp_path / "out").exists()
    result = convert("docci-critique", folder, tmp_path / "out", "--allow-benchmark")
    assert "THE BENCHMARK ITSELF" in result.output
    about = json.loads((tmp_path / "out/data.json").read_text())
    assert about["benchmark"] is True
    assert (about["name"], about["licence"]) == ("docci-critique", "CC BY 4.0")
    assert "arXiv:2506.07631" in about["citation"]
    convert("annotations", folder, tmp_path / "own")
    assert json.loads((tmp_path / "own/data.json").read_text())["benchmark"] is False


def test_the_mark_travels_with_the_critic(tmp_path):
    """data.json to critic.json and the card: nobody measures it by the benchmark unawares."""
    base = saved(tmp_path / "base")
    (base / "words.txt").unlink()
    folder = annotations(tmp_path / "in")
    convert("docci-critique", folder, tmp_path / "data", "--allow-benchmark")
    out = tmp_path / "critic"
    trained = CliRunner().invoke(
        finetune_critic,
        [str(tmp_path / "data"), "--base", str(base), "--out", str(out), "--steps", "1",
         "--no-compile", "--dtype", "float32", "--robust-share", "0"],
    )  # fmt: skip
    assert trained.exit_code == 0, trained.output
    stored = json.loads((out / "critic.json").read_text())
    assert json.dumps(stored).count('"benchmark": true') == 1
    card = (out / "README.md").read_text()
    assert "This is a benchmark: the critic cannot be measured by it." in card
    assert "CC BY 4.0" in card


def test_all_rationales_come_along_the_longest_first(tmp_path):
    convert("annotations", annotations(tmp_path / "in"), tmp_path / "out")
    (wrong,) = {
        json.dumps(sentence)
        for row in rows(tmp_path / "out/train.jsonl")
        for sentence in row["sentences"]
        if sentence["label"] == "nonfactual"
    }
    sentence = json.loads(wrong)
    assert sentence["rationale"] == "The sun is up, it is early."
    assert sentence["rationales"] == ["The sun is up, it is early.", "It is early."]


def test_copies_of_an_image_are_on_one_side_and_of_a_caption_once(tmp_path):
    folder = annotations(tmp_path / "in", 12)
    for k in range(6):  # the second six are copies of the first six
        (folder / f"{k + 6}.png").write_bytes((folder / f"{k}.png").read_bytes())
    result = convert("annotations", folder, tmp_path / "out", "--validation", 0.4)
    assert "left out: 6 captions that an image has already" in result.output
    train, validation = (rows(tmp_path / f"out/{n}.jsonl") for n in ("train", "validation"))
    assert len(train) + len(validation) == 6
    assert {r["image"] for r in train}.isdisjoint({r["image"] for r in validation})


def test_images_that_look_alike_are_on_one_side(tmp_path):
    """Rescaled, and compressed again: the same to the eye; other noise is not."""
    (name,) = pictures(tmp_path, 1)
    with Image.open(tmp_path / name) as opened:
        smooth = opened.resize((200, 160), Image.Resampling.BICUBIC)
    other = Image.effect_noise((16, 16), 90).convert("RGB").resize((200, 160))
    buffer = io.BytesIO()
    smooth.resize((130, 104)).save(buffer, "JPEG", quality=70)
    made = {"a": smooth, "b": Image.open(buffer).convert("RGB"), "c": other, "d": smooth}
    prints = {key: fingerprint(picture) for key, picture in made.items()}
    assert groups(prints) == {"a": "a", "b": "a", "c": "c", "d": "a"}
    assert all(
        alike(prints[x], prints[y]) is (groups(prints)[x] == groups(prints)[y])
        for x, y in itertools.combinations(prints, 2)
    )


def test_your_own_rows_and_a_test_side(tmp_path):
    folder = tmp_path / "in"
    names = pictures(folder, 10)
    lines = [
        {"id": name, "image": name, "model": "m", "caption": "A cat. It sleeps.",
         "sentences": [{"start": 0, "end": 6, "label": "factual", "assessable": True},
                       {"start": 7, "end": 17, "label": "nonfactual", "rationale": "It is awake."}]}
        for name in names
    ]  # fmt: skip
    (folder / "captions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    out = tmp_path / "out"
    assert convert("plain", folder, out, "--test", 0.3).exit_code == 0
    found = check(benchmark("plain"), out / "test")
    assert found.counts["captions"] == 3
    test = rows(out / "test/captions.jsonl")
    assert all((out / "test" / row["image"]).is_file() for row in test)
    assert not any(".." in row["image"] for row in test)  # readers refuse what leads outside DIR
    (example, *_) = open_split(out, "train")
    assert example.sentences[1].rationales == ("It is awake.",)


def test_friendly_errors(tmp_path):
    (tmp_path / "in").mkdir()
    assert "there is no benchmark" in str(convert("nothing", tmp_path, tmp_path / "o").exception)
    assert "get it from" in str(convert("chocolate", tmp_path / "in", tmp_path / "o").exception)
    folder = annotations(tmp_path / "a")
    for name in folder.glob("*.png"):
        name.unlink()
    lost = convert("annotations", folder, tmp_path / "o")
    assert "--image-root" in str(lost.exception)
    assert "does not exist" in str(lost.exception)
    row = {"id": "1", "image": "a.png", "model": "m", "caption": "A cat."}
    (tmp_path / "p").mkdir()
    (tmp_path / "p/captions.jsonl").write_text(json.dumps(row))
    bare = convert("plain", tmp_path / "p", tmp_path / "o")
    assert "has a labeled sentence" in str(bare.exception)


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="the folder of public data is not here")
def test_chocolate_whole(tmp_path):
    """Every sentence and label of the raw file, counted without our reader."""
    out = tmp_path / "out"
    result = convert("chocolate", DATA / "chocolate", out, "--test", 0.15, "--images", "path")
    assert result.exit_code == 0, result.output
    raw = {r["_id"]: r for r in json.loads((DATA / "chocolate/chocolate.json").read_text())}
    sides = {name: rows(out / f"{name}.jsonl") for name in ("train", "validation", "test/captions")}
    found = {row["id"]: row for side in sides.values() for row in side}
    assert found.keys() == raw.keys()
    for name, row in found.items():
        texts = [row["caption"][s["start"] : s["end"]] for s in row["sentences"]]
        assert texts == [text.strip() for text in raw[name]["sentences"]]
        labels = [s["label"] for s in row["sentences"]]
        assert labels == ["nonfactual" if errors else "factual" for errors in raw[name]["labels"]]
    contents = [{Path(row["image"]).read_bytes() for row in side} for side in sides.values()]
    for one, other in itertools.combinations(contents, 2):
        assert not one & other


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="the folder of public data is not here")
def test_chocolate_passes_the_check_before_training(tmp_path):
    """What captions finetune refuses, images that look alike on two sides, is not made here."""
    out = tmp_path / "out"
    assert convert("chocolate", DATA / "chocolate", out, "--test", 0.15).exit_code == 0
    said = check_data(
        out, [out / "test/captions.jsonl"], ["missing-rationales"], TrainingSettings()
    )
    assert said.count(" 0 of them also trained on") == 2
