"""Captions in files beside images, replaced where they are, and restored to the byte.

    photos/1.txt                           the caption as decided
    photos/1.txt.original                  the file as it was: the same inode, not a copy
    photos/.captions-apply/journal.jsonl   every file that is replaced, with digests of both

The journal is complete before the first file is touched, and each file is replaced by a rename, so
whatever moment a run is killed at, every file is there whole: `replace_files` goes on where it
stopped, and `restore_files` puts everything back.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from revise_captions.errors import UserError, described
from revise_captions.io.fields import look_up, place_of
from revise_captions.io.in_place import ORIGINAL
from revise_captions.io.rows import BadRow, Row, dumps, parse_json
from revise_captions.io.writing import replacing, sync_folder
from revise_captions.layouts.image_folder import BESIDE
from revise_captions.layouts.json_rows import with_caption
from revise_captions.runs.journal import RowResult

STATE, JOURNAL, NEXT = ".captions-apply", "journal.jsonl", "next"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that is replaced: its path inside the folder, and digests of both contents."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class FileJournal:
    """What a folder's journal says. `suffix` is added to the names of the files as they were."""

    suffix: str
    changes: Mapping[str, FileChange]

    def kept(self, folder: Path, file: str) -> Path:
        """Where the file as it was is kept."""
        return folder / f"{file}{self.suffix}"

    def lines(self) -> Iterator[str]:
        yield dumps({"captions apply": _VERSION, "suffix": self.suffix})
        for change in self.changes.values():
            yield dumps({"file": change.file, "old": change.old, "new": change.new})


def journal_of(folder: Path) -> FileJournal | None:
    """The folder's journal, if it has one. Raises `UserError` for one that cannot be read."""
    path = folder / STATE / JOURNAL
    if not path.is_file():
        return None
    try:
        head, *rest = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        if head["captions apply"] != _VERSION:
            raise ValueError(f"version {head['captions apply']}")
        return FileJournal(head["suffix"], {line["file"]: FileChange(**line) for line in rest})
    except (ValueError, LookupError, TypeError) as error:
        raise UserError(f"{path} is not a journal of captions apply: {described(error)}") from None


# --- Replacing ----------------------------------------------------------------------------------

Results = Iterable[tuple[Row | BadRow, RowResult | BadRow]]


def plan_files(folder: Path, results: Results, suffix: str) -> tuple[FileJournal, int]:
    """What is to be replaced, and the number of rows that could not be read.

    Raises:
        UserError: The run is not of this folder, a file is not as the run read it, another apply
            was made, or a file has a kept one's name.
    """
    earlier = journal_of(folder)
    changes: dict[str, FileChange] = {}
    bad = 0
    for file, old, new in _contents(folder, results, earlier):
        if file is None:
            bad += 1
        elif old != new:
            changes[file] = FileChange(file, _digest(old), _digest(new))
    plan = FileJournal(suffix, changes)
    if earlier is not None and list(earlier.lines()) != list(plan.lines()):
        found = f"other decisions were applied to {folder}, or are being applied"
        raise UserError(found, hint=f"captions undo {folder}, then apply these")
    for file in changes if earlier is None else ():
        if os.path.lexists(plan.kept(folder, file)):
            hint = "name another --suffix for the originals"
            raise UserError(f"{plan.kept(folder, file)} exists", hint=hint)
    return plan, bad


def replace_files(folder: Path, results: Results, plan: FileJournal) -> int:
    """Replaces the files that are not replaced yet; returns how many. `results`: those that
    `plan_files` saw, once more."""
    state = folder / STATE
    done = 0
    with _alone(folder):
        if journal_of(folder) is None:
            with replacing(state / JOURNAL) as file:
                file.writelines(f"{line}\n".encode() for line in plan.lines())
        for name, _, new in _contents(folder, results, plan):
            if name is not None and name in plan.changes:
                done += _replace(folder / name, plan.kept(folder, name), new, state / NEXT)
        _synced(folder, plan)
    return done


def _replace(path: Path, kept: Path, new: bytes, work: Path) -> bool:
    if path.read_bytes() == new:
        return False
    if not os.path.lexists(kept):
        _keep(path, kept, work)
    _write(work, new)
    shutil.copymode(path, work)
    os.replace(work, path)
    return True


def _keep(path: Path, kept: Path, work: Path) -> None:
    """The same file under a second name; a copy where the file system has no such thing."""
    try:
        os.link(path, kept, follow_symlinks=False)
    except OSError:
        _write(work, path.read_bytes())
        shutil.copystat(path, work)
        os.replace(work, kept)


def _write(path: Path, content: bytes) -> None:
    path.unlink(missing_ok=True)  # never what is left of a link
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _contents(
    folder: Path, results: Results, journal: FileJournal | None
) -> Iterator[tuple[str | None, bytes, bytes]]:
    """Every caption's file, its content before and after; None for a row that cannot be read.

    Raises:
        UserError: As `plan_files`.
    """
    for row, result in results:
        if isinstance(row, BadRow) or isinstance(result, BadRow):
            yield None, b"", b""
            continue
        files: dict[str, tuple[bytes, bytes]] = {}
        for field, original, caption in _texts(row, result):
            name, *inner = _place(row, field)
            file = _file_of(row, name)
            old, new = files.get(file) or (_as_it_was(folder, file, journal),) * 2
            if _caption_in(old, inner) != original:
                found = f"{folder / file} is not as the run read it: {row.data['file_name']}"
                raise UserError(found, hint="restore it, or run revise-captions on it again")
            files[file] = old, with_caption(new, inner, caption)
        for file, (old, new) in files.items():
            yield file, old, new


def _texts(row: Row, result: RowResult) -> Iterator[tuple[str, str, str]]:
    """Field, original and decided text of each caption."""
    revision, revised = result.revised["revision"], result.revised["revised_caption"]
    if isinstance(revised, str):
        yield revision["caption_field"], result.revised[ORIGINAL], revised
        return
    for name, text in revised.items():
        yield name, result.revised[ORIGINAL][name], text


def _place(row: Row, field: str) -> tuple[str | int, ...]:
    place = place_of(row.data, field) or (field,)
    if place[0] not in BESIDE.values() or not isinstance(look_up(row.data, "file_name"), str):
        hint = "--in-place is for 1.txt beside 1.jpg; for other layouts: captions apply OUT … NEW"
        raise UserError(
            "the input of the run was not a folder with captions beside images", hint=hint
        )
    return place


def _file_of(row: Row, name: str | int) -> str:
    image = PurePosixPath(row.data["file_name"])
    if image.is_absolute() or ".." in image.parts:
        raise UserError(f"{image} is outside the folder", hint="the run was on another folder")
    return str(image.with_suffix(next(s for s, field in BESIDE.items() if field == name)))


def _as_it_was(folder: Path, file: str, journal: FileJournal | None) -> bytes:
    kept = journal.kept(folder, file) if journal is not None and file in journal.changes else None
    path = kept if kept is not None and kept.exists() else folder / file
    try:
        return path.read_bytes()
    except OSError as error:
        hint = "name the folder that revise-captions read"
        raise UserError(f"cannot read {path}: {error.strerror}", hint=hint) from None


def _caption_in(content: bytes, inner: list[Any]) -> object:
    try:
        text = content.decode("utf-8-sig")
        value: Any = parse_json(text) if inner else text
        for key in inner:
            value = value[key]
    except (ValueError, LookupError, TypeError):
        return None
    return value


# --- Restoring ----------------------------------------------------------------------------------


def restore_files(folder: Path, *, force: bool = False) -> int:
    """Puts every file back as it was before `captions apply`, and returns how many are.

    Args:
        folder: The folder.
        force: Whether a file that was changed since is restored, too.

    Raises:
        UserError: There is nothing to undo, an original is gone, or a file was changed since.
    """
    if (journal := journal_of(folder)) is None:
        raise UserError(f"there is nothing to undo in {folder}")
    with _alone(folder):
        back = [name for name in journal.changes if _has_to_go_back(folder, name, journal, force)]
        for name in back:
            path, kept = folder / name, journal.kept(folder, name)
            if path.exists() and path.samefile(kept):
                kept.unlink()  # it was not replaced yet; a rename would leave both names
            else:
                os.replace(kept, path)
        _synced(folder, journal)
        shutil.rmtree(folder / STATE)
    return len(back)


def _has_to_go_back(folder: Path, name: str, journal: FileJournal, force: bool) -> bool:
    """Whether the file has a kept original. Raises `UserError` as `restore_files`."""
    path, kept, change = folder / name, journal.kept(folder, name), journal.changes[name]
    now = _digest(path.read_bytes()) if path.is_file() else ""
    if not os.path.lexists(kept):
        if now == change.old:
            return False
        raise UserError(f"{kept} is gone, and {path} is not the file that it was a copy of")
    if _digest(kept.read_bytes()) != change.old:
        raise UserError(f"{kept} has changed since: it is no longer the file that was kept")
    if now not in (change.old, change.new) and not force:
        raise UserError(f"{path} has changed since", hint="--force restores it, too")
    return True


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Raises `UserError` where another process is at work on the folder."""
    state = folder / STATE
    state.mkdir(exist_ok=True)
    lock = os.open(state, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"another command is working on {folder}") from None
        yield
    finally:
        os.close(lock)


def _synced(folder: Path, journal: FileJournal) -> None:
    for inner in {PurePosixPath(name).parent for name in journal.changes}:
        sync_folder(folder / inner / "any")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
