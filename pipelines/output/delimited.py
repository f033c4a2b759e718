"""CSV and TSV with more columns, in the input's dialect; the other fields keep their bytes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO

from revise_captions.io.layouts.delimited import (
    Dialect,
    fields_of,
    line_end_of,
    read_dialect,
    value_of,
)
from revise_captions.io.readers import Source
from revise_captions.io.rows import Row, dumps
from revise_captions.pipelines.output.style import OutputStyle
from revise_captions.runs.journal import RowResult


def write_delimited(
    source: Source, pairs: Iterable[tuple[Row, RowResult]], file: IO[bytes], style: OutputStyle
) -> None:
    """Writes the first line and each row as they are, the new fields at the end or in their old
    places. A column holds text, so `revision` is JSON."""
    dialect = read_dialect(source.metadata or source.path, source.name)
    names = {name: dialect.quoted(name) for name in style.names}
    kept = [name for name in dialect.columns if name not in style.dropped]
    file.write(_bytes(_with_fields(dialect.header, dialect, kept, names)))
    for row, result in pairs:
        assert row.raw is not None
        file.write(_bytes(_with_fields(row.raw, dialect, kept, _fields(row, result, dialect))))


def _fields(row: Row, result: RowResult, dialect: Dialect) -> dict[str, str]:
    """What changes of a row, and what it gains, as the file writes it."""
    assert row.raw is not None
    texts = {n: v if isinstance(v, str) else dumps(v) for n, v in result.revised.items()}
    if result.captions:
        was = _by_column(row.raw, dialect)
        changed = {n: t for n, t in result.captions.items() if value_of(was[n]) != t}
        texts = {**changed, **texts}
    return {name: dialect.quoted(text) for name, text in texts.items()}


def _by_column(record: str, dialect: Dialect) -> dict[str, str]:
    return dict(zip(dialect.columns, fields_of(record, dialect.delimiter), strict=True))


def _with_fields(record: str, dialect: Dialect, kept: list[str], added: dict[str, str]) -> str:
    end = line_end_of(record)
    if len(kept) == len(dialect.columns) and not set(added) & set(kept):
        return dialect.delimiter.join([record.removesuffix(end), *added.values()]) + end
    fields = _by_column(record, dialect)
    own = {name: fields[name] for name in kept}
    return dialect.delimiter.join((own | added).values()) + end


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
