"""Measures the chart critic on CHOCOLATE, zero-shot and fitted, beside floors.

    python -m scripts.research.chart_critic.measure DIR --readings read.jsonl

DIR is CHOCOLATE as published. What was read off each image is kept in a file of JSON lines: what it
lacks is read with `--read`, about a second an image. SmolLM2 is asked, too, where it is installed,
unless `--no-language` is given: a third of a second a caption. Images are split in two by a digest
of their name; choices were made on the development half, figures are of the other, without what
both have. Sentences whose chart could not be read are unscored, and count as chance (0.5) in the
columns that say so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from revise_captions.benchmarks.catalog.published import BENCHMARKS, TABLE_4
from revise_captions.benchmarks.readers.chocolate import read
from revise_captions.charts import as_json, from_json
from revise_captions.charts.claims.mentions import numbers_in, years_in
from revise_captions.charts.claims.sentence import printed_numbers
from revise_captions.command_line.printing import echo
from revise_captions.critic.charts.critic import (
    ChartCritic,
    ChartReading,
    evidence_of,
    read_image,
)
from revise_captions.critic.charts.evidence import NAMES
from revise_captions.critic.charts.places import NumberPlace
from revise_captions.engines.smollm2 import is_installed
from revise_captions.io.images import load_image
from revise_captions.stats.classification import macro_f1, macro_f1_at, roc_auc
from revise_captions.stats.paired_tests import Statistic, measured
from scripts.research.chart_critic.halves import is_development, twins
from scripts.research.chart_critic.kept_answers import KeptAnswers
from scripts.research.frame.blocks import write_to_pages
from scripts.research.frame.report import ROOT, write_option

SCORED, AT_CHANCE = "zero-shot, scored", "zero-shot, unscored at chance"
FLOORS = ("floor: numbers", "floor: length")
NEED_THE_CHART = {"value_error", "trend_error", "magnitude_error", "label_error"}
NEUTRAL = "grammatical_error"
FEW = 8
REPLICATES = 400
#: Of `fitted`.
PRIOR, SHRINKAGE = 3.0, 0.003


@dataclass(frozen=True, slots=True)
class MeasuredSentence:
    """A sentence of CHOCOLATE.

    Attributes:
        image: The name of its image.
        captioner: Which model wrote it.
        source: `pew` or `vistext`.
        errors: Its types of error, grammatical ones aside.
        caption: Which caption of the collection it is in.
        readable: Whether a value was read off its chart.
        p: P(factual) of the critic, zero-shot; 0.5 if its chart was not read.
        values: Its evidence.
        numbers: Numbers that are printed nowhere in the image: a floor.
        length: Words: a floor.
    """

    image: str
    captioner: str
    source: str
    errors: tuple[str, ...]
    caption: int
    readable: bool
    p: float
    values: tuple[float, ...]
    numbers: float
    length: int


def readings_of(folder: Path, file: Path, more: bool) -> dict[str, ChartReading]:
    """Readings by image name, from the file, and, with `more`, read now and added to it."""
    found: dict[str, ChartReading] = {}
    if file.exists():
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            charts = tuple(from_json(chart) for chart in row["charts"])
            places = tuple(NumberPlace(value, frozenset(words)) for value, words in row["places"])
            found[row["image"]] = ChartReading(charts, tuple(row["lines"]), places=places)
    if more:
        with file.open("a", encoding="utf-8") as out:
            for example in read(folder):
                name = Path(example.image).name
                if name not in found:
                    found[name] = read_image(load_image(example.record.image))
                    out.write(json.dumps(row_of(name, found[name])) + "\n")
    return found


def row_of(name: str, reading: ChartReading) -> dict[str, Any]:
    """A reading as a row of the file of readings."""
    return {
        "image": name,
        "charts": [as_json(chart) for chart in reading.charts],
        "lines": reading.lines,
        "places": [(place.value, sorted(place.words)) for place in reading.places],
    }


def sentences_of(
    folder: Path, readings: dict[str, ChartReading], critic: ChartCritic
) -> list[MeasuredSentence]:
    """The sentences of all images that were read, with the critic's answers."""
    sentences = []
    for number, example in enumerate(read(folder)):
        name = Path(example.image).name
        reading = readings.get(name)
        if reading is None:
            continue
        texts = [one.span.of(example.caption) for one in example.sentences]
        printed = printed_numbers(reading.charts, reading.lines)
        language = critic.language if reading.readable else None
        found = evidence_of(reading, texts, language)
        chances = critic.weights.probabilities(NAMES, [one.values for one in found])
        for one, text, evidence, p in zip(example.sentences, texts, found, chances, strict=True):
            absent = sum(n.value not in printed for n in numbers_in(text, years_in(text)))
            sentences.append(
                MeasuredSentence(
                    name, example.captioner, name.partition("_")[0],
                    tuple(e for e in one.error_types if e != NEUTRAL), number, reading.readable,
                    p if reading.readable else 0.5, evidence.values, absent, len(text.split()),
                )
            )  # fmt: skip
    return sentences


def fitted(
    rows: Sequence[MeasuredSentence], train: Callable[[MeasuredSentence], bool]
) -> np.ndarray:
    """P(factual) of every row, for each captioner by weights fitted to `train` without it.

    Captioners err at different rates: the right and the wrong sentences of each weigh the same, so
    that no weight stands for a captioner's style, and the zero-shot log-odds, as one more piece of
    evidence, are shrunk little (`PRIOR`, `SHRINKAGE`: chosen within the development half).
    """
    from sklearn.linear_model import LogisticRegression

    p = np.clip([r.p for r in rows], 0.001, 0.999)
    values = np.array([r.values for r in rows])
    values = values / np.where(values.std(0) > 0, values.std(0), 1.0)
    values = np.column_stack([values, PRIOR * np.log(p / (1 - p))])
    truth = np.array([not r.errors for r in rows])
    readable = np.array([r.readable for r in rows])
    usable = readable & np.array([train(r) for r in rows])
    names = np.array([r.captioner for r in rows])
    scores = np.full(len(rows), 0.5)
    for name in sorted(set(names)):
        part = usable & (names != name)
        weight = np.zeros(len(rows))
        for other in set(names[part]):
            for right in (False, True):
                same = part & (names == other) & (truth == right)
                weight[same] = min(1 / max(1, same.sum()), 1 / 15)
        model = LogisticRegression(C=SHRINKAGE, max_iter=1000).fit(
            values[part], truth[part], sample_weight=weight[part] / weight[part].mean()
        )
        left = (names == name) & readable
        scores[left] = model.predict_proba(values[left])[:, 1]
    return scores


def shown(statistic: Statistic, scores: np.ndarray, truth: np.ndarray, images: np.ndarray) -> str:
    """A statistic with its 95 % interval over images."""
    found = measured(statistic, scores, truth, list(images), REPLICATES)
    if found.value is None or found.low is None:
        return "—"
    return f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})"


def above_floors(scores: np.ndarray, truth: np.ndarray) -> float:
    """ROC-AUC of the first column, less the best of the others."""
    own, *floors = (roc_auc(column, truth) for column in scores.T)
    return own - max(floors)


def line(name: str, rows: Sequence[MeasuredSentence], columns: dict[str, np.ndarray]) -> str:
    """A row of the table: ROC-AUC of each column, with its interval, and by how much the critic's,
    unscored sentences at chance, is above the better floor's."""
    read = np.array([r.readable for r in rows])
    truth = np.array([not r.errors for r in rows], dtype=float)
    images = np.array([r.image for r in rows])
    cells = []
    both = np.column_stack([columns[name] for name in (AT_CHANCE, *FLOORS)])
    for column, scores in [*columns.items(), ("above", both)]:
        part = read if column == SCORED else np.ones(len(rows), dtype=bool)
        right = truth[part].sum()
        if min(right, part.sum() - right) < FEW:
            cells.append("—")
            continue
        statistic = above_floors if column == "above" else roc_auc
        cells.append(shown(statistic, scores[part], truth[part], images[part]))
    shares = f"{100 * (1 - truth.mean()):.0f} % | {100 * (1 - read.mean()):.0f} %"
    return f"| {name} | {len(rows):,} | {shares} | " + " | ".join(cells) + " |"


def groups(rows: Sequence[MeasuredSentence]) -> dict[str, list[int]]:
    """Indexes of rows by source, captioner and type of error; true sentences are in every type."""
    every = range(len(rows))
    found = {"all": list(every)}
    for field in ("source", "captioner"):
        for name in sorted({getattr(row, field) for row in rows}):
            found[name] = [k for k in every if getattr(rows[k], field) == name]

    def of(errors: set[str]) -> list[int]:
        return [k for k in every if not rows[k].errors or errors & {*rows[k].errors}]

    found["errors that need the chart"] = of(NEED_THE_CHART)
    found["other errors"] = [
        k for k in every if not rows[k].errors or not NEED_THE_CHART & {*rows[k].errors}
    ]
    types = (*sorted(NEED_THE_CHART), "ooc_error", "nonsense_error")
    return found | {name: of({name}) for name in types}


def table(rows: Sequence[MeasuredSentence], columns: dict[str, np.ndarray]) -> list[str]:
    """ROC-AUC of all columns over groups of rows."""
    return [
        line(name, [rows[k] for k in part], {n: s[part] for n, s in columns.items()})
        for name, part in groups(rows).items()
    ]


@click.command(help=__doc__.splitlines()[0])
@click.argument("folder", type=click.Path(path_type=Path, exists=True))
@click.option("--readings", type=click.Path(path_type=Path), required=True, help="Read before.")
@click.option("--read", "more", is_flag=True, help="Read what is missing.")
@click.option("--language/--no-language", default=True, help="Ask SmolLM2, where it is installed.")
@click.option("--answers", type=click.Path(path_type=Path), help="File that keeps its answers.")
@click.option("--development", is_flag=True, help="The half that choices were made on.")
@write_option
def main(
    folder: Path,
    readings: Path,
    more: bool,
    language: bool,
    answers: Path | None,
    development: bool,
    write: bool,
) -> None:
    critic = ChartCritic(language=KeptAnswers(answers) if language and is_installed() else None)
    every = sentences_of(folder, readings_of(folder, readings, more), critic)
    if not every:
        raise click.ClickException(f"{readings} holds none of the images: add them with --read")
    both = twins({Path(one.image).name: one.record.image for one in read(folder)})
    block = figures(every, development, critic.threshold, both)
    echo(block)
    if write:
        write_to_pages(ROOT, {"chocolate": block})


def figures(
    every: Sequence[MeasuredSentence], development: bool, limit: float, both: Set[str]
) -> str:
    """The table of one half, and macro-F1, as Markdown; without the images that are in `both`
    halves, unless it is the one that choices were made on."""
    scores = fitted(every, lambda r: is_development(r.image))
    chosen = [
        k
        for k, r in enumerate(every)
        if is_development(r.image) == development and (development or r.image not in both)
    ]
    rows = [every[k] for k in chosen]
    zero = np.array([r.p for r in rows])
    columns = {
        SCORED: zero,
        AT_CHANCE: zero,
        "fitted, captioner left out, unscored at chance": scores[chosen],
        FLOORS[0]: -np.array([float(r.numbers) for r in rows]),
        FLOORS[1]: -np.array([float(r.length) for r in rows]),
    }
    half = "development" if development else "reporting"
    images = {r.image for r in rows}
    unread = {r.image for r in rows if not r.readable}
    return "\n".join([
        f"ROC-AUC on the {half} half: {len(rows):,} sentences of {len(images):,} images, "
        f"{len(unread):,} of which could not be read. 95 % intervals over images. Of the other "
        f"half's images, {len(both) // 2} stand in this one, too, under another name"
        f"{'' if development else '; here they are left out'}.\n",
        f"| | sentences | wrong | unscored | {' | '.join(columns)} | above the better floor |",
        f"| --- | --- | --- | --- | --- |{' --- |' * len(columns)}",
        *table(rows, columns),
        "",
        *(f"Macro-F1, {text}" for text in macro_f1_lines(rows, zero, scores[chosen], limit)),
        "",
        *beside_published(rows, zero, limit),
    ])  # fmt: skip


def beside_published(
    rows: Sequence[MeasuredSentence], scores: np.ndarray, limit: float
) -> list[str]:
    """A table of the critic, all sentences, among the raters of VNLI-Critique's Table 4."""
    truth = np.array([not r.errors for r in rows], dtype=float)
    below = np.where([r.readable for r in rows], scores, 0.0)
    own = f"{roc_auc(scores, truth):.2f}", f"{macro_f1(below, truth, limit):.2f}"
    at = 2 * BENCHMARKS.index("chocolate")
    raters = {name: row[at : at + 2] for name, row in TABLE_4.items()}
    raters["**`charts`, zero-shot**, all sentences of this half"] = own
    order = sorted(raters.items(), key=lambda one: one[1][0].replace("–", "0"), reverse=True)
    return [
        "| rater | ROC-AUC | macro-F1 |",
        "| --- | --- | --- |",
        *(f"| {name} | {auc} | {f1} |" for name, (auc, f1) in order),
    ]


def macro_f1_lines(
    rows: Sequence[MeasuredSentence], zero: np.ndarray, fitted_: np.ndarray, limit: float
) -> list[str]:
    """Macro-F1 at the critic's threshold; what is unscored counts as wrong, or is left out."""
    truth = np.array([not r.errors for r in rows], dtype=float)
    images = np.array([r.image for r in rows])
    read = np.array([r.readable for r in rows])

    def said(scores: np.ndarray, part: np.ndarray, at: float) -> str:
        return shown(macro_f1_at(at), scores[part], truth[part], images[part])

    every = np.ones(len(rows), dtype=bool)
    below = np.where(read, zero, 0.0)
    return [
        f"zero-shot at {limit}, scored sentences: {said(zero, read, limit)}; all sentences, "
        f"unscored ones taken for wrong: {said(below, every, limit)}.\n",
        f"fitted, at 0.5, scored sentences: {said(fitted_, read, 0.5)}.",
    ]


if __name__ == "__main__":
    main()
