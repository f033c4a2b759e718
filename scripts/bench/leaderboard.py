"""What a leaderboard's statistics cost: resamples over images, ranks, memory.

    python -m scripts.bench.leaderboard

Fourteen captioners, seven sentences a caption, 100 and 5,000 images, 10,000 resamples. Targets: the
resamples of one criterion in under 1 s, and under 10 s, on two cores. `rank` also has the paired
permutation tests of all 91 pairs, of which there are many more than resamples (Holm's correction).
Each size runs in a process of its own, so that its peak of memory is its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import click
import numpy as np

from revise_captions.process_memory import peak_memory
from revise_captions.stats.leaderboard import (
    COLUMNS,
    Ratings,
    keys_of,
    rank,
    resamples,
)

CAPTIONERS, SENTENCES, RESAMPLES = 14, 7, 10_000
TARGETS = {100: 1.0, 5000: 10.0}


def made(images: int) -> Ratings:
    """Captioner k's sentences are right with probability .5 + .03 k."""
    rng = np.random.default_rng(0)
    counts = np.zeros((CAPTIONERS, images, len(COLUMNS)))
    for k in range(CAPTIONERS):
        factual = rng.binomial(SENTENCES, 0.5 + 0.03 * k, images)
        columns = {
            "captions": 1, "responses_judged": 1, "responses_right": factual == SENTENCES,
            "captions_judged": 1, "share": factual / SENTENCES, "sentences": SENTENCES,
            "judged": SENTENCES, "factual": factual, "words": 20 * SENTENCES,
        }  # fmt: skip
        for name, values in columns.items():
            counts[k, :, COLUMNS.index(name)] = values
    names = tuple(f"captioner {k:02}" for k in range(CAPTIONERS))
    return Ratings(names, tuple(f"{i}.png" for i in range(images)), counts)


def measure(images: int) -> str:
    ratings = made(images)
    before = peak_memory() / 2**20
    began, used = time.perf_counter(), time.process_time()
    resamples(*ratings.sums("overall"), keys_of(ratings.images), RESAMPLES)
    wall, cpu = time.perf_counter() - began, time.process_time() - used
    peak = peak_memory() / 2**20 - before
    began = time.perf_counter()
    rank(ratings, "overall", replicates=RESAMPLES)
    ranked = time.perf_counter() - began
    verdict = "met" if wall < TARGETS[images] else "missed"
    return (
        f"| {images:,} | {wall:.2f} s ({cpu:.2f} s of processor) | < {TARGETS[images]:.0f} s: "
        f"{verdict} | {peak:.0f} MB | {ranked:.1f} s |"
    )


@click.command(help=__doc__.splitlines()[0])
@click.option("--images", type=click.Choice([str(n) for n in TARGETS]), hidden=True)
def main(images: str | None) -> None:
    if images is not None:
        click.echo(measure(int(images)))
        return
    click.echo(f"{CAPTIONERS} captioners, {RESAMPLES:,} resamples, {os.cpu_count()} cores:\n")
    click.echo("| images | one criterion's resamples | target | memory beyond | a whole board |")
    click.echo("| ---: | --- | --- | ---: | ---: |")
    for size in TARGETS:
        call = [sys.executable, __file__, "--images", str(size)]
        click.echo(
            subprocess.run(call, check=True, capture_output=True, text=True).stdout, nl=False
        )


if __name__ == "__main__":
    main()
