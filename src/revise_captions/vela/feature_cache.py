"""Features by content, in one SQLite file: a crash loses nothing, and processes may share it.

A key is a digest of everything that determines the value (the model's weights and settings, the
tokens or pixels), so a stale value cannot be read.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt

from revise_captions.errors import UserError
from revise_captions.io.writing import check_writable

Vector = npt.NDArray[np.float32]
#: Marks a cache as ours: “VELA” in SQLite's header.
_APPLICATION = int.from_bytes(b"VELA")
_ASKED = 500  # keys per query


def content_key(*parts: str | bytes) -> bytes:
    """A SHA-256 of the parts, each with its length."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        total.update(len(data).to_bytes(8) + data)
    return total.digest()


def check_cache(path: Path | None, reads: Iterable[Path | str]) -> None:
    """Raises `UserError` if a cache's file is also an input, or exists and is not a cache.

    An empty file is allowed: a run leaves one if killed, or out of disk, before its first vector.
    """
    if path is not None:
        empty = path.is_file() and not path.stat().st_size
        check_writable(path, reads, force=None, ours=lambda head: empty or _is_cache(head))


def _is_cache(head: bytes) -> bool:
    """Whether a file begins with SQLite's header and our mark."""
    return head.startswith(b"SQLite format 3\0") and head[68:72] == _APPLICATION.to_bytes(4)


class FeatureCache:
    """Vectors by `content_key`.

    Args:
        path: A file, made if missing. None: memory, for one process.

    Raises:
        UserError: The file is another program's, or cannot be opened.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.name = str(path or "memory")
        try:
            self._base = sqlite3.connect(path or ":memory:", timeout=60)
            (mark,) = self._base.execute("PRAGMA application_id").fetchone()
            (tables,) = self._base.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if tables and mark != _APPLICATION:
                raise UserError(f"{path} is not a feature cache", hint="name another file")
            self._base.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.execute(
                "CREATE TABLE IF NOT EXISTS features (key BLOB PRIMARY KEY, value BLOB NOT NULL)"
            )
        except sqlite3.Error as error:
            raise UserError(f"cannot keep features in {path}: {error}") from None

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """The vectors of those keys that are known."""
        found: dict[bytes, Vector] = {}
        for start in range(0, len(keys), _ASKED):
            part = list(keys[start : start + _ASKED])
            marks = ",".join("?" * len(part))
            rows: Iterable[tuple[bytes, bytes]] = self._base.execute(
                f"SELECT key, value FROM features WHERE key IN ({marks})", part
            )
            found |= {key: np.frombuffer(value, dtype="<f4") for key, value in rows}
        return found

    def put(self, vectors: Mapping[bytes, Vector]) -> None:
        """Stores vectors durably."""
        rows = [(key, vector.astype("<f4").tobytes()) for key, vector in vectors.items()]
        try:
            with self._base:
                self._base.executemany("INSERT OR REPLACE INTO features VALUES (?, ?)", rows)
        except sqlite3.Error as error:
            raise UserError(f"cannot keep features in {self.name}: {error}") from None

    def close(self) -> None:
        self._base.close()

    def __enter__(self) -> FeatureCache:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
