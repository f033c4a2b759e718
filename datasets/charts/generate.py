"""Draws charts and writes captions whose sentences are known to be true or false.

    python -m revise_captions.chart_world.generate OUT --charts 100

OUT receives `images/` and `charts.jsonl`, a row for each chart: `image`, `caption`, `table` (the
truth as CSV) and, for each sentence, its span, label, type of error, rationale and rewrite.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import click

from revise_captions.chart_world.captions import ChartCaption, sample_caption
from revise_captions.chart_world.drawing import draw_table
from revise_captions.chart_world.readings import exact_reading
from revise_captions.chart_world.tables import sample_table
from revise_captions.charts import as_csv


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
@click.option("--charts", default=100, show_default=True, help="Number of charts.")
@click.option("--seed", default=0, show_default=True, help="Charts are the same for the same seed.")
@click.option("--style", default="", help="vega, matplotlib or infographic; by default, all three.")
def main(out: Path, charts: int, seed: int, style: str) -> None:
    (out / "images").mkdir(parents=True, exist_ok=True)
    with open(out / "charts.jsonl", "w", encoding="utf-8") as rows:
        for number in range(charts):
            rng = random.Random(f"{seed}.{number}")
            table = sample_table(rng)
            caption = sample_caption(rng, table)
            name = f"images/chart-{number:05d}.png"
            draw_table(table, rng, style).save(out / name, optimize=True)
            rows.write(json.dumps(row_of(caption, name), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
