"""Drawn charts as training data of the bundled critic's network, with their readings as text.

    python -m scripts.research.chart_critic.paligemma WORK/data --charts 700
    finetune-critic WORK/data --base bundled --out WORK/critic --minutes 20 --new-words 300 \\
        --max-length 1536 --describe-early 0 --describe-late 0 --tower-weight 0 --rationale-weight 0
    python -m scripts.research.chart_critic.candidates DIR --readings FILE \\
        --paligemma WORK/critic

The reading stands before the caption, as if it were sentences that nobody asks about.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from revise_captions.chart_world.captions import ChartCaption, sample_caption
from revise_captions.chart_world.drawing import draw_table
from revise_captions.chart_world.readings import noisy_reading
from revise_captions.chart_world.tables import sample_table
from revise_captions.charts import Chart, as_text

#: A reading's characters, at most; captions of a chart; the share of charts that validate.
READING, CAPTIONS, VALIDATION = 500, 3, 0.06


def before_caption(charts: Sequence[Chart]) -> str:
    """The text that stands before a caption: what was read of its charts."""
    return "\n".join(as_text(chart) for chart in charts)[:READING] + "\n"


def row_of(caption: ChartCaption, reading: str, name: str, image: str) -> dict[str, Any]:
    """A row as `finetune-critic` reads it; spans are half-open, in code points."""
    sentences, start = [], len(reading)
    for one in caption.statements:
        label = "factual" if one.error is None else "nonfactual"
        sentences.append({"start": start, "end": start + len(one.text), "label": label})
        start += len(one.text) + 1
    return {"id": name, "image": image, "caption": reading + caption.text, "sentences": sentences}


@click.command(help=__doc__.splitlines()[0])
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--charts", default=700, show_default=True, help="Number of charts.")
@click.option("--seed", default=8, show_default=True, help="Other charts.")
def main(out: Path, charts: int, seed: int) -> None:
    (out / "images").mkdir(parents=True, exist_ok=True)
    rows: dict[str, list[str]] = {"train": [], "validation": []}
    for number in range(charts):
        rng = random.Random(f"{seed}.{number}")
        table = sample_table(rng)
        image = f"images/{number:05d}.png"
        draw_table(table, rng).save(out / image)
        reading = before_caption([noisy_reading(table, rng)])
        split = "validation" if number < VALIDATION * charts else "train"
        for k in range(CAPTIONS):
            row = row_of(sample_caption(rng, table), reading, f"{number}.{k}", image)
            rows[split].append(json.dumps(row, ensure_ascii=False))
    for split, lines in rows.items():
        (out / f"{split}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
