"""JSON Lines and JSON arrays: the input's own text, if it is JSON, with two more members."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

from revise_captions.io import jsonl
from revise_captions.io.fields import place_of
from revise_captions.io.in_place import with_text
from revise_captions.io.rows import Row, dumps, splice, with_text_at
from revise_captions.io.source import Layout, Source
from revise_captions.layouts.style import OutputStyle
from revise_captions.runs.journal import RowResult

_BREAK = re.compile(r"[ \t]*[\r\n]+[ \t]*")


def write_lines(
    source: Source, pairs: Iterable[tuple[Row, RowResult]], file: IO[bytes], style: OutputStyle
) -> None:
    """Writes one row per line."""
    one_line = source.layout is JSON_ARRAY
    for row, result in pairs:
        text = object_text(source, row, result, style)
        # A line end inside JSON text is white space, as strings use an escape.
        text = _BREAK.sub(" ", text) if one_line else text
        file.write(text.encode() + b"\n")


def object_text(source: Source, row: Row, result: RowResult, style: OutputStyle) -> str:
    """A row's JSON object with its new members."""
    if row.raw is None or not source.layout.rows_are_json:
        return dumps({**fields_of(row, result, style), **result.revised})
    return edited(row.raw, row, result, style)


def edited(raw: str, row: Row, result: RowResult, style: OutputStyle) -> str:
    """A row's own JSON text with its new members; everything else stays byte for byte."""
    for name, text in result.captions.items():
        place = place_of(row.data, name)
        raw = raw if place is None else with_text_at(raw, place, text)
    return splice(raw, result.revised, style.dropped)


def fields_of(row: Row, result: RowResult, style: OutputStyle) -> dict[str, Any]:
    """A row's own fields as written, for formats in which rows have no text."""
    data = dict(row.data)
    for name, text in result.captions.items():
        data = with_text(data, name, text)
    return {name: value for name, value in data.items() if name not in style.dropped}


_BOM = "\ufeff"


def with_caption(content: bytes, place: Sequence[str | int], caption: str) -> bytes:
    """The bytes of a file with its one caption, as text or at a place in JSON, replaced; the same
    bytes if the caption is the same."""
    text = content.decode()
    body = text.removeprefix(_BOM)
    new = with_text_at(body, place, caption) if place else caption
    if new == body:
        return content
    return (text[: len(text) - len(body)] + new).encode("utf-8", "replace")


def write_array(
    source: Source, pairs: Iterable[tuple[Row, RowResult]], file: IO[bytes], style: OutputStyle
) -> None:
    separator = b"[\n"
    for row, result in pairs:
        file.write(separator + object_text(source, row, result, style).encode())
        separator = b",\n"
    file.write(b"\n]\n" if separator == b",\n" else b"[]\n")


# --- The layouts ---------------------------------------------------------------------------------


def _open_lines(name: str, path: Path, lacking: Callable[[str], None]) -> Source:
    read = partial(jsonl.json_lines, path, name)
    unparsed = partial(jsonl.json_lines, path, name, parsed=False)
    count = partial(jsonl.count_lines, path)
    return Source(name, JSON_LINES, path, path.parent, read, count, read_unparsed=unparsed)


def _are_lines(path: Path, head: bytes) -> bool:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return not text or text.startswith((b"{", b"\xff\xfe", b"\xfe\xff"))  # UTF-16 is refused


JSON_LINES = Layout(
    "JSON Lines",
    _open_lines,
    write_lines,
    (".jsonl", ".ndjson", ".json"),
    _are_lines,
    rows_are_json=True,
)


def _open_array(name: str, path: Path, lacking: Callable[[str], None]) -> Source:
    return Source(name, JSON_ARRAY, path, path.parent, partial(jsonl.json_array, path, name))


def _is_array(path: Path, head: bytes) -> bool:
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")


JSON_ARRAY = Layout(
    "JSON array", _open_array, write_array, (".json",), _is_array, rows_are_json=True
)
