"""What the bundled critic learns from 50, 200 and 1,000 sentences about pictures unlike its own.

    python -m scripts.research.critic.learning_curve WORK [--steps 40] [--write]

The pictures are the picture book's, as a poor camera takes them at night: at a quarter of their
brightness, with noise. The labels are the oracle's, without rationales. Each row is a fine-tuning
of as many steps by `captions finetune`, from a file of labels that it splits by image. The floor is
the critic as it is, its threshold chosen on the same sentences. Both are measured on other scenes,
without a domain gate, which would leave all of these pictures unscored. WORK keeps what is done.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
from PIL import Image

from revise_captions.command_line.printing import echo
from revise_captions.critic.load import load_critic
from revise_captions.critic.protocol import Critic
from revise_captions.stats.calibration import best_threshold
from revise_captions.stats.classification import macro_f1_at, roc_auc
from scripts.research.bundled_models.critic_figures import (
    SentenceScores,
    judge_items,
    with_interval,
)
from scripts.research.frame import blocks as markdown
from scripts.research.frame.figures import rows_as_table, spread
from scripts.research.frame.held_out import Item, held_out

ROOT = Path(__file__).resolve().parents[3]
BUDGETS = (50, 200, 1000)
BRIGHTNESS, NOISE = 0.25, 12.0
#: First scenes: far behind those that training data are made of, and others for each use.
TAUGHT, TESTED = 6_000_000, 7_000_000
OPTIONS = (
    *("--preset", "adapt", "--epochs", "0", "--new-words", "0", "--batch-size", "8"),
    *("--warmup", "5", "--rationale-weight", "0", "--no-compile", "--validate-time", "0"),
)


def at_night(item: Item, number: int) -> Item:
    """The item with a dark, noisy picture; `number` seeds the noise."""
    light = np.asarray(item.image.convert("RGB"), float) * BRIGHTNESS
    noise = np.random.default_rng(number).normal(0, NOISE, light.shape)
    return replace(item, image=Image.fromarray((light + noise).clip(0, 255).astype(np.uint8)))


def scenes(first: int, count: int) -> list[Item]:
    items = held_out("train", count, first=first, balanced=True)
    return [at_night(item, first + number) for number, item in enumerate(items)]


def taught(budget: int) -> list[Item]:
    """Captions with at most so many sentences together."""
    items = scenes(TAUGHT, max(2, budget // 5))
    ends = np.cumsum([len(item.spans) for item in items])
    return items[: int(np.searchsorted(ends, budget, side="right"))]


def write_labels(items: Sequence[Item], folder: Path) -> Path:
    """A file of labels, and the pictures beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "labels.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number, item in enumerate(items):
            item.image.save(folder / f"{number}.png")
            sentences = [
                {"start": s.start, "end": s.end, "label": "factual" if true else "nonfactual"}
                for s, true in zip(item.spans, item.factual, strict=True)
            ]
            row = {"image": f"{number}.png", "caption": item.text, "sentences": sentences}
            file.write(json.dumps(row) + "\n")
    return path


def without_gate(name: str) -> Critic:
    critic = load_critic(name)
    critic.gate = None  # type: ignore[attr-defined]
    return critic


def fine_tuned(labels: Path, out: Path, steps: int) -> Critic:
    if not (out / "config.json").exists():
        ours = [sys.executable, "-m", "revise_captions", "finetune", str(labels)]
        options = ["--base", "bundled", "--out", str(out), "--steps", str(steps)]
        resumed = ["--resume"] if out.exists() else []
        subprocess.run([*ours, *options, *OPTIONS, *resumed], check=True)
    return without_gate(str(out))


def row(title: str, sentences: int, judged: SentenceScores, threshold: float) -> list[str]:
    cells = [f"{sentences:,}" if sentences else "–", title]
    for statistic in (roc_auc, macro_f1_at(threshold)):
        value, low, high = with_interval(statistic, judged)
        cells.append(f"{value:.3f}{spread(low, high)}")
    return cells


@click.command(help=__doc__)
@click.argument("work", type=click.Path(file_okay=False, path_type=Path))
@click.option("--steps", type=click.IntRange(1), default=40, show_default=True)
@click.option("--tested", type=click.IntRange(10), default=100, show_default=True)
@click.option("--write", is_flag=True, help="Also into the page with the marks.")
def main(work: Path, steps: int, tested: int, write: bool) -> None:
    fresh = scenes(TESTED, tested)
    base = without_gate("picturebook")
    before = judge_items(base, fresh)
    rows = [["sentences", "critic", "ROC-AUC", "macro-F1"]]
    rows.append(row("bundled, as it is", 0, before, base.threshold))
    echo(" | ".join(rows[-1]))
    for budget in BUDGETS:
        items = taught(budget)
        count = sum(len(item.spans) for item in items)
        known = judge_items(base, items)
        threshold, _ = best_threshold(known.p, known.factual)
        rows.append(row("bundled, calibrated", count, before, threshold))
        echo(" | ".join(rows[-1]))
        labels = write_labels(items, work / f"{budget}")
        critic = fine_tuned(labels, work / f"{budget}" / "critic", steps)
        rows.append(row("fine-tuned", count, judge_items(critic, fresh), critic.threshold))
        echo(" | ".join(rows[-1]))
    note = f"{steps} steps each; measured on {len(before.p):,} sentences of {tested} other scenes."
    block = f"{rows_as_table(rows)}\n\n{note}"
    echo(block)
    if write:
        markdown.write_to_pages(ROOT, {"learning-curve": block})


if __name__ == "__main__":
    main()
