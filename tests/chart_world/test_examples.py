"""The charts of the demo: those of the world, small, and all of them shipped."""

from __future__ import annotations

import json
import random
from pathlib import Path

from revise_captions.chart_world.captions import sample_caption
from revise_captions.chart_world.generate import row_of
from revise_captions.chart_world.tables import sample_table

EXAMPLES = Path(__file__).parents[2] / "datasets/charts/examples"


def test_the_demos_charts_are_small_and_their_captions_the_worlds():
    rows = [json.loads(line) for line in (EXAMPLES / "charts.jsonl").read_text().splitlines()]
    assert len(rows) == 6
    for number, row in enumerate(rows):
        rng = random.Random(f"15.{number}")
        table = sample_table(rng)
        assert row == row_of(sample_caption(rng, table), row["image"])
        assert 2_000 < (EXAMPLES / row["image"]).stat().st_size <= 25_000
    assert sum("error" in s for row in rows for s in row["sentences"]) > 5
