"""Draws charts and writes captions whose sentences are known to be true or false.

    python -m revise_captions.chart_world.generate OUT --charts 100

OUT receives `images/` and `charts.jsonl`, a row for each chart: `image`, `caption`, `table` (the
truth as CSV) and, for each sentence, its span, label, type of error, rationale and rewrite.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from revise_captions.chart_world.captions import ChartCaption, sample_caption
from revise_captions.chart_world.drawing import STYLES, draw_table, styles_of
from revise_captions.chart_world.readings import exact_reading
from revise_captions.chart_world.tables import Table, sample_table
from revise_captions.charts import as_csv
from revise_captions.command_line.command import command
from revise_captions.command_line.options import argument, option
from revise_captions.command_line.running import run_command
from revise_captions.io.writing import check_new_folder, json_lines_writer


def row_of(caption: ChartCaption, image: str) -> dict[str, Any]:
    """A chart's row: spans are half-open, in code points of the caption."""
    sentences, start = [], 0
    for one in caption.statements:
        row: dict[str, Any] = {"start": start, "end": start + len(one.text)}
        row["label"] = "factual" if one.error is None else "nonfactual"
        if one.error is not None:
            row |= {"error": one.error, "rationale": one.rationale, "rewrite": one.rewrite}
        sentences.append(row)
        start += len(one.text) + 1
    table = as_csv({image: [exact_reading(caption.table)]})
    return {"image": image, "caption": caption.text, "sentences": sentences, "table": table}


@dataclass(frozen=True, slots=True)
class ChartsOptions:
    """Which charts are drawn."""

    out: Path = argument("OUT")
    charts: int = option(100, "Number of charts.", type=click.IntRange(1))
    seed: int = option(0, "Charts are the same for the same seed.")
    style: str | None = option(None, "All charts in this style.", choices=STYLES)
    force: bool = option(False, "Write into OUT also where it is not empty.")


@command(ChartsOptions)
def main(options: ChartsOptions) -> None:
    """Draw charts and write captions whose sentences are known to be true or false."""
    out, style = options.out, options.style
    if not options.force:
        check_new_folder(out)
    (out / "images").mkdir(parents=True, exist_ok=True)
    numbers = range(options.charts)
    with (
        open(out / "charts.jsonl", "wb") as file,
        click.progressbar(numbers, label="drawing charts", file=sys.stderr) as counted,
    ):
        rows = json_lines_writer(file)
        for number in counted:
            rng = random.Random(f"{options.seed}.{number}")
            table = _drawable(rng, style)
            caption = sample_caption(rng, table)
            name = f"images/chart-{number:05d}.png"
            draw_table(table, rng, style or "").save(out / name, optimize=True)
            rows.write(row_of(caption, name))


def _drawable(rng: random.Random, style: str | None) -> Table:
    """A table of a kind that the style draws."""
    while style is not None:
        table = sample_table(rng)
        if style in styles_of(table):
            return table
    return sample_table(rng)


if __name__ == "__main__":
    run_command(main, "chart_world.generate")
