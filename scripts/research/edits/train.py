"""Goes on training the adapter `smollm2` on edits of real text with strangers' rationales.

    python -m scripts.research.edits.train DATA --out DIR --minutes 40

For the comparison in docs/research/2026-11-24-edits.md: edits of the development half that
`evaluate` does not take, in the wordings of that half; nothing of Flickr8k, which is for tests.
DIR is then a reviser: `--reviser edit=DIR`. The same command goes on from where it was cut.
"""

from __future__ import annotations

import itertools
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from revise_captions.engines.smollm2 import smollm2_folder
from revise_captions.reviser.builtin import ADAPTER
from revise_captions.reviser.bundled_model.smollm2 import ChatRewriteTokenizer
from revise_captions.reviser.protocol import RewriteRequest
from scripts.research.edits.sets import PersonEdit
from scripts.research.edits.strangers import STYLES, rationale_of, read_strangers
from scripts.research.frame.lora import LoraPlan, adapted, lora, train
from scripts.research.reviser.synthetic import RewriteExample
from scripts.research.reviser.train import batches
from scripts.research.smollm2_reviser.train import RANK, loss_of

#: Edits of each kind, in the order of `read_strangers`: those up to the first number are measured.
_MEASURED, _MOST = 60, 400
_RATE, _WARMUP, _FLOOR, _TOKENS = 2e-4, 10, 0.05, 768


def training_edits(folder: Path) -> list[PersonEdit]:
    measured = {e.source for e in read_strangers(folder, reporting=False, each=_MEASURED)}
    every = read_strangers(folder, reporting=False, each=_MOST)
    return [e for e in every if e.source not in measured and not e.source.startswith("flickr")]


def steps(edits: list[PersonEdit], codec: Any) -> Iterator[Any]:
    for epoch in itertools.count():
        made = [
            RewriteExample(
                RewriteRequest("", edit.sentence, rationale_of(edit, style, number + epoch, False)),
                edit.right,
            )
            for number, edit in enumerate(edits)
            for style in ("not", *STYLES)
        ]
        random.Random(epoch).shuffle(made)
        yield from batches(made, codec, _TOKENS, f"edits {epoch}")


@click.command(help=__doc__)
@click.argument("data", type=click.Path(path_type=Path, exists=True))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder of the run.")
@click.option("--minutes", default=40.0, show_default=True, help="Minutes of training in sum.")
def main(data: Path, out: Path, minutes: float) -> None:
    import torch
    from transformers import AutoTokenizer

    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    folder = smollm2_folder()
    codec = ChatRewriteTokenizer(AutoTokenizer.from_pretrained(folder))
    network = adapted(folder, settings := lora(RANK), ADAPTER)
    shutil.copy(ADAPTER / "reviser.json", out)
    plan = LoraPlan(out, minutes, _RATE, _WARMUP, _FLOOR, 10)
    todo = steps(training_edits(data), codec)
    train(network, settings, todo, lambda batch: (loss_of(network, batch), {}), plan)


if __name__ == "__main__":
    main()
