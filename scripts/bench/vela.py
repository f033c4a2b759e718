"""Milliseconds a caption of a VELA metric, and how they split between its branches.

    python -m scripts.bench.vela --language smollm2 --dtype bfloat16 --pair bundled#late

Captions, images and references are the picture-book world's. Each branch runs over all captions in
batches, and again one prompt at a time with nothing shared. Models are loaded before, and the clock
covers tokens and preprocessing. `CPU` is the process's own time, which other processes on the
machine do not change. The paper: 260 ms on an RTX 3090, with Qwen2.5-3B and Long-CLIP.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

import click
import numpy as np
import numpy.typing as npt

from revise_captions.picturebook.drawing.draw import draw
from revise_captions.picturebook.generate import rows_of_scene
from revise_captions.picturebook.world.sample import sample_scene
from revise_captions.vela.branches import VelaItem
from revise_captions.vela.feature_cache import FeatureCache
from revise_captions.vela.head import LinearHead
from revise_captions.vela.language import LanguageBranch, load_language
from revise_captions.vela.pairs.load import load_pair
from revise_captions.vela.prompts import PERSPECTIVES

Seconds = npt.NDArray[np.float64]


def items() -> Iterator[VelaItem]:
    """Two captions of each scene, with its listing as the reference."""
    number = 0
    while True:
        scene = sample_scene(number, "test")
        image = draw(scene, 128)
        for row in rows_of_scene(scene, number, captions=2, mode="balanced", raters=False):
            yield VelaItem(row["caption"], (row["description"],), image)
        number += 1


def timed(run: Callable[[], object]) -> Seconds:
    """Seconds by the clock and of the CPU."""
    clock, cpu = time.perf_counter(), time.process_time()
    run()
    return np.array([time.perf_counter() - clock, time.process_time() - cpu])


def language_seconds(branch: LanguageBranch, captions: list[VelaItem]) -> Seconds:
    """All perspectives of all captions."""
    texts = [(item.candidate, item.references) for item in captions]
    runs = [timed(partial(branch.encode, p, texts, FeatureCache())) for p in PERSPECTIVES]
    return np.sum(runs, axis=0)


@click.command(help=__doc__.splitlines()[0])
@click.option("--language", default="smollm2", show_default=True)
@click.option("--pair", default="bundled#late", show_default=True)
@click.option("--captions", default=32, show_default=True, help="How many.")
@click.option("--device", default="auto", show_default=True)
@click.option("--dtype", default="auto", show_default=True, help="Of the language model.")
def main(language: str, pair: str, captions: int, device: str, dtype: str) -> None:
    chosen = list(islice(items(), captions))
    branch = load_language(language, device=device, dtype=dtype)
    towers = load_pair(pair, device=device)
    texts = [(item.candidate, item.references) for item in chosen]
    tokens = sum(len(branch.row(p, *text).ids) for p in PERSPECTIVES for text in texts)
    towers.encode(chosen[:1], FeatureCache())  # what the first call sets up
    branch.encode(PERSPECTIVES[0], texts[:1], FeatureCache())
    head = LinearHead(len(PERSPECTIVES), branch.width + towers.width)
    features = np.zeros((captions, len(PERSPECTIVES), branch.width + towers.width), np.float32)
    parts = {
        "R2C, in batches": language_seconds(branch, chosen),
        "I2C, in batches": timed(lambda: towers.encode(chosen, FeatureCache())),
        "linear layer": timed(lambda: head.scores(features)),
    }
    total = np.sum(list(parts.values()), axis=0)
    few = chosen[: max(1, captions // 8)]
    branch.shares, branch.batch_size = False, 1
    alone = np.sum([language_seconds(branch, [item]) for item in few], axis=0) / len(few)
    one_pair = [timed(partial(towers.encode, [item], FeatureCache())) for item in few]
    alone_pair = np.sum(one_pair, axis=0) / len(few)
    click.echo(f"{captions} captions, {tokens / captions:.0f} tokens each in 3 prompts")
    click.echo("part                        ms a caption     of CPU   share of CPU")
    for name, seconds in parts.items():
        echo_line(name, 1000 * seconds / captions, f"{seconds[1] / total[1]:12.1%}")
    echo_line("all", 1000 * total / captions)
    echo_line("R2C, one at a time", 1000 * alone)
    echo_line("I2C, one at a time", 1000 * alone_pair)


def echo_line(name: str, ms: Seconds, share: str = "") -> None:
    click.echo(f"{name:<24} {ms[0]:15.1f} {ms[1]:10.1f}   {share}")


if __name__ == "__main__":
    main()
