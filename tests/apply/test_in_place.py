"""`--write caption`, `--evidence`: the corrected caption where a training loader looks for it."""

from __future__ import annotations

import csv
import json
import math
import re
import tarfile

import pytest
from commands import Command, read
from layout_inputs import COUNT, LAYOUTS, caption, files_of, images_of, make, rows_of, texts

from revise_captions.io.readers import open_rows
from revise_captions.io.rows import with_text_at
from revise_captions.pipelines.job.merge import merge
from scripts.checks import training

EACH = pytest.mark.parametrize("layout", LAYOUTS)


@EACH
def test_a_training_loader_finds_the_corrected_captions(command: Command, tmp_path, layout):
    pytest.importorskip("datasets")
    made = make(layout, tmp_path)
    both, caption_ = f"both{made.suffix}", f"caption{made.suffix}"
    assert command(made.source, both, *made.options).code == 0
    assert command(made.source, caption_, *made.options, "--write", "caption").code == 0
    cache = tmp_path / "cache"
    found = texts(layout, tmp_path / caption_, cache / "new")
    assert texts(layout, tmp_path / made.source, cache / "in") == [caption(n) for n in range(COUNT)]
    assert texts(layout, tmp_path / both, cache / "both") == [caption(n) for n in range(COUNT)]
    expected = rows_of(tmp_path / both)
    assert found == [row["revised_caption"] for row in expected]
    assert sum(text != caption(n) for n, text in enumerate(found)) > 10
    # whoever reads it through our readers sees what --write both writes
    assert rows_of(tmp_path / caption_) == expected
    if layout in training.LAYOUTS:
        pairs = training.read(layout, tmp_path / caption_, images_of(layout, tmp_path / caption_))
        lines = [text.removeprefix("\ufeff") for _, text in pairs]
        whole = [text.splitlines()[0].strip() for text in found] if layout == "beside" else found
        assert lines == whole
        assert pairs[5][0].getpixel((0, 0)) == (60, 0, 0)
        assert math.isfinite(training.trained_on(layout, pairs[:8]))


@EACH
def test_a_cut_run_and_shards_end_in_the_same_bytes_with_evidence_beside(
    command, tmp_path, layout, monkeypatch
):
    pytest.importorskip("datasets")
    made = make(layout, tmp_path)
    style = ["--write", "caption", "--evidence", "sidecar"]
    name = "{}" + made.suffix
    whole, cut, merged = (name.format(n) for n in ("whole", "cut", "merged"))
    assert command(made.source, whole, *made.options, *style).code == 0
    monkeypatch.setenv("SCRIPTED_DIES", "3")
    assert command(made.source, cut, *made.options, *style).code not in (0, 2)
    monkeypatch.delenv("SCRIPTED_DIES")
    assert command(made.source, cut, *made.options, *style, "--resume").code == 0
    shards = [name.format(index) for index in range(2)]
    for index, shard in enumerate(shards):
        options = [*made.options, *style, "--shard", f"{index}/2"]
        assert command(made.source, shard, *options).code == 0
    merge(made.source, shards, merged)
    for other in (cut, merged):
        assert files_of(tmp_path / other) == files_of(tmp_path / whole)
        evidence = [(tmp_path / f"{n}.evidence.jsonl").read_bytes() for n in (other, whole)]
        assert evidence[0] == evidence[1]


@pytest.mark.parametrize("layout", ["jsonl", "csv", "beside", "tar-json", "parquet"])
def test_stages_in_turn_end_where_one_run_does(command, tmp_path, layout):
    pytest.importorskip("datasets")
    made = make(layout, tmp_path)
    style = ["--write", "caption", "--evidence", "sidecar"]
    whole = f"whole{made.suffix}"
    assert command(made.source, whole, *made.options, *style).code == 0
    before = made.source
    for number, stage in enumerate(["critique", "revise", "critique", "revise", "critique"]):
        last = f"{number}{made.suffix}"
        assert command(before, last, *made.options, *style, "--stage", stage).code == 0
        before = last
    assert rows_of(tmp_path / last) == rows_of(tmp_path / whole)
    if layout != "jsonl":  # there, a text that comes back does not get its escapes back
        assert files_of(tmp_path / last) == files_of(tmp_path / whole)


def test_every_byte_of_json_lines_but_the_caption_stays(command, tmp_path):
    make("jsonl", tmp_path)
    assert command("in.jsonl", "out.jsonl", "--write", "caption").code == 0
    changed = 0
    before, after = ((tmp_path / n).read_text().splitlines() for n in ("in.jsonl", "out.jsonl"))
    for was, now in zip(before, after, strict=True):
        row = json.loads(now)
        assert row["caption_original"] == json.loads(was)["caption"]
        head, tail = was.split('"caption" :')
        body = now[: now.index(', "caption_original": ')]
        assert body.startswith(f'{head}"caption" :')
        assert body.endswith(tail[tail.rindex(" , ") : -1])
        if row["caption"] == row["caption_original"]:  # escapes stay, too
            assert body == was[:-1]
        else:
            changed += 1
    assert changed > 10


def test_every_field_of_a_table_but_the_caption_stays(command, tmp_path):
    make("csv", tmp_path)
    assert command("in.csv", "judged.csv", "--stage", "critique").code == 0
    revise = ["--stage", "revise", "--write", "caption", "--evidence", "none"]
    assert command("judged.csv", "out.csv", *revise).code == 0
    rows = [
        list(csv.DictReader((tmp_path / name).open(newline="", encoding="utf-8-sig")))
        for name in ("in.csv", "out.csv")
    ]
    assert list(rows[1][0]) == ["id", "image", "caption", "note", "caption_original"]
    for was, now in zip(*rows, strict=True):
        assert now.pop("caption_original") == was.pop("caption")
        del now["caption"]
        assert now == was
    assert (tmp_path / "out.csv").read_bytes().startswith(b"\xef\xbb\xbfid,image,caption,note,")
    assert b'"069 ""x"""' in (tmp_path / "out.csv").read_bytes()


@pytest.mark.parametrize("layout", ["tar", "tar-json"])
def test_every_member_of_a_tar_but_the_caption_stays(command, tmp_path, layout):
    make(layout, tmp_path)
    assert command("in.tar", "out.tar", "--write", "caption", "--evidence", "none").code == 0
    held = []
    for name in ("in.tar", "out.tar"):
        with tarfile.open(tmp_path / name) as archive:
            held.append({m.name: (m.mtime, archive.extractfile(m).read()) for m in archive})
    suffix = "json" if layout == "tar-json" else "txt"
    originals = {n: held[1].pop(n) for n in list(held[1]) if n.endswith(".original.txt")}
    assert len(originals) == COUNT
    assert list(held[0]) == list(held[1])
    for name, (when, content) in held[0].items():
        if name.endswith(suffix):
            old = originals[name.replace(suffix, "original.txt")][1]
            text = content.decode()
            assert old.decode() == (json.loads(text)["caption"] if suffix == "json" else text)
        else:
            assert held[1][name] == (when, content)


def test_files_beside_images_keep_their_mark_and_the_original(command, tmp_path):
    make("beside", tmp_path)
    assert command("photos", "out", "--write", "caption", "--evidence", "none").code == 0
    for number in range(COUNT):
        was = (tmp_path / f"photos/{number:03}.txt").read_bytes()
        now = (tmp_path / f"out/{number:03}.txt").read_bytes()
        assert now.startswith(b"\xef\xbb\xbf") == was.startswith(b"\xef\xbb\xbf")
        original = tmp_path / f"out/{number:03}.original.txt"
        assert original.read_text() == was.decode("utf-8-sig")
    assert not list((tmp_path / "out").glob("[0-9]*.revi*"))


def test_files_that_end_in_caption_are_corrected_like_txt(command, tmp_path):
    make("beside", tmp_path)
    for path in sorted((tmp_path / "photos").glob("*.txt")):
        path.rename(path.with_suffix(".caption"))
    assert command("photos", "out", "--write", "caption", "--evidence", "none").code == 0
    changed = 0
    for path in (tmp_path / "photos").glob("*.caption"):
        now = (tmp_path / "out" / path.name).read_bytes()
        kept = (tmp_path / "out" / path.name).with_suffix(".original.txt").read_bytes()
        assert kept == path.read_bytes().removeprefix(b"\xef\xbb\xbf")
        changed += now != path.read_bytes()
    assert changed > 10


def test_what_is_no_caption_keeps_its_bytes_in_coco(command, tmp_path):
    made = make("coco", tmp_path)
    style = ["--write", "caption", "--evidence", "none"]
    assert command("in.json", "out.json", *made.options, *style).code == 0
    taken = re.compile(r'"caption": "(?:[^"\\]|\\.)*"(?=,\s*"score")')
    added = re.compile(r', "caption_original": "(?:[^"\\]|\\.)*"')
    before, after = ((tmp_path / n).read_text() for n in ("in.json", "out.json"))
    bare = added.sub("", taken.sub("", after))
    # members are added behind the white space at the end of an annotation
    assert re.sub(r"\s", "", bare) == re.sub(r"\s", "", taken.sub("", before))


def test_a_run_on_its_own_output_begins_with_the_originals(command, tmp_path):
    make("jsonl", tmp_path)
    assert command("in.jsonl", "both.jsonl").code == 0
    assert command("in.jsonl", "one.jsonl", "--write", "caption").code == 0
    assert command("one.jsonl", "two.jsonl", "--write", "caption").code == 0
    assert (tmp_path / "two.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()
    assert command("one.jsonl", "back.jsonl").code == 0
    for back, was in zip(read("back.jsonl"), read("both.jsonl"), strict=True):
        del back["caption_original"], back["revision"]["caption_field"]
        assert back == was


def test_two_caption_fields_are_each_corrected_in_place(command, tmp_path):
    make("jsonl", tmp_path)
    with (tmp_path / "two.jsonl").open("w") as file:
        for row in read("in.jsonl"):
            file.write(json.dumps({**row, "big": 1, "long": f"{row['caption']} It rains."}) + "\n")
    fields = ["--caption-field", "caption,long"]
    assert command("two.jsonl", "both.jsonl", *fields).code == 0
    sidecar = ["--write", "caption", "--evidence", "sidecar"]
    assert command("two.jsonl", "out.jsonl", *fields, *sidecar).code == 0
    for was, now, both in zip(*map(read, ("two.jsonl", "out.jsonl", "both.jsonl")), strict=True):
        names = ("caption", "long")
        assert now["caption_original"] == {name: was[name] for name in names}
        assert {name: now[name] for name in names} == both["revised_caption"]
        assert "revision" not in now
    again = [row.data["revised_caption"] for row in open_rows("out.jsonl").rows()]
    assert again == [row["revised_caption"] for row in read("both.jsonl")]


def test_a_field_of_the_users_own_is_never_overwritten(command, tmp_path):
    make("jsonl", tmp_path)
    rows = [{**row, "big": 1} for row in [*read("in.jsonl"), *read("in.jsonl")]]
    rows[120]["caption_original"] = "mine"
    (tmp_path / "late.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert command("late.jsonl", "out.jsonl", "--write", "caption").code == 0
    (refused,) = read("out.quarantine.jsonl")
    assert (refused["line"], refused["reason"]) == (121, "bad_revision")
    assert json.loads(refused["text"])["caption_original"] == "mine"
    (tmp_path / "early.jsonl").write_text(json.dumps(rows[120]) + "\n")
    ran = command("early.jsonl", "no.jsonl", "--write", "caption")
    assert ran.code == 2
    assert "rename the field caption_original" in ran.err
    assert command("early.jsonl", "yes.jsonl").code == 0
    assert read("yes.jsonl")[0]["caption_original"] == "mine"


def test_evidence_of_another_file_is_refused(command, tmp_path):
    make("jsonl", tmp_path)
    style = ["--write", "caption", "--evidence", "sidecar"]
    assert command("in.jsonl", "out.jsonl", *style).code == 0
    lines = (tmp_path / "out.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "out.jsonl").write_text("".join(lines[1:]))
    ran = command("out.jsonl", "new.jsonl")
    assert ran.code == 2
    assert "out.jsonl.evidence.jsonl" in ran.err
    assert "move the evidence away" in ran.err
    # what a run writes replaces the evidence of the one before, or takes it away
    assert command("in.jsonl", "out.jsonl", "--force").code == 0
    assert not (tmp_path / "out.jsonl.evidence.jsonl").exists()
    (tmp_path / "new.jsonl.evidence.jsonl").write_text("precious")
    assert command("in.jsonl", "new.jsonl", *style).code == 2
    assert (tmp_path / "new.jsonl.evidence.jsonl").read_text() == "precious"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--evidence", "none", "--shard", "0/2"], "captions merge"),
        (["--evidence", "none", "--stage", "critique"], "--evidence sidecar"),
    ],
)
def test_what_a_next_step_needs_is_not_left_out(command, tmp_path, options, said):
    make("jsonl", tmp_path)
    ran = command("in.jsonl", "out.jsonl", *options)
    assert ran.code == 2
    assert said in ran.err


def test_evidence_does_not_go_to_standard_output(command, tmp_path):
    make("jsonl", tmp_path)
    assert "name OUT" in command("in.jsonl", "-", "--evidence", "sidecar").err


@pytest.mark.parametrize(
    ("raw", "place", "expected"),
    [
        ('{"a": "x", "a" : "y"}', ("a",), '{"a": "x", "a" : "new"}'),
        ('{"t": [ 1e99, {"v": "x" }] }', ("t", 1, "v"), '{"t": [ 1e99, {"v": "new" }] }'),
        (r'{"\u0061": "x"}', ("a",), r'{"\u0061": "new"}'),
        (' {"a": "n\\u0065w"}\n', ("a",), ' {"a": "n\\u0065w"}\n'),
    ],
)
def test_a_text_is_replaced_where_it_stands(raw, place, expected):
    assert with_text_at(raw, place, "new") == expected
