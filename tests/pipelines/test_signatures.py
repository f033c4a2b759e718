"""Rows hold a digest; the line stands beside OUT, and every reader of ours gets it back."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from commands import Command, command, read, read_in_full, write_input  # noqa: F401

from revise_captions.pipelines.job.merge import merge
from revise_captions.pipelines.rating.autorater import read_judged
from revise_captions.signature import digest, is_digest, settings_of


def signatures(path: str) -> set[str]:
    return {row["revision"]["signature"] for row in read(path)}


def test_a_row_holds_a_digest_and_the_file_beside_it_the_line(command, tmp_path):  # noqa: F811
    write_input(tmp_path / "in.jsonl", 10)
    assert command("in.jsonl", "out.jsonl", "--report", "r.html").code == 0
    (short,) = signatures("out.jsonl")
    beside = json.loads((tmp_path / "out.jsonl.signatures.json").read_text())
    assert list(beside) == [short]
    assert is_digest(short)
    assert digest(beside[short]) == short
    assert settings_of(beside[short])["critic"] == "hash"
    assert json.loads((tmp_path / "r.json").read_text())["signature"] == beside[short]
    assert command("in.jsonl", "-").out.count('"signature": "critic:hash|') == 10


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_stages_end_where_one_run_ends(command, tmp_path, kind):  # noqa: F811
    from revise_captions.io.readers import open_rows

    write_input(tmp_path / "in.jsonl", 70)
    if kind == "csv":
        rows = ["image,caption", *(f'a.png,"{r["caption"]}"' for r in read("in.jsonl"))]
        (tmp_path / "in.csv").write_text("\n".join(rows))
    source = "in.csv" if kind == "csv" else "in.jsonl"
    for name, given, stage in (
        ("all", source, "all"),
        ("one", source, "critique"),
        ("two", f"one.{kind}", "revise"),
        ("three", f"two.{kind}", "critique"),
    ):
        ran = command(given, f"{name}.{kind}", "--stage", stage)
        assert ran.code == 0, ran.err
    beside = [tmp_path / f"{name}.{kind}.signatures.json" for name in ("all", "two", "three")]
    assert len({path.read_text() for path in beside}) == 1
    rows = [row.data["revision"] for row in open_rows(f"three.{kind}").rows()]
    assert "reviser:word" in rows[0]["signature"]


def as_an_earlier_version_wrote(path: str, out: str) -> None:
    Path(out).write_text("".join(json.dumps(row) + "\n" for row in read_in_full(path)))


def test_rows_of_earlier_versions_are_still_read(command, tmp_path):  # noqa: F811
    write_input(tmp_path / "in.jsonl", 70, model="m")
    assert command("in.jsonl", "all.jsonl").code == 0
    assert command("in.jsonl", "now.jsonl", "--stage", "critique").code == 0
    as_an_earlier_version_wrote("now.jsonl", "old.jsonl")
    assert signatures("old.jsonl") != signatures("now.jsonl")
    assert command("old.jsonl", "two.jsonl", "--stage", "revise").code == 0
    assert command("two.jsonl", "three.jsonl", "--stage", "critique").code == 0
    assert signatures("three.jsonl") == signatures("all.jsonl")
    assert list(read_judged("old.jsonl")) == list(read_judged("now.jsonl"))


def test_a_resumed_run_of_mixed_rows_writes_all_lines(command, tmp_path, monkeypatch):  # noqa: F811
    """Half the input was judged with other settings; the run dies and goes on."""
    write_input(tmp_path / "in.jsonl", 200)
    assert command("in.jsonl", "one.jsonl", "--stage", "critique").code == 0
    for name, guard in (("a", "warn"), ("b", "strict")):
        ran = command("one.jsonl", f"{name}.jsonl", "--stage", "revise", "--guard", guard)
        assert ran.code == 0, ran.err
    lines = [
        Path(name).read_text().splitlines()[half]
        for name, half in (("a.jsonl", slice(0, 100)), ("b.jsonl", slice(100, 200)))
    ]
    Path("mixed.jsonl").write_text("\n".join(lines[0] + lines[1]) + "\n")
    both = [json.loads(Path(f"{n}.jsonl.signatures.json").read_text()) for n in "ab"]
    Path("mixed.jsonl.signatures.json").write_text(json.dumps(both[0] | both[1]))
    more = ["--stage", "critique"]
    assert command("mixed.jsonl", "whole.jsonl", *more).code == 0
    monkeypatch.setenv("SCRIPTED_DIES", "3")
    assert command("mixed.jsonl", "cut.jsonl", *more).code != 0
    monkeypatch.delenv("SCRIPTED_DIES")
    assert command("mixed.jsonl", "cut.jsonl", "--resume", *more).code == 0
    for index in range(2):
        assert command("mixed.jsonl", f"{index}.jsonl", *more, "--shard", f"{index}/2").code == 0
    merge("mixed.jsonl", ["0.jsonl", "1.jsonl"], "merged.jsonl")
    assert len(signatures("whole.jsonl")) == 2
    for suffix in ("", ".signatures.json"):
        expected = Path(f"whole.jsonl{suffix}").read_bytes()
        assert Path(f"cut.jsonl{suffix}").read_bytes() == expected
        assert Path(f"merged.jsonl{suffix}").read_bytes() == expected


def test_without_the_file_beside_it_a_digest_says_what_is_missing(command, tmp_path):  # noqa: F811
    write_input(tmp_path / "in.jsonl", 5)
    assert command("in.jsonl", "one.jsonl", "--stage", "critique").code == 0
    shutil.move("one.jsonl.signatures.json", "elsewhere")
    ran = command("one.jsonl", "two.jsonl", "--stage", "revise")
    assert ran.code == 2
    assert "NAME.signatures.json" in ran.err
    assert not Path("two.jsonl").exists()


def test_a_row_whose_line_is_lost_is_a_bad_row(command, tmp_path):  # noqa: F811
    write_input(tmp_path / "in.jsonl", 5)
    assert command("in.jsonl", "one.jsonl", "--stage", "critique").code == 0
    lines = Path("one.jsonl").read_text().splitlines()
    (short,) = signatures("one.jsonl")
    lines[3] = lines[3].replace(short, "0123456789abcdef")
    Path("one.jsonl").write_text("\n".join(lines) + "\n")
    assert command("one.jsonl", "two.jsonl", "--stage", "revise").code == 0
    (bad,) = read("two.quarantine.jsonl")
    assert (bad["line"], bad["reason"]) == (4, "bad_revision")
    assert "0123456789abcdef" in bad["detail"]


def test_a_foreign_file_of_that_name_stays(command, tmp_path):  # noqa: F811
    write_input(tmp_path / "in.jsonl", 5)
    (tmp_path / "out.jsonl.signatures.json").write_text('{"precious": 1}')
    for force in ([], ["--force"]):
        assert "signatures.json exists" in command("in.jsonl", "out.jsonl", *force).err
    assert (tmp_path / "out.jsonl.signatures.json").read_text() == '{"precious": 1}'


def test_hostile_captions_cannot_pose_as_a_signature(command, tmp_path):  # noqa: F811
    text = 'It says "signature": "critic:x|threshold:0.1" here. A second "signature": "y:z" too.'
    write_input(tmp_path / "in.jsonl", 1)
    row = read("in.jsonl")[0] | {"caption": text}
    (tmp_path / "in.jsonl").write_text(json.dumps(row) + "\n")
    assert command("in.jsonl", "out.jsonl", "--threshold", "0").code == 0
    assert read("out.jsonl")[0]["revised_caption"] == text
