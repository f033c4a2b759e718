"""`finetune-critic DATA --base MODEL --out DIR`."""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from revise_captions.critic.packing import Regime
from revise_captions.errors import UserError
from revise_captions.finetune.settings import Settings

DEFAULT = Settings()


def _options(command: Any) -> Any:
    """One option per setting, in the order in which `Settings` lists them."""
    for item in reversed(fields(Settings)):
        default = getattr(DEFAULT, item.name)
        name = item.name.replace("_", "-")
        kind: dict[str, Any] = {"type": type(default)}
        flag = f"--{name}"
        if isinstance(default, bool):
            kind, flag = {}, f"--{name}/--no-{name}"
        elif item.name == "regime":
            kind = {"type": click.Choice([str(regime) for regime in Regime])}
            default = str(default)
        elif item.name in ("dtype", "schedule"):
            choices = {"dtype": ["bfloat16", "float32"], "schedule": ["cosine", "constant"]}
            kind = {"type": click.Choice(choices[item.name])}
        command = click.option(
            flag, item.name, default=default, show_default=True, help=HELP[item.name], **kind
        )(command)
    return command


HELP = {
    "regime": "Who attends to whom; stored in the checkpoint.",
    "change_regime": "Go on from a checkpoint of another regime, which has to learn this one.",
    "minutes": "End of the main phase, in minutes of training (0: no limit).",
    "steps": "End of the main phase, in optimiser steps (0: no limit).",
    "tower_minutes": "Train the image tower alone first, on dense labels, for so long.",
    "tower_from": "Start the image tower of a new model from this checkpoint folder.",
    "batch_size": "Captions in a batch.",
    "learning_rate": "Peak learning rate.",
    "tower_rate": "The image tower's share of that rate in the main phase.",
    "warmup": "Steps of linear warmup.",
    "schedule": "After the warmup.",
    "weight_decay": "Decoupled weight decay, on matrices only.",
    "beta2": "AdamW's second moment decay.",
    "clip": "Largest gradient norm.",
    "ema": "Decay of the averaged weights, which are the ones validated and written.",
    "dtype": "Compute dtype; the weights' masters are float32.",
    "seed": "Decides initial weights, data order, and every random choice.",
    "rationales": "At most so many rationales of a caption in one step.",
    "rewrites": "Probability that a wrong sentence's true version is asked about too.",
    "align": "Start a new model's image tokens as words of their dense labels.",
    "describe_early": "Share of captions that ask for a description, first half of training.",
    "describe_late": "The same, second half.",
    "rationale_weight": "Weight of the rationale loss (classification: 1).",
    "describe_weight": "Weight of the description loss.",
    "follow_weight": "Weight of what follows Yes or No.",
    "caption_weight": "Weight of the next-word loss on true sentences in question.",
    "trace_weight": "Weight of telling at each word whether a sentence has gone wrong by then.",
    "tower_weight": "Weight of the dense loss in the main phase, where there are dense labels.",
    "robust_share": "Share of images shown rescaled and JPEG-compressed.",
    "max_length": "Longest packed row in tokens, image included.",
    "vocab_size": "Of a new tokenizer (--base new).",
    "save_minutes": "Minutes between saves.",
    "validate_minutes": "Minutes between validations.",
    "validate_captions": "Captions in an interim validation (0: all); the last uses all.",
    "compile": "Compile the layers (needs a C++ compiler).",
}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("data", type=click.Path(exists=True, path_type=Path))
@click.option("--base", required=True, help="Folder or hub id of a PaliGemma 2, or 'new'.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder to write.")
@click.option("--resume", is_flag=True, help="Go on from the last save in --out.")
@_options
def main(data: Path, base: str, out: Path, resume: bool, **settings: Any) -> None:
    """Fine-tune a critic on judged and explained sentences.

    DATA is a folder with train.jsonl, validation.jsonl and images. A row:

    \b
    {"id": "1", "image": "images/1.png", "caption": "A cat. It sleeps.",
     "sentences": [{"start": 0, "end": 6, "label": "factual", "assessable": true},
                   {"start": 7, "end": 17, "label": "nonfactual",
                    "rationale": "The cat is awake."}],
     "description": "A grey cat sits on a wall."}

    One JSON line of progress at a time goes to the terminal and to OUT/training/log.jsonl.
    """
    from transformers.utils import logging

    from revise_captions.finetune.train import finetune

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    chosen = Settings(**{**settings, "regime": Regime(settings["regime"])})
    try:
        finetune(data, base, out, chosen, resume=resume, report=_print)
    except UserError as error:
        click.echo(f"finetune-critic: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        click.echo("stopped; add --resume to go on from the last save", err=True)
        sys.exit(130)


def _print(line: dict[str, Any]) -> None:
    click.echo(json.dumps(line))


if __name__ == "__main__":
    main()
