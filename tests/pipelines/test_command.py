"""The whole command with scripted models: kinds of files, stages, fields, what it prints."""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest
import scripted_run
import zstandard
from commands import caption, read, read_in_full, write_input
from PIL import Image

from revise_captions.pipelines.job import run
from revise_captions.pipelines.options import JobOptions
from revise_captions.runs import progress


def test_every_row_keeps_its_fields_and_gains_two(command, tmp_path):
    rows = write_input(tmp_path / "in.jsonl", 150)  # more than two windows
    ran = command("in.jsonl", "out.jsonl")
    assert ran.code == 0
    done = read("out.jsonl")
    assert len(done) == len(rows)
    changed = 0
    for row, result in zip(rows, done, strict=True):
        assert list(result) == [*row, "revised_caption", "revision"]
        assert {key: result[key] for key in row} == row
        changed += result["revised_caption"] != row["caption"]
        at = 0
        for sentence in result["revision"]["sentences"]:
            start, end = sentence["span"]
            text = row["caption"][start:end]
            assert row["caption"][at:start].strip() == ""
            assert text == text.strip() != ""
            p = scripted_run.p_factual(row["caption"][:start], text)
            assert sentence["p_factual"] == p
            assert sentence["label"] == ("factual" if p >= 0.5 else "nonfactual")
            at = end
        assert row["caption"][at:] == ""
    assert 50 < changed < 150
    assert not list(tmp_path.glob("*.journal"))
    assert not list(tmp_path.glob("*.partial"))


def test_the_input_text_stays_to_the_byte(command, tmp_path):
    write_input(tmp_path / "x.jsonl", 1)
    raw = '{"n": 1.0, "n": 2,\t"caption": "A dog\\u0021 Caf\\u00e9.", "image":"a.png", "z":1e400}'
    (tmp_path / "in.jsonl").write_text(f"\ufeff{raw}\r\n\r\n  \n{raw}")
    assert command("in.jsonl", "out.jsonl").code == 0
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [line.startswith(f'{raw[:-1]}, "revised_caption": ') for line in lines] == [True, True]


def test_signature_and_places_are_printed(command, tmp_path):
    write_input(tmp_path / "in.jsonl")
    with (tmp_path / "in.jsonl").open("a") as file:
        file.write("{oops\n")
    ran = command("in.jsonl", "out.jsonl", "--report", "r.html", "--group-by", "by")
    assert ran.code == 0
    assert ran.out.splitlines()[-3:] == [
        "captions:   out.jsonl",
        "quarantine: out.quarantine.jsonl",
        "report:     r.html",
    ]
    assert "captions" not in ran.err  # which is for progress
    figures = json.loads((tmp_path / "r.json").read_text())
    rows = read_in_full("out.jsonl")
    sentences = [s for row in rows for s in row["revision"]["sentences"]]
    summary = figures["summary"]
    assert summary["records"]["read"] == 41
    assert summary["records"]["quarantined_by_reason"] == {"malformed_json": 1}
    assert summary["sentences"]["total"] == len(sentences)
    flagged = sum(s["label"] == "nonfactual" for s in sentences)
    assert summary["sentences"]["flagged"] == flagged
    assert [g["name"] for g in summary["groups"]["rows"]] == sorted({r["by"] for r in rows})[
        :: 1 if rows[0]["by"] == "x" else -1
    ]
    assert {row["revision"]["signature"] for row in rows} == {figures["signature"]}
    assert "critic:hash|" in figures["signature"]
    assert "reviser:word" in figures["signature"]
    page = (tmp_path / "r.html").read_text()
    assert "<html" in page
    assert "data:image/jpeg" in page
    assert "malformed" in page


@pytest.mark.parametrize("kind", ["jsonl.gz", "jsonl.zst", "json", "parquet", "tar", "hub"])
def test_kinds_of_files(command, tmp_path, kind):
    rows = write_input(tmp_path / "in.jsonl", 20)
    assert command("in.jsonl", "plain.jsonl").code == 0
    expected = [(r["revised_caption"], r["revision"]) for r in read("plain.jsonl")]
    text = (tmp_path / "in.jsonl").read_bytes()
    source, out = (f"k.{kind}", f"o.{kind}") if kind != "hub" else ("folder", "saved")
    if kind == "jsonl.gz":
        (tmp_path / source).write_bytes(gzip.compress(text))
    elif kind == "jsonl.zst":
        (tmp_path / source).write_bytes(zstandard.compress(text))
    elif kind == "json":
        (tmp_path / source).write_text(json.dumps(rows))
    elif kind == "parquet":
        pytest.importorskip("pyarrow")
        import pyarrow
        import pyarrow.parquet as parquet

        parquet.write_table(pyarrow.Table.from_pylist(rows), source)
    elif kind == "hub":
        datasets = pytest.importorskip("datasets")
        datasets.Dataset.from_list(
            [{**row, "image": str(tmp_path / "a.png")} for row in rows]
        ).save_to_disk(source)
    else:
        with tarfile.open(source, "w") as archive:
            for row in rows:
                picture = (tmp_path / "a.png").read_bytes()
                for suffix, data in (("png", picture), ("txt", row["caption"].encode())):
                    member = tarfile.TarInfo(f"{row['id']:04}.{suffix}")
                    member.size = len(data)
                    archive.addfile(member, io.BytesIO(data))
    # the data set's rows name a file outside its folder
    where = ["--image-root", str(tmp_path)] if kind == "hub" else []
    ran = command(source, out, *where)
    assert ran.code == 0, ran.err
    assert command(source, "as.jsonl", *where).code == 0
    assert [(r["revised_caption"], r["revision"]) for r in read("as.jsonl")] == expected
    assert list(_results(tmp_path / out, kind)) == expected


def _results(path: Path, kind: str) -> Any:
    if kind == "jsonl.gz":
        rows = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    elif kind == "jsonl.zst":
        data = zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())
        rows = [json.loads(line) for line in data.splitlines()]
    elif kind == "json":
        rows = json.loads(path.read_text())
    elif kind == "parquet":
        import pyarrow.parquet as parquet

        rows = parquet.read_table(path).to_pylist()
    elif kind == "hub":
        import datasets

        rows = datasets.load_from_disk(str(path)).to_list()
    else:
        with tarfile.open(path) as archive:
            members = {m.name: archive.extractfile(m).read().decode("utf-8", "replace")
                       for m in archive}  # fmt: skip
        keys = sorted({name.split(".")[0] for name in members})
        rows = [{"revised_caption": members[f"{k}.revised.txt"],
                 "revision": members[f"{k}.revision.json"]} for k in keys]  # fmt: skip
    for row in rows:
        stored = row["revision"]
        yield (row["revised_caption"], json.loads(stored) if isinstance(stored, str) else stored)


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("unfixable", ["keep", "drop", "flag"])
def test_stages_in_turn_give_the_file_of_all(command, tmp_path, rounds, unfixable):
    write_input(tmp_path / "in.jsonl", 30)
    common = ("--rounds", rounds, "--on-unfixable", unfixable)
    assert command("in.jsonl", "all.jsonl", *common).code == 0
    assert command("in.jsonl", "0.jsonl", "--stage", "critique", *common).code == 0
    last = 0
    for stage in ["revise", "critique"] * rounds:
        ran = command(f"{last}.jsonl", f"{last + 1}.jsonl", "--stage", stage, *common)
        assert ran.code == 0, ran.err
        last += 1
    assert (tmp_path / f"{last}.jsonl").read_bytes() == (tmp_path / "all.jsonl").read_bytes()
    assert (tmp_path / "0.jsonl").read_bytes() != (tmp_path / "all.jsonl").read_bytes()


def test_stage_all_begins_anew(command, tmp_path):
    write_input(tmp_path / "in.jsonl", 30)
    assert command("in.jsonl", "one.jsonl", "--threshold", "0.9").code == 0
    assert command("in.jsonl", "half.jsonl").code == 0
    assert command("one.jsonl", "two.jsonl").code == 0
    assert (tmp_path / "two.jsonl").read_bytes() == (tmp_path / "half.jsonl").read_bytes()


def test_revise_uses_the_threshold_that_flagged(command, tmp_path):
    write_input(tmp_path / "in.jsonl", 30)
    assert command("in.jsonl", "c.jsonl", "--stage", "critique", "--threshold", "0.8").code == 0
    assert command("c.jsonl", "r.jsonl", "--stage", "revise").code == 0
    for row in read_in_full("r.jsonl"):
        for sentence in row["revision"]["sentences"]:
            assert bool(sentence["attempts"]) == (sentence["p_factual"] < 0.8)
        assert "threshold:0.8000" in row["revision"]["signature"]
        assert row["revision"]["threshold"] == 0.8
    again = ("--stage", "revise", "--threshold", "0.95")
    assert command("c.jsonl", "a.jsonl", *again).code == 0
    for row in read_in_full("a.jsonl"):
        assert row["revision"]["threshold"] == 0.95
        assert "threshold:0.9500" in row["revision"]["signature"]
        for sentence in row["revision"]["sentences"]:
            assert bool(sentence["attempts"]) == (sentence["p_factual"] < 0.95)


def test_stages_that_do_not_fit_are_refused(command, tmp_path, monkeypatch):
    write_input(tmp_path / "in.jsonl", 3)
    ran = command("in.jsonl", "r.jsonl", "--stage", "revise")
    assert ran.code == 2
    assert "run --stage critique first" in ran.err
    assert command("in.jsonl", "c.jsonl", "--stage", "critique").code == 0
    monkeypatch.setenv("SCRIPTED_CRITIC", "another")
    ran = command("c.jsonl", "d.jsonl", "--stage", "critique")
    assert ran.code == 2
    assert "judged by the critic hash, but this critic is another" in ran.err
    assert command("c.jsonl", "d.jsonl").code == 0


def test_drop_removes_sentences_never_records(command, tmp_path):
    rows = write_input(tmp_path / "in.jsonl", 40)
    assert command("in.jsonl", "out.jsonl", "--on-unfixable", "drop").code == 0
    done = read("out.jsonl")
    assert [row["id"] for row in done] == [row["id"] for row in rows]
    dropped = [s for row in done for s in row["revision"]["sentences"] if s["dropped"]]
    assert dropped
    for row in done:
        left = [s for s in row["revision"]["sentences"] if not s["dropped"]]
        assert all(s["p_after"] >= 0.5 for s in left)


def test_flag_says_which_records_need_a_person(command, tmp_path):
    write_input(tmp_path / "in.jsonl", 40)
    assert command("in.jsonl", "out.jsonl", "--on-unfixable", "flag", "--rounds", "1").code == 0
    rows = read("out.jsonl")
    flags = [row["revision"]["needs_review"] for row in rows]
    assert set(flags) == {True, False}
    for row, flag in zip(rows, flags, strict=True):
        standing = [s for s in row["revision"]["sentences"] if not s["dropped"]]
        assert flag == any(s["p_after"] < 0.5 for s in standing)


def test_limit_is_the_beginning_of_the_whole(command, tmp_path):
    write_input(tmp_path / "in.jsonl", 80)
    assert command("in.jsonl", "all.jsonl").code == 0
    assert command("in.jsonl", "few.jsonl", "--limit", "5").code == 0
    whole = (tmp_path / "all.jsonl").read_text().splitlines()
    assert (tmp_path / "few.jsonl").read_text().splitlines() == whole[:5]


def test_several_captions_a_record(command, tmp_path):
    rng = random.Random(3)
    rows = write_input(tmp_path / "in.jsonl", 12)
    rows = [{**row, "deep": {"long": caption(rng)}} for row in rows]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert command("in.jsonl", "out.jsonl", "--caption-field", "caption,deep.long").code == 0
    assert command("in.jsonl", "one.jsonl", "--caption-field", "deep.long").code == 0
    for both, one in zip(read("out.jsonl"), read("one.jsonl"), strict=True):
        assert list(both["revision"]) == ["caption", "deep.long"]
        assert both["revision"]["deep.long"] == one["revision"]
        assert both["revised_caption"]["deep.long"] == one["revised_caption"]
    flags = ("--caption-field", "caption,deep.long")
    assert command("in.jsonl", "c.jsonl", "--stage", "critique", *flags).code == 0
    assert command("c.jsonl", "r.jsonl", "--stage", "revise", *flags).code == 0
    assert command("r.jsonl", "c2.jsonl", "--stage", "critique", *flags, "--rounds", "1").code == 0
    assert command("in.jsonl", "all.jsonl", *flags, "--rounds", "1").code == 0
    staged = [row["revised_caption"] for row in read("c2.jsonl")]
    assert staged == [row["revised_caption"] for row in read("all.jsonl")]


def test_field_names_and_image_root(command, tmp_path):
    (tmp_path / "pictures").mkdir()
    Image.new("RGB", (4, 4)).save(tmp_path / "pictures" / "b.png")
    row = {"pic": "b.png", "words": "A dog stands near a bench.", "caption": "Not this one."}
    (tmp_path / "in.jsonl").write_text(json.dumps(row) + "\n")
    given = ("--image-field", "pic", "--caption-field", "words", "--image-root", "pictures")
    assert command("in.jsonl", "out.jsonl", *given).code == 0
    (done,) = read("out.jsonl")
    assert done["revision"]["sentences"][0]["span"] == [0, 26]
    ran = command("in.jsonl", "no.jsonl", "--image-field", "pik")
    assert ran.code == 2
    assert 'did you mean "pic"?' in ran.err


def test_figures_counted_on_the_way_are_those_counted_from_the_journal(
    command, tmp_path, monkeypatch
):
    """A run that is resumed counts in the end, and shows the same figures and records."""
    write_input(tmp_path / "in.jsonl", 200)
    with (tmp_path / "in.jsonl").open("a") as file:
        file.write('oops\n{"image": "none.png", "caption": "A dog.", "by": "z"}\n')
    more = ("--group-by", "by", "--report", "r.html")
    assert command("in.jsonl", "out.jsonl", *more).code == 0
    figures = {name: (tmp_path / name).read_text() for name in ("out.jsonl", "r.html")}
    once = json.loads((tmp_path / "r.json").read_text())
    finish = run.finish
    monkeypatch.setattr(run, "finish", lambda *given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run.run(JobOptions.of({"source": "in.jsonl", "out": "out.jsonl", "force": True}))
    assert (tmp_path / "out.jsonl.journal").exists()
    monkeypatch.setattr(run, "finish", finish)
    assert command("in.jsonl", "out.jsonl", "--resume", "--force", *more).code == 0
    again = json.loads((tmp_path / "r.json").read_text())
    once["summary"].pop("speed"), again["summary"].pop("speed")
    assert once == again
    assert figures["out.jsonl"] == (tmp_path / "out.jsonl").read_text()
    assert records_of(figures["r.html"]) == records_of((tmp_path / "r.html").read_text())


def records_of(page: str) -> list[str]:
    return re.findall(r"<article.*?</article>", page, re.DOTALL)


def test_the_end_of_a_long_run_shows_progress(monkeypatch, capsys):
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    assert list(progress.shown(range(600), "writing", 1000)) == list(range(600))
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["writing: 256 of 1,000 rows", "writing: 512 of 1,000 rows"]


def test_unknown_progress_and_lines_of_progress():
    from revise_captions.runs.progress import Progress

    progress = Progress(200)
    progress.skip(100)
    progress.advance(50, 350)
    assert progress.line(10.0) == (
        "150 of 200 records (75 %), 5.0 records/s, 35 sentences/s, 10.0 s left"
    )
    assert Progress(None).line(0.0) == "0 records, 0.0 records/s, 0 sentences/s"
    images = Progress(4, "images")
    images.records = 1
    assert images.line(2.0) == "1 of 4 images (25 %), 0.5 images/s, 6.0 s left"
