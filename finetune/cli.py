"""`finetune-critic DATA --base MODEL --out DIR`."""

from __future__ import annotations

import json
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import click

from revise_captions.commands import RenamedOptions
from revise_captions.critic.paligemma.packing import AttentionMode
from revise_captions.errors import UserError
from revise_captions.finetune.config import TrainingSettings
from revise_captions.finetune.presets import PRESETS, preset_for

DEFAULT = TrainingSettings()
CHOICES = {
    "attention_mode": [str(attention_mode) for attention_mode in AttentionMode],
    "dtype": ["bfloat16", "float32"],
    "schedule": ["cosine", "constant"],
    "optimizer": ["adamw", "muon"],
    "method": ["full", "lora", "qlora"],
    "keep": ["last", "best"],
}


def _options(command: Any) -> Any:
    """One option per setting, in the order in which `TrainingSettings` lists them."""
    for item in reversed(fields(TrainingSettings)):
        default = getattr(DEFAULT, item.name)
        name = item.name.replace("_", "-")
        kind: dict[str, Any] = {"type": type(default)}
        flag = f"--{name}"
        if isinstance(default, bool):
            kind, flag = {}, f"--{name}/--no-{name}"
        elif item.name in CHOICES:
            kind = {"type": click.Choice(CHOICES[item.name])}
            default = str(default)
        command = click.option(
            flag, item.name, default=default, show_default=True, help=HELP[item.name], **kind
        )(command)
    return command


HELP = {
    "attention_mode": "Which tokens attend to which; stored in the checkpoint.",
    "change_attention_mode": "Start from a checkpoint of another attention mode and retrain it.",
    "minutes": "End of the main phase, in minutes of training (0: no limit).",
    "steps": "End of the main phase, in optimiser steps (0: no limit).",
    "tower_minutes": "Train the image tower alone first, on dense labels, for so long.",
    "tower_from": "Start the image tower of a new model from this checkpoint folder.",
    "batch_size": "Captions in a batch, over all processes.",
    "learning_rate": "Peak learning rate.",
    "tower_rate": "The image tower's share of that rate in the main phase.",
    "warmup": "Steps of linear warmup.",
    "schedule": "After the warmup.",
    "weight_decay": "Decoupled weight decay, on matrices only.",
    "optimizer": "AdamW for all, or Muon for the layers' matrices and AdamW for the rest.",
    "sharded": "Several processes share the optimizer's state: less memory (AdamW only).",
    "shard_weights": "They share weights and gradients too (FSDP): still less, and slower.",
    "beta2": "AdamW's second moment decay.",
    "clip": "Largest gradient norm (0: no limit).",
    "ema": "Decay of the averaged weights, which are validated and written (0: no averaging).",
    "dtype": "Compute dtype; the masters of weights that learn are float32.",
    "seed": "Decides initial weights, data order, and every random choice.",
    "replay": "Data to mix in, folder or JSONL file, so that what it taught is not forgotten.",
    "replay_share": "Share of the captions that are trained on that come from there.",
    "rationales": "At most so many rationales of a caption in one step.",
    "rewrites": "Probability that a wrong sentence's true version is asked about too.",
    "asides": "At most so many of a caption's asides are asked about.",
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
    "recolour_share": "Share of images shown in other colours, asked about without colours.",
    "max_length": "Longest packed row in tokens, image included.",
    "vocab_size": "Of a new tokenizer (--base new).",
    "new_words": "Tokens for at most so many words that a small base's tokenizer takes to pieces.",
    "save_minutes": "Minutes between saves.",
    "validate_minutes": "Minutes between validations.",
    "validate_captions": "Captions in an interim validation (0: all); the last uses all.",
    "compile": "Compile the layers (needs a C++ compiler).",
    "epochs": "End of the main phase, in times through the data (0: no limit).",
    "micro_batch": "Captions in one forward pass (0: a process's whole share of the batch).",
    "method": "All weights, LoRA adapters, or adapters of a base in four bits (bitsandbytes).",
    "targets": "What learns: some of language, tower, projector.",
    "lora_rank": "Rank of the adapters.",
    "lora_alpha": "Their scale: alpha / rank.",
    "lora_dropout": "Dropout before the adapters.",
    "dropout": "Dropout of attention weights.",
    "checkpointing": "Compute activations again in the backward pass: less memory, slower.",
    "balance": "1: wrong and true sentences weigh the same in all; 0: as they come.",
    "device": "auto, cpu, cuda, …",
    "keep": "Which weights are written: the last, or the best by interim validation.",
    "patience": "Stop after so many validations without a better one (0: never).",
    "validate_steps": "Steps between validations, instead of minutes (0: minutes).",
    "save_steps": "Steps between saves, instead of minutes (0: minutes).",
    "wrong_share": "Share of wrong sentences in use, which the threshold is for (0: as validated).",
    "samples": "Rationales of so many validation sentences in each validation's log line.",
    "tensorboard": "Curves in OUT/training/tensorboard too (needs tensorboard).",
    "merge": "With LoRA: write merged weights, and keep the adapter in OUT/adapter.",
}


@click.command(cls=RenamedOptions, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("data", type=click.Path(exists=True, path_type=Path))
@click.option("--base", required=True, help="Folder or hub id of a model, 'bundled', or 'new'.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder to write.")
@click.option("--resume", is_flag=True, help="Go on from the last save in --out.")
@click.option(
    "--preset",
    type=click.Choice(list(PRESETS)),
    help="Settings to start from; what it sets is printed, and options here overrule it. "
    "Without one: small for 'new' and critics of ours, else lora.",
)
@click.option("--dry-run", is_flag=True, help="Check the data, measure two steps, train nothing.")
@click.option(
    "--held-out",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="JSONL file or folder whose images must not be trained on (validation always is).",
)
@click.option(
    "--allow",
    multiple=True,
    type=click.Choice(["missing-rationales", "duplicates", "shared-images"]),
    help="Go on although the data check found this.",
)
@_options
@click.pass_context
def main(
    context: click.Context,
    /,
    data: Path,
    base: str,
    out: Path,
    resume: bool,
    preset: str | None,
    dry_run: bool,
    held_out: tuple[Path, ...],
    allow: tuple[str, ...],
    **settings: Any,
) -> None:
    """Fine-tune a critic on judged and explained sentences.

    DATA is a folder with train.jsonl, validation.jsonl and images. A row:

    \b
    {"id": "1", "image": "images/1.png", "caption": "A cat. It sleeps.",
     "sentences": [{"start": 0, "end": 6, "label": "factual", "assessable": true},
                   {"start": 7, "end": 17, "label": "nonfactual",
                    "rationale": "The cat is awake."}],
     "description": "A grey cat sits on a wall."}

    BASE is a PaliGemma 2, an instruct model, or a critic that was trained before. Several GPUs:
    torchrun --nproc-per-node 8 -m revise_captions.finetune.cli DATA …

    The data is checked first. One JSON line of progress at a time goes to the terminal and to
    OUT/training/log.jsonl.
    """
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    given = {
        name: value
        for name, value in settings.items()
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
    }
    try:
        _run(data, base, out, resume, preset, dry_run, held_out, allow, given)
    except UserError as error:
        click.echo(f"finetune-critic: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        click.echo("stopped; add --resume to go on from the last save", err=True)
        sys.exit(130)


def chosen(base: str, preset: str | None, given: dict[str, Any]) -> tuple[str, TrainingSettings]:
    """The preset's name, by the base where none is asked for, and its settings with what is given.

    What the preset sets goes to the terminal.
    """
    from revise_captions.finetune.models.bases import is_own

    name = preset or preset_for(base, own=is_own(base))
    values = {**PRESETS[name], **given}
    if "attention_mode" in values:
        values["attention_mode"] = AttentionMode(values["attention_mode"])
    if PRESETS[name]:
        said = []
        for key, value in PRESETS[name].items():
            changed = f" (overruled: {given[key]})" if key in given else ""
            said.append(f"--{key.replace('_', '-')} {value}{changed}")
        click.echo(f"preset {name}: {', '.join(said)}", err=True)
    return name, replace(DEFAULT, **values)


def _run(
    data: Path,
    base: str,
    out: Path,
    resume: bool,
    preset: str | None,
    dry_run: bool,
    held_out: tuple[Path, ...],
    allow: tuple[str, ...],
    given: dict[str, Any],
) -> None:
    from revise_captions.finetune.data.check import check_data
    from revise_captions.finetune.run import finetune, needs_an_end

    _, settings = chosen(base, preset, given)
    needs_an_end(settings)
    if dry_run:
        from revise_captions.finetune.trainer.estimate import dry_run as estimate

        click.echo(check_data(data, held_out, allow, settings))
        click.echo(estimate(data, base, out, settings))
        return
    if not resume:
        click.echo(check_data(data, held_out, allow, settings), err=True)
    finetune(data, base, out, settings, resume=resume, report=_print)


def _print(line: dict[str, Any]) -> None:
    click.echo(json.dumps(line))


if __name__ == "__main__":
    main()
