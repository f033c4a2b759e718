"""Writing without destroying the user's files: every command writes through this module.

`check_writable` decides, before any work, whether a path may be written. `replacing` and
`working_file` create incomplete files under a name that nothing else uses:

    out.jsonl.3f9c01ab.partial      NAME, eight random digits, what it is

They are created exclusively, so a link planted under the name is not followed, and stay locked
while their process lives: an unlocked one was left by a run that was killed, and the next run that
may write NAME removes it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from revise_captions.errors import UserError
from revise_captions.io.rows import dumps

if TYPE_CHECKING:
    from jsonlines import Writer

#: Recognizes a file of ours by its first `HEAD` bytes.
Recognize = Callable[[bytes], bool]
HEAD = 1 << 16
_KINDS = ("partial", "stdin")


def check_writable(
    path: Path,
    reads: Iterable[Path | str] = (),
    *,
    force: bool | None = False,
    ours: Recognize | None = None,
    folder: bool = False,
) -> None:
    """Decides, for every command, whether a file may be written.

    Args:
        path: The file, or with `folder` the folder, that would be written or replaced.
        reads: Files and folders that the command reads; other names, such as a model's on a hub,
            do no harm. The file behind standard input is always included.
        force: Whether an existing file may be replaced. None: the command has no such option.
        ours: Recognizes files that may be replaced without `force`, even in a folder being read.
        folder: Whether an existing folder may be replaced, like a file.

    Raises:
        UserError: The folder is missing or read-only; the path is a device, a pipe, or a link to
            one; it is something that the command reads, or an image; it exists and may not be
            replaced; or an input has the name of one of its working files.

    Working files that killed runs left for the path are removed, whatever this run will write.
    """
    if not path.parent.is_dir():
        raise UserError(f"there is no folder {path.parent}", hint=f"mkdir -p {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise UserError(f"the folder {path.parent} is not writable")
    _refuse_device(path, folder=folder)
    inputs = [Path(read) for read in reads if read]
    for read in inputs:
        if _is_working_name(read, path):
            hint = "rename the input, or choose another name for the output"
            raise UserError(f"{read} has the name of a temporary file of {path}", hint=hint)
    for kind in _KINDS:
        _remove_stale_of(path, kind)
    if not os.path.lexists(path):
        return
    head = head_of(path)
    mine = ours is not None and ours(head)
    for read in inputs:
        if _same_or_inside(path, read) and not (mine and read.is_dir() and path.is_file()):
            hint = "the input is never overwritten; choose another name"
            raise UserError(f"the output {path} is the input {read}", hint=hint)
    if _is_standard_input(path):
        hint = "the input is never overwritten; choose another name"
        raise UserError(f"the output {path} is the input, through standard input", hint=hint)
    if _is_image(head):
        raise UserError(f"{path} is an image", hint="images are never overwritten")
    if not force and not mine:
        other = "overwrite it with --force" if force is not None else "remove it first"
        raise UserError(f"{path} exists", hint=f"choose another name, or {other}")


def check_new_folder(out: Path) -> None:
    """Raises `UserError` if the folder has content, or is a file."""
    if os.path.lexists(out) and not out.is_dir():
        raise UserError(f"{out} is not a folder", hint="choose a new folder")
    if out.exists() and any(out.iterdir()):
        raise UserError(f"{out} is not empty", hint="choose a new folder")


def head_of(path: Path) -> bytes:
    """The first `HEAD` bytes of a regular file; b"" for anything else."""
    if not path.is_file():
        return b""
    try:
        with path.open("rb") as file:
            return file.read(HEAD)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None


def _refuse_device(path: Path, *, folder: bool = False) -> None:
    """Raises `UserError` for what a rename would destroy: devices, pipes, links to them.

    `/dev/stdout` is a link into /proc and may lead to a regular file, but a rename would replace
    the link itself.
    """
    step = path
    for _ in range(40):  # as many links as Linux follows
        place = real_path(step.parent)
        in_devices = place.is_relative_to("/dev") and not place.is_relative_to("/dev/shm")
        if in_devices or place.is_relative_to("/proc") or not step.is_symlink():
            break
        step = step.parent / os.readlink(step)
    exists = os.path.lexists(step)
    replaceable = step.is_file() or (folder and step.is_dir()) or step.is_symlink()
    if in_devices or place.is_relative_to("/proc") or (exists and not replaceable):
        hint = "choose another name; for a device or a pipe, write to - and redirect"
        raise UserError(f"{path} exists and is not a file that can be replaced", hint=hint)


def real_path(path: Path | str) -> Path:
    """`Path.resolve`, which before Python 3.13 raises for links that form a loop."""
    return Path(os.path.realpath(path))


def _same_or_inside(path: Path, read: Path) -> bool:
    """Whether `path` and `read` are the same, by any name, or one contains the other."""
    try:
        if path.exists() and path.samefile(read):
            return True
        real, wanted = real_path(path), Path(os.path.realpath(read, strict=True))
    except OSError:
        return False
    return real.is_relative_to(wanted) or wanted.is_relative_to(real)


def _is_standard_input(path: Path) -> bool:
    with contextlib.suppress(OSError):
        given = os.fstat(0)
        return stat.S_ISREG(given.st_mode) and os.path.samestat(path.stat(), given)
    return False


def _is_image(head: bytes) -> bool:
    from revise_captions.io.decoding import sniff

    return bool(sniff(head))


# --- Files that appear complete -----------------------------------------------------------------


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file that takes its name, complete and durable, if the block succeeds, or else never.

    `check_writable` must first decide whether the name may be taken; devices are refused here.
    """
    _refuse_device(path)
    work = working_file(path, "partial")
    try:
        with os.fdopen(os.dup(work.descriptor), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(work.path, path)
    except BaseException:
        work.remove()
        raise
    work.close()
    sync_folder(path)


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """A folder that takes its name, complete, if the block succeeds, or else never."""
    held = working_file(path, "partial", folder=True)
    try:
        new = held.path / "new"
        new.mkdir()
        yield new
        if path.exists():
            os.rename(path, held.path / "old")
        os.rename(new, path)
        sync_folder(path)
    finally:
        held.remove()


def write_text(path: Path, text: str) -> None:
    """Writes a text file, as `replacing` does."""
    with replacing(path) as file:
        file.write(text.encode())


def write_json(path: Path, value: object) -> None:
    """Writes a JSON file of one line, as `replacing` does."""
    write_json_lines(path, [value])


def write_json_lines(path: Path, rows: Iterable[object]) -> int:
    """Writes JSON Lines, as `replacing` does; returns the number of lines."""
    count = 0
    with replacing(path) as file:
        writer = json_lines_writer(file)
        for row in rows:
            writer.write(row)
            count += 1
    return count


def json_lines_writer(file: IO[bytes], *, flush: bool = False) -> Writer:
    """A writer of values to an open file, one per line; `flush` flushes after each."""
    import jsonlines

    return jsonlines.Writer(file, dumps=dumps, flush=flush)


def append_json_line(path: Path, value: object) -> None:
    """Adds a line to a log, which may not exist yet: all of it or, on a full disk, nothing."""
    line = dumps(value).encode() + b"\n"
    with path.open("ab", buffering=0) as file:
        end = file.tell()
        try:
            while line:
                line = line[file.write(line) :]
        except OSError:
            file.truncate(end)
            raise


@contextmanager
def in_turn(path: Path) -> Iterator[None]:
    """Lets one process at a time read and replace a file; others wait.

    The folder is locked, since a replaced file takes its locks with it. A file system without
    locks gives no such protection.
    """
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def sync_folder(path: Path) -> None:
    """Makes a new or renamed directory entry durable."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def cannot_write(path: Path | str, error: OSError) -> UserError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    hint = "free some space, then run it again, or --resume it" if full else ""
    return UserError(f"cannot write {path}: {error.strerror or error}", hint=hint)


# --- Working files ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WorkingFile:
    """A file or folder owned by this process. Its lock lasts as long as `descriptor` is open."""

    path: Path
    descriptor: int

    def remove(self) -> None:
        _remove(self.path)
        self.close()

    def close(self) -> None:
        os.close(self.descriptor)


def working_file(path: Path, kind: str, *, folder: bool = False) -> WorkingFile:
    """Creates a working file beside `path`, open and locked.

    Those left for the same `path` by killed runs are removed.

    Args:
        path: The file or folder that the work is for.
        kind: `partial` or `stdin`.
        folder: Whether to create a folder.
    """
    _remove_stale_of(path, kind)
    while True:
        work = path.with_name(f"{_short(path)}.{secrets.token_hex(4)}.{kind}")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            if folder:
                work.mkdir()
                flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(work, flags, 0o600 if kind == "stdin" else 0o666)
        except (FileExistsError, FileNotFoundError):
            continue  # the name is taken, or another run mistook the new folder for a stale one
        if _locked(descriptor, work):
            return WorkingFile(work, descriptor)
        os.close(descriptor)


def _locked(descriptor: int, work: Path) -> bool:
    """Locks a new file; False if another run has just mistaken it for a stale one."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.lstat(work), os.fstat(descriptor))
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError:
        return True  # a file system without locks, where nothing is considered stale either


def _remove_stale_of(path: Path, kind: str) -> None:
    name = _working_name(path, kind)
    with os.scandir(path.parent) as entries:
        stale = [Path(entry.path) for entry in entries if name.fullmatch(entry.name)]
    for work in stale:
        _remove_stale(work)


def _remove_stale(work: Path) -> None:
    """Removes what a killed run left: an unlocked file or folder of this user's."""
    with contextlib.suppress(OSError):
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(work, flags)
        try:
            found = os.fstat(descriptor)
            plain = stat.S_ISREG(found.st_mode) and found.st_nlink == 1
            if found.st_uid == os.geteuid() and (plain or stat.S_ISDIR(found.st_mode)):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(work)
        finally:
            os.close(descriptor)


def _remove(work: Path) -> None:
    if work.is_dir() and not work.is_symlink():
        shutil.rmtree(work, ignore_errors=True)
    else:
        work.unlink(missing_ok=True)


def _short(path: Path) -> str:
    """A name, shortened if the working file's would be longer than file systems allow."""
    return os.fsdecode(os.fsencode(path.name)[:200])


def _working_name(path: Path, kind: str) -> re.Pattern[str]:
    return re.compile(rf"{re.escape(_short(path))}\.[0-9a-f]{{8}}\.{kind}")


def _is_working_name(read: Path, path: Path) -> bool:
    named = any(_working_name(path, kind).fullmatch(read.name) for kind in _KINDS)
    return named and read.parent.resolve() == path.parent.resolve()
