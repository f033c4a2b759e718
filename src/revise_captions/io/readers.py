"""Any supported input as one `Source`: an ordered, repeatable stream of records and bad rows.

JSON Lines, JSON arrays, COCO JSON, CSV (all also gzip or Zstandard), Parquet, WebDataset tars,
folders of images, Hugging Face data sets. Nothing is held beyond a batch of rows, and for COCO the
images' names. Every row is a `Record`, or a `BadRow` that says why not, in the order of the file;
blank lines are no rows.
"""

from __future__ import annotations

import itertools
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from revise_captions.errors import BadRecord, Reason, UserError, own_step
from revise_captions.io.fields import Fields, recognize, to_record
from revise_captions.io.layouts.evidence_file import evidence_path, with_evidence
from revise_captions.io.layouts.in_place import restored
from revise_captions.io.layouts.kinds import (
    InputKind,
    kind_of_content,
    kind_of_file,
    kind_of_folder,
    kind_of_name,
)
from revise_captions.io.rows import BadRow, Row
from revise_captions.io.signature_file import read_signatures, with_lines
from revise_captions.io.writing import WorkingFile, working_file
from revise_captions.records import Record

if TYPE_CHECKING:
    from revise_captions.io.arrow import Tables

logger = logging.getLogger(__name__)
T = TypeVar("T")
#: Rows that are worked on together. Shards are made of whole windows.
WINDOW = 64
FIRST_ROWS = 100
"""How many readable rows decide which fields hold image and caption."""
NO_FIELDS = Fields()


@dataclass(frozen=True, slots=True)
class Source:
    """An input that has been opened: iterate for `Record | BadRow`, as often as needed.

    Attributes:
        name: As the user gave it.
        kind: Its format.
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
    """

    name: str
    kind: InputKind
    path: Path
    folder: Path
    read: Callable[[], Iterator[Row | BadRow]]
    count_all: Callable[[], int | None]
    tables: Callable[[], Tables] | None = None
    read_unparsed: Callable[[], Iterator[Row | BadRow]] | None = None
    read_stored: Callable[[], Iterator[Row | BadRow]] | None = None
    metadata: Path | None = None
    copy: WorkingFile | None = None
    fields: Fields = NO_FIELDS
    shard: tuple[int, int] = (0, 1)
    limit: int | None = None
    window: int = WINDOW

    def __iter__(self) -> Iterator[Record | BadRow]:
        for row in self.rows():
            if isinstance(row, BadRow):
                yield row
                continue
            try:
                with own_step(Reason.UNEXPECTED_ERROR):
                    record = to_record(row, self.fields, source=self.name)
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

    @property
    def raw_is_json(self) -> bool:
        """Whether the `raw` of a row is the JSON object that it is."""
        return self.rows_kind in (InputKind.JSONL, InputKind.JSON)

    @property
    def rows_kind(self) -> InputKind:
        """The format of the rows: of a folder with metadata, the metadata's."""
        return self.kind if self.metadata is None else kind_of_file(self.metadata)

    def reads(self) -> list[Path]:
        """The user's own file or folder, which must not be written; none for a copy."""
        return [] if self.copy is not None else [self.path]

    def close(self) -> None:
        """Removes the copy that was made of standard input or a pipe."""
        if self.copy is not None:
            self.copy.remove()


def open_source(
    name: str,
    *,
    fields: Fields = NO_FIELDS,
    need_image: bool = True,
    shard: tuple[int, int] = (0, 1),
    limit: int | None = None,
    spool: Path | None = None,
    window: int = WINDOW,
    strict: bool = False,
) -> Source:
    """Opens an input, and finds the fields that hold images and captions.

    Args:
        name: A file, `-` for standard input, a dataset's folder, or a hub id `owner/name[:split]`.
        fields: Fields that the user named; the others are found in the first hundred rows.
        need_image: Whether a row without an image is of any use.
        shard: (i, n), with 0 ≤ i < n: every n-th window from the i-th.
        limit: Rows after which iteration stops.
        spool: The output beside which standard input, or a pipe, is copied to a working file, as
            a run reads its input twice; it goes to a temporary folder by default. Relative image
            paths then start in the current folder.
        window: Rows per window.
        strict: Whether an archive that may lack rows is an error, and not a warning.

    Returns:
        A repeatable stream of records and bad rows.

    Raises:
        UserError: The input cannot be opened, or its fields cannot be found.
    """
    index, count = shard
    if not 0 <= index < count:
        hint = "shards of n are numbered 0/n to (n-1)/n"
        raise UserError(f"there is no shard {index}/{count}", hint=hint)
    source = open_rows(name, spool, strict=strict)
    readable = (row.data for row in source.read() if isinstance(row, Row))
    try:
        known = recognize(
            list(itertools.islice(readable, FIRST_ROWS)), fields, need_image=need_image
        )
    except UserError as error:
        source.close()
        raise UserError(f"{name}: {error.message}", hint=error.hint) from None
    captions = ", ".join(known.captions)
    logger.info("%s: %s, captions in %s, image in %s", name, source.kind, captions, known.image)
    return replace(source, fields=known, shard=shard, limit=limit, window=window)


def open_rows(name: str, spool: Path | None = None, *, strict: bool = False) -> Source:
    """As `open_source`, for rows that no records are made of: fields are not searched for.

    What a run wrote elsewhere than into its rows comes back: signatures, evidence, originals.
    """
    source = _open(name, spool, strict)
    lines = read_signatures(source.path)
    evidence = evidence_path(source.path)
    joined = evidence.is_file()

    def read() -> Iterator[Row | BadRow]:
        rows = source.read()
        if joined:
            rows = with_evidence(rows, evidence)
        return restored(with_lines(rows, lines) if lines else rows)

    unparsed = None if joined else source.read_unparsed
    return replace(source, read=read, read_unparsed=unparsed, read_stored=source.read)


def _open(name: str, spool: Path | None, strict: bool) -> Source:
    if name == "-" or Path(name).is_fifo():
        copy = _spool(name, spool)
        try:
            kind = kind_of_content(copy.path, name)
            opened = _open_file(name, copy.path, kind, strict=strict)
        except BaseException:
            copy.remove()
            raise
        return replace(opened, folder=Path(), copy=copy)
    if Path(name).is_file():
        path = Path(name)
        return _open_file(name, path, kind_of_file(path), strict=strict)
    if Path(name).is_dir() and (kind := kind_of_folder(Path(name))) is not InputKind.HUB:
        return _open_folder(name, Path(name), kind)
    return _open_hub(name)


def _lacking(strict: bool) -> Callable[[str], None]:
    """Says once what an input lacks, however often it is read; with `strict` it ends the run."""
    said: set[str] = set()

    def lacking(text: str) -> None:
        if strict:
            raise UserError(text, hint="get the whole file, or leave --strict out")
        if text not in said:
            said.add(text)
            logger.warning(text)

    return lacking


def _open_file(name: str, path: Path, kind: InputKind, *, strict: bool = False) -> Source:
    from revise_captions.io import jsonl, webdataset
    from revise_captions.io.layouts import coco, delimited

    count_all: Callable[[], int | None] = _unknown
    tables: Callable[[], Tables] | None = None
    unparsed: Callable[[], Iterator[Row | BadRow]] | None = None
    match kind:
        case InputKind.JSONL:
            read = partial(jsonl.json_lines, path, name)
            unparsed = partial(jsonl.json_lines, path, name, parsed=False)
            count_all = partial(jsonl.count_lines, path)
        case InputKind.JSON:
            read = partial(jsonl.json_array, path, name)
        case InputKind.COCO:
            read = partial(coco.coco_rows, path, name)
        case InputKind.CSV:
            delimited.read_dialect(path, name)
            read = partial(delimited.delimited_rows, path, name)
            count_all = partial(delimited.count_rows, path, name)
        case InputKind.TAR:
            lacking = _lacking(strict)
            read = partial(webdataset.tar_rows, path, name, lacking)
            count_all = partial(webdataset.count_groups, path, name, lacking)
        case _:
            from revise_captions.io import arrow

            tables = partial(arrow.parquet_tables, path, name)
            read = partial(_read_tables, tables, name)
            count_all = partial(_count_tables, tables)
    return Source(name, kind, path, path.parent, read, count_all, tables, unparsed)


def _open_folder(name: str, folder: Path, kind: InputKind) -> Source:
    """A folder of images; with a metadata file, its rows."""
    from revise_captions.io.layouts import image_folder

    metadata = image_folder.metadata_of(folder)
    if kind is InputKind.METADATA and metadata is not None:
        rows = _open_file(name, metadata, kind_of_file(metadata))
        return replace(rows, kind=kind, path=folder, folder=folder, metadata=metadata)
    read = partial(image_folder.beside_rows, folder, name)
    return Source(name, kind, folder, folder, read, partial(image_folder.count_images, folder))


def _unknown() -> None:
    return None


def _read_tables(tables: Callable[[], Tables], name: str) -> Iterator[Row | BadRow]:
    from revise_captions.io.arrow import table_rows

    return table_rows(tables(), name)


def _count_tables(tables: Callable[[], Tables]) -> int | None:
    return tables().length


_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+(:[\w.-]+)?")


def _open_hub(name: str) -> Source:
    folder, split = name, ""
    if not Path(name).is_dir() and ":" in name:
        folder, _, split = name.rpartition(":")
    is_folder = Path(folder).is_dir()
    if not is_folder and (not _HUB_ID.fullmatch(name) or kind_of_name(folder) is not None):
        hint = "expected a file, -, a dataset's folder, or a Hugging Face id owner/name"
        raise UserError(f"{name} does not exist", hint=hint)
    from revise_captions.io import arrow

    data = arrow.open_hub(folder, split or None)
    tables = partial(arrow.hub_tables, data, name)
    read = partial(_read_tables, tables, name)
    base = Path(folder) if is_folder else Path()
    return Source(
        name, InputKind.HUB, Path(folder), base, read, partial(_count_tables, tables), tables
    )


def _spool(name: str, out: Path | None) -> WorkingFile:
    if name == "-" and sys.stdin is None:
        raise UserError("standard input is closed", hint="name a file, or feed it: … | COMMAND -")
    beside = Path(tempfile.gettempdir(), "revise-captions") if out is None else out
    try:
        copy = working_file(beside, "stdin")
    except OSError as error:
        raise UserError(f"cannot copy {name} to {beside.parent}: {error.strerror}") from None
    try:
        with ExitStack() as stack:
            pipe = sys.stdin.buffer if name == "-" else stack.enter_context(open(name, "rb"))
            file = stack.enter_context(os.fdopen(os.dup(copy.descriptor), "wb"))
            shutil.copyfileobj(pipe, file, 1 << 20)
    except BaseException as error:
        copy.remove()
        if isinstance(error, OSError):
            detail = f"cannot copy {name} to {copy.path}: {error.strerror}"
            raise UserError(detail) from None
        raise
    return copy
