"""A run's output and its quarantine, all or nothing.

The output is written to a working file (`io.writing`), made durable, and renamed after the
quarantine, so a run that dies leaves no incomplete file under either name.
"""

from __future__ import annotations

import gzip
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from revise_captions.command_line.printing import echo
from revise_captions.errors import UserError
from revise_captions.io.evidence_file import evidence_path, is_evidence
from revise_captions.io.rows import BadRow, Row
from revise_captions.io.signature_file import (
    Shortener,
    as_text,
    is_signatures,
    signatures_path,
)
from revise_captions.io.source import Source
from revise_captions.io.writing import (
    cannot_write,
    check_writable,
    head_of,
    json_lines_writer,
    replacing,
    write_text,
)
from revise_captions.runs.journal import RowResult
from revise_captions.runs.pairing import LeftOut, Pairing
from revise_captions.runs.paths import journal_path, quarantine_path, stem

#: Takes the findings of a row, for the evidence file beside OUT.
TakesEvidence = Callable[[Mapping[str, Any]], None]
#: See `assemble`.
Shape = Callable[[TakesEvidence], Callable[[RowResult], RowResult]]
#: The exit status of a run in which every row went to the quarantine.
QUARANTINED = 5


@dataclass(frozen=True, slots=True)
class OutputCounts:
    """Numbers of written and quarantined rows. `quarantine` is None if no row was bad."""

    rows: int
    quarantined: int
    quarantine: Path | None


def check_place(
    source: Source,
    out: str,
    *,
    folder: bool = False,
    force: bool = False,
    resume: bool = False,
    reads: Iterable[Path | str] = (),
) -> None:
    """Checks OUT, its quarantine and its journal before any work is done.

    `resume` may continue despite an existing OUT if there is a journal: the run was killed after
    the output appeared, or was replacing an older one by `force`. `reads`: what the run reads
    besides its source. `folder`: OUT is a folder that may be replaced, like a file.

    Raises:
        UserError: One of them exists, is the input, or cannot be written.
    """
    inputs = [*reads, *source.reads()]
    journal = journal_path(out)
    check_writable(journal, inputs, force=True)  # `Journal.open` recognizes its own
    if out == "-":
        if sys.stdout is None:
            raise UserError("standard output is closed", hint="name a file as OUT")
        return
    path = Path(out)
    going_on = resume and journal.exists()
    nothing_left = resume and not (force or going_on) and os.path.lexists(path)
    check_writable(path, inputs, force=force or going_on or nothing_left, folder=folder)
    if nothing_left:
        raise UserError(
            f"{out} exists, but there is nothing to resume: no unfinished run is beside it",
            hint="if that is the finished run, it is complete; --force repeats it",
        )
    check_writable(signatures_path(out), inputs, force=None, ours=is_signatures)
    check_writable(evidence_path(out), inputs, force=None, ours=is_evidence)
    _check_quarantine(out, inputs, replace=force or going_on)


def _check_quarantine(out: str, inputs: Iterable[Path | str], *, replace: bool) -> None:
    """An earlier quarantine is replaced only with `replace`, and only if it is this OUT's."""
    path = quarantine_path(out)
    check_writable(path, inputs, force=replace)
    if not os.path.lexists(path):
        return
    hint = "move it, or choose another name for the output"
    if not is_quarantine(path):
        raise UserError(f"{path} exists and is not a quarantine file", hint=hint)
    # `out` and `out.jsonl` share the name.
    other = Path(stem(out) if out.endswith(".jsonl") else f"{stem(out)}.jsonl")
    if other.exists():
        raise UserError(f"{path} may belong to {other}", hint=hint)


def is_quarantine(path: Path) -> bool:
    """Whether a file is empty or begins like `BadRow.as_json`."""
    head = head_of(path)
    return path.is_file() and (not head or head.startswith(b'{"file": '))


def write_rows(
    source: Source,
    results: Iterable[RowResult | BadRow],
    out: str,
    rows: Callable[[Row, RowResult], Iterable[Mapping[str, Any]]],
) -> OutputCounts:
    """Assembles OUT, JSON Lines, from any number of new rows for each source row.

    `rows` makes them. Bad rows go to the quarantine, as in `write`.

    Raises:
        UserError: OUT cannot be written (full disk).
    """

    def lines(_: Source, pairs: Pairing, file: IO[bytes]) -> None:
        writer = json_lines_writer(file)
        for row, result in pairs:
            writer.write_all(rows(row, result))

    return assemble(source, results, out, opened(out), lines)


def assemble(
    source: Source,
    results: Iterable[RowResult | BadRow | LeftOut],
    out: str,
    output: AbstractContextManager[Any],
    writer: Callable[[Source, Pairing, Any], None],
    each: Callable[[Row | BadRow, RowResult | BadRow], None] | None = None,
    shape: Shape | None = None,
) -> OutputCounts:
    """Writes OUT and its quarantine; both appear only when complete.

    Args:
        source: The input.
        results: One per row, in order.
        out: OUT's name.
        output: Opens what `writer` writes to.
        writer: Writes the pairs given to it.
        each: Called with every row and its result.
        shape: Decides which part of a result goes where: given the taker of a row's evidence, it
            returns the function that turns each result into what is written. Signatures then
            become digests, explained in a file beside OUT.

    Raises:
        UserError: OUT cannot be written (full disk).
    """
    try:
        with ExitStack() as stack:
            file = stack.enter_context(output)
            # Entered last, left first: the quarantine is in place before the output appears.
            refused = _free_quarantine() if out == "-" else quarantine_path(out)
            quarantine = stack.enter_context(_quarantine(refused))
            shorten = shaped = None
            if shape is not None and out != "-":
                shorten = stack.enter_context(_signatures(out))
                shaped = shape(stack.enter_context(_evidence(out)))
            elif shape is not None:
                shaped = shape(_nowhere)
            pairing = Pairing(source, results, quarantine, each, shorten, shaped)
            writer(source, pairing, file)
            pairing.finish()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise cannot_write(out, error) from None
    path = refused if pairing.quarantined else None
    return OutputCounts(pairing.written, pairing.quarantined, path)


@contextmanager
def opened(out: str) -> Iterator[IO[bytes]]:
    """The file that becomes OUT, compressed as its name says; standard output for `-`."""
    if out == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with replacing(Path(out)) as file, _compressed(out, file) as text:
        yield text


@contextmanager
def _compressed(out: str, file: IO[bytes]) -> Iterator[IO[bytes]]:
    """Omits names and times from the header, so that equal rows make equal files."""
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
    """Shortens the rows' signatures, and writes what the digests stand for beside OUT."""
    shorten = Shortener()
    yield shorten
    path = signatures_path(out)
    if shorten.lines:
        write_text(path, as_text(shorten.lines))
    elif path.is_file() and is_signatures(head_of(path)):
        path.unlink()


@contextmanager
def _evidence(out: str) -> Iterator[TakesEvidence]:
    """Takes rows' evidence; the file appears with the first. If there is none, this OUT's earlier
    file is removed."""
    path = evidence_path(out)
    with ExitStack() as stack:
        files: list[IO[bytes]] = []

        def add(entry: Mapping[str, Any]) -> None:
            if not files:
                files.append(stack.enter_context(replacing(path)))
            json_lines_writer(files[0]).write(entry)

        yield add
        if not files and path.is_file() and is_evidence(head_of(path)):
            path.unlink()


def _nowhere(entry: Mapping[str, Any]) -> None:
    raise RuntimeError("standard output has no evidence beside it")


def _free_quarantine() -> Path:
    """`stdout.quarantine.jsonl`, numbered if taken: runs to standard output do not share one."""
    names = itertools.chain(["stdout"], (f"stdout.{number}" for number in itertools.count(2)))
    paths = (quarantine_path(f"{name}.jsonl") for name in names)
    return next(path for path in paths if not os.path.lexists(path))


@contextmanager
def _quarantine(path: Path) -> Iterator[Callable[[BadRow], None]]:
    """Takes bad rows; the file appears with the first. Without any, OUT's earlier file is removed.

    A file that is not a quarantine may have taken the name since `check_output` looked.
    """
    if os.path.lexists(path) and not is_quarantine(path):
        raise UserError(
            f"{path} exists and is not a quarantine file", hint="move it, then use --resume"
        )
    with ExitStack() as stack:
        files: list[IO[bytes]] = []

        def add(row: BadRow) -> None:
            if not files:
                files.append(stack.enter_context(replacing(path)))
            json_lines_writer(files[0]).write(row.as_json())

        yield add
        if not files:
            path.unlink(missing_ok=True)


def quarantine_status(command: str, written: OutputCounts) -> int:
    """`QUARANTINED`, with a message, if every row went to the quarantine; else 0."""
    if written.rows or not written.quarantined:
        return 0
    echo(f"{command}: no record of {written.quarantined:,} could be processed", err=True)
    return QUARANTINED
