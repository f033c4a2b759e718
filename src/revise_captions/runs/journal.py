"""The journal beside an unfinished output: finished windows and their results.

One header line, then one line per window, each with a checksum. Lines are only appended, so a run
killed at any moment leaves at most one incomplete line. The next run removes all lines from the
first damaged one on, says so, and repeats their windows. The output is assembled from the journal
alone, so interruptions leave no trace in it.

    revise-captions journal 1 <crc> {"run_key": …, "settings": {…}}
    <crc> <window> <sha256 of the window's input> [[line, {…}], [line, reason, detail], …]
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import logging
import os
import re
import stat
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from revise_captions.errors import Reason, UserError
from revise_captions.io.rows import BadRow, Unparsed, dumps
from revise_captions.io.writing import cannot_write, sync_folder
from revise_captions.runs.digests import run_key

logger = logging.getLogger(__name__)
MAGIC = b"revise-captions journal 1 "
#: The fields that a row gains, in order.
ADDED = ("revised_caption", "revision")
FSYNC_SECONDS = 1.0
"""A killed process loses nothing; a machine that loses power, at most this much work."""


@dataclass(frozen=True, slots=True)
class RowResult:
    """What an output row gains: `{"revised_caption": …, "revision": …}`, ready for JSON.

    For captions corrected in place, by this run or before, `caption_original` comes third.

    Attributes:
        line: As in `Row`.
        revised: The row's new members.
        captions: Texts to put into the row's own caption fields, by field.
    """

    line: int
    revised: Mapping[str, Any]
    captions: Mapping[str, str] = field(default_factory=dict)


class _Entry(NamedTuple):
    """`results`: their number if this process wrote them and none is a bad row; otherwise 0."""

    offset: int
    size: int
    digest: str
    results: int = 0


class Journal:
    """A context manager that locks the journal to one process. Not thread-safe."""

    def __init__(self, path: Path, descriptor: int, settings: Mapping[str, Any]) -> None:
        self.path = path
        self.settings = settings
        self.run_key = run_key(settings)
        self._file = descriptor
        self._windows: dict[int, _Entry] = {}
        self._end = 0
        self._synced = time.monotonic()
        self.resumed = False

    @classmethod
    def open(
        cls, path: Path, settings: Mapping[str, Any], *, resume: bool = False, force: bool = False
    ) -> Journal:
        """Starts a journal, or continues the one at `path`.

        Args:
            resume: Continue a journal with the same settings, or start one.
            force: Overwrite an existing journal. With `resume`: only if its settings differ.

        Raises:
            UserError: Another process holds the journal, it exists and neither flag is set, its
                settings differ, or the file is not a journal.
        """
        journal = cls(path, _open_locked(path), settings)
        try:
            journal._start_or_continue(resume, force)
        except BaseException:
            os.close(journal._file)
            raise
        return journal

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        """The number of finished windows."""
        return len(self._windows)

    def finished(self) -> dict[int, str]:
        """The digests of the finished windows, by number."""
        return {number: entry.digest for number, entry in self._windows.items()}

    def done(self, window: int, digest: str) -> bool:
        """Whether this window is finished. Raises `UserError` if its input has changed."""
        entry = self._windows.get(window)
        if entry is None:
            return False
        if entry.digest != digest:
            raise UserError(
                f"the input has changed since the run began: window {window} (counted from 0) "
                f"is finished in {self.path} with different rows",
                hint="restore the old input, or start over with --force",
            )
        return True

    def append(self, window: int, digest: str, results: Sequence[RowResult | BadRow]) -> None:
        """Writes a finished window.

        Raises:
            UserError: It cannot be written (full disk); earlier windows stay intact.
        """
        body = f"{window} {digest} {dumps([_to_json(result) for result in results])}".encode()
        line = b"%08x %b\n" % (zlib.crc32(body), body)
        self._write(line)
        whole = all(isinstance(r, RowResult) and tuple(r.revised) == ADDED for r in results)
        entry = _Entry(self._end, len(line), digest, len(results) if whole else 0)
        self._windows[window] = entry
        self._end += len(line)
        if time.monotonic() - self._synced >= FSYNC_SECONDS:
            self._sync()

    def results(self) -> Iterator[RowResult | BadRow]:
        """All rows' results in order, with one window in memory at a time.

        Bad rows lack their source and original text, which the input still has.
        """
        for window in range(len(self._windows)):
            if window not in self._windows:
                if self.resumed:
                    raise self.not_ours(f"it has no window {window}, but later ones")
                raise RuntimeError(f"window {window} is not finished, but later ones are")
            entry = self._windows[window]
            line = os.pread(self._file, entry.size, entry.offset)
            try:
                items = list(_results(line.split(b" ", 3)[3].decode(), entry.results))
            except (LookupError, TypeError, ValueError, RecursionError) as error:
                raise self.not_ours(f"window {window}: {error!r}") from None
            yield from items

    def not_ours(self, detail: str) -> UserError:
        """The error for a line with a correct checksum that this program did not write."""
        hint = "start over with --force; what else it holds is lost"
        return UserError(f"{self.path} was changed by another program: {detail}", hint=hint)

    def close(self) -> None:
        if self._file >= 0:
            self._sync()
            os.close(self._file)
            self._file = -1

    def delete(self) -> None:
        """Removes the journal of a complete output."""
        self.path.unlink(missing_ok=True)
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    # --- Opening --------------------------------------------------------------------------------

    def _start_or_continue(self, resume: bool, force: bool) -> None:
        content_size = os.fstat(self._file).st_size
        head = os.pread(self._file, len(MAGIC), 0)
        if head != MAGIC[: len(head)]:
            hint = "move it, or choose another name for the output"
            raise UserError(f"{self.path} exists and is not a journal", hint=hint)
        header = self._read_header(content_size)
        if header is None or (force and not resume):
            self._begin()
        elif not resume:
            raise _unfinished(self.path)
        elif header["run_key"] == self.run_key:
            self.resumed = True
            self._scan()
        elif force:
            self._begin()
        else:
            raise UserError(
                f"{self.path} was started with other settings: "
                + _differences(header["settings"], self.settings),
                hint="use the same settings, or start over with --force",
            )

    def _begin(self) -> None:
        body = dumps({"run_key": self.run_key, "settings": self.settings}).encode()
        header = MAGIC + b"%08x %b\n" % (zlib.crc32(body), body)
        os.ftruncate(self._file, 0)
        self._end = 0
        self._write(header)
        self._end = len(header)
        self._sync()
        sync_folder(self.path)

    def _read_header(self, size: int) -> dict[str, Any] | None:
        """The header; None if it is missing or incomplete."""
        line = next(self._lines(0, size), b"")
        self._end = len(line)
        body = _verified(line.removeprefix(MAGIC))
        if body is None and line.endswith(b"\n"):
            hint = "delete it to start over; its finished windows are lost"
            raise UserError(f"{self.path} is damaged: its first line is incomplete", hint=hint)
        if body is None:
            return None
        try:
            header = json.loads(body)
            return {"run_key": header["run_key"], "settings": dict(header["settings"])}
        except (LookupError, TypeError, ValueError, RecursionError) as error:
            raise self.not_ours(f"its first line: {error!r}") from None

    def _scan(self) -> None:
        """Indexes the finished windows, and removes the lines from the first damaged one on."""
        size = os.fstat(self._file).st_size
        kept = lost = 0
        for line in self._lines(self._end, size):
            body = None if lost else _verified(line)
            if body is None:
                lost += 1
                continue
            try:
                window, digest, _ = body.decode().split(" ", 2)
                self._windows[int(window)] = _Entry(self._end, len(line), digest)
            except ValueError as error:
                raise self.not_ours(f"line {kept + 2}: {error!r}") from None
            self._end += len(line)
            kept += 1
        if lost:
            logger.warning(
                "%s is damaged from line %d on: %d finished windows are kept, %d are repeated",
                *(self.path, kept + 2, kept, lost),
            )
            os.ftruncate(self._file, self._end)

    def _lines(self, start: int, size: int) -> Iterator[bytes]:
        with open(os.dup(self._file), "rb") as file:
            file.seek(start)
            while file.tell() < size:
                yield file.readline()

    # --- Writing --------------------------------------------------------------------------------

    def _write(self, data: bytes) -> None:
        try:
            written = 0
            while written < len(data):
                written += os.pwrite(self._file, data[written:], self._end + written)
        except OSError as error:
            os.ftruncate(self._file, self._end)
            raise cannot_write(self.path, error) from None

    def _sync(self) -> None:
        try:
            os.fsync(self._file)
        except OSError as error:
            raise cannot_write(self.path, error) from None
        self._synced = time.monotonic()


def refuse_early(path: Path, *, resume: bool = False, force: bool = False) -> None:
    """Raises, before models are loaded, what `Journal.open` would with any settings."""
    if not os.path.lexists(path):
        return
    descriptor = _open_locked(path)
    try:
        if os.fstat(descriptor).st_size and not (resume or force):
            raise _unfinished(path)
    finally:
        os.close(descriptor)


def _unfinished(path: Path) -> UserError:
    hint = "continue it with --resume, or start over with --force"
    return UserError(f"{path} belongs to a run that did not finish", hint=hint)


def _open_locked(path: Path) -> int:
    while True:
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            descriptor = os.open(path, flags, 0o644)
        except OSError as error:
            raise cannot_write(path, error) from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise UserError(f"{path} exists and is not a journal", hint="choose another output")
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise cannot_write(path, error) from None
            hint = "wait for it, or choose another name for the output"
            raise UserError(f"another run is writing {path}", hint=hint) from None
        # The run that held the lock may meanwhile have finished and deleted the file.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.stat(path), os.fstat(descriptor)):
                return descriptor
        os.close(descriptor)


def _verified(line: bytes) -> bytes | None:
    """The body of a complete line, otherwise None."""
    checksum, _, body = line.removesuffix(b"\n").partition(b" ")
    whole = line.endswith(b"\n") and checksum == b"%08x" % zlib.crc32(body)
    return body if whole else None


def _to_json(result: RowResult | BadRow) -> list[Any]:
    if isinstance(result, RowResult):
        return [result.line, result.revised]
    return [result.line, str(result.reason), result.detail]


#: Where a result begins. It cannot match inside a text, where quotation marks have backslashes.
_RESULT = re.compile(r'\[([0-9]+), (?=\{"revised_caption": )')


def _results(text: str, count: int) -> Iterator[RowResult | BadRow]:
    """A window's results; unparsed if it is known to hold `count` results and no bad row."""
    begins = list(_RESULT.finditer(text)) if count else []
    if not count or len(begins) != count:
        yield from _from_json(json.loads(text))
        return
    ends = [match.start() - 3 for match in begins[1:]]  # before `], `
    for match, end in zip(begins, [*ends, len(text.rstrip()) - 2], strict=True):
        yield RowResult(int(match[1]), Unparsed(text[match.end() : end], ADDED))


def _from_json(items: object) -> list[RowResult | BadRow]:
    """A window's results. Raises various errors for data that `append` never writes."""
    found: list[RowResult | BadRow] = []
    if not isinstance(items, list):
        raise TypeError("no list of results")
    for line, *rest in items:
        if not isinstance(line, int):
            raise TypeError("a result without a line")
        if len(rest) == 1:
            found.append(RowResult(line, {**rest[0]}))
        else:
            reason, detail = rest
            found.append(BadRow("", line, Reason(reason), str(detail)))
    return found


def _differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    now = json.loads(dumps(now))
    names = [name for name in {**then, **now} if then.get(name) != now.get(name)]
    return "; ".join(f"{n} was {then.get(n)!r} and is {now.get(n)!r}" for n in names)
