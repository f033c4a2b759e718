"""The main job's output: the input's rows plus results, in the input's own format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import IO, Any

from revise_captions.errors import UserError
from revise_captions.io.arrow import require_pyarrow
from revise_captions.io.layouts.kinds import FOLDERS, InputKind, kind_of_name
from revise_captions.io.readers import Source
from revise_captions.io.rows import BadRow, Row
from revise_captions.pipelines.output.coco import write_coco
from revise_captions.pipelines.output.delimited import write_delimited
from revise_captions.pipelines.output.image_folder import (
    MARK,
    replacing_folder,
    write_beside,
    write_with_metadata,
)
from revise_captions.pipelines.output.lines import object_text, write_lines
from revise_captions.pipelines.output.style import AS_IS, BOTH, OutputStyle, check_style, shape_of
from revise_captions.runs.journal import RowResult
from revise_captions.runs.outputs import OutputCounts, assemble, check_place, opened
from revise_captions.runs.pairing import LeftOut, Pairing


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
    style: OutputStyle = BOTH,
) -> None:
    """`check_place`, for an output of the format that its name, or the input, asks for.

    Raises:
        UserError: One of them exists, is the input, or cannot be written.
    """
    check_style(style, source, out)
    kind = output_kind(source, out)
    if kind in (InputKind.PARQUET, InputKind.HUB):
        from revise_captions.pipelines.output.arrow import check_schema

        require_pyarrow()
        check_schema(source, style)
    path = Path(out)
    ours = out != "-" and _is_folder_of(kind, path)
    if out != "-" and kind in FOLDERS and path.resolve().is_relative_to(source.path.resolve()):
        raise UserError(f"{out} is inside the input", hint="choose a folder beside it")
    if out != "-" and path.is_dir() and not ours:
        hint = "choose another name"
        raise UserError(f"{out} exists and is no {kind} that could be replaced", hint=hint)
    check_place(source, out, folder=ours, force=force, resume=resume, reads=reads)


def _is_folder_of(kind: InputKind, path: Path) -> bool:
    """Whether an existing folder is one that a run wrote as this kind."""
    mark = "state.json" if kind is InputKind.HUB else MARK
    return kind in FOLDERS and (path / mark).is_file()


def write(
    source: Source,
    results: Iterable[RowResult | BadRow],
    out: str,
    each: Callable[[Row | BadRow, RowResult | BadRow], None] | None = None,
    style: OutputStyle = BOTH,
) -> OutputCounts:
    """Assembles OUT from the source's rows and one result per row, in order.

    JSON keeps the input's text and gains two members, CSV two columns. Parquet keeps its schema
    and gains two text columns (`revision` as JSON). A tar keeps its members and gains
    `KEY.revised.txt` and `KEY.revision.json`, a folder of images files of such names. `style` may
    have captions corrected in their own places, and `revision` beside OUT or left out. Bytes of
    other formats become base64 in JSON. Signatures are short, and explained in a file beside OUT,
    except on standard output. `each` sees every row with its result, in the same pass.

    Raises:
        UserError: OUT cannot be written (full disk).
    """
    kind = output_kind(source, out)
    output = _opened(kind, out)
    writer = partial(_writer(kind), style=style)
    return assemble(source, results, out, output, writer, each, shape_of(style))


def write_as_is(
    source: Source, results: Iterable[RowResult | BadRow | LeftOut], out: str
) -> OutputCounts:
    """Copies rows: a result that adds nothing for each that is written. As `write` otherwise, but
    what stands beside OUT is the caller's."""
    kind = output_kind(source, out)
    writer = partial(_writer(kind), style=AS_IS)
    return assemble(source, results, out, _opened(kind, out), writer)


def _opened(kind: InputKind, out: str) -> AbstractContextManager[Any]:
    """Where a writer of this kind writes: a file, or a new folder of images."""
    if kind is InputKind.HUB:
        from revise_captions.pipelines.output.arrow import data_set_folder

        return data_set_folder(Path(out))
    return replacing_folder(Path(out)) if kind in FOLDERS else opened(out)


def _writer(kind: InputKind) -> Callable[..., None]:
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


def _write_array(source: Source, pairs: Pairing, file: IO[bytes], style: OutputStyle) -> None:
    separator = b"[\n"
    for row, result in pairs:
        file.write(separator + object_text(source, row, result, style).encode())
        separator = b",\n"
    file.write(b"\n]\n" if separator == b",\n" else b"[]\n")
