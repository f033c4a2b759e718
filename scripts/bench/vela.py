"""Milliseconds a caption of a VELA metric, and how they split between its branches.

    python -m scripts.bench.vela --language smollm2 --dtype bfloat16 --pair bundled#late

Captions, images and references are the picture-book world's. Each branch runs over all captions in
batches, and again one prompt at a time with nothing shared. Models are loaded before, and the clock
covers tokens and preprocessing. The paper: 260 ms on an RTX 3090, with Qwen2.5-3B and Long-CLIP.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

import click
import numpy as np

from revise_captions.critic.vela_pair import load_pair
from revise_captions.picturebook.drawing.draw import draw
from revise_captions.picturebook.generate import rows_of_scene
from revise_captions.picturebook.world.sample import sample_scene
from revise_captions.vela.branches import VelaItem
from revise_captions.vela.feature_cache import FeatureCache
from revise_captions.vela.head import LinearHead
from revise_captions.vela.language import LanguageBranch, load_language
from revise_captions.vela.prompts import PERSPECTIVES


def items() -> Iterator[VelaItem]:
    """Two captions of each scene, with its listing as the reference."""
    number = 0
    while True:
        scene = sample_scene(number, "test")
        image = draw(scene, 128)
        for row in rows_of_scene(scene, number, captions=2, mode="balanced", raters=False):
            yield VelaItem(row["caption"], (row["description"],), image)
        number += 1


def timed(run: Callable[[], object]) -> float:
    """Seconds."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def language_seconds(branch: LanguageBranch, captions: list[VelaItem]) -> float:
    """All perspectives of all captions."""
    texts = [(item.candidate, item.references) for item in captions]
    return sum(timed(partial(branch.encode, p, texts, FeatureCache())) for p in PERSPECTIVES)


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
    total = sum(parts.values())
    few = chosen[: max(1, captions // 8)]
    branch.shares, branch.batch_size = False, 1
    alone = sum(language_seconds(branch, [item]) for item in few) / len(few)
    one_pair = [timed(partial(towers.encode, [item], FeatureCache())) for item in few]
    alone_pair = sum(one_pair) / len(few)
    click.echo(f"{captions} captions, {tokens / captions:.0f} tokens each in 3 prompts")
    click.echo("part               ms a caption   share")
    for name, seconds in parts.items():
        ms = 1000 * seconds / captions
        click.echo(f"{name:<18} {ms:12.1f}   {seconds / total:5.1%}")
    click.echo(f"{'all':<18} {1000 * total / captions:12.1f}")
    click.echo(f"{'one at a time':<18} {1000 * (alone + alone_pair):12.1f}")
    click.echo(f"  of it R2C        {1000 * alone:12.1f}")


if __name__ == "__main__":
    main()
