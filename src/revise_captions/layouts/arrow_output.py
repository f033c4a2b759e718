"""Writes Parquet files and saved data sets with additional columns."""

from __future__ import annotations

import io
import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from revise_captions.errors import UserError, described
from revise_captions.io.fields import place_of
from revise_captions.io.in_place import text_at, with_text
from revise_captions.io.rows import Row, dumps
from revise_captions.io.source import Source, Tables
from revise_captions.io.writing import replacing_folder
from revise_captions.layouts.arrow_rows import require_pyarrow, rows_of
from revise_captions.layouts.json_rows import fields_of
from revise_captions.layouts.style import OutputStyle
from revise_captions.runs.journal import RowResult
from revise_captions.runs.pairing import Pairing

GROUP_BYTES = 64 << 20
GROUP_ROWS = 50_000


def write_parquet(source: Source, pairs: Pairing, file: IO[bytes], style: OutputStyle) -> None:
    """Streams row groups of at most `GROUP_BYTES` or `GROUP_ROWS`.

    Columns and schema metadata of Parquet files and data sets stay unchanged. From JSON and tars, a
    column is text, integer, float, boolean or bytes if all its values are, otherwise JSON text.
    Arrow text is UTF-8, so a lone surrogate becomes U+FFFD.
    """
    pyarrow = require_pyarrow()
    import pyarrow.parquet as parquet

    if source.tables is None:
        kinds = _column_kinds(source, style)
        schema = _with_columns(pyarrow.schema([(n, _TYPES[k]) for n, k in kinds.items()]), style)
        tables = _tables_of_rows(pairs, kinds, schema, style)
    else:
        stored = source.tables()
        schema = _with_columns(stored.schema, style)
        tables = _tables_of_tables(source, stored, pairs, schema, style)
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        held: list[Any] = []
        for table in tables:
            held.append(table)
            rows, size = sum(len(t) for t in held), sum(t.nbytes for t in held)
            if rows >= GROUP_ROWS or size >= GROUP_BYTES:
                writer.write_table(pyarrow.concat_tables(held), row_group_size=rows)
                held = []
        if held:
            table = pyarrow.concat_tables(held)
            writer.write_table(table, row_group_size=max(1, len(table)))


def check_schema(source: Source, style: OutputStyle) -> None:
    """Writes the first rows of a table to memory, with the new columns, before any model is loaded.

    Raises:
        UserError: The extra is missing, or Arrow reads a column that it cannot write.
    """
    pyarrow = require_pyarrow()
    if source.tables is None:
        return
    import pyarrow.parquet as parquet

    stored = source.tables()
    schema = _with_columns(stored.schema, style)
    first = next(iter(stored.read()), stored.schema.empty_table())
    try:
        with parquet.ParquetWriter(io.BytesIO(), schema) as writer:
            kept = _rows_at(first, range(0, len(first), 2))
            nothing = [(row, RowResult(row.line, {})) for row in _good(kept, source)]
            writer.write_table(_changed(kept, nothing, schema, style))
    except (pyarrow.ArrowException, LookupError, TypeError, ValueError) as error:
        found = f"{source.name} cannot be written as Parquet: {described(error)}"
        raise UserError(found, hint="name the output .jsonl") from None


def _rows_at(table: Any, chosen: Sequence[int]) -> Any:
    """The chosen rows, in order. Does not use `take`, which has no kernels for string views."""
    import pyarrow

    if len(chosen) == len(table):
        return table
    runs: list[Any] = []
    for _, run in itertools.groupby(enumerate(chosen), lambda pair: pair[1] - pair[0]):
        indices = [index for _, index in run]
        runs.append(table.slice(indices[0], len(indices)))
    return pyarrow.concat_tables(runs or [table.slice(0, 0)])


def _tables_of_tables(
    source: Source, tables: Tables, pairs: Pairing, schema: Any, style: OutputStyle
) -> Iterator[Any]:
    mine = source.select(itertools.count(1))
    following = next(mine, 0)
    first = 1
    for table in tables.read():
        chosen: list[int] = []
        pairs_here: list[tuple[Row, RowResult]] = []
        for index, row in enumerate(rows_of(table, source.name, first)):
            if row.line != following:
                continue
            following = next(mine, 0)
            if (result := pairs.result_for(row)) is not None and isinstance(row, Row):
                chosen.append(index)
                pairs_here.append((row, result))
        first += len(table)
        if chosen:
            yield _changed(_rows_at(table, chosen), pairs_here, schema, style)
        if not following:
            return


def _good(table: Any, source: Source) -> list[Row]:
    return [row for row in rows_of(table, source.name, 1) if isinstance(row, Row)]


def _changed(
    table: Any, pairs: Sequence[tuple[Row, RowResult]], schema: Any, style: OutputStyle
) -> Any:
    """The rows of a table with captions corrected in place and with the new columns."""
    import pyarrow

    put = [_cells_in_place(row, result) for row, result in pairs]
    arrays = []
    for name in schema.names:
        kind = schema.field(name).type
        if name in style.names:
            values = [result.revised.get(name) for _, result in pairs]
            texts = [None if value is None else _text(value) for value in values]
            arrays.append(pyarrow.array(texts, kind))
        else:
            cells = {index: own[name] for index, own in enumerate(put) if name in own}
            arrays.append(_with_cells(table.column(name), cells, kind))
    return pyarrow.Table.from_arrays(arrays, schema=schema)


def _cells_in_place(row: Row, result: RowResult) -> dict[str, Any]:
    """The cells that change, by column."""
    cells: dict[str, Any] = {}
    for name, text in result.captions.items():
        place = place_of(row.data, name)
        if place is not None and text_at(row.data, name) != _text(text):
            changed = with_text({**row.data, **cells}, name, _text(text))
            cells[str(place[0])] = changed[str(place[0])]
    return cells


def _with_cells(column: Any, cells: Mapping[int, Any], kind: Any) -> Any:
    """The column with some cells replaced; the others are not even read."""
    import pyarrow

    if not cells:
        return column
    parts, start = [], 0
    for index, value in sorted(cells.items()):
        parts += column.slice(start, index - start).chunks
        parts.append(pyarrow.array([value], kind))
        start = index + 1
    parts += column.slice(start).chunks
    return pyarrow.chunked_array(parts, kind)


def _with_columns(schema: Any, style: OutputStyle) -> Any:
    """The schema with the new columns, at the end or in their previous places.

    Hugging Face's own description of the columns is updated.
    """
    import pyarrow

    for name in style.dropped:
        if (at := schema.get_field_index(name)) >= 0:
            schema = schema.remove(at)
    for name in style.names:
        column = pyarrow.field(name, pyarrow.string())
        at = schema.get_field_index(name)
        schema = schema.append(column) if at < 0 else schema.set(at, column)
    metadata = dict(schema.metadata or {})
    if b"huggingface" in metadata:
        described = json.loads(metadata[b"huggingface"])
        features = described.get("info", {}).get("features")
        if features is not None:
            for name in style.dropped:
                features.pop(name, None)
            features |= {name: {"dtype": "string", "_type": "Value"} for name in style.names}
            metadata[b"huggingface"] = json.dumps(described).encode()
    return schema.with_metadata(metadata or None)


def _text(value: object) -> str:
    text = value if isinstance(value, str) else dumps(value)
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


# --- From rows ----------------------------------------------------------------------------------

_TYPES = {
    str: "string",
    int: "int64",
    float: "float64",
    bool: "bool",
    bytes: "binary",
    None: "string",
    object: "string",
}


def _column_kinds(source: Source, style: OutputStyle) -> dict[str, Any]:
    """Each column's type over all rows, which Parquet needs before the first row."""
    kinds: dict[str, Any] = {}
    for row in source.rows():
        if isinstance(row, Row):
            for name, value in row.data.items():
                kinds[name] = _joined(kinds.get(name), _kind(value))
    unkept = {*style.names, *style.dropped}
    return {_text(name): kind for name, kind in kinds.items() if name not in unkept}


def _kind(value: object) -> Any:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        return object
    return type(value) if type(value) in (str, int, float, bool, bytes) else object


def _joined(one: Any, other: Any) -> Any:
    if one is None or one is other:
        return other
    if other is None:
        return one
    return float if {one, other} == {int, float} else object


def _tables_of_rows(
    pairs: Pairing, kinds: dict[str, Any], schema: Any, style: OutputStyle
) -> Iterator[Any]:
    import pyarrow

    for batch in _batched(pairs, 256):
        rows = []
        for row, result in batch:
            data = {_text(name): value for name, value in fields_of(row, result, style).items()}
            cells = {name: _cell(data.get(name), kind) for name, kind in kinds.items()}
            rows.append(cells | {name: _text(value) for name, value in result.revised.items()})
        yield pyarrow.Table.from_pylist(rows, schema=schema)


def _cell(value: Any, kind: Any) -> Any:
    if value is None or kind in (int, bool, bytes):
        return value
    if kind is float:
        return float(value)
    return _text(value) if kind is str else _text(dumps(value))


def _batched(pairs: Pairing, size: int) -> Iterator[list[Any]]:
    rest = iter(pairs)
    while batch := list(itertools.islice(rest, size)):
        yield batch


# --- A folder -----------------------------------------------------------------------------------


@contextmanager
def data_set_folder(path: Path) -> Iterator[IO[bytes]]:
    """Atomically turns a Parquet file into a folder for `datasets.load_from_disk`."""
    with replacing_folder(path) as new:
        with (new.parent / "rows.parquet").open("wb") as file:
            yield file
        _save_data_set(new.parent, new)


def _save_data_set(work: Path, new: Path) -> None:
    import datasets

    shown = datasets.utils.logging.is_progress_bar_enabled()
    datasets.disable_progress_bars()
    try:
        rows = str(work / "rows.parquet")
        data = datasets.Dataset.from_parquet(rows, cache_dir=str(work / "cache"))
        data.save_to_disk(str(new))
    finally:
        if shown:
            datasets.enable_progress_bars()
    for name in new.iterdir():
        with name.open("rb") as file:
            os.fsync(file.fileno())
