"""An opened input, and a layout: one of the ways in which captions are stored in files."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from revise_captions.errors import BadRecord, Reason, own_step
from revise_captions.io.fields import Fields, to_record
from revise_captions.io.rows import BadRow, Row
from revise_captions.io.writing import WorkingFile
from revise_captions.records import Record

T = TypeVar("T")
#: How many rows are worked on together. Shards are made of whole windows.
WINDOW = 64
NO_FIELDS = Fields()


def _unknown() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Source:
    """An opened input: iterate for `Record | BadRow`, as often as needed.

    Attributes:
        name: As the user gave it.
        layout: How it is stored in files.
        path: The file; for standard input, the copy made of it.
        folder: Where relative image paths start.
        read: Reads all rows, bad ones included.
        count_all: Number of rows; None if only reading them all would tell.
        tables: Arrow tables, for formats that have them.
        read_unparsed: Reads the same rows, parsed only on access; None if a format cannot separate
            rows without parsing them.
        read_stored: Reads the same rows as stored: without what is kept beside the file, and with
            corrected captions in place of the originals where a run put them there.
        metadata: The file that holds the rows, if `path` is a folder of images with one.
        copy: The copy at `path` if one was made for this run, for `close` to remove.
        fields: Which fields hold image and captions.
        shard: (i, n) takes the windows whose 0-based number is i modulo n, so that shards keep the
            windows of the whole input.
        limit: Rows after which iteration stops, counted within the shard.
        window: Rows per window.
        check: Raises `BadRecord` for a record that a filter excludes.
    """

    name: str
    layout: Layout
    path: Path
    folder: Path
    read: Callable[[], Iterator[Row | BadRow]]
    count_all: Callable[[], int | None] = _unknown
    tables: Callable[[], Tables] | None = None
    read_unparsed: Callable[[], Iterator[Row | BadRow]] | None = None
    read_stored: Callable[[], Iterator[Row | BadRow]] | None = None
    metadata: Path | None = None
    copy: WorkingFile | None = None
    fields: Fields = NO_FIELDS
    shard: tuple[int, int] = (0, 1)
    limit: int | None = None
    window: int = WINDOW
    check: Callable[[Record], None] | None = None

    def __iter__(self) -> Iterator[Record | BadRow]:
        for row in self.rows():
            if isinstance(row, BadRow):
                yield row
                continue
            try:
                with own_step(Reason.UNEXPECTED_ERROR):
                    record = to_record(row, self.fields, source=self.name)
                    if self.check is not None:
                        self.check(record)
            except BadRecord as error:
                yield BadRow.of(row, self.name, error)
            else:
                yield record

    def rows(self, *, parsed: bool = True) -> Iterator[Row | BadRow]:
        """Rows as they are in the file, without making records of them.

        With `parsed` False, a row may be parsed later, and only then turn out not to be JSON.
        """
        return self.select(self.read() if parsed else (self.read_unparsed or self.read)())

    def select(self, rows: Iterable[T]) -> Iterator[T]:
        """Applies shard and limit to items that correspond to the rows of the file."""
        index, count = self.shard
        if count > 1:
            numbered = enumerate(rows)
            rows = (row for number, row in numbered if number // self.window % count == index)
        return itertools.islice(rows, self.limit)

    def count(self) -> int | None:
        """How many rows iteration will give, bad ones included; None if only reading would tell."""
        total = self.count_all()
        if total is None:
            return None
        index, count = self.shard
        cycles, rest = divmod(total, self.window * count)
        mine = cycles * self.window + min(max(rest - index * self.window, 0), self.window)
        return mine if self.limit is None else min(mine, self.limit)

    def reads(self) -> list[Path]:
        """The user's own file or folder, which must not be overwritten; none for a copy."""
        return [] if self.copy is not None else [self.path]

    def close(self) -> None:
        """Removes the copy made of standard input or a pipe."""
        if self.copy is not None:
            self.copy.remove()


@dataclass(frozen=True, slots=True)
class Tables:
    """`schema` (a `pyarrow.Schema` with metadata), the number of rows if known, and the tables."""

    schema: Any
    length: int | None
    read: Callable[[], Iterator[Any]]


def _never(path: Path, head: bytes) -> bool:
    return False


def _anything(source: Source, style: Any) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Layout:
    """How captions are stored in files, and how a run writes such files: an entry point.

    Attributes:
        title: What messages call it.
        open: Opens the input of a name, at a path. The third argument is called with what turns
            out to be missing while reading: it warns or, with `--strict`, ends the run.
        write: Writes (source, pairs, file, style): the source's rows with what each gains
            (`runs.pairing.Pairing`), to an open file or the path of a folder, in a
            `layouts.style.OutputStyle`.
        suffixes: Of names, in lower case; one that only one layout has decides the layout. If OUT
            has a suffix of several layouts, it is written in its input's layout, or in the layout
            that lists the suffix first.
        takes: Whether a file, given its first bytes, or a folder has this layout.
        rows_are_json: Whether a row's `raw` is its JSON object.
        only_its_own: Whether an output needs an input of this layout, the only one with all parts.
        folder: Creates an output that is a folder; None if it is a file.
        mark: The file that marks a folder as one that a run may replace.
        check: Raises `UserError`, before a model is loaded, if a source cannot be written this way.
    """

    title: str
    open: Callable[[str, Path, Callable[[str], None]], Source]
    write: Callable[..., None]
    suffixes: tuple[str, ...] = ()
    takes: Callable[[Path, bytes], bool] = _never
    rows_are_json: bool = False
    only_its_own: bool = False
    folder: Callable[[Path], AbstractContextManager[Any]] | None = None
    mark: str = ""
    check: Callable[[Source, Any], None] = _anything
