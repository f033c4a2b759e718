"""Any supported input as one `Source`: an ordered, repeatable stream of records and bad rows.

The entry points of the group `revise_captions.layouts` define the layouts: JSON Lines, JSON arrays,
COCO JSON, CSV (all also with gzip or Zstandard), Parquet, WebDataset tars, folders of images,
Hugging Face data sets, and those of other packages. No more than a batch of rows is held in memory,
and for COCO the images' names. Every row is a `Record`, or a `BadRow` that says why not, in the
order of the file; blank lines are not rows.
"""

from __future__ import annotations

import itertools
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from revise_captions.errors import UserError
from revise_captions.io.evidence_file import evidence_path, with_evidence
from revise_captions.io.fields import Fields, recognize
from revise_captions.io.in_place import restored
from revise_captions.io.jsonl import chunks
from revise_captions.io.rows import BadRow, Row
from revise_captions.io.signature_file import read_signatures, with_lines
from revise_captions.io.source import NO_FIELDS, WINDOW, Layout, Source
from revise_captions.io.writing import WorkingFile, working_file
from revise_captions.registry import LAYOUTS, load, load_all, nearest_path

logger = logging.getLogger(__name__)
FIRST_ROWS = 100
"""How many readable rows decide which fields hold image and caption."""


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
        need_image: Whether every row must have an image.
        shard: (i, n), with 0 ≤ i < n: every n-th window from the i-th.
        limit: Rows after which iteration stops.
        spool: The output beside which standard input, or a pipe, is copied to a working file, as
            a run reads its input twice; by default, the copy is in a temporary folder. Relative
            image paths then start in the current folder.
        window: Rows per window.
        strict: Whether an archive that may lack rows is an error rather than a warning.

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
    title = source.layout.title
    logger.info("%s: %s, captions in %s, image in %s", name, title, captions, known.image)
    return replace(source, fields=known, shard=shard, limit=limit, window=window)


def open_rows(name: str, spool: Path | None = None, *, strict: bool = False) -> Source:
    """Like `open_source`, for rows that need not become records: fields are not searched for.

    What a run stored outside its rows is put back: signatures, evidence, originals.
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
    lacking = _lacking(strict)
    path = Path(name)
    if name == "-" or path.is_fifo():
        copy = _spool(name, spool)
        try:
            opened = _layout_of_content(copy.path, name).open(name, copy.path, lacking)
        except BaseException:
            copy.remove()
            raise
        return replace(opened, folder=Path(), copy=copy)
    if path.is_file():
        return _layout_of_file(path).open(name, path, lacking)
    if path.is_dir():
        folders = (layout for layout in load_all(LAYOUTS) if layout.folder is not None)
        found = next((layout for layout in folders if layout.takes(path, b"")), None)
        return (found or load(LAYOUTS, HUB)).open(name, path, lacking)
    whole = name.rpartition(":")[0] or name
    if not Path(whole).is_dir() and (not _HUB_ID.fullmatch(name) or layouts_named(whole)):
        hint = "expected a file, -, a dataset's folder, or a Hugging Face id owner/name"
        near = nearest_path(path)
        raise UserError(f"{name} does not exist{near}", hint=hint)
    return load(LAYOUTS, HUB).open(name, path, lacking)


def suffix_of_copies(source: Source) -> str:
    """The suffix that gives a copy the source's format."""
    name = Path(source.path.name)
    if source.layout.folder is not None or not layouts_named(name.name):
        return ""
    packed = name.suffix.lower() in (".gz", ".zst", ".zstd")
    return "".join(name.suffixes[-2:] if packed else name.suffixes[-1:])


#: The layout of other folders, and of names that are not files: data set ids.
HUB = "huggingface"
#: The layout of standard output.
LINES = "jsonl"
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+(:[\w.-]+)?")


def layouts_named(name: str) -> list[Layout]:
    """The layouts with a name's suffix, those whose own it is first."""
    suffix = suffix_of(Path(name))
    named = [layout for layout in load_all(LAYOUTS) if suffix in layout.suffixes]
    return sorted(named, key=lambda layout: layout.suffixes.index(suffix))


def suffix_of(path: Path) -> str:
    """The name's suffix in lower case, ignoring one for compression."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in (".gz", ".zst", ".zstd"):
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _layout_of_file(path: Path) -> Layout:
    """The layout by name; by content if the name is ambiguous. Raises `UserError`."""
    named = layouts_named(path.name)
    return named[0] if len(named) == 1 else _layout_of_content(path, str(path))


def _layout_of_content(path: Path, name: str) -> Layout:
    """The layout by a file's first bytes. Raises `UserError` for one that cannot be read."""
    head = next(chunks(path, name), b"")
    files = [layout for layout in load_all(LAYOUTS) if layout.folder is None]
    found = next((layout for layout in files if layout.takes(path, head)), None)
    if found is None and suffix_of(path) == ".json":
        return load(LAYOUTS, LINES)  # it reports what is wrong with each line
    if found is None:
        titles = ", ".join(layout.title for layout in files)
        hint = f"expected {titles}, or a folder"
        raise UserError(f"{name} has a format that cannot be read", hint=hint)
    return found


def _lacking(strict: bool) -> Callable[[str], None]:
    """Reports once what an input lacks, however often it is read; `strict` ends the run instead."""
    said: set[str] = set()

    def lacking(text: str) -> None:
        if strict:
            raise UserError(text, hint="get the whole file, or leave --strict out")
        if text not in said:
            said.add(text)
            logger.warning(text)

    return lacking


def _spool(name: str, out: Path | None) -> WorkingFile:
    if name == "-" and sys.stdin is None:
        raise UserError(
            "standard input is closed", hint="name a file, or pipe one in: … | COMMAND -"
        )
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
