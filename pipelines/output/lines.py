"""JSON Lines: the input's own text with two more members, where the input is JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import IO

from revise_captions.io.layouts.kinds import InputKind
from revise_captions.io.readers import Source
from revise_captions.io.rows import Row, dumps, splice
from revise_captions.runs.journal import RowResult

_BREAK = re.compile(r"[ \t]*[\r\n]+[ \t]*")


def write_lines(source: Source, pairs: Iterable[tuple[Row, RowResult]], file: IO[bytes]) -> None:
    """Writes one row a line."""
    one_line = source.kind is InputKind.JSON
    for row, result in pairs:
        text = object_text(source, row, result)
        # A line end inside JSON text is white space: strings write theirs as an escape.
        text = _BREAK.sub(" ", text) if one_line else text
        file.write(text.encode() + b"\n")


def object_text(source: Source, row: Row, result: RowResult) -> str:
    """A row's JSON object with what it gains."""
    if row.raw is None or not source.raw_is_json:
        return dumps({**row.data, **result.revised})
    return splice(row.raw, result.revised)
