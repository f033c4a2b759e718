"""The data check: what stops training before it starts, and what only looks alike."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from finetuning import FINETUNE as main
from PIL import Image
from toyworld import write

from revise_captions.errors import UserError
from revise_captions.finetune.config import TrainingSettings
from revise_captions.finetune.data.check import check_data, fingerprints, shared
from revise_captions.io.perceptual_hash import fingerprint


@pytest.fixture
def data(tmp_path) -> Path:
    return write(tmp_path, {"train": 6, "validation": 4}, grid=4)


def rows(data: Path, split: str = "train") -> list[dict]:
    return [json.loads(line) for line in (data / f"{split}.jsonl").read_text().splitlines()]


def put(data: Path, changed: list[dict], split: str = "train") -> None:
    for row in changed:
        row.pop("image_index", None)
    (data / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in changed))


def check(data: Path, *held_out: Path, allow: tuple[str, ...] = ()) -> str:
    return check_data(data, held_out, allow, TrainingSettings())


def test_clean_data_is_described(data):
    said = check(data)
    sentences = [s for row in rows(data) for s in row["sentences"]]
    wrong = sum(s["label"] == "nonfactual" for s in sentences)
    assert f"train: 6 captions of 6 images, {len(sentences)} sentences, {wrong} wrong" in said
    assert "validation: 4 images, 0 of them also trained on" in said


def test_one_class_only_is_refused(data):
    changed = rows(data)
    for row in changed:
        for sentence in row["sentences"]:
            sentence["label"] = "factual"
    put(data, changed)
    with pytest.raises(UserError, match=r"every sentence .* is factual"):
        check(data)


def test_wrong_sentences_without_a_rationale_are_counted(data):
    changed = rows(data)
    wrong = [s for s in changed[2]["sentences"] if s["label"] == "nonfactual"]
    wrong[0]["rationale"] = None
    put(data, changed)
    with pytest.raises(UserError, match=r"1 wrong sentences have no rationale .*caption 2") as told:
        check(data)
    assert "--rationale-field names where" in told.value.hint
    assert "allowed: 1 wrong" in check(data, allow=("missing-rationales",))
    check_data(data, (), (), TrainingSettings().with_options(rationale_weight=0.0))


def test_the_same_row_twice_is_refused(data):
    changed = rows(data)
    put(data, [*changed, changed[0]])
    with pytest.raises(UserError, match=r"1 captions occur more than once .*2 times with train"):
        check(data)


def test_a_missing_image_is_named(data):
    (data / "train/000003.png").unlink()
    with pytest.raises(UserError, match=r"000003.png does not exist"):
        check(data)


def test_a_file_that_is_no_image_is_named(data):
    (data / "train/000003.png").write_bytes(b"\x89PNG\r\n\x1a\nbroken")
    with pytest.raises(UserError, match=r"000003.png: "):
        check(data)


def augmented(source: Path, target: Path, scale: float, quality: int) -> None:
    with Image.open(source) as image:
        size = (round(image.width * scale), round(image.height * scale))
        image.convert("RGB").resize(size).save(target, quality=quality)


def test_images_of_an_evaluation_split_are_found_by_content_and_by_sight(data, tmp_path):
    changed = rows(data)
    (data / "copy.png").write_bytes((data / "validation/000001.png").read_bytes())
    augmented(data / "validation/000002.png", data / "worn.jpg", 0.7, 60)
    changed[0]["image"], changed[1]["image"] = "copy.png", "worn.jpg"
    put(data, changed)
    with pytest.raises(UserError, match="2 training images are in validation too") as found:
        check(data)
    assert "copy.png is" in str(found.value)
    assert "000001.png (the same file)" in str(found.value)
    assert "000002.png (the same by sight)" in str(found.value)
    assert "2 of them also trained on" in check(data, allow=("shared-images",))


def test_held_out_images_by_folder_and_by_rows(data, tmp_path):
    other = tmp_path / "benchmark"
    other.mkdir()
    augmented(data / "train/000004.png", other / "x.jpg", 1.5, 80)
    with pytest.raises(UserError, match=r"1 training images are in .*benchmark too"):
        check(data, other)
    (other / "bench.jsonl").write_text('{"image": "x.jpg", "caption": "A dog."}\n')
    with pytest.raises(UserError, match=r"1 training images are in .*bench.jsonl too"):
        check(data, other / "bench.jsonl")
    (other / "bad.jsonl").write_text('{"caption": "A dog."}\n')
    with pytest.raises(UserError, match=r"bad.jsonl, line 1: no image"):
        check(data, other / "bad.jsonl")


def test_one_small_thing_of_another_colour_is_another_image(tmp_path):
    """Flat drawings share most of a difference hash; a thumbnail tells them apart."""
    paths = []
    for name, colour in (("a", (220, 40, 40)), ("b", (50, 80, 220))):
        image = Image.new("RGB", (128, 128), (240, 240, 240))
        image.paste(colour, (30, 30, 50, 50))
        image.save(tmp_path / f"{name}.png")
        paths.append(tmp_path / f"{name}.png")
    a, b = (fingerprints([path], [path.name]) for path in paths)
    assert (a.sight[0].bits ^ b.sight[0].bits).bit_count() <= 2
    assert shared(a, b) == []
    assert shared(a, a) == [("a.png", "a.png", "the same file")]


def test_the_difference_hash_by_hand():
    """Darker to the right in the first row only: its eight bits are the highest."""
    cells = np.full((8, 9), 100, dtype=np.uint8)
    cells[0] = range(90, 0, -10)
    image = Image.fromarray(cells).convert("RGB")
    assert fingerprint(image).bits == 0xFF00000000000000


def test_photographs_turned_by_their_exif_are_seen_upright(data):
    changed = rows(data)
    image = Image.open(data / "validation/000001.png").convert("RGB")
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90° clockwise when shown
    buffer = io.BytesIO()
    image.rotate(90).save(buffer, "JPEG", quality=95, exif=exif)
    (data / "turned.jpg").write_bytes(buffer.getvalue())
    changed[0]["image"] = "turned.jpg"
    put(data, changed)
    with pytest.raises(UserError, match=r"turned.jpg is .*000001.png"):
        check(data)


def test_the_command_stops_at_once_and_says_what_to_do(data, tmp_path):
    changed = rows(data)
    changed[0]["image"] = "validation/000001.png"
    put(data, changed)
    words = [str(data), "--base", "new", "--out", str(tmp_path / "out"), "--steps", "1"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert "--allow shared-images" in result.output
    assert not (tmp_path / "out").exists()
