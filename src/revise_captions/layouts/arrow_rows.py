"""Parquet files and Hugging Face data sets: rows from Arrow tables, a few at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from revise_captions.errors import Reason, UserError, described
from revise_captions.io.rows import BadRow, Row, with_objects
from revise_captions.io.source import Tables
from revise_captions.outside_text import on_one_line

BATCH = 64
"""Rows held at once: few enough for full-size images."""


def parquet_tables(path: Path, name: str) -> Tables:
    """The tables of a Parquet file, columns as stored. Raises `UserError`."""
    pyarrow = require_pyarrow()
    import pyarrow.parquet as parquet

    try:
        # A buffer size turns on streaming; otherwise a row group's column is read at once.
        file = parquet.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False)
    except (pyarrow.ArrowException, OSError) as error:
        raise UserError(f"cannot read {name} as Parquet: {_line(error)}") from None

    def read() -> Iterator[Any]:
        with parquet.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as again:
            try:
                for batch in again.iter_batches(batch_size=BATCH):
                    yield pyarrow.Table.from_batches([batch])
            except (pyarrow.ArrowException, OSError) as error:
                raise UserError(f"{name} is damaged: {_line(error)}") from None

    with file:
        _refuse_same_names(file.schema_arrow, name)
        return Tables(file.schema_arrow, file.metadata.num_rows, read)


def open_hub(name: str, split: str | None) -> Any:
    """A `Dataset` (folder of `save_to_disk`) or an `IterableDataset` (any other folder, hub id)."""
    try:
        import datasets
    except ImportError:
        hint = "pip install 'revise-captions[hub]'"
        raise UserError(f"{name} needs the library datasets", hint=hint) from None
    try:
        if is_saved(Path(name)):
            data = datasets.load_from_disk(name)
        else:
            data = datasets.load_dataset(name, split=split, streaming=True)
    except Exception as error:  # of countless types: network, names, scripts, features, files
        hint = "for a hub id: is the name right, is there a network, are you logged in?"
        if Path(name).is_dir():
            hint = "expected images with captions (1.jpg, 1.txt), metadata.jsonl, or files of data"
        raise UserError(f"cannot open the dataset {name}: {_line(error)}", hint=hint) from None
    if not isinstance(data, dict):
        return data
    splits = list(data)
    if split is None and len(splits) == 1:
        split = splits[0]
    if split not in data:
        found = f"{name} has the splits {', '.join(map(str, splits))}"
        raise UserError(f"{found}; expected one of them", hint=f"name it: {name}:{splits[0]}")
    return data[split]


def is_saved(folder: Path) -> bool:
    """Whether `save_to_disk` wrote the folder."""
    return any((folder / name).is_file() for name in ("state.json", "dataset_dict.json"))


def hub_tables(data: Any, name: str) -> Tables:
    """The tables of an open data set. Images stay encoded. Raises `UserError`."""
    if data.features is None:
        data = data._resolve_features()
    _refuse_same_names(data.features.arrow_schema, name)
    length = len(data) if hasattr(data, "__len__") else None

    def read() -> Iterator[Any]:
        try:
            yield from data.with_format("arrow").iter(batch_size=BATCH)
        except Exception as error:  # whatever the data set's own reading raises
            raise UserError(f"reading {name} failed partway: {_line(error)}") from None

    return Tables(data.features.arrow_schema, length, read)


def _refuse_same_names(schema: Any, name: str) -> None:
    """Refuses repeated names: a row has one value per name, so a second column would be lost."""
    for column, count in Counter(schema.names).items():
        if count > 1:
            found = f"{name} has {count} columns with the name {on_one_line(column)}"
            raise UserError(found, hint="rename all but one")


def table_rows(tables: Tables, name: str) -> Iterator[Row | BadRow]:
    """The rows of tables; `line` is a row's number."""
    first = 1
    for table in tables.read():
        yield from rows_of(table, name, first)
        first += len(table)


def rows_of(table: Any, name: str, first: int) -> Iterator[Row | BadRow]:
    """The rows of one table, numbered from `first`. Text that is not UTF-8 makes a bad row.

    Text columns that an earlier stage wrote come back as the objects they hold.
    """
    try:
        rows: list[dict[str, Any] | None] = table.to_pylist()
    except Exception:  # reading one by one finds the value and row at fault
        rows = [None] * len(table)
    for index, data in enumerate(rows):
        number = first + index
        row = _by_value(table, index, name, number) if data is None else Row(number, data)
        yield row if isinstance(row, BadRow) else with_objects(row)


def _by_value(table: Any, index: int, name: str, number: int) -> Row | BadRow:
    """One row of a table in which some value has no Python form."""
    data: dict[str, Any] = {}
    for column in table.column_names:
        value = table.column(column)[index]
        try:
            data[column] = value.as_py()
        except UnicodeDecodeError as error:
            detail = f'column "{column}", byte {error.start}: {error.reason}'
            return BadRow(name, number, Reason.INVALID_UTF8, detail, _buffer(value))
        except Exception:  # nanosecond times, unknown time zones
            try:
                data[column] = str(value.cast("string").as_py())
            except Exception as error:
                detail = f'column "{column}": {described(error)}'
                return BadRow(name, number, Reason.UNEXPECTED_ERROR, detail)
    return Row(number, data)


def _buffer(value: Any) -> bytes:
    """A text's bytes; empty for a list or struct, whose parts have no buffer of their own."""
    return value.as_buffer().to_pybytes() if hasattr(value, "as_buffer") else b""


def require_pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        hint = "pip install 'revise-captions[parquet]'"
        raise UserError("Parquet needs the library pyarrow", hint=hint) from None
    return pyarrow


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else text[:300] + "…"
