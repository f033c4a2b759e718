"""The current window's answers, batch by batch, beside the journal, so an interrupt loses none.

    revise-captions batches 1 <run key> <window> <digest>
    <crc> <key of the batch> [answer, …]

The file exists only while a window is computed by a model that keeps batches (`engines.batches`).
It is removed once the window is in the journal. An incomplete line, and all after it, is ignored.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from revise_captions.engines.batches import observed_by

logger = logging.getLogger(__name__)
MAGIC = b"revise-captions batches 1 "


class BatchJournal:
    """A `BatchObserver` that keeps batches in a file, and shows their number.

    Args:
        journal: The journal's path; the file is named after it.
        run_key: Identifies what determines the run's answers.
        show: Shows a call's progress: what it does, items done, and of how many.
        settled: Waits until the previous window is in the journal, and returns whether it is. Its
            batches are not overwritten before.
        resumed: Whether to use what an earlier run left.
    """

    def __init__(
        self,
        journal: Path,
        run_key: str,
        show: Callable[[str, int, int], None],
        settled: Callable[[], bool] = lambda: True,
        *,
        resumed: bool,
    ) -> None:
        self.path = journal.with_name(f"{journal.name}.batches")
        self.run_key, self._show, self._settled = run_key, show, settled
        self._lock = threading.Lock()
        self._head = b""
        self._found: dict[str, list[list[Any]]] = {}
        self._file: IO[bytes] | None = None
        self._usable = self._first = True
        if not resumed:
            self.clear()

    @contextmanager
    def window(self, number: int, digest: str) -> Iterator[None]:
        """Observes this window's batches, and reads those that an interrupted run left: only for
        the first window, as the file may go while a later one begins."""
        self._head = MAGIC + f"{self.run_key} {number} {digest}\n".encode()
        self._found = {}
        size = self._read() if self._first else 0
        self._first = False
        if self._usable and size:
            self._file = _opened(self.path)
            self._file.truncate(size)
            self._file.seek(size)
        try:
            with observed_by(self):
                yield
        finally:
            self._close()

    def clear(self) -> None:
        """Removes the file, as its window is in the journal, or is not needed."""
        self._close()
        if self.path.is_file() and not self.path.is_symlink() and self._is_ours():
            self.path.unlink()

    def progress(self, doing: str, done: int, of: int) -> None:
        """See `BatchObserver`."""
        self._show(doing, done, of)

    def recall(self, key: str) -> list[Any] | None:
        """See `BatchObserver`. A batch that was asked twice was also answered twice."""
        with self._lock:
            waiting = self._found.get(key)
            return waiting.pop(0) if waiting else None

    def keep(self, key: str, answers: list[Any]) -> None:
        """See `BatchObserver`. A full disk ends the keeping of batches, not the run."""
        body = f"{key} {json.dumps(answers)}".encode()
        with self._lock:
            if not self._usable:
                return
            try:
                if self._file is None:
                    if not self._settled():
                        return
                    self._file = _opened(self.path)
                    self._file.truncate(0)
                    self._file.write(self._head)
                self._file.write(b"%08x %b\n" % (zlib.crc32(body), body))
                self._file.flush()
            except OSError as error:
                self._usable = False
                logger.warning("batches are not kept in %s: %s", self.path, error.strerror)

    def _read(self) -> int:
        """Reads what is stored for this window. Returns its length; 0 if there is nothing."""
        if not os.path.lexists(self.path):
            return 0
        if self.path.is_symlink() or not self.path.is_file() or not self._is_ours():
            self._usable = False
            logger.warning("%s was not written by revise-captions: batches are not kept", self.path)
            return 0
        with self.path.open("rb") as file:
            if file.readline() != self._head:
                return 0
            size = file.tell()
            for line in file:
                checksum, _, body = line.removesuffix(b"\n").partition(b" ")
                if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(body):
                    break
                key, _, answers = body.decode().partition(" ")
                self._found.setdefault(key, []).append(json.loads(answers))
                size += len(line)
        return size

    def _is_ours(self) -> bool:
        with self.path.open("rb") as file:
            head = file.read(len(MAGIC))
        return MAGIC.startswith(head)

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _opened(path: Path) -> IO[bytes]:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.fdopen(os.open(path, flags, 0o644), "r+b")
