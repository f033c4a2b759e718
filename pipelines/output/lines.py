"""JSON Lines: the input's own text with two more members, where the input is JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import IO, Any

from revise_captions.io.fields import place_of
from revise_captions.io.layouts.in_place import with_text
from revise_captions.io.layouts.kinds import InputKind
from revise_captions.io.readers import Source
from revise_captions.io.rows import Row, dumps, splice, with_text_at
from revise_captions.pipelines.output.style import OutputStyle
from revise_captions.runs.journal import RowResult

_BREAK = re.compile(r"[ \t]*[\r\n]+[ \t]*")


def write_lines(
    source: Source, pairs: Iterable[tuple[Row, RowResult]], file: IO[bytes], style: OutputStyle
) -> None:
    """Writes one row a line."""
    one_line = source.kind is InputKind.JSON
    for row, result in pairs:
        text = object_text(source, row, result, style)
        # A line end inside JSON text is white space: strings write theirs as an escape.
        text = _BREAK.sub(" ", text) if one_line else text
        file.write(text.encode() + b"\n")


def object_text(source: Source, row: Row, result: RowResult, style: OutputStyle) -> str:
    """A row's JSON object with what it gains."""
    if row.raw is None or not source.raw_is_json:
        return dumps({**fields_of(row, result, style), **result.revised})
    return edited(row.raw, row, result, style)


def edited(raw: str, row: Row, result: RowResult, style: OutputStyle) -> str:
    """A row's own JSON text with what it gains; all else stays to the byte."""
    for name, text in result.captions.items():
        place = place_of(row.data, name)
        raw = raw if place is None else with_text_at(raw, place, text)
    return splice(raw, result.revised, style.dropped)


def fields_of(row: Row, result: RowResult, style: OutputStyle) -> dict[str, Any]:
    """A row's own fields as they are written, for formats that have no text of a row."""
    data = dict(row.data)
    for name, text in result.captions.items():
        data = with_text(data, name, text)
    return {name: value for name, value in data.items() if name not in style.dropped}


_BOM = "\ufeff"


def with_caption(content: bytes, place: Sequence[str | int], caption: str) -> bytes:
    """The bytes of a file that holds one caption, as text or, at a place, in JSON, with another
    caption; where it is the same, the same bytes."""
    text = content.decode()
    body = text.removeprefix(_BOM)
    new = with_text_at(body, place, caption) if place else caption
    if new == body:
        return content
    return (text[: len(text) - len(body)] + new).encode("utf-8", "replace")
