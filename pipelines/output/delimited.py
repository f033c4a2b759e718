"""CSV and TSV with two more columns, in the input's dialect; the other fields keep their bytes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO

from revise_captions.io.layouts.delimited import Dialect, fields_of, line_end_of, read_dialect
from revise_captions.io.readers import Source
from revise_captions.io.rows import Row, dumps
from revise_captions.runs.journal import RowResult

COLUMNS = ("revised_caption", "revision")


def write_delimited(
    source: Source, pairs: Iterable[tuple[Row, RowResult]], file: IO[bytes]
) -> None:
    """Writes the first line and each row as they are, the new fields at the end or in their old
    places. A column holds text, so `revision` is JSON."""
    dialect = read_dialect(source.metadata or source.path, source.name)
    names = {name: dialect.quoted(name) for name in COLUMNS}
    file.write(_bytes(_with_fields(dialect.header, dialect, names)))
    for row, result in pairs:
        assert row.raw is not None
        file.write(_bytes(_with_fields(row.raw, dialect, _fields(result, dialect))))


def _fields(result: RowResult, dialect: Dialect) -> dict[str, str]:
    values = {name: result.revised[name] for name in COLUMNS}
    texts = {name: v if isinstance(v, str) else dumps(v) for name, v in values.items()}
    return {name: dialect.quoted(text) for name, text in texts.items()}


def _with_fields(record: str, dialect: Dialect, added: dict[str, str]) -> str:
    end = line_end_of(record)
    if not set(COLUMNS) & set(dialect.columns):
        return dialect.delimiter.join([record.removesuffix(end), *added.values()]) + end
    fields = dict(zip(dialect.columns, fields_of(record, dialect.delimiter), strict=True))
    return dialect.delimiter.join((fields | added).values()) + end


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
