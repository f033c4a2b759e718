"""Fits the chart critic's weights to the world of charts: no real chart or caption is in them.

    python -m scripts.research.chart_critic.fit critic/charts/bundled/weights.json
    python -m scripts.research.chart_critic.fit critic/charts/bundled/weights-language.json \
        --language critic/charts/smollm2 --captions 360

The evidence that is weighed, the share of noise, and the threshold were chosen on the development
half of CHOCOLATE.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import click
import numpy as np

from revise_captions.chart_world.captions import sample_caption
from revise_captions.chart_world.readings import exact_reading, noisy_reading, text_of_chart
from revise_captions.chart_world.tables import sample_table
from revise_captions.command_line.printing import echo
from revise_captions.critic.charts.critic import ChartReading, evidence_of
from revise_captions.critic.charts.evidence import NAMES
from revise_captions.critic.charts.language import ChartLanguage
from revise_captions.critic.charts.places import NumberPlace, numbers_of, words_and_years
from revise_captions.critic.charts.weights import of_the_others
from scripts.research.chart_critic.kept_answers import KeptAnswers

#: How often noise is drawn.
DRAWS = 5


def examples(
    captions: int, seed: int, language: ChartLanguage | None = None
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """For each caption, evidence, (sentences, len(NAMES)), and whether each sentence is true."""
    values, labels = [], []
    for number in range(captions):
        rng = random.Random(f"{seed}.{number}")
        table = sample_table(rng)
        caption = sample_caption(rng, table)
        text = text_of_chart(exact_reading(table), rng)
        places = [
            NumberPlace(value, words_and_years(beside))
            for line, beside in text
            for value in numbers_of(line)
        ]
        charts, lines = (noisy_reading(table, rng),), tuple(line for line, _ in text)
        reading = ChartReading(charts, lines, places=tuple(places))
        found = evidence_of(reading, [one.text for one in caption.statements], language)
        values.append(np.array([one.values for one in found]))
        labels.append(np.array([one.error is None for one in caption.statements]))
    return values, labels


def with_noise(
    values: np.ndarray, share: float, paraphrased: float, misnamed: float, seed: int
) -> np.ndarray:
    """Gives a share of the sentences the evidence of others, and so for a language model's answers;
    and one the absent words of others.

    Real charts and sentences are understood far less often than those of the world, and then what
    is found says nothing; and real captions say in their own words what the world's say in those of
    the chart. Whether a number is another name's is told nearly as often there as here, as it takes
    no grammar, so it has less noise, of its own.
    """
    rng = np.random.default_rng(seed)
    noisy = values.copy()
    names = NAMES.index("at other names")
    parts: tuple[tuple[list[int], float], ...] = (
        ([k for k in range(NAMES.index("language model")) if k != names], share),
        ([NAMES.index("language model")], share),
        ([NAMES.index("absent words")], paraphrased),
        ([names], misnamed),
    )
    for columns, part in parts:
        chosen = np.flatnonzero(rng.random(len(values)) < part)
        others = rng.integers(0, len(values), len(chosen))
        noisy[chosen[:, None], columns] = values[others[:, None], columns]
    return noisy


@click.command(help=__doc__.splitlines()[0])
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--captions", default=4000, show_default=True, help="Captions of the world.")
@click.option("--noise", default=0.45, show_default=True, help="Share of evidence that is noise.")
@click.option(
    "--paraphrased", default=0.4, show_default=True, help="Share of absent words that is."
)
@click.option("--misnamed", default=0.15, show_default=True, help="Of numbers at other names.")
@click.option(
    "--language", type=click.Path(path_type=Path), help="Folder of an adapter of SmolLM2 to ask."
)
@click.option("--answers", type=click.Path(path_type=Path), help="File that keeps its answers.")
@click.option("--threshold", default=0.5, show_default=True, help="Stored beside the weights.")
@click.option("--seed", default=9, show_default=True, help="Other captions.")
def main(
    out: Path, captions: int, noise: float, paraphrased: float, misnamed: float,
    language: Path | None, answers: Path | None, threshold: float, seed: int,
) -> None:  # fmt: skip
    from sklearn.linear_model import LogisticRegression

    asked = None if language is None else KeptAnswers(answers, language)
    by_caption, labels = examples(captions, seed, asked)
    clean = np.concatenate(by_caption)
    values = np.concatenate(
        [with_noise(clean, noise, paraphrased, misnamed, seed + k) for k in range(DRAWS)]
    )
    truth = np.tile(np.concatenate(labels), DRAWS)
    labels = labels * DRAWS
    scale = np.where(values.std(0) > 0, values.std(0), 1.0)
    model = LogisticRegression(C=0.3, max_iter=2000).fit(values / scale, truth)
    weights, bias = model.coef_[0] / scale, float(model.intercept_[0])
    odds = values @ weights + bias
    ends = np.cumsum([len(one) for one in labels])[:-1]
    others = np.concatenate([of_the_others(list(part)) for part in np.split(odds, ends)])
    both = LogisticRegression(C=10).fit(np.column_stack([odds, others]), truth)
    row = {
        "weights": {name: round(float(w), 4) for name, w in zip(NAMES, weights, strict=True)},
        "bias": round(bias, 4),
        "own": round(float(both.coef_[0][0]), 4),
        "others": round(float(both.coef_[0][1]), 4),
        "shift": round(float(both.intercept_[0]), 4),
        "threshold": threshold,
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")
    echo(f"{len(clean):,} sentences of {captions:,} captions")


if __name__ == "__main__":
    main()
