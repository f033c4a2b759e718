"""What writing refuses is said in full, with what to try next; and files arrive whole or not."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from killed_runs import files_up_to
from output_files import rows, write_lines
from PIL import Image

from revise_captions.errors import Reason, UserError
from revise_captions.io import writing
from revise_captions.io.readers import open_source
from revise_captions.io.rows import BadRow, dumps
from revise_captions.io.writing import append_json_line
from revise_captions.pipelines.output import writers
from revise_captions.runs import journal, outputs

SETTINGS = {"critic": "bundled"}


def said(folder: Path, error: UserError) -> tuple[str, str]:
    return error.message.replace(f"{folder}/", ""), error.hint.replace(f"{folder}/", "")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "full").mkdir()
    for name in ("file", "in", "full/one", "out.0123abcd.partial"):
        (tmp_path / name).write_text("x")
    Image.new("RGB", (2, 2)).save(tmp_path / "picture", "png")
    return tmp_path


OTHER = "choose another name"
NEVER = "the input is never overwritten; choose another name"


@pytest.mark.parametrize(
    ("name", "reads", "options", "message", "hint"),
    [
        ("file", [], {}, "file exists", f"{OTHER}, or overwrite it with --force"),
        ("file", [], {"force": None}, "file exists", f"{OTHER}, or remove it first"),
        ("picture", [], {"force": True}, "picture is an image", "images are never overwritten"),
        ("in", ["in"], {"force": True}, "the output in is the input in", NEVER),
        ("full/one", ["full"], {"force": True}, "the output full/one is the input full", NEVER),
        ("none/out", [], {}, "there is no folder none", "mkdir -p none"),
        (
            "out", ["out.0123abcd.partial"], {},
            "out.0123abcd.partial has the name of a temporary file of out",
            "rename the input, or choose another name for the output",
        ),
        (
            "full", [], {"force": True}, "full exists and is not a file that can be replaced",
            "choose another name; for a device or a pipe, write to - and redirect",
        ),
    ],
)  # fmt: skip
def test_what_may_not_be_written(folder, name, reads, options, message, hint):
    with pytest.raises(UserError) as caught:
        writing.check_writable(folder / name, [folder / read for read in reads], **options)
    assert said(folder, caught.value) == (message, hint)


def test_what_may_be_written(folder):
    """What is new; with `force` what is there, and without it what is known as ours."""
    writing.check_writable(folder / "new", ["", folder / "in", "owner/name"])
    writing.check_writable(folder / "file", [folder / "in"], force=True)
    writing.check_writable(folder / "full", force=True, folder=True)
    seen: list[bytes] = []
    ours = lambda head: seen.append(head) or True  # noqa: E731
    writing.check_writable(folder / "full/one", [folder / "full"], ours=ours)
    assert seen == [b"x"]


def test_a_link_to_itself_goes_only_by_force(folder):
    (folder / "loop").symlink_to("loop")
    with pytest.raises(UserError, match="loop exists"):
        writing.check_writable(folder / "loop", [folder / "in"])
    writing.check_writable(folder / "loop", [folder / "in"], force=True)


def test_a_folder_that_may_not_be_written(folder, monkeypatch):
    monkeypatch.setattr(writing.os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(UserError) as caught:
        writing.check_writable(folder / "full/new")
    assert said(folder, caught.value) == ("the folder full is not writable", "")


def test_what_came_by_standard_input_is_kept_from_others(folder):
    for kind, others in (("stdin", 0), ("partial", 0o044)):
        before = os.umask(0o022)
        work = writing.working_file(folder / kind, kind)
        os.umask(before)
        assert work.path.stat().st_mode & 0o077 == others
        work.remove()


def test_work_that_somebody_removed_is_no_error(folder):
    work = writing.working_file(folder / "out", "partial")
    work.path.unlink()
    work.remove()
    assert not work.path.exists()


def test_what_killed_runs_left_goes_before_the_work_begins(folder):
    names = ["new.0123abcd.partial", "new.89abcdef.stdin", "file.0123abcd.partial"]
    for name in [*names, "new.0123abcd.part", "newer.0123abcd.partial"]:
        (folder / name).write_text("x")
    live = writing.working_file(folder / "new", "stdin")
    writing.check_writable(folder / "new")
    left = {path.name for path in folder.iterdir()}
    assert left.isdisjoint(names[:2])
    kept = {names[2], "new.0123abcd.part", "newer.0123abcd.partial", live.path.name}
    assert left >= kept
    live.remove()


def test_a_new_folder_is_new(folder):
    writing.check_new_folder(folder / "new")
    for name, message in (("full", "full is not empty"), ("file", "file is not a folder")):
        with pytest.raises(UserError) as caught:
            writing.check_new_folder(folder / name)
        assert said(folder, caught.value) == (message, "choose a new folder")


def test_one_row_a_line(folder):
    rows = [{"b": 1, "a": "é\ud800"}, []]
    assert writing.write_json_lines(folder / "new", iter(rows)) == 2
    assert (folder / "new").read_bytes() == b'{"b": 1, "a": "\xc3\xa9\\ud800"}\n[]\n'
    writing.write_json(folder / "new", {"a": [1]})
    assert (folder / "new").read_bytes() == b'{"a": [1]}\n'
    writing.write_text(folder / "new", "é\n")
    assert (folder / "new").read_bytes() == b"\xc3\xa9\n"


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (e, "free some space, then run it again, or --resume it")
        for e in (errno.ENOSPC, errno.EDQUOT)
    ]
    + [
        (errno.EFBIG, "free some space, then run it again, or --resume it"),
        (errno.EIO, ""),
    ],
)
def test_what_could_not_be_written(folder, number, hint):
    error = writing.cannot_write(folder / "out", OSError(number, "no luck"))
    assert said(folder, error) == ("cannot write out: no luck", hint)
    assert writing.cannot_write("out", OSError("odd")).message == "cannot write out: odd"


def test_the_head_of_a_file_is_all_that_is_read(folder):
    (folder / "long").write_bytes(b"a" * (writing.HEAD + 1))
    assert writing.head_of(folder / "long") == b"a" * writing.HEAD
    assert writing.head_of(folder / "full") == writing.head_of(folder / "none") == b""


def test_a_failure_leaves_what_was_there(folder):
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(TypeError), writing.replacing(folder / "file") as file:
        file.writelines([b"half", None])
    assert (folder / "file").read_text() == "x"
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_working_folder_goes_with_what_is_in_it(folder, monkeypatch):
    """Also where something of it cannot be removed: the next run will."""
    work = writing.working_file(folder / "new", "partial", folder=True)
    (work.path / "one").write_text("x")
    work.remove()
    assert not work.path.exists()
    stuck = writing.working_file(folder / "new", "partial", folder=True)
    (stuck.path / "one").write_text("x")
    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", _refuse)
        stuck.remove()
    assert stuck.path.exists()
    writing.working_file(folder / "new", "partial").remove()
    assert not stuck.path.exists()


def _refuse(*_: object, **__: object) -> None:
    raise PermissionError(errno.EPERM, "not permitted")


# --- The journal --------------------------------------------------------------------------------


def journal_error(path: Path, **options: bool) -> tuple[str, str]:
    with pytest.raises(UserError) as caught:
        journal.Journal.open(path, options.pop("settings", SETTINGS), **options)
    return said(path.parent, caught.value)


def test_why_a_journal_is_not_opened(folder):
    path = folder / "j"
    unfinished = "j belongs to a run that did not finish"
    on = "continue it with --resume, or start over with --force"
    with journal.Journal.open(path, SETTINGS):
        busy = "another run is writing j", "wait for it, or choose another name for the output"
        assert journal_error(path) == journal_error(path, resume=True) == busy
    assert journal_error(path) == (unfinished, on)
    with pytest.raises(UserError) as caught:
        journal.refuse_early(path)
    assert said(folder, caught.value) == (unfinished, on)
    assert journal_error(path, resume=True, settings={"critic": "other"}) == (
        "j was started with other settings: critic was 'bundled' and is 'other'",
        "use the same settings, or start over with --force",
    )
    assert journal_error(folder / "file") == (
        "file exists and is not a journal",
        "move it, or choose another name for the output",
    )
    path.write_bytes(path.read_bytes()[:-20] + b"\n")
    assert journal_error(path, resume=True) == (
        "j is damaged: its first line is incomplete",
        "delete it to start over; its finished windows are lost",
    )


def test_what_another_program_changed_in_a_journal(folder):
    with journal.Journal.open(folder / "j", SETTINGS) as opened:
        error = opened.not_ours("its first line: x")
        assert said(folder, error) == (
            "j was changed by another program: its first line: x",
            "start over with --force; what else it holds is lost",
        )
        opened.append(0, "a", [BadRow("x", 1, Reason.MALFORMED_JSON, "d", "{")])
        with pytest.raises(UserError) as caught:
            opened.done(0, "b")
        assert said(folder, caught.value) == (
            "the input has changed since the run began: window 0 (counted from 0) is finished in "
            "j with different rows",
            "restore the old input, or start over with --force",
        )


@pytest.mark.parametrize("at_once", [True, False])
def test_a_line_is_there_at_once_where_that_is_asked_for(folder, at_once):
    with (folder / "new").open("wb") as file:
        writing.json_lines_writer(file, flush=at_once).write({"n": 1})
        assert (folder / "new").read_bytes() == (b'{"n": 1}\n' if at_once else b"")


def test_a_log_grows_by_whole_lines(folder):
    path, rows = folder / "log", [{"n": 1}, {"text": "é" * 40}, {"n": 3}]
    append_json_line(path, rows[0])
    whole = path.read_bytes()
    with files_up_to(len(whole) + 20), pytest.raises(OSError, match="File too large"):
        append_json_line(path, rows[1])
    assert path.read_bytes() == whole == b'{"n": 1}\n'
    for row in rows[1:]:
        append_json_line(path, row)
    assert path.read_text().splitlines() == [dumps(row) for row in rows]


@pytest.mark.parametrize("call", ["pwrite", "fsync"])
def test_a_journal_on_a_full_disk(folder, monkeypatch, call):
    def fails(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with journal.Journal.open(folder / "j", SETTINGS) as opened:
        opened.append(0, "a", [])
        before = (folder / "j").read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr(journal, "FSYNC_SECONDS", -1.0)
            patch.setattr(journal.os, call, fails)
            with pytest.raises(UserError) as caught:
                opened.append(1, "b", [])
        assert said(folder, caught.value) == (
            "cannot write j: No space left on device",
            "free some space, then run it again, or --resume it",
        )
        assert (folder / "j").read_bytes().startswith(before)
        assert call == "fsync" or (folder / "j").read_bytes() == before


# --- The output ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("out", "message", "hint"),
    [
        (
            "o.tar", "o.tar: an output as WebDataset tar needs such an input, not JSON Lines",
            "name the output .jsonl or .parquet",
        ),
        (
            "o.csv", "o.csv: an output as CSV needs such an input, not JSON Lines",
            "name the output .jsonl or .parquet",
        ),
        (
            "full", "full exists, but not as JSON Lines output that can be replaced",
            "choose another name",
        ),
        (
            "q.jsonl", "q.quarantine.jsonl exists and is not a quarantine file",
            "move it, or choose another name for the output",
        ),
        (
            "p.jsonl", "p.quarantine.jsonl may belong to p",
            "move it, or choose another name for the output",
        ),
    ],
)  # fmt: skip
def test_outputs_that_are_refused(folder, out, message, hint):
    source = open_source(str(write_lines(folder / "in.jsonl", rows(1))))
    (folder / "q.quarantine.jsonl").write_text("mine")
    (folder / "p.quarantine.jsonl").write_text('{"file": "in.jsonl"}')
    (folder / "p").write_text("x")
    with pytest.raises(UserError) as caught:
        writers.check_output(source, str(folder / out), force=True)
    assert said(folder, caught.value) == (message, hint)


def test_a_folder_inside_the_input_is_refused(folder):
    (folder / "full" / "metadata.jsonl").write_text('{"file_name": "a.png", "text": "A."}\n')
    with pytest.raises(UserError) as caught:
        writers.check_output(open_source(str(folder / "full")), str(folder / "full" / "new"))
    assert said(folder, caught.value) == (
        "full/new is inside the input",
        "choose a folder beside it",
    )


def test_new_rows_for_each_row(folder):
    """As many as are made; a bad row goes to the quarantine; nothing is left of an older one."""
    source = open_source(str(write_lines(folder / "in.jsonl", rows(3))))
    bad = BadRow("", 2, Reason.IMAGE_NOT_FOUND, "1.jpg does not exist")
    results = [
        journal.RowResult(1, {"unit": "a"}), bad, journal.RowResult(3, {"unit": "c"}),
    ]  # fmt: skip

    def twice(row, result):
        return [{"of": row.line, **result.revised, "n": n} for n in range(2)]

    counts = outputs.write_rows(source, results, str(folder / "o.jsonl"), twice)
    assert counts == outputs.OutputCounts(2, 1, folder / "o.quarantine.jsonl")
    assert (folder / "o.jsonl").read_text() == "".join(
        f'{{"of": {line}, "unit": "{unit}", "n": {n}}}\n'
        for line, unit in ((1, "a"), (3, "c"))
        for n in range(2)
    )
    assert '"line": 2' in (folder / "o.quarantine.jsonl").read_text()


def test_a_folder_appears_complete_or_never(folder):
    def fill(name, then):
        with writing.replacing_folder(folder / name) as work:
            (work / "whole").write_text("x")
            then()

    for name in ("new", "full"):
        before = sorted(folder.rglob("*"))
        with pytest.raises(ZeroDivisionError):
            fill(name, lambda: 1 // 0)
        assert sorted(folder.rglob("*")) == before
        fill(name, lambda: None)
        assert [path.name for path in (folder / name).iterdir()] == ["whole"]
        assert not list(folder.glob(f"{name}.*"))
