"""Reads image files, and prints what was read."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from itertools import islice
from pathlib import Path

import numpy as np

from revise_captions.charts.chart import Chart
from revise_captions.charts.formats import (
    CSV_HEADER,
    as_json,
    as_text,
    csv_line,
    csv_rows,
    table_rows,
)
from revise_captions.charts.read import read
from revise_captions.command_line.printing import echo
from revise_captions.errors import BadRecord, UserError
from revise_captions.io.images import load_image
from revise_captions.io.rows import dumps
from revise_captions.records import ImageRef
from revise_captions.runs.progress import Progress

_SUFFIXES = {".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif"}
#: The exit status if nothing could be read.
NOTHING = 4


def files(paths: Sequence[Path]) -> list[Path]:
    """The image files that paths name; those of a folder in alphabetical order.

    Raises:
        UserError: A folder has no images.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(one for one in path.iterdir() if one.suffix.lower() in _SUFFIXES)
            if not inside:
                raise UserError(f"there are no images in the folder {path}")
            found += inside
        else:
            found.append(path)
    return found


def read_file(path: Path) -> tuple[Chart, ...]:
    """The charts in an image file.

    Raises:
        BadRecord: It is not an image, or a damaged one.
    """
    image = load_image(ImageRef(path=str(path)))
    return read(np.asarray(image))


def print_readings(paths: Sequence[Path], form: str) -> int:
    """Reads files and prints them in a format as they come; returns the exit status.

    An image that cannot be opened is reported on standard error; the others are read.

    Raises:
        UserError: As in `files`.
    """
    readable = False
    first = True
    if form == "csv":
        _print_line(csv_line(CSV_HEADER))
    for path, charts in _readings(files(paths)):
        if isinstance(charts, BadRecord):
            echo(f"captions read-chart: {path}: {charts.detail}", err=True)
            continue
        readable = readable or any(chart.readable for chart in charts)
        _print_one(str(path), charts, form, first)
        first = False
    if form == "json":
        _print_line("{}" if first else "}")
    return 0 if readable else NOTHING


def _readings(paths: Sequence[Path]) -> Iterator[tuple[Path, tuple[Chart, ...] | BadRecord]]:
    """What is read in each file, in their order; as many at once as there are cores.

    Progress is shown where what is printed does not show it.
    """
    workers = min(8, os.cpu_count() or 1, len(paths))
    pool = ThreadPoolExecutor(workers)
    with Progress(len(paths), "images") if not sys.stdout.isatty() else nullcontext() as progress:
        ahead: deque[tuple[Path, Future[tuple[Chart, ...] | BadRecord]]] = deque()
        coming = iter(paths)
        try:
            ahead.extend((path, pool.submit(_tried, path)) for path in islice(coming, 2 * workers))
            while ahead:
                path, charts = ahead.popleft()
                yield path, charts.result()
                ahead.extend((path, pool.submit(_tried, path)) for path in islice(coming, 1))
                if progress is not None:
                    progress.advance(1, 0)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _tried(path: Path) -> tuple[Chart, ...] | BadRecord:
    try:
        return read_file(path)
    except BadRecord as error:
        return error


def _print_line(text: str) -> None:
    """Prints a line of a machine's format."""
    sys.stdout.write(f"{text}\n")


def _print_one(name: str, charts: Sequence[Chart], form: str, first: bool) -> None:
    if form == "csv":
        for cells in csv_rows(name, charts):
            _print_line(csv_line(cells))
    elif form == "json":
        value = dumps([as_json(chart) for chart in charts])
        _print_line(f"{'{' if first else ','}{dumps(name)}: {value}")
    elif form == "jsonl":
        _print_line(dumps({"image": name, "charts": [as_json(chart) for chart in charts]}))
    elif form == "text":
        echo("\n\n".join(as_text(chart) for chart in charts))
    else:
        echo(("" if first else "\n") + name)
        for chart in charts:
            _print_table(chart)


def _print_table(chart: Chart) -> None:
    """A table for people: a row per category, a column per series."""
    from rich.console import Console
    from rich.table import Table

    from revise_captions.outside_text import plain

    kind = f"horizontal {chart.kind}" if chart.horizontal else chart.kind
    console = Console()
    echo(f"{kind}: {chart.title}".rstrip(": "))
    for reason in chart.unread:
        echo(f"not read: {reason}")
    if chart.series:
        table = Table()
        table.add_column("")
        for one in chart.series:
            table.add_column(plain(one.name), justify="right")
        for category, *cells in table_rows(chart):
            table.add_row(plain(category), *cells)
        console.print(table, markup=False)
    for note in chart.notes:
        echo(note)
    if chart.source:
        echo(chart.source)
