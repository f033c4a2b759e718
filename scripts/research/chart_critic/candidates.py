"""Candidates for the chart critic on CHOCOLATE's development half, side by side.

    python -m scripts.research.chart_critic.candidates DIR --readings FILE [--paligemma CRITIC]

DIR and the readings are those of `measure`. “Fitted” is fitted to the half without the captioner
and without the quarter of the images that it is tested on; “within” is the mean over the captioners
of what is reached among the sentences of each. Charts that could not be read are left out, and the
seconds are those of the processor after reading, for all captions of an image.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from revise_captions.benchmarks.readers.chocolate import read
from revise_captions.commands import echo
from revise_captions.critic.charts.critic import ChartCritic, ChartReading
from revise_captions.critic.charts.language import ChartLanguage
from revise_captions.critic.load import load_critic
from revise_captions.critic.protocol import Critic, JudgeRequest
from revise_captions.io.images import load_image
from revise_captions.records import Span
from revise_captions.stats.classification import roc_auc
from scripts.research.chart_critic.halves import is_development
from scripts.research.chart_critic.kept_answers import KeptAnswers
from scripts.research.chart_critic.measure import (
    MeasuredSentence,
    fitted,
    readings_of,
    sentences_of,
)
from scripts.research.chart_critic.paligemma import before_caption
from scripts.research.markdown import write_blocks

#: `TIMED`: images whose captions are judged for the time that it takes.
FOLDS, TIMED = 4, 30
HEAD = (
    "| candidate | zero-shot | … within | fitted | … within | seconds an image |\n"
    "| --- | --- | --- | --- | --- | --- |"
)


def by_odds(rows: Sequence[MeasuredSentence], p: Sequence[float]) -> list[MeasuredSentence]:
    """The sentences with this P(factual), and nothing but it as evidence."""
    odds = np.log(np.clip(p, 0.001, 0.999) / (1 - np.clip(p, 0.001, 0.999)))
    triples = zip(rows, p, odds, strict=True)
    return [replace(row, p=float(one), values=(float(odd),)) for row, one, odd in triples]


def seconds(work: Callable[[], Any]) -> float:
    """The processor's time for it."""
    began = time.process_time()
    work()
    return time.process_time() - began


def of_paligemma(critic: Critic, data: Path, readings: dict[str, ChartReading]) -> list[float]:
    """P(factual) of every sentence by a PaliGemma 2 that reads the reading before the caption."""
    found: list[float] = []
    for example in read(data):
        name = Path(example.image).name
        if name not in readings or not readings[name].readable:
            continue
        before = before_caption(readings[name].charts)
        spans = [Span(0, len(before))]
        spans += [
            Span(s.span.start + len(before), s.span.end + len(before)) for s in example.sentences
        ]
        image, text = load_image(example.record.image), before + example.caption
        (verdicts,) = critic.judge([JudgeRequest(image, text, tuple(spans), first=1)])
        found += [0.5 if one.p_factual is None else one.p_factual for one in verdicts]
    return found


def within(scores: np.ndarray, truth: np.ndarray, captioners: np.ndarray) -> float:
    """The mean of ROC-AUC among the sentences of each captioner."""
    parts = [captioners == name for name in sorted(set(captioners))]
    return float(np.mean([roc_auc(scores[part], truth[part]) for part in parts]))


def among(images: frozenset[str]) -> Callable[[MeasuredSentence], bool]:
    """Whether a sentence is about one of these images."""
    return lambda row: row.image in images


def line(name: str, rows: Sequence[MeasuredSentence], each: float) -> str:
    """A candidate's row of the table. `each`: seconds an image."""
    truth = np.array([not row.errors for row in rows], dtype=float)
    captioners = np.array([row.captioner for row in rows])
    digests = [hashlib.md5(row.image.encode()).hexdigest() for row in rows]
    folds = np.array([int(digest, 16) % FOLDS for digest in digests])
    fold_of = dict(zip((row.image for row in rows), folds, strict=True))
    after = np.zeros(len(rows))
    for k in range(FOLDS):
        others = frozenset(image for image, fold in fold_of.items() if fold != k)
        after[folds == k] = fitted(rows, among(others))[folds == k]
    cells = [
        f"{roc_auc(scores, truth):.3f} | {within(scores, truth, captioners):.3f}"
        for scores in (np.array([row.p for row in rows]), after)
    ]
    return f"| {name} | {' | '.join(cells)} | {each:.2f} |"


@click.command(help=__doc__.splitlines()[0])
@click.argument("data", type=click.Path(path_type=Path, exists=True))
@click.option("--readings", type=click.Path(path_type=Path), required=True, help="Read before.")
@click.option("--paligemma", type=click.Path(path_type=Path), help="A critic trained on charts.")
@click.option("--answers", type=click.Path(path_type=Path), help="File that keeps SmolLM2's.")
@click.option("--write", type=click.Path(path_type=Path), help="Page to write the table to.")
def main(
    data: Path, readings: Path, paligemma: Path | None, answers: Path | None, write: Path | None
) -> None:
    found = readings_of(data, readings, more=False)
    found = {name: one for name, one in found.items() if is_development(name) and one.readable}
    plain = sentences_of(data, found, ChartCritic())
    both = sentences_of(data, found, ChartCritic(language=KeptAnswers(answers)))
    alone = by_odds(both, [1 / (1 + np.exp(-row.values[-1])) for row in both])
    few = {name: found[name] for name in sorted(found)[:TIMED]}
    claims = seconds(lambda: sentences_of(data, few, ChartCritic())) / TIMED
    language = ChartLanguage()
    language.log_odds((), (), [""])  # loads it
    timed = ChartCritic(language=language)
    model = seconds(lambda: sentences_of(data, few, timed)) / TIMED
    lines = [HEAD, line("(c) claims", plain, claims), line("(b) SmolLM2", alone, model - claims)]
    lines.append(line("(b) and (c)", both, model))
    if paligemma is not None:
        critic, p = load_critic(str(paligemma)), []
        taken = seconds(lambda: p.extend(of_paligemma(critic, data, found)))
        lines.append(line("(a) PaliGemma 2", by_odds(plain, p), taken / len(found)))
    images = len({row.image for row in plain})
    lines.append(f"\n{len(plain):,} sentences of {images:,} images that could be read.")
    block = "\n".join(lines)
    echo(block)
    if write is not None:
        write_blocks(write, {"candidates": block})


if __name__ == "__main__":
    main()
