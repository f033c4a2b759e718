"""Do corrected shares cover the truth? Runs and measurements drawn from captions with an oracle.

    python -m scripts.research.calibration.labeled_run runs/pool --scenes 800
    python -m scripts.research.calibration.coverage runs/pool --write

Each trial draws some images to measure the critic on, and others as a run, computes the figures
that a run's summary prints, before and after the revision, and looks whether their 95 % intervals
contain the true share of all captions that the run was drawn from.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from revise_captions.critic.profile import MeasuredSentences
from revise_captions.io.rows import dumps
from revise_captions.pipelines.output.shares import COLUMN, COLUMNS
from revise_captions.pipelines.report.corrected import corrected
from revise_captions.signature import settings_of
from revise_captions.stats.bootstrap import Sums, weights
from scripts.research.frame.blocks import write_to_pages

ROOT = Path(__file__).parents[3]
Caption = list[dict[str, Any]]
ENDS = ("before", "after")


@dataclass(frozen=True, slots=True)
class Pool:
    """Captions with what critic and oracle said, by captioner.

    Attributes:
        captions: Each caption's sentences.
        captioner: Of each caption.
        threshold: The critic's.
        critic: Its name.
    """

    captions: Sequence[Caption]
    captioner: Sequence[str]
    threshold: float
    critic: str

    def by_quality(self) -> tuple[list[int], list[int]]:
        """Captions of the best third of the captioners, and of the worst."""
        shares = {name: np.mean([s["true"] for s in self.of(name)]) for name in set(self.captioner)}
        order = sorted(shares, key=lambda name: (-shares[name], name))
        third = len(order) // 3
        sides = set(order[:third]), set(order[-third:])
        best, worst = (
            [k for k, name in enumerate(self.captioner) if name in side] for side in sides
        )
        return best, worst

    def of(self, name: str) -> Caption:
        found = zip(self.captions, self.captioner, strict=True)
        return [s for caption, other in found if other == name for s in caption]


def read(folders: Sequence[Path]) -> Pool:
    """What `labeled_run` wrote: one folder, or several of one critic and reviser."""
    lines = [
        line
        for folder in folders
        for line in (folder / "fates.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    rows = [json.loads(line) for line in lines]
    texts = [(folder / "data.json").read_text(encoding="utf-8") for folder in folders]
    signatures = {json.loads(text)["signature"] for text in texts}
    if len(signatures) != 1:
        raise click.ClickException("the folders are of different critics or revisers")
    settings = settings_of(signatures.pop())
    captions = [[s for s in row["sentences"] if s["p"] is not None] for row in rows]
    names = [row["captioner"] for row in rows]
    return Pool(captions, names, float(settings["threshold"]), settings["critic"])


def measured(captions: Sequence[Caption], *, rewrites: bool) -> MeasuredSentences:
    """The sentences of a profile that was made of these captions; the map does nothing."""
    rows = [(k, s["p"], s["true"], False) for k, caption in enumerate(captions) for s in caption]
    if rewrites:
        rows += [
            (k, s["p_after"], s["true_after"], True)
            for k, caption in enumerate(captions)
            for s in caption
            if s["accepted"] and s["p_after"] is not None
        ]
    image, p, factual, rewritten = (np.array(column) for column in zip(*rows, strict=True))
    return MeasuredSentences(image, p, factual, rewritten, np.ones(len(p)))


def counted(caption: Caption, threshold: float) -> list[int]:
    """A record's counts, one for each of `shares.COLUMNS`, as far as correction looks at them."""
    row = [0] * len(COLUMNS)
    for s in caption:
        said = s["p"] >= threshold
        row[COLUMN["scored_before"]] += 1
        row[COLUMN["factual_before"]] += said
        if s["p_after"] is None:
            continue
        row[COLUMN["scored_after"]] += 1
        row[COLUMN["factual_after"]] += s["p_after"] >= threshold
        kind = "rewritten" if s["accepted"] else "kept" if said else "flagged"
        row[COLUMN[f"{kind}_after"]] += 1
    return row


def truth(captions: Sequence[Caption]) -> dict[str, float]:
    """The true shares before and after."""
    flat = [s for caption in captions for s in caption]
    after = [s["true_after"] for s in flat if s["p_after"] is not None]
    return {"before": float(np.mean([s["true"] for s in flat])), "after": float(np.mean(after))}


@dataclass(frozen=True, slots=True)
class Draw:
    """What is measured on, and what is run: captions of the pool, and how many are drawn."""

    name: str
    measure: Sequence[int]
    run: Sequence[int]
    images: int
    records: int
    rewrites: bool = True


def trials(pool: Pool, setup: Draw, count: int, seed: int = 0) -> dict[str, dict[str, float]]:
    """Coverage, mean width and mean error, of corrected shares and of the critic's own."""
    rng = np.random.default_rng(seed)
    counts = np.array([counted(caption, pool.threshold) for caption in pool.captions])
    known = truth([pool.captions[k] for k in setup.run])
    rows: dict[str, list[tuple[float, float, float]]] = {
        f"{kind} {end}": [] for kind in ("corrected", "critic") for end in ENDS
    }
    for trial in range(count):
        there = [pool.captions[k] for k in rng.choice(setup.measure, setup.images)]
        drawn = counts[rng.choice(setup.run, setup.records)]
        sums = Sums(len(COLUMNS))
        keys = np.arange(setup.records, dtype=np.uint64) + np.uint64(trial * 10**6)
        sums.add(drawn, weights(keys).astype(np.float64))
        rates = measured(there, rewrites=setup.rewrites).rates(pool.threshold, "", True)
        found = corrected(sums, rates)
        for end in ENDS:
            own = sums.ratio(COLUMN[f"factual_{end}"], COLUMN[f"scored_{end}"])
            if own.value is not None and own.low is not None and own.high is not None:
                rows[f"critic {end}"].append((own.low, own.high, own.value - known[end]))
            if found is not None:
                value, low, high = (found[end][key] for key in ("value", "low", "high"))
                off = float("nan") if value is None else value - known[end]
                rows[f"corrected {end}"].append((low, high, off))
    return {
        name: {
            "coverage": float(np.mean([low <= known[name.split()[1]] <= high
                                       for low, high, _ in found])),
            "width": float(np.mean([high - low for low, high, _ in found])),
            "error": float(np.mean([off for _, _, off in found])),
            "trials": len(found),
        }
        for name, found in rows.items()
    }  # fmt: skip


def setups(pool: Pool) -> list[Draw]:
    every = range(len(pool.captions))
    best, worst = pool.by_quality()
    return [
        Draw("100 images measured, 100 records", every, every, 100, 100),
        Draw("300 images measured, 100 records", every, every, 300, 100),
        Draw("300 images measured, 1,000 records", every, every, 300, 1000),
        Draw("300 measured, 300 records of the best third of captioners", every, best, 300, 300),
        Draw("300 measured, 300 records of the worst third", every, worst, 300, 300),
        Draw("300 measured without rewrites, 300 records", every, every, 300, 300, rewrites=False),
    ]


def table(pool: Pool, found: dict[str, dict[str, dict[str, float]]], count: int) -> str:
    """Coverage in percent, and the mean error in points, before and after."""
    lines = [
        "| drawn | corrected, before | corrected, after | the critic's own, before | after |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, figures in found.items():
        cells = []
        for kind in ("corrected", "critic"):
            for end in ENDS:
                one = figures[f"{kind} {end}"]
                off = "bounds" if np.isnan(one["error"]) else f"{100 * one['error']:+.1f}"
                cells.append(f"{one['coverage']:.3f} ({off}, ± {50 * one['width']:.1f})")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    shares = truth(pool.captions)
    lines += [
        "",
        f"Share of 95 % intervals that contain the true share, with the mean error and half the "
        f"mean width in points; {count} trials each, drawn from {len(pool.captions):,} captions "
        f"({shares['before']:.3f} of their sentences are true, {shares['after']:.3f} after the "
        f"revision), critic {pool.critic}. {_rewrites(pool)} Command: `python -m "
        "scripts.research.calibration.coverage`.",
    ]
    return "\n".join(lines)


def _rewrites(pool: Pool) -> str:
    accepted = [s for caption in pool.captions for s in caption if s["accepted"]]
    true = np.mean([s["true_after"] for s in accepted])
    said = np.mean([s["p_after"] >= pool.threshold for s in accepted if s["p_after"] is not None])
    return (
        f"Of {len(accepted):,} accepted rewrites {true:.3f} are true; in the end the critic calls "
        f"{said:.3f} of them factual."
    )


@click.command()
@click.argument(
    "pool", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, file_okay=False)
)
@click.option("--trials", "count", type=click.IntRange(10), default=400, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="All figures as JSON.")
@click.option("--write", is_flag=True, help="Also the table into the checkout's page for it.")
def main(pool: tuple[Path, ...], count: int, as_json: bool, write: bool) -> None:
    """Simulate runs, and count how often corrected intervals contain the truth."""
    there = read(pool)
    found = {setup.name: trials(there, setup, count) for setup in setups(there)}
    text = table(there, found, count)
    if write:
        write_to_pages(ROOT, {"coverage": text})
    click.echo(dumps(found) if as_json else text)


if __name__ == "__main__":
    main()
