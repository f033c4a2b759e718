"""Writers: rows keep their text, nothing is overwritten, full disks and kills leave no halves."""

from __future__ import annotations

import base64
import errno
import gzip
import io
import itertools
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard
from output_files import REVISION, names, revised, rows, run, write_lines
from PIL import Image

from revise_captions.errors import UserError
from revise_captions.io import writing
from revise_captions.io.readers import open_source
from revise_captions.layouts.arrow import PARQUET
from revise_captions.layouts.json_rows import JSON_ARRAY, JSON_LINES
from revise_captions.pipelines.output import writers
from revise_captions.runs import outputs, paths
from revise_captions.runs.journal import refuse_early

# --- JSON ---------------------------------------------------------------------------------------


def test_json_lines_keep_the_text_of_every_row(tmp_path):
    lines = [
        '{"image":"a.jpg","caption":"A cat.","n":1.0,"big":123456789012345678901234567890}',
        '  {"caption": "caf\\u00e9 \\/", "image": "b.jpg", "x": 1, "x": 2, "f": 1E+2} ',
        '{"image": "c.jpg", "caption": "\\ud800", "y": NaN}',
    ]
    source = tmp_path / "in.jsonl"
    source.write_bytes(("\ufeff" + "\r\n\n".join(lines)).encode())  # BOM, CRLF, blanks, no end
    assert run(source, tmp_path / "out.jsonl") == outputs.OutputCounts(3, 0, None)
    added = ', "revised_caption": %s, "revision": ' + json.dumps(REVISION) + "}"
    assert (tmp_path / "out.jsonl").read_text().split("\n") == [
        lines[0][:-1] + added % '"A CAT."',
        lines[1][:-2] + added % '"CAFÉ /"' + " ",
        lines[2][:-1] + added % '"\\ud800"',
        "",
    ]
    assert names(tmp_path) == {"in.jsonl", "out.jsonl"}


def test_a_second_stage_replaces_what_the_first_added(tmp_path):
    write_lines(tmp_path / "in.jsonl", ['{"image": "a", "caption": "Ab.", "n": 1.50}'])
    run(tmp_path / "in.jsonl", tmp_path / "one.jsonl")
    run(tmp_path / "one.jsonl", tmp_path / "two.jsonl")
    assert (tmp_path / "two.jsonl").read_text() == (tmp_path / "one.jsonl").read_text()


def test_one_line_out_or_one_in_the_quarantine(tmp_path):
    bad_bytes = b'{"image": "a", "caption": "caf\xe9"}'
    with (tmp_path / "in.jsonl").open("wb") as file:
        file.write(b'{"image": "a", "caption": "One."}\n{oops\n\n')
        file.write(b'{"image": "a", "caption": "Four."}\n' + bad_bytes + b"\n")
        file.write(b'{"image": "a", "caption": "Six."}\n')
    written = run(tmp_path / "in.jsonl", tmp_path / "out.jsonl", bad=[4])
    quarantine = tmp_path / "out.quarantine.jsonl"
    assert written == outputs.OutputCounts(2, 3, quarantine)
    out = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["revised_caption"] for row in out] == ["ONE.", "SIX."]
    bad = [json.loads(line) for line in quarantine.read_text().splitlines()]
    name = str(tmp_path / "in.jsonl")
    assert [(b["file"], b["line"], b["reason"]) for b in bad] == [
        (name, 2, "malformed_json"),
        (name, 4, "image_not_found"),
        (name, 5, "invalid_utf8"),
    ]
    assert bad[0]["text"] == "{oops"
    assert bad[1]["text"] == '{"image": "a", "caption": "Four."}'
    assert bad[1]["detail"] == "a.jpg does not exist"
    assert base64.b64decode(bad[2]["bytes"]) == bad_bytes


def test_an_old_quarantine_goes_when_nothing_is_bad(tmp_path):
    write_lines(tmp_path / "in.jsonl", rows(2))
    run(tmp_path / "in.jsonl", tmp_path / "out.jsonl", bad=[2])
    assert (tmp_path / "out.quarantine.jsonl").exists()
    again = run(tmp_path / "in.jsonl", tmp_path / "out.jsonl", force=True)
    assert again.quarantine is None
    assert names(tmp_path) == {"in.jsonl", "out.jsonl"}


def test_a_quarantine_is_not_lost_unasked(tmp_path):
    source = write_lines(tmp_path / "in.jsonl", rows(2))
    quarantine = tmp_path / "out.quarantine.jsonl"
    run(source, tmp_path / "out.jsonl", bad=[2])
    (tmp_path / "out.jsonl").unlink()
    before = quarantine.read_bytes()
    with pytest.raises(UserError, match=r"out\.quarantine\.jsonl exists"):
        run(source, tmp_path / "out.jsonl")
    run(source, tmp_path / "out.jsonl.gz")
    run(source, tmp_path / "out.parquet", bad=[1])
    assert quarantine.read_bytes() == before
    with pytest.raises(UserError, match="--force"):
        run(source, tmp_path / "out")  # whose quarantine has the same name
    write_lines(tmp_path / "out.jsonl", rows(2))
    with pytest.raises(UserError, match=r"may belong to .*out\.jsonl"):
        run(source, tmp_path / "out", force=True)
    assert quarantine.read_bytes() == before


def test_a_foreign_file_with_the_name_of_the_quarantine_stays(tmp_path):
    source = write_lines(tmp_path / "in.jsonl", rows(2))
    foreign = tmp_path / "out.quarantine.jsonl"
    foreign.write_text("precious\n")
    for bad in ([], [1]):
        for force in (False, True):
            with pytest.raises(UserError, match="quarantine"):
                run(source, tmp_path / "out.jsonl", bad=bad, force=force)
    opened = open_source(str(source))
    for bad in ([], [1]):  # it appeared when the run was under way
        with pytest.raises(UserError, match="not a quarantine"):
            writers.write(opened, revised(opened, bad), str(tmp_path / "out.jsonl"))
    assert foreign.read_text() == "precious\n"
    assert names(tmp_path) == {"in.jsonl", "out.quarantine.jsonl"}


def test_runs_to_standard_output_share_no_quarantine(tmp_path, monkeypatch, capfdbinary):
    monkeypatch.chdir(tmp_path)
    source = write_lines(tmp_path / "in.jsonl", rows(3))
    written = [run(source, "-", bad=[bad], force=True).quarantine for bad in (1, 2)]
    assert run(source, "-").quarantine is None
    assert written == [Path("stdout.quarantine.jsonl"), Path("stdout.2.quarantine.jsonl")]
    assert [json.loads(path.read_text())["line"] for path in written] == [1, 2]


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_compression_follows_the_name_and_is_reproducible(tmp_path, suffix):
    write_lines(tmp_path / "in.jsonl", rows(500))
    run(tmp_path / "in.jsonl", tmp_path / "plain.jsonl")
    out = [tmp_path / f"{name}.jsonl{suffix}" for name in ("one", "other")]
    for path in out:
        run(tmp_path / "in.jsonl", path, bad=[3])
    run(tmp_path / "in.jsonl", tmp_path / f"all.jsonl{suffix}")
    data = (tmp_path / f"all.jsonl{suffix}").read_bytes()
    unpack = {"": bytes, ".gz": gzip.decompress, ".zst": _unzstd}[suffix]
    assert unpack(data) == (tmp_path / "plain.jsonl").read_bytes()
    assert out[0].read_bytes() == out[1].read_bytes()
    assert paths.quarantine_path(str(out[0])).exists()


def _unzstd(data: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompressobj().decompress(data)


def test_an_array_stays_one_or_becomes_lines(tmp_path):
    first = '{\n    "image": "a.jpg",\n    "caption": "A  cat."\n  }'
    (tmp_path / "in.json").write_text(f'[\n  {first},\n  {{"image": "b", "caption": "B."}}\n]\n')
    run(tmp_path / "in.json", tmp_path / "out.json")
    run(tmp_path / "in.json", tmp_path / "out.jsonl")
    array = json.loads((tmp_path / "out.json").read_text())
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert array == lines
    assert [row["revised_caption"] for row in array] == ["A  CAT.", "B."]
    assert '"image": "a.jpg",\n    "caption": "A  cat."' in (tmp_path / "out.json").read_text()
    run(tmp_path / "in.json", tmp_path / "none.json", bad=[1, 2])
    assert json.loads((tmp_path / "none.json").read_text()) == []


def test_standard_output(tmp_path, monkeypatch, capfdbinary):
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "in.jsonl", rows(2))
    run(tmp_path / "in.jsonl", "-")
    out = capfdbinary.readouterr().out.decode().splitlines()
    assert [json.loads(line)["revised_caption"] for line in out] == ["CAT 0.", "CAT 1."]
    assert names(tmp_path) == {"in.jsonl"}


def test_shards_and_limits_write_their_own_rows(tmp_path):
    write_lines(tmp_path / "in.jsonl", rows(10))
    run(tmp_path / "in.jsonl", tmp_path / "out.jsonl", shard=(1, 4), limit=2, window=1)
    out = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(line)["image"] for line in out] == ["1.jpg", "5.jpg"]


def test_input_that_changed_during_the_run_is_noticed(tmp_path):
    path = write_lines(tmp_path / "in.jsonl", rows(3))
    source = open_source(str(path))
    results = revised(source)
    for changed in (rows(2), rows(4), [*rows(2), "{oops"], ["", *rows(3)]):
        write_lines(path, changed)
        with pytest.raises(UserError, match="changed during the run"):
            writers.write(source, results, str(tmp_path / "out.jsonl"))
    assert names(tmp_path) == {"in.jsonl"}


# --- Before the run -----------------------------------------------------------------------------


def test_existing_output_is_not_overwritten(tmp_path):
    path = write_lines(tmp_path / "in.jsonl", rows(1))
    out = write_lines(tmp_path / "out.jsonl", ["precious"])
    source = open_source(str(path))
    for options in ({}, {"resume": True}):
        with pytest.raises(UserError, match="exists") as caught:
            writers.check_output(source, str(out), **options)
        assert "--force" in caught.value.hint
    writers.check_output(source, str(out), force=True)
    paths.journal_path(str(out)).touch()
    writers.check_output(source, str(out), resume=True)


def test_the_input_is_never_the_output(tmp_path):
    path = write_lines(tmp_path / "in.jsonl", rows(1))
    (tmp_path / "link.jsonl").symlink_to(path)
    for name in (path, tmp_path / "link.jsonl", tmp_path / "." / "in.jsonl"):
        with pytest.raises(UserError, match="is the input"):
            writers.check_output(open_source(str(path)), str(name), force=True)
    quarantine = write_lines(tmp_path / "out.quarantine.jsonl", rows(1))
    with pytest.raises(UserError, match="is the input"):
        writers.check_output(open_source(str(quarantine)), str(tmp_path / "out.jsonl"), force=True)


def test_no_input_is_an_output_by_any_name(tmp_path):
    path = write_lines(tmp_path / "in.jsonl", rows(1))
    before = path.read_bytes()
    for out in ("out.jsonl", "out.jsonl.gz"):
        for name in (paths.journal_path(out), paths.quarantine_path(out)):
            os.link(path, tmp_path / name)  # whatever the link that leads there
            for given in (path, tmp_path / name):
                with pytest.raises(UserError, match="is the input"):
                    writers.check_output(open_source(str(given)), str(tmp_path / out), force=True)
            (tmp_path / name).unlink()
        working = path.rename(tmp_path / f"{out}.0123abcd.partial")  # what a killed run leaves
        with pytest.raises(UserError, match="name of a temporary file"):
            writers.check_output(open_source(str(working)), str(tmp_path / out), force=True)
        working.rename(path)
    os.link(path, tmp_path / "out.jsonl")
    (tmp_path / "models").mkdir()
    for reads in ([path], [tmp_path / "in.jsonl"]):
        with pytest.raises(UserError, match="is the input"):
            writing.check_writable(tmp_path / "out.jsonl", reads, force=True)
    weights = write_lines(tmp_path / "models/weights", [])
    for out in (weights, tmp_path / "models"):
        for read in (weights, tmp_path / "models"):
            with pytest.raises(UserError, match="is the input"):
                writing.check_writable(out, [read, "owner/name"], force=True, folder=True)
    assert path.read_bytes() == before


def test_what_standard_input_comes_from_is_not_overwritten(tmp_path):
    path = write_lines(tmp_path / "in.jsonl", rows(1))
    script = "import sys; from pathlib import Path; from revise_captions.io.writing import *\n"
    script += "check_writable(Path(sys.argv[1]), force=True)"
    with path.open() as given:
        command = [sys.executable, "-c", script, str(path)]
        ran = subprocess.run(command, stdin=given, capture_output=True, text=True, check=False)
    assert "is the input, through standard input" in ran.stderr


def test_an_image_is_not_overwritten(tmp_path):
    picture = tmp_path / "a.jsonl"
    Image.new("RGB", (2, 2)).save(picture, "png")
    with pytest.raises(UserError, match="is an image"):
        writing.check_writable(picture, force=True)


def test_links_at_working_names_are_neither_followed_nor_removed(tmp_path, monkeypatch):
    victim = tmp_path / "precious"
    victim.write_text("precious")
    numbers = itertools.chain(["00000000", "00000000"], itertools.count(1))
    monkeypatch.setattr(writing.secrets, "token_hex", lambda size: f"{next(numbers):0>8}")
    planted = [f"out.jsonl.{'0' * 8}.partial", "out.jsonl.partial", f"out.jsonl.{'a' * 8}.partial"]
    for name in planted:
        (tmp_path / name).symlink_to(victim)
    source = write_lines(tmp_path / "in.jsonl", rows(2))
    run(source, tmp_path / "out.jsonl")
    assert victim.read_text() == "precious"
    assert names(tmp_path) == {"in.jsonl", "out.jsonl", "precious", *planted}
    (tmp_path / "out.jsonl.journal").symlink_to(victim)
    with pytest.raises(UserError, match="cannot write"):
        refuse_early(tmp_path / "out.jsonl.journal", force=True)
    assert victim.read_text() == "precious"


def test_working_files_of_killed_runs_go_and_no_others(tmp_path):
    path = tmp_path / "out.jsonl"
    live, dead = (writing.working_file(path, "partial") for _ in range(2))
    dead.close()
    folder = writing.working_file(path, "partial", folder=True)
    folder.close()
    kept = ["out.jsonl.partial", "other.jsonl.0123abcd.partial", "out.jsonl.0123abcd.partial"]
    for name in kept:
        (tmp_path / name).write_text("of somebody else")
    os.link(tmp_path / kept[2], tmp_path / "its other name")
    with writing.replacing(path) as file:
        file.write(b"x")
    assert names(tmp_path) == {"out.jsonl", live.path.name, "its other name", *kept}
    live.remove()


def test_names_as_long_as_they_may_be(tmp_path):
    path = tmp_path / ("ü" * 127)
    with writing.replacing(path) as file:
        file.write(b"x")
    assert names(tmp_path) == {path.name}


def test_impossible_outputs(tmp_path):
    source = open_source(str(write_lines(tmp_path / "in.jsonl", rows(1))))
    with pytest.raises(UserError, match="tar"):
        writers.check_output(source, str(tmp_path / "out.tar"))
    with pytest.raises(UserError, match="mkdir"):
        writers.check_output(source, str(tmp_path / "none" / "out.jsonl"))


def test_devices_and_folders_are_not_replaced(tmp_path):
    source = open_source(str(write_lines(tmp_path / "in.jsonl", rows(1))))
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    links = {
        "stdout": "/proc/self/fd/1",
        "null": "/dev/null",
        "pipe.jsonl": "pipe",
        "twice": "null",
    }
    for name, target in links.items():
        (tmp_path / name).symlink_to(target)
    for name in ("/dev/null", "/dev/stdout", "/dev/fd/1", "folder", "pipe", *links):
        with pytest.raises(UserError, match="can be replaced"):
            writers.check_output(source, str(tmp_path / name), force=True)
        with pytest.raises((UserError, IsADirectoryError)), writing.replacing(tmp_path / name):
            pass
    assert {name: os.readlink(tmp_path / name) for name in links} == links
    assert Path("/dev/stdout").is_symlink()


@pytest.mark.parametrize(
    ("out", "quarantine"),
    [
        ("a/out.jsonl", "a/out.quarantine.jsonl"),
        ("out.jsonl.gz", "out.jsonl.gz.quarantine.jsonl"),
        ("out.v2.parquet", "out.v2.parquet.quarantine.jsonl"),
        ("out.tar.gz", "out.tar.gz.quarantine.jsonl"),
        ("folder", "folder.quarantine.jsonl"),
    ],
)
def test_quarantine_path(out, quarantine):
    assert str(paths.quarantine_path(out)) == quarantine


# --- Full disks and kills -----------------------------------------------------------------------

STEPS = """
import os, signal, sys
from pathlib import Path
from revise_captions.errors import Reason
from revise_captions.pipelines.output import writers
from revise_captions.runs.journal import refuse_early
from revise_captions.runs.journal import RowResult
from revise_captions.io.readers import open_source
from revise_captions.io.rows import BadRow

source = open_source(sys.argv[1])
results = [
    BadRow("", row.line, Reason.URL_FAILED, "x") if row.line % 5 == 0 else
    RowResult(row.line, {"revised_caption": "x" * 300}) for row in source
]
left = int(sys.argv[3])
limit = int(sys.argv[4])

def counted(call):
    def step(*arguments, **options):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments, **options)
    return step

for name in ("fsync", "replace", "unlink"):
    setattr(os, name, counted(getattr(os, name)))
if limit:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
writers.write(source, results, sys.argv[2])
"""


def steps(tmp_path: Path, out: Path, kill_at: int, limit: int = 0) -> subprocess.CompletedProcess:
    arguments = [str(tmp_path / "in.jsonl"), str(out), str(kill_at), str(limit)]
    command = [sys.executable, "-c", STEPS, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_killed_at_every_step_of_putting_the_output_in_place(tmp_path):
    write_lines(tmp_path / "in.jsonl", rows(20))
    whole, out = tmp_path / "whole.jsonl", tmp_path / "out.jsonl"
    quarantine = tmp_path / "out.quarantine.jsonl"
    assert steps(tmp_path, whole, 0).returncode == 0
    appeared = []
    for kill_at in itertools.count(1):
        ended = steps(tmp_path, out, kill_at)
        if ended.returncode == 0:
            break
        assert ended.returncode == -signal.SIGKILL, ended.stderr
        appeared.append(out.exists())
        if out.exists():
            assert out.read_bytes() == whole.read_bytes()
            assert len(quarantine.read_text().splitlines()) == 4
    assert False in appeared
    assert True in appeared
    assert out.read_bytes() == whole.read_bytes()
    assert not any("partial" in name for name in names(tmp_path))


def test_a_disk_too_small_for_the_output(tmp_path):
    write_lines(tmp_path / "in.jsonl", rows(200))
    ended = steps(tmp_path, tmp_path / "out.jsonl", 0, limit=20_000)
    assert ended.returncode == 1
    assert "free some space, then run it again, or --resume it" in ended.stderr
    assert names(tmp_path) == {"in.jsonl"}


@pytest.mark.parametrize("full", ["out.jsonl", "out.quarantine.jsonl"])
def test_no_space_left(tmp_path, monkeypatch, full):
    write_lines(tmp_path / "in.jsonl", [*rows(50), "{oops"])
    really = os.fdopen

    class Full(io.BytesIO):
        def flush(self) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None: ...

    def open_full(descriptor: int, *arguments: str) -> object:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        file = really(descriptor, *arguments)
        return Full() if re.fullmatch(rf"{full}\.\w+\.partial", path.name) else file

    monkeypatch.setattr(os, "fdopen", open_full)
    with pytest.raises(UserError, match="No space left on device") as caught:
        run(tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    assert "--resume" in caught.value.hint
    left = names(tmp_path) - {"in.jsonl"}
    assert left <= {"out.quarantine.jsonl"}  # which is complete by the time it has its name
    assert full not in left


# --- Kinds of output ----------------------------------------------------------------------------


def test_an_output_lies_as_the_input_unless_named(tmp_path):
    write_lines(tmp_path / "in.json", rows(1))
    lines = open_source(str(tmp_path / "in.json"))
    (tmp_path / "array.json").write_text(json.dumps(rows(1)))
    array = open_source(str(tmp_path / "array.json"))
    assert [writers.output_layout(lines, o) for o in ("o.json", "o", "o.parquet", "-")] == [
        JSON_LINES,
        JSON_LINES,
        PARQUET,
        JSON_LINES,
    ]
    assert [writers.output_layout(array, o) for o in ("o.json", "o", "o.jsonl")] == [
        JSON_ARRAY,
        JSON_ARRAY,
        JSON_LINES,
    ]
