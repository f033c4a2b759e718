"""An input that has been opened, and a layout: one of the ways in which captions lie in files."""

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
#: Rows that are worked on together. Shards are made of whole windows.
WINDOW = 64
NO_FIELDS = Fields()


def _unknown() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Source:
    """An input that has been opened: iterate for `Record | BadRow`, as often as needed.

    Attributes:
        name: As the user gave it.
        layout: How it lies in files.
        path: The file; for standard input the copy that was made of it.
        folder: Where relative image paths start.
        read: Reads all rows, bad ones included.
        count_all: Number of rows; None where only reading tells.
        tables: Arrow tables, for formats that have them.
        read_unparsed: The same rows, parsed only where somebody looks into them; None where a
            format cannot tell rows apart otherwise.
        read_stored: The same rows as they are stored, without what stands beside the file, and with
            corrected captions in the originals' places where a run put them there.
        metadata: The file that holds the rows, where `path` is a folder of images with one.
        copy: What `path` is if it was made for this run, for `close` to remove.
        fields: Which fields hold image and captions.
        shard: (i, n) takes the windows whose 0-based number is i modulo n, so that shards work in
            the windows of the whole.
        limit: Rows after which iteration stops, counted within the shard.
        window: Rows per window.
        check: Raises `BadRecord` for a record that a filter leaves out.
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
        """Rows as they stand in the file, without making records of them.

        With `parsed` False, what a row holds may be parsed later, and found to be no JSON then.
        """
        return self.select(self.read() if parsed else (self.read_unparsed or self.read)())

    def select(self, rows: Iterable[T]) -> Iterator[T]:
        """What shard and limit leave of something that has one item for each row of the file."""
        index, count = self.shard
        if count > 1:
            numbered = enumerate(rows)
            rows = (row for number, row in numbered if number // self.window % count == index)
        return itertools.islice(rows, self.limit)

    def count(self) -> int | None:
        """How many rows iteration will give, bad ones included; None where only reading tells."""
        total = self.count_all()
        if total is None:
            return None
        index, count = self.shard
        cycles, rest = divmod(total, self.window * count)
        mine = cycles * self.window + min(max(rest - index * self.window, 0), self.window)
        return mine if self.limit is None else min(mine, self.limit)

    def reads(self) -> list[Path]:
        """The user's own file or folder, which must not be written; none for a copy."""
        return [] if self.copy is not None else [self.path]

    def close(self) -> None:
        """Removes the copy that was made of standard input or a pipe."""
        if self.copy is not None:
            self.copy.remove()


@dataclass(frozen=True, slots=True)
class Tables:
    """`schema` (a `pyarrow.Schema` with its metadata), how many rows if known, and the tables."""

    schema: Any
    length: int | None
    read: Callable[[], Iterator[Any]]


def _never(path: Path, head: bytes) -> bool:
    return False


def _anything(source: Source, style: Any) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Layout:
    """How captions lie in files, and how a run writes such files: an entry point of its own.

    Attributes:
        title: What messages call it.
        open: Opens the input of a name, at a path. The third argument takes what turns out to be
            missing from it while it is read: a warning, or with `--strict` the end.
        write: Writes (source, pairs, file, style): the source's rows with what each gains
            (`runs.pairing.Pairing`), to an open file or the path of a folder, in a
            `layouts.style.OutputStyle`.
        suffixes: Of names, in lower case; a name decides where only one layout has its suffix. An
            OUT whose suffix several layouts have is written as its input lies, or in the layout
            that has the suffix first.
        takes: Whether a file, of which it gets the first bytes, or a folder, is of this layout.
        rows_are_json: Whether a row's `raw` is the JSON object that it is.
        only_its_own: Whether an output needs an input of this layout, as only that has all parts.
        folder: What makes an output that is a folder; None where it is a file.
        mark: The file by which a folder is known as one that a run may replace.
        check: Raises `UserError` where a source cannot be written so, before a model is loaded.
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
