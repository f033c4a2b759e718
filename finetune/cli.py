"""`captions finetune DATA --base MODEL --out DIR`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from revise_captions.command_line.command import command, help_research
from revise_captions.command_line.options import REQUIRED, argument, group, option
from revise_captions.command_line.printing import echo
from revise_captions.command_line.shared import EXISTING, OUT_FOLDER
from revise_captions.critic.paligemma.packing import AttentionMode
from revise_captions.finetune.config import TrainingSettings, expect_adapters, require_limit
from revise_captions.finetune.data.labeled_rows import RowOptions
from revise_captions.finetune.narration import Narrator
from revise_captions.finetune.presets import PRESETS, preset_for
from revise_captions.finetune.trainer.trackers import expect_tracker

DEFAULT = TrainingSettings()
#: Options that limit training; and the epochs that the bundled critic is trained for without any.
LIMITS = ("minutes", "steps", "epochs")
EPOCHS = 5.0
#: Under so many minutes, compiling the layers takes more time than it saves.
WORTH_COMPILING = 20


@dataclass(frozen=True, slots=True)
class FinetuneOptions:
    """What is trained on what, and where it is written."""

    data: Path = argument("DATA", type=EXISTING)
    base: str = option(REQUIRED, "Model folder or Hugging Face id, 'bundled', or 'new'.")
    out: Path = option(REQUIRED, "Folder to write.", type=OUT_FOLDER)
    resume: bool = option(False, "Continue from the last save in --out.")
    preset: str | None = option(
        None,
        "Settings to start from, which are printed; options override them. "
        "[default: small for 'new', 'bundled' and critics trained from them, else lora]",
        choices=tuple(PRESETS),
    )
    dry_run: bool = option(False, "Check the data, measure two steps, train nothing.")
    held_out: tuple[Path, ...] = option(
        (),
        "JSONL file or folder of images that must not be in the training data, besides the "
        "validation split.",
        type=EXISTING,
    )
    allow: tuple[Literal["missing-rationales", "duplicates", "shared-images"], ...] = option(
        (), "Continue in spite of this problem in the data."
    )
    rows: RowOptions = group(RowOptions)


@command(
    FinetuneOptions,
    TrainingSettings,
    name="finetune",
    heading="Label and train",
    go_on=lambda _: "add --resume to continue from the last save",
    presets=PRESETS,
)
@help_research
def finetune_critic(options: FinetuneOptions, settings: TrainingSettings) -> None:
    """Train a critic of your own.

    DATA is a folder with train.jsonl, validation.jsonl and images. The rows hold labeled and
    explained sentences:

    \b
    {"id": "1", "image": "images/1.png", "caption": "A cat. It sleeps.",
     "sentences": [{"start": 0, "end": 6, "label": "factual", "assessable": true},
                   {"start": 7, "end": 17, "label": "nonfactual",
                    "rationale": "The cat is awake."}],
     "description": "A gray cat sits on a wall."}

    Or DATA is a file in any layout that captions are read from, and is split by image. It can hold
    such rows, the output of revise-captions, decisions of captions explore, pairs with `chosen` and
    `rejected`, or labeled captions or sentences, for example in CSV. Fields are found by name.

    BASE is a PaliGemma 2, an instruct model, or a critic trained earlier. On several GPUs:
    torchrun --nproc-per-node 8 -m revise_captions finetune DATA …

    The data is checked first. Progress is printed, with the time left, and logged to
    OUT/training/log.jsonl, one JSON object per line.
    """
    _run(options, given_of(click.get_current_context(), settings))


def given_of(context: click.Context, settings: TrainingSettings) -> dict[str, Any]:
    """The settings that the command line gave, rather than their defaults, by option name."""
    default = click.core.ParameterSource.DEFAULT
    return {
        name: value
        for name, value in settings.options().items()
        if context.get_parameter_source(name) is not default
    }


def chosen(base: str, preset: str | None, given: dict[str, Any]) -> tuple[str, TrainingSettings]:
    """The name of the preset and its settings, which are printed, with the given options.

    Args:
        base: Decides the preset if none is named.
        given: Options from the command line.
    """
    from revise_captions.finetune.models.bases import is_own

    name = preset or preset_for(base, own=is_own(base))
    values = {**PRESETS[name], **given}
    if base == "bundled" and not any(values.get(limit) for limit in LIMITS):
        values["epochs"] = EPOCHS
        echo(f"no limit was given, so training lasts {EPOCHS:g} epochs: --epochs", err=True)
    if 0 < values.get("minutes", 0) < WORTH_COMPILING and "compile" not in values:
        values["compile"] = False  # which takes minutes
    if "attention_mode" in values:
        values["attention_mode"] = AttentionMode(values["attention_mode"])
    if PRESETS[name]:
        said = []
        for key, value in PRESETS[name].items():
            changed = f" (overruled: {given[key]})" if key in given else ""
            said.append(f"--{key.replace('_', '-')} {value}{changed}")
        echo(f"preset {name}: {', '.join(said)}", err=True)
    return name, DEFAULT.with_options(**values)


def _run(options: FinetuneOptions, given: dict[str, Any]) -> None:
    began = time.monotonic()
    echo(f"reading {options.data}", err=True)  # before imports, which take seconds
    from transformers.utils import logging

    from revise_captions.finetune.data.check import check_data
    from revise_captions.finetune.data.split import ready
    from revise_captions.finetune.run import finetune
    from revise_captions.finetune.trainer.setup import COMMAND
    from revise_captions.runs.training_folder import check_run_folder

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    base, out = options.base, options.out
    _, settings = chosen(base, options.preset, given)
    require_limit(settings)
    expect_adapters(settings.lora.method)  # before the data is read
    if settings.validation.log_with is not None:
        expect_tracker(settings.validation.log_with)
    narrator = Narrator(out)

    def report(event: dict[str, Any]) -> None:
        for line in narrator.lines(event):
            echo(line)

    if not options.dry_run:  # before the data is read, which takes a while
        check_run_folder(out, COMMAND, go_on=options.resume)
    with ready(options.data, options.rows) as (data, said):
        if not options.resume or options.dry_run:
            checked = check_data(data, options.held_out, options.allow, settings)
            echo("\n".join(filter(None, (said, checked))), err=not options.dry_run)
        if options.dry_run:
            from revise_captions.finetune.trainer.estimate import dry_run as estimate

            echo(estimate(data, base, out, settings))
        else:
            finetune(data, base, out, settings, resume=options.resume, report=report, began=began)
