"""Shards, run apart and merged, are the undivided run to the byte; anything less is refused."""

from __future__ import annotations

import io
import shutil
import tarfile
from pathlib import Path

import pytest
import scripted_run
from commands import program, read, write_input
from PIL import Image

from revise_captions.pipelines import cli
from revise_captions.pipelines.job import merge_cli
from revise_captions.pipelines.job.merge import merge

main = program(merge_cli.merge_shards)

ROWS, COUNT = 300, 3  # five windows, the last one not full


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """An input with broken rows, its undivided output, and its three shards."""
    folder = tmp_path_factory.mktemp("made")
    write_input(folder / "in.jsonl", ROWS, x=1.0)
    lines = (folder / "in.jsonl").read_text().splitlines()
    lines[10], lines[200] = "{oops", lines[200].replace("a.png", "gone.png")
    lines[299] = '{"image": "a.png", "caption": "", "nan": NaN}'
    lines[5] = lines[5].replace('"by"', '"nan": NaN, "by"')
    (folder / "in.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        scripted_run.install(patch.setattr)
        patch.chdir(folder)
        for name, more in [("all", []), *((n, ["--shard", f"{n}/{COUNT}"]) for n in range(COUNT))]:
            with pytest.raises(SystemExit) as stopped:
                cli.main(["in.jsonl", f"{name}.jsonl", *more])
            assert stopped.value.code == 0
    return folder


@pytest.fixture
def shards(made, tmp_path, monkeypatch) -> list[str]:
    """The names of the shards in this folder, which is a copy of what was made once."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return [f"{index}.jsonl" for index in range(COUNT)]


def test_merged_shards_are_the_undivided_run(shards, tmp_path):
    written = merge("in.jsonl", shards, "merged.jsonl")
    assert (written.rows, written.quarantined) == (ROWS - 3, 3)
    for kind in ("jsonl", "quarantine.jsonl"):
        merged, whole = (tmp_path / f"{name}.{kind}" for name in ("merged", "all"))
        assert merged.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([0, 1], "not the input's row|ends before"),  # a gap
        ([0, 1, 1], "not the input's row|ends before"),  # an overlap
        ([1, 0, 2], "not the input's row|ends before"),  # another order
        ([0, 1, 2, 0], "not the input's row|ends before"),
    ],
)
def test_gaps_overlaps_and_another_order_are_refused(shards, tmp_path, given, says, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["in.jsonl", "merged.jsonl", *(shards[i] for i in given)])
    assert stopped.value.code == 2
    printed = capsys.readouterr().err
    assert any(part in printed for part in says.split("|"))
    assert "captions merge: " in printed
    assert not list(tmp_path.glob("merged*"))


def lose_the_last(lines: list[str]) -> list[str]:
    return lines[:-1]


def double_the_last(lines: list[str]) -> list[str]:
    return [*lines, lines[-1]]


def swap_two(lines: list[str]) -> list[str]:
    return [lines[1], lines[0], *lines[2:]]


def change_one(lines: list[str]) -> list[str]:
    return [lines[0].replace('"id": 64', '"id": 65'), *lines[1:]]


@pytest.mark.parametrize("spoil", [lose_the_last, double_the_last, swap_two, change_one])
def test_a_row_that_is_missing_doubled_or_changed_is_refused(shards, tmp_path, spoil, capsys):
    path = tmp_path / shards[1]
    path.write_text("\n".join(spoil(path.read_text().splitlines())) + "\n")
    with pytest.raises(SystemExit):
        main(["in.jsonl", "merged.jsonl", *shards])
    assert "1.jsonl" in capsys.readouterr().err
    assert not list(tmp_path.glob("merged*"))


def test_a_lost_quarantine_is_noticed(shards, tmp_path, capsys):
    lost = list(tmp_path.glob("?.quarantine.jsonl"))
    assert lost
    for path in lost:
        path.unlink()
    with pytest.raises(SystemExit):
        main(["in.jsonl", "merged.jsonl", *shards])
    assert "is not the input's row 11" in capsys.readouterr().err


def test_the_output_is_not_overwritten_and_no_shard_is(shards, capsys):
    for out in ("all.jsonl", shards[0]):
        before = Path(out).read_bytes()
        for more in ([], ["--force"]) if out == shards[0] else ([],):
            with pytest.raises(SystemExit):
                main(["in.jsonl", out, *shards, *more])
        assert Path(out).read_bytes() == before
    assert "one of the shards" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["parquet", "tar"])
def test_other_kinds_merge_too(command, tmp_path, kind):
    source = tmp_path / f"in.{kind}"
    rows = write_input(tmp_path / "in.jsonl", 150)
    if kind == "parquet":
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(rows), source)
    else:
        picture = io.BytesIO()
        Image.new("RGB", (9, 7), "red").save(picture, "PNG")
        with tarfile.open(source, "w") as archive:
            for number, row in enumerate(rows):
                for suffix, data in (("png", picture.getvalue()), ("txt", row["caption"].encode())):
                    member = tarfile.TarInfo(f"{number:04}.{suffix}")
                    member.size = len(data)
                    archive.addfile(member, io.BytesIO(data))
    assert command(source.name, f"all.{kind}").code == 0
    names = [f"{index}.{kind}" for index in range(2)]
    for index, name in enumerate(names):
        assert command(source.name, name, "--shard", f"{index}/2").code == 0
    merge(source.name, names, f"merged.{kind}")
    assert (tmp_path / f"merged.{kind}").read_bytes() == (tmp_path / f"all.{kind}").read_bytes()


def test_an_empty_shard_is_a_shard(command, tmp_path):
    write_input(tmp_path / "in.jsonl", 10)
    assert command("in.jsonl", "all.jsonl").code == 0
    for index in range(2):
        assert command("in.jsonl", f"{index}.jsonl", "--shard", f"{index}/2").code == 0
    assert (tmp_path / "1.jsonl").read_bytes() == b""
    merge("in.jsonl", ["0.jsonl", "1.jsonl"], "merged.jsonl")
    assert (tmp_path / "merged.jsonl").read_bytes() == (tmp_path / "all.jsonl").read_bytes()
    shutil.copy("0.jsonl", "whole.jsonl")
    merge("in.jsonl", ["whole.jsonl"], "again.jsonl")
    assert [row["id"] for row in read("again.jsonl")] == list(range(10))
