"""Killed, interrupted, out of disk, out of engine: every run ends in the same bytes."""

from __future__ import annotations

import json
import random
import shlex
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import write_input
from killed_runs import SCRIPT, Runs, finish, start
from PIL import Image

RECORDS = 340  # six windows, of five or six calls of the critic each


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    runs = Runs(tmp_path_factory.mktemp("kill"))
    yield runs
    runs.close()


@pytest.fixture(scope="module")
def folder(runs: Runs) -> Path:
    """Input with some bad rows, and what an uninterrupted run makes of it, in `whole.*`."""
    folder = runs.folder
    write_input(folder / "in.jsonl", RECORDS, seed=5, longest=2)
    lines = (folder / "in.jsonl").read_text().splitlines()
    for at in (3, 130, 131, 300):
        lines.insert(at, "{oops")
    lines[70] = lines[70].replace("a.png", "gone.png")
    (folder / "in.jsonl").write_text("\n".join(lines))
    code, _, err = runs.said("in.jsonl", "whole.jsonl", "--report", "whole.html")
    assert code == 0, err
    return folder


BESIDE = ("quarantine.jsonl", "jsonl.signatures.json")


def results(folder: Path, name: str) -> tuple[bytes, list[bytes], dict[str, Any]]:
    """Output, what stands beside it, and the report's figures but for the time it took."""
    figures = json.loads((folder / f"{name}.json").read_text())
    del figures["summary"]["speed"]
    kept = (folder / f"{name}.jsonl").read_bytes()
    return kept, [(folder / f"{name}.{suffix}").read_bytes() for suffix in BESIDE], figures


def leftovers(folder: Path, name: str) -> list[str]:
    known = {f"{name}.{suffix}" for suffix in ("jsonl", "json", "html", *BESIDE)}
    own = (p.name for p in folder.iterdir() if p.name.lstrip(".").startswith(f"{name}."))
    return [found for found in own if found not in known]


@pytest.mark.parametrize("kills", [3, pytest.param(60, marks=pytest.mark.slow)])
def test_killed_at_random_moments(runs, folder, kills):
    """At moments from a run's whole length, again and again, each time resumed."""
    rng = random.Random(20)
    expected = results(folder, "whole")
    status, length = runs.run(["in.jsonl", "alone.jsonl", "--report", "alone.html"])
    assert status == 0
    assert results(folder, "alone") == expected
    killed = hit = finished = 0
    while killed < kills or finished < 2:
        name = f"k{finished}"
        journal, out = folder / f"{name}.jsonl.journal", folder / f"{name}.jsonl"
        arguments = ["in.jsonl", out.name, "--report", f"{name}.html", "--resume"]
        status, _ = runs.run(arguments, rng.uniform(0.0, 0.8) * length)
        if status == -signal.SIGKILL:
            killed += 1
            hit += journal.exists() and journal.stat().st_size > 2000
            if journal.exists() or not out.exists():
                continue
            status = 0  # it was killed when its work was done
        assert status == 0, (folder / "printed.err").read_text()
        assert results(folder, name) == expected
        assert leftovers(folder, name) == []
        finished += 1
    assert hit >= kills // 2  # of runs that had something to lose


def test_a_resumed_run_judges_nothing_twice(runs, folder):
    """The engine dies after some windows; only what was not finished is judged on resuming."""
    calls = {"SCRIPTED_CALLS": "calls.all"}
    code, _, err = runs.said("in.jsonl", "c0.jsonl", **calls)
    assert code == 0, err
    dead = {"SCRIPTED_CALLS": "calls.one", "SCRIPTED_DIES": "23"}
    code, out, err = runs.said("in.jsonl", "c1.jsonl", "--force", **dead)
    assert (code, out) == (3, "")
    assert err.splitlines()[-2:] == [
        "revise-captions: the engine stopped answering",
        "  resume with: revise-captions in.jsonl c1.jsonl --resume",
    ]
    code, _, err = runs.said("in.jsonl", "c1.jsonl")
    assert code == 2
    assert "--resume" in err
    assert "--force" in err
    again = {"SCRIPTED_CALLS": "calls.two"}
    code, _, err = runs.said("in.jsonl", "c1.jsonl", "--resume", **again)
    assert code == 0, err
    assert (folder / "c1.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()
    whole, one, two = (
        (folder / f"calls.{name}").read_text().splitlines() for name in ("all", "one", "two")
    )
    assert one == whole[: len(one)]
    assert two == whole[-len(two) :]
    # Twice is judged only what the window in work when the engine died had already asked.
    window = len(whole) / (RECORDS / 64)
    assert len(one) > 2 * window
    assert 0 <= len(one) + len(two) - len(whole) <= 1.5 * window


def test_a_run_with_other_settings_is_not_resumed(runs, folder):
    runs.said("in.jsonl", "s.jsonl", SCRIPTED_DIES="9")
    code, _, err = runs.said("in.jsonl", "s.jsonl", "--resume", "--rounds", "1")
    assert code == 2
    assert "rounds was '2' and is '1'" in err
    text = (folder / "in.jsonl").read_text()
    (folder / "in.jsonl").write_text(text.replace("A dog", "A cat", 1))
    try:
        code, _, err = runs.said("in.jsonl", "s.jsonl", "--resume")
    finally:
        (folder / "in.jsonl").write_text(text)
    assert code == 2
    assert "the input has changed since the run began" in err
    picture = (folder / "a.png").read_bytes()
    Image.new("RGB", (9, 7), "blue").save(folder / "a.png")
    try:
        code, _, err = runs.said("in.jsonl", "s.jsonl", "--resume")
    finally:
        (folder / "a.png").write_bytes(picture)
    assert code == 2
    assert "the input has changed since the run began" in err
    code, _, err = runs.said("in.jsonl", "s.jsonl", "--resume")
    assert code == 0, err
    assert (folder / "s.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()


def wait_for_work(folder: Path, name: str) -> None:
    journal = folder / f"{name}.jsonl.journal"
    while not journal.exists() or journal.stat().st_size < 2000:
        time.sleep(0.02)


def test_ctrl_c_and_two_runs_at_once(runs, folder):
    arguments = ("in.jsonl", "i.jsonl", "--group-by", "no field", "--force")
    process = start(folder, *arguments, SCRIPTED_STALLS="25")
    wait_for_work(folder, "i")
    for flag in ("--resume", "--force"):  # a second run of the same output, meanwhile
        code, out, err = runs.said("in.jsonl", "i.jsonl", flag)
        assert (code, out) == (2, "")
        assert err.startswith("revise-captions: another run is writing i.jsonl.journal\n")
    process.send_signal(signal.SIGINT)
    code, out, err = finish(process)
    assert (code, out) == (130, "")
    command = "revise-captions in.jsonl i.jsonl --group-by 'no field' --resume"
    assert err.splitlines()[-2:] == ["revise-captions: interrupted", f"  resume with: {command}"]
    assert not (folder / "i.jsonl").exists()
    code, _, err = runs.said(*shlex.split(command)[1:])
    assert code == 0, err
    assert (folder / "i.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()
    assert leftovers(folder, "i") == []


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGTERM, 143), pytest.param(signal.SIGHUP, 129, marks=pytest.mark.slow)],
)
def test_terminated_and_resumed(folder, number, status):
    """As after Ctrl-C, and no copy of standard input stays, nor one that a killed run left."""
    text = (folder / "in.jsonl").read_text()
    name = f"t{status}"
    for sent, stalls in ((signal.SIGKILL, "25"), (number, "3")):
        stale = set(folder.glob(f"{name}.*.stdin"))
        process = start(
            folder, "-", f"{name}.jsonl", "--resume", stdin=True, SCRIPTED_STALLS=stalls
        )
        assert process.stdin is not None
        process.stdin.write(text)
        process.stdin.close()
        process.stdin = None
        while len(copies := set(folder.glob(f"{name}.*.stdin")) - stale) != 1:
            assert process.poll() is None
            time.sleep(0.02)
        wait_for_work(folder, name)
        if sent == number:
            second = start(folder, "-", f"{name}.jsonl", "--force", stdin=True)
            second.communicate(text, timeout=550)
            assert all(copy.exists() for copy in copies)  # it is the first's
        process.send_signal(sent)
        code, out, err = finish(process)
    assert (code, out) == (status, "")
    command = f"revise-captions - {name}.jsonl --resume"
    assert err.splitlines()[-2:] == [
        "revise-captions: interrupted",
        f"  resume with: {command}, with the same standard input",
    ]
    assert leftovers(folder, name) == [f"{name}.jsonl.journal"]
    process = start(folder, *shlex.split(command)[1:], stdin=True)
    process.communicate(text, timeout=550)
    assert process.returncode == 0
    assert len((folder / f"{name}.jsonl").read_bytes()) > 0
    assert leftovers(folder, name) == []


def test_a_damaged_journal(runs, folder):
    """What is repeated is said; what this program did not write is no traceback."""
    runs.said("in.jsonl", "j.jsonl", SCRIPTED_DIES="23")
    journal = folder / "j.jsonl.journal"
    lines = journal.read_bytes().splitlines(keepends=True)
    row = json.loads(lines[1].split(b" ", 3)[3])
    row[0][1]["revision"]["sentences"] = "none"
    body = b" ".join([*lines[1].split(b" ", 3)[1:3], json.dumps(row).encode()])
    journal.write_bytes(b"".join([lines[0], b"%08x %b\n" % (zlib.crc32(body), body), *lines[2:]]))
    code, _, err = runs.said("in.jsonl", "j.jsonl", "--resume")
    assert code == 2, err
    assert "j.jsonl.journal was changed by another program: the result of line 1" in err
    assert "Traceback" not in err
    assert not (folder / "j.jsonl").exists()
    assert not (folder / "j.quarantine.jsonl").exists()
    lines[2] = lines[2].replace(b"a", b"b", 1)
    journal.write_bytes(b"".join(lines))
    code, _, err = runs.said("in.jsonl", "j.jsonl", "--resume")
    assert code == 0, err
    assert "j.jsonl.journal is damaged from line 3 on: 1 finished windows are kept" in err
    assert (folder / "j.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()
    assert leftovers(folder, "j") == []


@pytest.mark.parametrize(
    "share", [0.4, *(pytest.param(share, marks=pytest.mark.slow) for share in (0.0001, 0.95))]
)
def test_a_full_disk(runs, folder, share):
    """Files may grow to a share of the journal's or the output's final size, and no further."""
    size = (folder / "whole.jsonl").stat().st_size
    limit = str(int(share * size))
    code, out, err = finish(start(folder, "in.jsonl", "d.jsonl", "--force", SCRIPTED_LIMIT=limit))
    assert (code, out) == (2, "")
    assert err.startswith("revise-captions: cannot write d.jsonl")
    assert "Traceback" not in err
    assert "--resume" in err
    assert not (folder / "d.jsonl").exists()
    code, _, err = runs.said("in.jsonl", "d.jsonl", "--report", "d.html", "--resume")
    assert code == 0, err
    assert results(folder, "d") == results(folder, "whole")
    assert leftovers(folder, "d") == []
    for name in ("d.jsonl", "d.html", "d.json"):
        (folder / name).unlink()


def in_full(folder: Path) -> str:
    """The output with the signature's line, as on standard output, beside which nothing stands."""
    ((short, line),) = json.loads((folder / "whole.jsonl.signatures.json").read_text()).items()
    return (folder / "whole.jsonl").read_text().replace(f'"{short}"', json.dumps(line))


def test_standard_input_and_output(folder):
    text = (folder / "in.jsonl").read_text()
    process = start(folder, "-", "-", stdin=True)
    out, err = process.communicate(text, timeout=550)
    assert process.returncode == 0, err
    assert out == in_full(folder)
    assert "Judged factual" in err  # the table goes where it does not disturb
    assert "stdout.quarantine.jsonl" in err
    assert list(folder.glob("stdout.*")) == [folder / "stdout.quarantine.jsonl"]


def test_a_reader_that_had_enough(folder):
    command = f"{shlex.quote(sys.executable)} {SCRIPT} in.jsonl - --force | head -n 1"
    ran = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert ran.stdout == in_full(folder).split("\n")[0] + "\n"
    assert ran.stderr == ""
