"""Draws charts and writes captions whose sentences are known to be true or false.

    python -m revise_captions.chart_world.generate OUT --charts 100

OUT receives `images/` and `charts.jsonl`, a row for each chart: `image`, `caption`, `table` (the
truth as CSV) and, for each sentence, its span, label, type of error, rationale and rewrite.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import click

from revise_captions.chart_world.captions import ChartCaption, sample_caption
from revise_captions.chart_world.drawing import STYLES, draw_table, styles_of
from revise_captions.chart_world.readings import exact_reading
from revise_captions.chart_world.tables import Table, sample_table
from revise_captions.charts import as_csv
from revise_captions.command_line.running import run_command
from revise_captions.io.writing import check_new_folder


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


@click.command(help=__doc__.splitlines()[0])
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--charts", type=click.IntRange(1), default=100, show_default=True, help="Number of charts."
)
@click.option("--seed", default=0, show_default=True, help="Charts are the same for the same seed.")
@click.option("--style", type=click.Choice(STYLES), help="All charts in this style.")
@click.option("--force", is_flag=True, help="Write into OUT also where it is not empty.")
def main(out: Path, charts: int, seed: int, style: str | None, force: bool) -> None:
    if not force:
        check_new_folder(out)
    (out / "images").mkdir(parents=True, exist_ok=True)
    numbers = range(charts)
    with (
        open(out / "charts.jsonl", "w", encoding="utf-8") as rows,
        click.progressbar(numbers, label="drawing charts", file=sys.stderr) as counted,
    ):
        for number in counted:
            rng = random.Random(f"{seed}.{number}")
            table = _drawable(rng, style)
            caption = sample_caption(rng, table)
            name = f"images/chart-{number:05d}.png"
            draw_table(table, rng, style or "").save(out / name, optimize=True)
            rows.write(json.dumps(row_of(caption, name), ensure_ascii=False) + "\n")


def _drawable(rng: random.Random, style: str | None) -> Table:
    """A table of a kind that the style draws."""
    while style is not None:
        table = sample_table(rng)
        if style in styles_of(table):
            return table
    return sample_table(rng)


if __name__ == "__main__":
    run_command(main, "chart_world.generate")
