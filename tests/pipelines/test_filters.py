"""Filters before judging: what they leave out, why, and that they are off by default."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import Command, read
from PIL import Image

from revise_captions.errors import BadRecord
from revise_captions.io.decoding import reduced
from revise_captions.records import ImageRef, Record
from revise_captions.runs.filters import Filters, check_image, duplicates, is_gray

LONG = "A brown dog runs over a wide green field after a red ball that a child in blue threw."


def rows(folder: Path, *captions: str) -> None:
    Image.new("RGB", (90, 70), "red").save(folder / "a.png")
    found = [{"image": "a.png", "caption": text} for text in captions]
    (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in found))


def left_out(tmp_path: Path) -> list[tuple[int, str]]:
    path = tmp_path / "out.quarantine.jsonl"
    return [(row["line"], row["reason"]) for row in read(path)] if path.exists() else []


def test_a_large_image_is_measured_before_it_is_reduced():
    image = reduced(Image.new("RGB", (3000, 2000), "red"))
    assert image.height < 1500
    check_image(image, Filters(min_side=2000, max_ratio=1.5))
    with pytest.raises(BadRecord, match="3000 × 2000 pixels: a side has fewer than 2001"):
        check_image(image, Filters(min_side=2001))


def test_duplicates_go_but_the_first(command: Command, tmp_path):
    near = LONG.replace("blue", "green")
    rows(tmp_path, LONG, "A cat sleeps.", LONG.upper() + " ", near, "A cat sleeps!", LONG)
    assert command("in.jsonl", "out.jsonl").code == 0
    assert left_out(tmp_path) == []
    assert command("in.jsonl", "out.jsonl", "--drop-duplicates", 1, "--force").code == 0
    assert left_out(tmp_path) == [(n, "duplicate_caption") for n in (3, 6)]
    assert len(read("out.jsonl")) == 4
    pytest.importorskip("datasketch")
    ran = command("in.jsonl", "out.jsonl", "--drop-duplicates", 0.6, "--force")
    assert left_out(tmp_path) == [(n, "duplicate_caption") for n in (3, 4, 6)]
    assert "duplicate caption" in ran.out


def test_near_is_what_shares_its_runs_of_three_words():
    """`NEAR` shares 13 of 19 runs with `LONG`: a Jaccard index of .68."""
    pytest.importorskip("datasketch")
    words = LONG.split()
    near = [*words[:-2], "green", words[-1]]
    mine, theirs = ({tuple(w[i : i + 3]) for i in range(len(w) - 2)} for w in (words, near))
    share = len(mine & theirs) / len(mine | theirs)
    texts = enumerate(" ".join(w) for w in (words, near))
    records = [Record("memory", n, ImageRef(), {"caption": text}) for n, text in texts]
    assert duplicates(records, share - 0.15) == {1: 0}
    assert duplicates(records, share + 0.15) == {}


def test_shards_leave_out_what_an_undivided_run_does(command: Command, tmp_path):
    rows(tmp_path, *(f"Cat number {n % 100}." for n in range(130)))
    for index in range(2):
        options = ["--drop-duplicates", 1, "--shard", f"{index}/2"]
        assert command("in.jsonl", f"{index}.jsonl", *options).code == 0
    assert [row["line"] for row in read("1.quarantine.jsonl")] == list(range(101, 129))


def test_another_language_goes_where_that_is_likely(command: Command, tmp_path):
    pytest.importorskip("py3langid")
    german = "Ein brauner Hund läuft über die Wiese und spielt mit einem roten Ball."
    rows(tmp_path, LONG, german, "OK.", "红色的球在桌子上，旁边有一只猫。")
    assert command("in.jsonl", "out.jsonl", "--language", "en").code == 0
    assert left_out(tmp_path) == [(2, "wrong_language"), (4, "wrong_language")]
    ran = command("in.jsonl", "new.jsonl", "--language", "klingon")
    assert (ran.code, "not a known code" in ran.err) == (2, True)


def test_images_that_cannot_train_go(command: Command, tmp_path):
    made = {
        "good": Image.new("RGB", (90, 70), "red"),
        "tiny": Image.new("RGB", (90, 20), "red"),
        "long": Image.new("RGB", (400, 70), "red"),
        "gray": Image.new("L", (90, 70), 90),
    }
    for name, image in made.items():
        image.save(tmp_path / f"{name}.png")
    lines = [json.dumps({"image": f"{name}.png", "caption": "A ball."}) for name in made]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    options = ["--min-side", 30, "--max-ratio", 5, "--drop-gray"]
    assert command("in.jsonl", "out.jsonl", *options).code == 0
    reasons = ["image_too_small", "image_too_long", "image_gray"]
    assert left_out(tmp_path) == list(zip((2, 3, 4), reasons, strict=True))


def test_gray_is_what_has_no_color_anywhere(tmp_path):
    image = Image.linear_gradient("L").convert("RGB")
    image.save(tmp_path / "a.jpg", quality=40)
    assert is_gray(Image.open(tmp_path / "a.jpg"))
    image.paste((200, 40, 40), (0, 0, 30, 30))
    assert not is_gray(image)


def test_other_filters_are_another_run(command: Command, tmp_path, monkeypatch):
    rows(tmp_path, *(f"Cat number {n}." for n in range(130)))
    monkeypatch.setenv("SCRIPTED_DIES", "4")
    assert command("in.jsonl", "out.jsonl", "--drop-duplicates", 1).code == 3
    monkeypatch.delenv("SCRIPTED_DIES")
    assert command("in.jsonl", "out.jsonl", "--resume").code == 2
    assert command("in.jsonl", "out.jsonl", "--drop-duplicates", 1, "--resume").code == 0
