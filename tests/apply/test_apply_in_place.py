"""`captions apply FOLDER OUT … --in-place`, and `captions undo`: every byte, whatever happens."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from commands import outcome
from deciding import ALL, EDITED, decide
from killed_runs import die_at_change
from layout_inputs import COUNT, files_of, make, rows_of, texts

from revise_captions.command_line.captions import main

APPLY = ("apply", "photos", "out", "d.jsonl", "--in-place")


@pytest.fixture
def layout(request):
    return getattr(request, "param", "beside")


@pytest.fixture
def photos(command, tmp_path, layout):
    make(layout, tmp_path)
    assert command("photos", "out").code == 0
    decide(tmp_path / "out", "d.jsonl", ALL)
    return tmp_path / "photos"


def state_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Content and time of every file."""
    return {n: (b, (folder / n).stat().st_mtime_ns) for n, b in files_of(folder).items()}


@pytest.mark.parametrize("layout", ["beside", "beside-json"], indirect=True)
def test_files_are_replaced_and_restored(photos, tmp_path, capsys, layout):
    before = state_of(photos)
    code, said, err = outcome(main, capsys, *APPLY)
    assert code == 0, err
    found = texts(layout, photos, tmp_path)
    assert outcome(main, capsys, "apply", "out", "d.jsonl", "new")[0] == 0
    assert found == texts(layout, tmp_path / "new", tmp_path)
    assert sum(EDITED in text for text in found) > 5
    kept = {p.name.removesuffix(".original"): p.read_bytes() for p in photos.glob("*.original")}
    assert f"{len(kept)} files replaced in photos" in said
    assert 10 < len(kept) < COUNT
    assert all(before[name][0] == content for name, content in kept.items())
    assert [row["revised_caption"] for row in rows_of(tmp_path / "out")]
    # once more changes nothing; other decisions have to wait
    assert "0 files replaced" in outcome(main, capsys, *APPLY)[1]
    code, _, err = outcome(main, capsys, "apply", "photos", "out", "--in-place")
    assert code == 2
    assert "captions undo photos" in err
    assert outcome(main, capsys, "undo", "photos")[0] == 0
    assert state_of(photos) == before
    code, _, err = outcome(main, capsys, "undo", "photos")
    assert (code, "nothing to undo" in err) == (2, True)


def test_what_was_changed_since_is_not_lost(photos, capsys):
    first = next(iter(sorted(photos.glob("*.txt")) or sorted(photos.glob("*.json"))))
    mine = first.read_bytes()
    first.write_text("Mine.")
    code, _, err = outcome(main, capsys, *APPLY)
    assert code == 2
    assert "is not as the run read it" in err
    assert not list(photos.glob("*.original"))
    first.write_bytes(mine)
    assert outcome(main, capsys, *APPLY)[0] == 0
    changed = Path(str(next(photos.glob("*.original"))).removesuffix(".original"))
    changed.write_text("Mine.")
    code, _, err = outcome(main, capsys, "undo", "photos")
    assert (code, changed.read_text()) == (2, "Mine.")
    assert "has changed since" in err
    assert outcome(main, capsys, "undo", "photos", "--force")[0] == 0
    assert first.read_bytes() == mine


def test_a_file_with_a_kept_ones_name_is_not_overwritten(photos, capsys):
    for path in [*photos.glob("*.txt"), *photos.glob("*.json")]:
        path.with_name(f"{path.name}.original").write_text("precious")
    code, _, err = outcome(main, capsys, *APPLY)
    assert code == 2
    assert "--suffix" in err
    assert outcome(main, capsys, *APPLY, "--suffix", ".before")[0] == 0
    assert outcome(main, capsys, "undo", "photos")[0] == 0
    assert {p.read_text() for p in photos.glob("*.original")} == {"precious"}


def killed(step: int, *arguments: str) -> None:
    """The command in a process of its own, dead by SIGKILL at its so many-th change of the disk."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    die_at_change(step)
    try:
        main(list(arguments))
    finally:
        os._exit(0)


def test_killed_anywhere_both_go_on_and_finish(photos, capsys):
    before = state_of(photos)
    assert outcome(main, capsys, *APPLY)[0] == 0
    applied = files_of(photos)
    assert outcome(main, capsys, "undo", "photos")[0] == 0
    rng = random.Random(3)
    for _ in range(12):
        for step in (rng.randrange(6), rng.randrange(400)):
            killed(step, *APPLY)
            whole = {n: b for n, (b, _) in before.items()}
            for name in whole:  # each file is whole, old or new
                assert (photos / name).read_bytes() in (whole[name], applied[name]), name
        if rng.random() < 0.5:
            assert outcome(main, capsys, *APPLY)[0] == 0
            assert files_of(photos) == applied
        killed(rng.randrange(200), "undo", "photos")
        if (photos / ".captions-apply/journal.jsonl").exists():
            assert outcome(main, capsys, "undo", "photos")[0] == 0
        assert {n: s for n, s in state_of(photos).items() if not n.startswith(".")} == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("apply", "out", "out", "--in-place"), "is the folder itself"),
        (("apply", "images", "out", "--in-place"), "name the folder that revise-captions read"),
        (
            ("apply", "photos", "out", "--in-place", "--suffix", ".txt"),
            "not a valid suffix for kept files",
        ),
        (("apply", "photos"), "expected OUT"),
        (("apply", "photos", "new", "--in-place"), "new"),
    ],
)
def test_what_cannot_be_is_said(photos, capsys, arguments, message):
    code, _, err = outcome(main, capsys, *arguments)
    assert code == 2
    assert message in err


def test_other_layouts_are_not_replaced_in_place(command, tmp_path, capsys):
    make("jsonl", tmp_path)
    assert command("in.jsonl", "out.jsonl").code == 0
    code, _, err = outcome(main, capsys, "apply", "images", "out.jsonl", "--in-place")
    assert code == 2
    assert "not a folder with captions beside images" in err
