"""Fits the chart critic's weights to the world of charts: no real chart or caption is in them.

    python -m scripts.research.chart_critic.fit critic/charts/bundled/weights.json --threshold 0.5

The evidence that is weighed and the threshold were chosen on the development half of CHOCOLATE.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import click
import numpy as np

from revise_captions.chart_world.captions import sample_caption
from revise_captions.chart_world.readings import noisy_reading
from revise_captions.chart_world.tables import sample_table
from revise_captions.commands import echo
from revise_captions.critic.charts.evidence import NAMES, gather

#: Words that the chart lacks tell wrong sentences of the world, whose lexicon is small, and say
#: nothing of real ones (ROC-AUC .49 on the development half): they are not weighed.
CHOSEN = tuple(
    name
    for name in NAMES
    if name in ("borne out elsewhere", "unseen numbers")
    or ("elsewhere" not in name and "unseen" not in name)
)


def examples(captions: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """ChartEvidence, (sentences, len(CHOSEN)), and whether each sentence is true."""
    chosen = [NAMES.index(name) for name in CHOSEN]
    values, labels = [], []
    for number in range(captions):
        rng = random.Random(f"{seed}.{number}")
        table = sample_table(rng)
        caption = sample_caption(rng, table)
        texts = [one.text for one in caption.statements]
        for one, found in zip(
            caption.statements, gather(texts, [noisy_reading(table, rng)], []), strict=True
        ):
            values.append([found.values[k] for k in chosen])
            labels.append(one.error is None)
    return np.array(values), np.array(labels)


@click.command(help=__doc__.splitlines()[0])
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--captions", default=1500, show_default=True, help="Captions of the world.")
@click.option("--threshold", default=0.5, show_default=True, help="Stored beside the weights.")
@click.option("--seed", default=9, show_default=True, help="Other captions.")
def main(out: Path, captions: int, threshold: float, seed: int) -> None:
    from sklearn.linear_model import LogisticRegression

    values, labels = examples(captions, seed)
    scale = np.where(values.std(0) > 0, values.std(0), 1.0)
    model = LogisticRegression(C=0.3).fit(values / scale, labels)
    weights = {n: round(float(w), 4) for n, w in zip(CHOSEN, model.coef_[0] / scale, strict=True)}
    row = {"weights": weights, "bias": round(float(model.intercept_[0]), 4), "threshold": threshold}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")
    echo(f"{len(labels):,} sentences of {captions:,} captions")


if __name__ == "__main__":
    main()
