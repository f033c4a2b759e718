"""The final output: the input's rows plus results, in the input's own format.

The output is written to a working file (`io.writing`), made durable, and renamed after the
quarantine has been, so a run that dies leaves no incomplete file under either name.
"""

from __future__ import annotations

import gzip
import itertools
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from revise_captions.errors import UserError
from revise_captions.io.arrow import require_pyarrow
from revise_captions.io.layouts.kinds import FOLDERS, InputKind, kind_of_name
from revise_captions.io.readers import Source
from revise_captions.io.rows import BadRow, Row, dumps
from revise_captions.io.signature_file import (
    Shortener,
    as_text,
    is_signatures,
    signatures_path,
)
from revise_captions.io.writing import (
    cannot_write,
    check_writable,
    head_of,
    replacing,
    write_text,
)
from revise_captions.pipelines.output.coco import write_coco
from revise_captions.pipelines.output.delimited import write_delimited
from revise_captions.pipelines.output.image_folder import (
    MARK,
    replacing_folder,
    write_beside,
    write_with_metadata,
)
from revise_captions.pipelines.output.journal import RowResult
from revise_captions.pipelines.output.lines import object_text, write_lines
from revise_captions.pipelines.output.pairing import Pairing
from revise_captions.runs.paths import journal_path, quarantine_path, stem


@dataclass(frozen=True, slots=True)
class OutputCounts:
    """Numbers of written and quarantined rows. `quarantine` is None if no row was bad."""

    rows: int
    quarantined: int
    quarantine: Path | None


def old_quarantine_path(out: str) -> Path:
    """Where earlier builds kept it: `out.jsonl.gz` and `out.jsonl` shared one."""
    path = Path(out)
    stem = re.sub(r"(?i)\.(gz|zst|zstd)$", "", path.name)
    stem = re.sub(r"(?i)\.(jsonl|ndjson|json|parquet|pq|tar|tgz)$", "", stem)
    return path.with_name(f"{stem}.quarantine.jsonl")


def output_kind(source: Source, out: str) -> InputKind:
    """The format that OUT's name asks for, otherwise the input's."""
    if out == "-":
        return InputKind.JSONL
    kind = kind_of_name(out) or source.kind
    if kind is InputKind.JSON and source.kind is InputKind.JSONL:
        return InputKind.JSONL  # JSON Lines that are named .json
    if kind is InputKind.JSON and source.kind is InputKind.COCO:
        return InputKind.COCO
    if kind in _FROM_THEMSELVES and kind not in (source.kind, source.rows_kind):
        hint = "name the output .jsonl or .parquet"
        found = f"{out}: an output as {kind} needs such an input, not {source.kind}"
        raise UserError(found, hint=hint)
    return kind


#: What only an input of the same kind has all parts of.
_FROM_THEMSELVES = (InputKind.TAR, InputKind.CSV)


def check_output(
    source: Source,
    out: str,
    *,
    force: bool = False,
    resume: bool = False,
    reads: Iterable[Path | str] = (),
) -> None:
    """Checks OUT, its quarantine and its journal before any work is done.

    `resume` may continue under an existing name with a journal: the run was killed after the output
    appeared, or was to replace an older one by `force`. `reads`: what the run reads besides its
    source.

    Raises:
        UserError: One of them exists, is the input, or cannot be written.
    """
    kind = output_kind(source, out)
    if kind in (InputKind.PARQUET, InputKind.HUB):
        from revise_captions.pipelines.output.arrow import check_schema

        require_pyarrow()
        check_schema(source)
    inputs = [*reads, *source.reads()]
    journal = journal_path(out)
    check_writable(journal, inputs, force=True)  # `Journal.open` knows its own
    if out == "-":
        if sys.stdout is None:
            raise UserError("standard output is closed", hint="name a file as OUT")
        return
    path = Path(out)
    going_on = resume and journal.exists()
    if kind in FOLDERS and path.resolve().is_relative_to(source.path.resolve()):
        raise UserError(f"{out} is inside the input", hint="choose a folder beside it")
    ours = _is_folder_of(kind, path)
    if path.is_dir() and not ours:
        hint = "choose another name"
        raise UserError(f"{out} exists and is no {kind} that could be replaced", hint=hint)
    nothing_left = resume and not (force or going_on) and os.path.lexists(path)
    check_writable(path, inputs, force=force or going_on or nothing_left, folder=ours)
    if nothing_left:
        raise UserError(
            f"{out} exists, and there is nothing to resume: no unfinished run stands beside it",
            hint="if that is the finished run, it is all there; --force does it again",
        )
    check_writable(signatures_path(out), inputs, force=None, ours=is_signatures)
    _check_quarantine(out, inputs, replace=force or going_on)


def _is_folder_of(kind: InputKind, path: Path) -> bool:
    """Whether an existing folder is one that a run wrote as this kind."""
    mark = "state.json" if kind is InputKind.HUB else MARK
    return kind in FOLDERS and (path / mark).is_file()


def _check_quarantine(out: str, inputs: Iterable[Path | str], *, replace: bool) -> None:
    """An earlier quarantine goes only by `replace`, and only if it is this OUT's."""
    path = quarantine_path(out)
    check_writable(path, inputs, force=replace)
    if not os.path.lexists(path):
        return
    hint = "move it, or choose another name for the output"
    if not is_quarantine(path):
        raise UserError(f"{path} exists and is no quarantine", hint=hint)
    # `out` and `out.jsonl` share the name.
    other = Path(stem(out) if out.endswith(".jsonl") else f"{stem(out)}.jsonl")
    if other.exists():
        raise UserError(f"{path} may belong to {other}", hint=hint)


def is_quarantine(path: Path) -> bool:
    """Whether a file is empty or begins as `BadRow.as_json` does."""
    head = head_of(path)
    return path.is_file() and (not head or head.startswith(b'{"file": '))


def write(
    source: Source,
    results: Iterable[RowResult | BadRow],
    out: str,
    each: Callable[[Row | BadRow, RowResult | BadRow], None] | None = None,
) -> OutputCounts:
    """Assembles OUT from the source's rows and one result per row, in order.

    JSON keeps the input's text and gains two members, CSV two columns. Parquet keeps its schema
    and gains two text columns (`revision` as JSON). A tar keeps its members and gains
    `KEY.revised.txt` and `KEY.revision.json`, a folder of images files of such names. Bytes of
    other formats become base64 in JSON. Signatures are short, and explained in a file beside OUT,
    except on standard output. `each` sees every row with its result, in the same pass.

    Raises:
        UserError: OUT cannot be written (full disk).
    """
    kind = output_kind(source, out)
    return _written(source, results, out, kind, each)


def write_rows(
    source: Source,
    results: Iterable[RowResult | BadRow],
    out: str,
    rows: Callable[[Row, RowResult], Iterable[Mapping[str, Any]]],
) -> OutputCounts:
    """Assembles OUT, JSON Lines, from any number of new rows for each of the source's.

    `rows` makes them. Bad rows go to the quarantine, as in `write`.

    Raises:
        UserError: OUT cannot be written (full disk).
    """

    def lines(_: Source, pairs: Pairing, file: IO[bytes]) -> None:
        for row, result in pairs:
            for made in rows(row, result):
                file.write(dumps(made).encode() + b"\n")

    return _written(source, results, out, InputKind.JSONL, None, lines)


def _written(
    source: Source,
    results: Iterable[RowResult | BadRow],
    out: str,
    kind: InputKind,
    each: Callable[[Row | BadRow, RowResult | BadRow], None] | None,
    writer: Callable[[Source, Pairing, Any], None] | None = None,
) -> OutputCounts:
    """`writer`: writes new rows, which have no signature to shorten."""
    try:
        with ExitStack() as stack:
            file: Any = stack.enter_context(_opened(kind, out))
            # Entered last, left first: the quarantine is in place before the output appears.
            refused = _free_quarantine() if out == "-" else quarantine_path(out)
            quarantine = stack.enter_context(_quarantine(refused))
            new = writer is not None
            shorten = None if new or out == "-" else stack.enter_context(_signatures(out))
            pairing = Pairing(source, results, quarantine, each, shorten)
            (writer or _writer(kind))(source, pairing, file)
            pairing.finish()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise cannot_write(out, error) from None
    path = refused if pairing.quarantined else None
    return OutputCounts(pairing.written, pairing.quarantined, path)


def _opened(kind: InputKind, out: str) -> AbstractContextManager[Any]:
    """Where a writer of this kind writes: a file, or a new folder of images."""
    if kind is InputKind.HUB:
        from revise_captions.pipelines.output.arrow import data_set_folder

        return data_set_folder(Path(out))
    return replacing_folder(Path(out)) if kind in FOLDERS else _output(out)


def _writer(kind: InputKind) -> Callable[[Source, Pairing, Any], None]:
    match kind:
        case InputKind.JSONL:
            return write_lines
        case InputKind.JSON:
            return _write_array
        case InputKind.CSV:
            return write_delimited
        case InputKind.COCO:
            return write_coco
        case InputKind.METADATA:
            return write_with_metadata
        case InputKind.SIDECARS:
            return write_beside
        case InputKind.TAR:
            from revise_captions.pipelines.output.webdataset import write_tar

            return write_tar
    from revise_captions.pipelines.output.arrow import write_parquet

    return write_parquet


# --- JSON ---------------------------------------------------------------------------------------


def _write_array(source: Source, pairs: Pairing, file: IO[bytes]) -> None:
    separator = b"[\n"
    for row, result in pairs:
        file.write(separator + object_text(source, row, result).encode())
        separator = b",\n"
    file.write(b"\n]\n" if separator == b",\n" else b"[]\n")


# --- Files --------------------------------------------------------------------------------------


@contextmanager
def _output(out: str) -> Iterator[IO[bytes]]:
    if out == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with replacing(Path(out)) as file, _compressed(out, file) as text:
        yield text


@contextmanager
def _compressed(out: str, file: IO[bytes]) -> Iterator[IO[bytes]]:
    """Without names and times inside, so that equal rows make equal files."""
    suffix = Path(out).suffix.lower()
    if suffix in (".gz", ".tgz"):
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as text:
            yield text  # type: ignore[misc]  # a GzipFile is an IO[bytes] but for its type
    elif suffix in (".zst", ".zstd"):
        import zstandard

        packer = zstandard.ZstdCompressor(write_checksum=True)
        with packer.stream_writer(file, closefd=False) as text:
            yield text
    else:
        yield file


@contextmanager
def _signatures(out: str) -> Iterator[Shortener]:
    """Takes the rows' signatures, and writes what stands for them beside OUT."""
    shorten = Shortener()
    yield shorten
    path = signatures_path(out)
    if shorten.lines:
        write_text(path, as_text(shorten.lines))
    elif path.is_file() and is_signatures(head_of(path)):
        path.unlink()


def _free_quarantine() -> Path:
    """`stdout.quarantine.jsonl`, or with a number: runs to standard output share none."""
    names = itertools.chain(["stdout"], (f"stdout.{number}" for number in itertools.count(2)))
    paths = (quarantine_path(f"{name}.jsonl") for name in names)
    return next(path for path in paths if not os.path.lexists(path))


@contextmanager
def _quarantine(path: Path) -> Iterator[Callable[[BadRow], None]]:
    """Takes bad rows; the file appears with the first. Without one, this OUT's earlier file goes.

    A file that is no quarantine may have taken the name since `check_output` looked.
    """
    if os.path.lexists(path) and not is_quarantine(path):
        raise UserError(f"{path} exists and is no quarantine", hint="move it, then use --resume")
    with ExitStack() as stack:
        files: list[IO[bytes]] = []

        def add(row: BadRow) -> None:
            if not files:
                files.append(stack.enter_context(replacing(path)))
            files[0].write(dumps(row.as_json()).encode() + b"\n")

        yield add
        if not files:
            path.unlink(missing_ok=True)
