"""The main job's output: the input's rows plus results, in the input's own format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

from revise_captions.errors import UserError
from revise_captions.io.readers import LINES, layouts_named, suffix_of
from revise_captions.io.rows import BadRow, Row
from revise_captions.io.source import Layout, Source
from revise_captions.io.writing import real_path
from revise_captions.layouts.style import AS_IS, BOTH, OutputStyle, check_style, shape_of
from revise_captions.registry import LAYOUTS, load
from revise_captions.runs.journal import RowResult
from revise_captions.runs.outputs import OutputCounts, assemble, check_place, opened
from revise_captions.runs.pairing import LeftOut


def old_quarantine_path(out: str) -> Path:
    """Where earlier versions put the quarantine: `out.jsonl.gz` and `out.jsonl` shared one."""
    path = Path(out)
    stem = re.sub(r"(?i)\.(gz|zst|zstd)$", "", path.name)
    stem = re.sub(r"(?i)\.(jsonl|ndjson|json|parquet|pq|tar|tgz)$", "", stem)
    return path.with_name(f"{stem}.quarantine.jsonl")


def output_layout(source: Source, out: str) -> Layout:
    """The layout that OUT's name implies, otherwise the input's. Raises `UserError`."""
    if out == "-":
        lines: Layout = load(LAYOUTS, LINES)
        return lines
    named = layouts_named(out)
    if not named or source.layout in named:
        return source.layout
    own = "" if source.metadata is None else suffix_of(source.metadata)
    possible = [layout for layout in named if not layout.only_its_own or own in layout.suffixes]
    if not possible:
        titles = " or ".join(layout.title for layout in named)
        found = f"{out}: an output as {titles} needs such an input, not {source.layout.title}"
        raise UserError(found, hint="name the output .jsonl or .parquet")
    return possible[0]


def check_output(
    source: Source,
    out: str,
    *,
    force: bool = False,
    resume: bool = False,
    reads: Iterable[Path | str] = (),
    style: OutputStyle = BOTH,
) -> None:
    """`check_place`, for an output in the format that its name, or the input, implies.

    Raises:
        UserError: One of them exists, is the input, or cannot be written.
    """
    check_style(style, source, out)
    layout = output_layout(source, out)
    layout.check(source, style)
    path, title = Path(out), layout.title
    ours = layout.folder is not None and (path / layout.mark).is_file()
    if layout.folder is not None and real_path(path).is_relative_to(real_path(source.path)):
        raise UserError(f"{out} is inside the input", hint="choose a folder beside it")
    if out != "-" and path.is_dir() and not ours:
        hint = "choose another name"
        raise UserError(f"{out} exists, but not as {title} output that can be replaced", hint=hint)
    check_place(source, out, folder=ours, force=force, resume=resume, reads=reads)


def write(
    source: Source,
    results: Iterable[RowResult | BadRow | LeftOut],
    out: str,
    each: Callable[[Row | BadRow, RowResult | BadRow], None] | None = None,
    style: OutputStyle = BOTH,
) -> OutputCounts:
    """Assembles OUT from the source's rows and one result per row, in order.

    JSON keeps the input's text and gains two members, CSV two columns. Parquet keeps its schema
    and gains two text columns (`revision` as JSON). A tar keeps its members and gains
    `KEY.revised.txt` and `KEY.revision.json`, a folder of images files named likewise. `style` may
    correct captions in place, and put `revision` beside OUT or leave it out. Bytes of other formats
    become base64 in JSON. Signatures are short, and explained in a file beside OUT, except on
    standard output. `each` sees every row with its result, in the same pass.

    Raises:
        UserError: OUT cannot be written (full disk).
    """
    layout = output_layout(source, out)
    writer = partial(layout.write, style=style)
    return assemble(source, results, out, _opened(layout, out), writer, each, shape_of(style))


def write_as_is(
    source: Source, results: Iterable[RowResult | BadRow | LeftOut], out: str
) -> OutputCounts:
    """Copies rows: each one written has a result that adds nothing. Otherwise like `write`, but the
    files beside OUT are left to the caller."""
    layout = output_layout(source, out)
    writer = partial(layout.write, style=AS_IS)
    return assemble(source, results, out, _opened(layout, out), writer)


def _opened(layout: Layout, out: str) -> AbstractContextManager[Any]:
    """Opens what the layout writes to: a file, or a new folder."""
    return opened(out) if layout.folder is None else layout.folder(Path(out))
