"""`apply`, `undo`, `select`, and captions written in place, killed at random and run again."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from deciding import ALL, decide
from killed_runs import Runs
from layout_inputs import files_of, make

pytest.importorskip("duckdb")
pytest.importorskip("datasets")

#: Per case: few in every run of the tests, many in the slow ones.
KILLS = pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
SLOWER = [pytest.param(layout, marks=pytest.mark.slow) for layout in ("csv", "tar", "parquet")]
LAYOUTS = pytest.mark.parametrize("layout", ["coco", "metadata", *SLOWER])


class Attacked:
    """A folder in which a command is killed."""

    def __init__(self, folder: Path, runs: Runs) -> None:
        self.folder, self.runs, self.rng = folder, runs, random.Random(34)

    def whole(self, *arguments: str) -> float:
        """Runs it to its end; returns the processor seconds that it took."""
        status, seconds = self.runs.run(list(arguments), folder=self.folder)
        assert status == 0, (self.folder / "printed.err").read_text()
        return seconds

    def killed(self, longest: float, *arguments: str) -> bool:
        """Runs it, to be killed at a moment, or at a change of the disk; whether that came."""
        moment, change = self.rng.uniform(0, longest), None
        if self.rng.random() < 0.5:
            moment, change = None, self.rng.randrange(12)
        status, _ = self.runs.run(list(arguments), moment, change, self.folder)
        assert status in (0, -signal.SIGKILL), (self.folder / "printed.err").read_text()
        return status != 0


@pytest.fixture(scope="module")
def servers(tmp_path_factory) -> Iterator[dict[str, Runs]]:
    folder = tmp_path_factory.mktemp("servers")
    made = {of: Runs(folder, of) for of in ("captions", "revise-captions")}
    yield made
    for runs in made.values():
        runs.close()


@pytest.fixture
def attacked(tmp_path, servers, monkeypatch) -> Attacked:
    monkeypatch.chdir(tmp_path)
    return Attacked(tmp_path, servers["captions"])


@pytest.fixture
def attacked_job(attacked, servers) -> Attacked:
    return Attacked(attacked.folder, servers["revise-captions"])


def held(folder: Path, names: list[str]) -> dict[str, dict[str, bytes]]:
    """What there is of several outputs, each a file or a folder."""
    return {name: files_of(folder / name) for name in names if (folder / name).exists()}


def nothing_else(folder: Path, before: set[str], names: list[str]) -> None:
    """No working file stays, and nothing beside the outputs."""
    now = {path.name for path in folder.iterdir()} - {"printed", "printed.err"}
    assert now <= before | set(names)


@KILLS
@LAYOUTS
def test_apply_into_a_new_output(command, attacked, tmp_path, layout, kills):
    made = make(layout, tmp_path)
    out, whole, new = (f"{name}{made.suffix}" for name in ("out", "whole", "new"))
    assert command(made.source, out, *made.options).code == 0
    decide(tmp_path / out, "d.jsonl", ALL)
    length = attacked.whole("apply", out, "d.jsonl", whole)
    expected, before = files_of(tmp_path / whole), {path.name for path in tmp_path.iterdir()}
    done = 0
    while done < kills:
        done += attacked.killed(length, "apply", out, "d.jsonl", new, "--force")
        assert held(tmp_path, [new]) in ({}, {new: expected})
    attacked.whole("apply", out, "d.jsonl", new, "--force")
    assert held(tmp_path, [new]) == {new: expected}
    nothing_else(tmp_path, before, beside(new))


@KILLS
@pytest.mark.parametrize("layout", ["beside", pytest.param("beside-json", marks=pytest.mark.slow)])
def test_apply_in_place_and_undo(command, attacked, tmp_path, layout, kills):
    make(layout, tmp_path)
    assert command("photos", "out").code == 0
    decide(tmp_path / "out", "d.jsonl", ALL)
    photos, apply = tmp_path / "photos", ("apply", "photos", "out", "d.jsonl", "--in-place")
    old = files_of(photos)
    length = attacked.whole(*apply)
    new = files_of(photos)
    attacked.whole("undo", "photos")
    assert files_of(photos) == old
    done = 0
    while done < kills:
        done += attacked.killed(length, *apply)
        found = files_of(photos)
        assert all(found[name] in (old[name], new[name]) for name in old)
        if attacked.rng.random() < 0.4:
            attacked.whole(*apply)
            assert files_of(photos) == new
        if (photos / ".captions-apply/journal.jsonl").exists():
            done += attacked.killed(length, "undo", "photos")
        found = files_of(photos)
        assert all(found[name] in (old[name], new[name]) for name in old)
    attacked.whole(*apply)
    assert files_of(photos) == new
    attacked.whole("undo", "photos")
    assert files_of(photos) == old


@KILLS
@pytest.mark.parametrize("layout", ["csv", "tar", "parquet"])
def test_select(command, attacked, tmp_path, layout, kills):
    made = make(layout, tmp_path)
    out = f"out{made.suffix}"
    assert command(made.source, out, *made.options).code == 0
    names = [f"{name}{made.suffix}" for name in ("kept", "rest")]

    def asked(kept: str, rest: str) -> tuple[str, ...]:
        return ("select", out, kept, "--rest", rest, "--where", "factual_after >= 0.9", "--force")

    length = attacked.whole(*asked(*names))
    expected = held(tmp_path, names)
    assert all(expected[name] for name in names)
    before = {path.name for path in tmp_path.iterdir()}
    for name in names:
        (tmp_path / name).unlink()
    done = 0
    while done < kills:
        done += attacked.killed(length, *asked(*names))
        found = held(tmp_path, names)
        assert found.items() <= expected.items()
    attacked.whole(*asked(*names))
    assert held(tmp_path, names) == expected
    nothing_else(tmp_path, before, names)


@KILLS
@LAYOUTS
def test_captions_written_in_place(attacked_job, tmp_path, layout, kills):
    made = make(layout, tmp_path)
    whole, new = (f"{name}{made.suffix}" for name in ("whole", "new"))
    style = [*made.options, "--write", "caption", "--evidence", "sidecar"]
    length = attacked_job.whole(made.source, whole, *style)
    expected = files_of(tmp_path / whole)
    evidence = (tmp_path / f"{whole}.evidence.jsonl").read_bytes()
    before = {path.name for path in tmp_path.iterdir()}
    done = 0
    while done < kills:
        done += attacked_job.killed(length, made.source, new, *style, "--resume")
        assert held(tmp_path, [new]) in ({}, {new: expected})
    attacked_job.whole(made.source, new, *style, "--resume")
    assert held(tmp_path, [new]) == {new: expected}
    assert (tmp_path / f"{new}.evidence.jsonl").read_bytes() == evidence
    nothing_else(tmp_path, before, beside(new))


def beside(new: str) -> list[str]:
    """An output, and what a run leaves beside it."""
    return [new, *(f"{new}.{kind}" for kind in ("evidence.jsonl", "signatures.json"))]
