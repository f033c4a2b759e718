"""What a judge is worth where the truth is known: captions of the same image, or of another one.

    python -m scripts.research.smollm2_reviser.judge DATA offline smollm2 [--metric dcscore]

People wrote five captions of each image of `faithscore`. The components of the first are looked for
in the other four, which mostly speak of them, and in the captions of the next image, which do not.
Printed for POSH: ROC-AUC of the grades, how many components got one, and grades/s. For DCScore: the
captions whose answer holds units, and of the first caption's units (offline ones, so that the same
are asked of all) the share that is found in the captions of the same image, and in the next one's,
with 95 % intervals over images.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import click
import numpy as np

from revise_captions.commands import echo
from revise_captions.dcscore.units import MatchTask
from revise_captions.graphs.parse import parse
from revise_captions.pipelines.dcscore.options import UnitModels, load_decomposer, load_matcher
from revise_captions.posh.judge import GradingTask
from revise_captions.posh.score_file import PoshOptions, load_judge
from revise_captions.stats.bootstrap import ratio_interval
from revise_captions.stats.classification import roc_auc
from scripts.research import markdown
from scripts.research.smollm2_reviser.evaluate import shown

ROOT = Path(__file__).resolve().parents[3]


def captions_of(data: Path, images: int) -> list[list[str]]:
    """The five captions of each image."""
    lines = (data / "faithscore" / "captions_boxes.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["captions"] for line in lines[:images]]


def tasks_of(captions: list[list[str]]) -> list[GradingTask]:
    """Two tasks for each image: its own captions, then those of the next."""
    graphs = [[graph.present() for graph in parse(texts)] for texts in captions]
    return [
        GradingTask(own[0], tuple(other[1:]), precision=True)
        for own, following in zip(graphs, graphs[1:] + graphs[:1], strict=True)
        for other in (own, following)
    ]


def posh_row(name: str, captions: list[list[str]]) -> str:
    """How well a judge's grades tell own captions from others."""
    judge = load_judge(PoshOptions(Path(), Path(), judge=name, no_rewriting=True))
    tasks = tasks_of(captions)
    began = time.perf_counter()
    found = judge.grade(tasks)
    seconds = time.perf_counter() - began
    graded = [
        (grade.score, number % 2 == 0)
        for number, grades in enumerate(found)
        for grade in grades
        if grade.score is not None
    ]
    values = np.array(graded, dtype=float).reshape(-1, 2)
    total = sum(map(len, found))
    auc = f"{roc_auc(values[:, 0], values[:, 1]):.3f}" if graded else "–"
    return f"| {name} | {auc} | {len(graded)} of {total} | {total / seconds:.1f} |"


def dcscore_row(name: str, captions: list[list[str]]) -> str:
    """What a decomposer and matcher make of the same captions."""
    models = UnitModels(decomposer=name, matcher=name, batch_size=4)
    firsts = load_decomposer(models).decompose([texts[0] for texts in captions])
    read = sum(bool(one.units) and not one.unscored for one in firsts)
    offline = load_decomposer(UnitModels())
    units = offline.decompose([texts[0] for texts in captions])
    rest = offline.decompose([" ".join(texts[1:]) for texts in captions])
    matcher = load_matcher(models)
    shares: list[str] = []
    for references in (rest, rest[1:] + rest[:1]):
        found = matcher.match(list(map(MatchTask, units, references)))
        counted = [[bool(m.references) for m in own if not m.unscored] for own in found]
        units_scored, asked = sum(map(len, counted)), sum(map(len, found))
        share = "–"
        if units_scored:
            share = shown(ratio_interval([sum(own) for own in counted], [len(o) for o in counted]))
        shares.append(f"{share} of {units_scored} ({asked - units_scored} unscored)")
    return f"| {name} | {read} of {len(firsts)} | {' | '.join(shares)} |"


METRICS = {
    "posh": ("| judge | ROC-AUC | graded | grades/s |", posh_row),
    "dcscore": (
        "| decomposer and matcher | captions read | found in the same image's | in another's |",
        dcscore_row,
    ),
}


@click.command(help=__doc__)
@click.argument("data", type=click.Path(path_type=Path, exists=True))
@click.argument("judges", nargs=-1, required=True)
@click.option("--images", default=14, show_default=True, help="Of the fourteen.")
@click.option("--metric", default="posh", show_default=True, type=click.Choice(list(METRICS)))
@click.option("--write", is_flag=True, help="Also into docs.")
def main(data: Path, judges: tuple[str, ...], images: int, metric: str, write: bool) -> None:
    captions = captions_of(data, images)
    head, row = METRICS[metric]
    lines = [head, "| --- | --- | --- | --- |"]
    for name in judges:
        lines.append(row(name, captions))
        echo(lines[-1])
    if write:
        markdown.write_to_pages(ROOT, {f"small-{metric}": "\n".join(lines)})


if __name__ == "__main__":
    main()
