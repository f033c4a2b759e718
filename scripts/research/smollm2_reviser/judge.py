"""What a judge is worth where the truth is known: captions of the same image, or of another one.

    python -m scripts.research.smollm2_reviser.judge DATA offline smollm2 [--images 14]

People wrote five captions of each image of `faithscore`. The components of the first are looked for
in the other four, which mostly speak of them, and in the captions of the next image, which do not.
Printed: ROC-AUC of the grades, how many components got one, and grades/s.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import click
import numpy as np

from revise_captions.commands import echo
from revise_captions.graphs.parse import parse
from revise_captions.posh.judge import GradingTask
from revise_captions.posh.score_file import PoshOptions, load_judge
from revise_captions.stats.classification import roc_auc
from scripts.research import markdown

ROOT = Path(__file__).resolve().parents[3]


def tasks_of(data: Path, images: int) -> list[GradingTask]:
    """Two tasks for each image: its own captions, then those of the next."""
    lines = (data / "faithscore" / "captions_boxes.jsonl").read_text(encoding="utf-8").splitlines()
    captions = [json.loads(line)["captions"] for line in lines[:images]]
    graphs = [[graph.present() for graph in parse(texts)] for texts in captions]
    return [
        GradingTask(own[0], tuple(other[1:]), precision=True)
        for own, following in zip(graphs, graphs[1:] + graphs[:1], strict=True)
        for other in (own, following)
    ]


@click.command(help=__doc__)
@click.argument("data", type=click.Path(path_type=Path, exists=True))
@click.argument("judges", nargs=-1, required=True)
@click.option("--images", default=14, show_default=True, help="Of the fourteen.")
@click.option("--write", is_flag=True, help="Also into docs.")
def main(data: Path, judges: tuple[str, ...], images: int, write: bool) -> None:
    tasks = tasks_of(data, images)
    lines = ["| judge | ROC-AUC | graded | grades/s |", "| --- | --- | --- | --- |"]
    for name in judges:
        judge = load_judge(PoshOptions(Path(), Path(), judge=name, no_rewriting=True))
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
        lines.append(f"| {name} | {auc} | {len(graded)} of {total} | {total / seconds:.1f} |")
        echo(lines[-1])
    if write:
        markdown.write_to_pages(ROOT, {"small-judge": "\n".join(lines)})


if __name__ == "__main__":
    main()
