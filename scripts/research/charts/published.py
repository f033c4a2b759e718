"""How well charts that people published are read: pictures in the documentation of other programs.

    python -m scripts.research.charts.published FOLDER

`published_tables.jsonl` beside this file says which file of which package each image is, by its
SHA-256, and what it shows, typed off by eye before the reader saw it: tables as in `measure`, or
why nobody could type one. FOLDER holds the images in any layout, such as unpacked packages; nothing
is fetched. Rules may be tuned on the packages of the half `development`, never on the others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from revise_captions.charts.read import read
from revise_captions.command_line.printing import echo
from revise_captions.errors import UserError
from revise_captions.io.images import load_image
from revise_captions.records import ImageRef
from scripts.research.charts.measure import points_of_charts, points_of_table
from scripts.research.charts.table_metrics import TablePoint, rms, rnss, text_similarity
from scripts.research.frame.blocks import write_to_pages
from scripts.research.frame.figures import counted_share, share_of, spread
from scripts.research.frame.report import ROOT, write_option

TABLES = Path(__file__).with_name("published_tables.jsonl")
HALVES = ("development", "reporting")
#: A value is wrong that differs by more than this share of what the table's values span.
OFF = 0.05


@dataclass(frozen=True, slots=True)
class Published:
    """What became of an image.

    Attributes:
        readable: Whether people could type a table.
        f1: RMS-F1 of the values that were read, 0 if there are none.
        rnss: Of the values alone.
        values: How many were read.
        wrong: How many of these are far from the cell whose name comes nearest.
        nameless: How many have a name that no cell has.
    """

    readable: bool
    f1: float
    rnss: float
    values: int
    wrong: int
    nameless: int


def score(row: Mapping[str, Any], found: Sequence[TablePoint]) -> Published:
    """Compares what was read off an image with what was typed."""
    if "tables" not in row:
        return Published(False, 0.0, 0.0, len(found), len(found), 0)
    truth = points_of_table(row["tables"])
    span = np.ptp([*(point.value for point in truth), 0.0])
    wrong = nameless = 0
    for point in found:
        likeness, value = max((_likeness(point, cell), cell.value) for cell in truth)
        nameless += likeness == 0
        wrong += likeness > 0 and bool(abs(point.value - value) > OFF * span)
    f1 = rms(found, truth)[2]
    numbers = rnss([point.value for point in found], [point.value for point in truth])
    return Published(True, f1, numbers, len(found), wrong, nameless)


def _likeness(point: TablePoint, cell: TablePoint) -> float:
    keys = [f"{one.row} {one.column}".strip() for one in (point, cell)]
    return text_similarity(*keys)


def summary(half: str, scores: Sequence[Published]) -> str:
    """A row of the table."""
    tables = [one for one in scores if one.readable]
    others = [one for one in scores if not one.readable]
    cells = [half, str(len(tables)), str(sum(one.values > 0 for one in tables))]
    for name in ("f1", "rnss"):
        found = share_of(name, [getattr(one, name) for one in tables])
        cells.append(f"{found.value:.3f}{spread(found.low, found.high)}")
    values = sum(one.values for one in tables)
    cells += [
        counted_share(sum(getattr(one, name) for one in tables), values)
        for name in ("wrong", "nameless")
    ]
    cells.append(counted_share(sum(one.values > 0 for one in others), len(others)))
    return "| " + " | ".join(cells) + " |"


HEADER = "\n".join(
    (
        "| packages | tables | read | RMS-F1 (95 %) | RNSS | values off | … of another name "
        "| without a table, read all the same |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    )
)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--half", type=click.Choice(HALVES), help="Only these packages.")
@click.option("--each", is_flag=True, help="Also print a line an image.")
@write_option
def main(folder: Path, half: str | None, each: bool, write: bool) -> None:
    """Print how well the published charts in FOLDER are read."""
    rows = [json.loads(line) for line in TABLES.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if half in (None, row["half"])]
    files = {
        hashlib.sha256(path.read_bytes()).hexdigest(): path
        for path in folder.rglob("*")
        if path.is_file()
    }
    missing = [row for row in rows if row["sha256"] not in files]
    if missing:
        first = missing[0]
        raise UserError(
            f"{folder} lacks {len(missing)} images, such as {first['path']} of {first['package']} "
            f"{first['version']}"
        )
    scores: dict[str, list[Published]] = {name: [] for name in HALVES}
    for row in rows:
        image = load_image(ImageRef(path=str(files[row["sha256"]])))
        one = score(row, points_of_charts(read(np.asarray(image))))
        scores[row["half"]].append(one)
        if each:
            echo(f"{one.f1:.2f} {one.values:4} {one.wrong:3} {row['package']} {row['path']}")
    block = "\n".join([HEADER, *(summary(name, own) for name, own in scores.items() if own)])
    echo(block)
    if write:
        write_to_pages(ROOT, {"published-charts": block})


if __name__ == "__main__":
    main()
