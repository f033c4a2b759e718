"""Layouts of Arrow tables: Parquet files, and Hugging Face data sets, as folders or ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from revise_captions.io.rows import BadRow, Row
from revise_captions.io.source import Layout, Source, Tables
from revise_captions.layouts.arrow_output import check_schema, data_set_folder, write_parquet
from revise_captions.layouts.arrow_rows import (
    hub_tables,
    is_saved,
    open_hub,
    parquet_tables,
    table_rows,
)


def _source(
    name: str, layout: Layout, path: Path, folder: Path, tables: Callable[[], Tables]
) -> Source:
    def read() -> Iterator[Row | BadRow]:
        return table_rows(tables(), name)

    return Source(name, layout, path, folder, read, lambda: tables().length, tables)


def _open_parquet(name: str, path: Path, lacking: Callable[[str], None]) -> Source:
    return _source(name, PARQUET, path, path.parent, partial(parquet_tables, path, name))


def _open_hub(name: str, path: Path, lacking: Callable[[str], None]) -> Source:
    folder, split = name, ""
    if not path.is_dir() and ":" in name:
        folder, _, split = name.rpartition(":")
    data = open_hub(folder, split or None)
    base = Path(folder) if Path(folder).is_dir() else Path()
    return _source(name, HUGGING_FACE, Path(folder), base, partial(hub_tables, data, name))


PARQUET = Layout(
    "Parquet",
    _open_parquet,
    write_parquet,
    (".parquet", ".pq"),
    lambda path, head: head.startswith(b"PAR1"),
    check=check_schema,
)
HUGGING_FACE = Layout(
    "Hugging Face dataset",
    _open_hub,
    write_parquet,
    takes=lambda folder, _: is_saved(folder),
    folder=data_set_folder,
    mark="state.json",
    check=check_schema,
)
