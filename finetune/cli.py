"""`finetune-critic DATA --base MODEL --out DIR`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import click

from revise_captions.cli_options import OUT_FOLDER, SETTINGS, version_option
from revise_captions.commands import RenamedOptions, echo, run_command
from revise_captions.critic.paligemma.packing import AttentionMode
from revise_captions.finetune.config import TrainingSettings, require_limit
from revise_captions.finetune.narration import Narrator
from revise_captions.finetune.options import GroupedOptions, add_options, help_research
from revise_captions.finetune.presets import PRESETS, preset_for

DEFAULT = TrainingSettings()
#: What limits a training, and how long one of the bundled critic lasts that has none.
LIMITS = ("minutes", "steps", "epochs")
EPOCHS = 5.0


class FinetuneCommand(GroupedOptions):
    """`finetune-critic`, with the old spellings of its options."""

    SETTINGS = TrainingSettings
    PRESETS = PRESETS
    OLD: ClassVar[dict[str, str]] = {
        **RenamedOptions.OLD,
        "--asides": "--auxiliary-sentences",
        "--recolour-share": "--recolor-share",
        "--trace-weight": "--error-onset-weight",
    }


@click.command(cls=FinetuneCommand, context_settings=SETTINGS)
@version_option
@click.argument("data", type=click.Path(exists=True, path_type=Path))
@click.option("--base", required=True, help="Model folder or Hugging Face id, 'bundled', or 'new'.")
@click.option("--out", required=True, type=OUT_FOLDER, help="Folder to write.")
@click.option("--resume", is_flag=True, help="Continue from the last save in --out.")
@click.option(
    "--preset",
    type=click.Choice(list(PRESETS)),
    help="Settings to start from, which are printed; options override them. "
    "[default: small for 'new', 'bundled' and critics trained from them, else lora]",
)
@click.option("--dry-run", is_flag=True, help="Check the data, measure two steps, train nothing.")
@click.option(
    "--held-out",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="JSONL file or folder of images that must not be in the training data, besides the "
    "validation split.",
)
@click.option(
    "--allow",
    multiple=True,
    type=click.Choice(["missing-rationales", "duplicates", "shared-images"]),
    help="Continue in spite of this problem in the data.",
)
@add_options(TrainingSettings)
@help_research
@click.pass_context
def finetune_critic(
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
    """Fine-tune a critic on labeled and explained sentences.

    DATA is a folder with train.jsonl, validation.jsonl and images. A row:

    \b
    {"id": "1", "image": "images/1.png", "caption": "A cat. It sleeps.",
     "sentences": [{"start": 0, "end": 6, "label": "factual", "assessable": true},
                   {"start": 7, "end": 17, "label": "nonfactual",
                    "rationale": "The cat is awake."}],
     "description": "A grey cat sits on a wall."}

    BASE is a PaliGemma 2, an instruct model, or a critic trained earlier. On several GPUs:
    torchrun --nproc-per-node 8 -m revise_captions.finetune.cli DATA …

    The data is checked first. Progress is printed, with the time left, and logged to
    OUT/training/log.jsonl, one JSON object per line.
    """
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    given = {
        name: value
        for name, value in settings.items()
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
    }
    _run(data, base, out, resume, preset, dry_run, held_out, allow, given)


def main(arguments: list[str] | None = None) -> None:
    """Entry point."""
    run_command(
        finetune_critic,
        "finetune-critic",
        arguments,
        go_on=lambda: "add --resume to continue from the last save",
    )


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
    if "attention_mode" in values:
        values["attention_mode"] = AttentionMode(values["attention_mode"])
    if PRESETS[name]:
        said = []
        for key, value in PRESETS[name].items():
            changed = f" (overruled: {given[key]})" if key in given else ""
            said.append(f"--{key.replace('_', '-')} {value}{changed}")
        echo(f"preset {name}: {', '.join(said)}", err=True)
    return name, DEFAULT.with_options(**values)


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
    from revise_captions.finetune.run import finetune
    from revise_captions.finetune.trainer.setup import COMMAND
    from revise_captions.runs.training_folder import check_run_folder

    _, settings = chosen(base, preset, given)
    require_limit(settings)
    if dry_run:
        from revise_captions.finetune.trainer.estimate import dry_run as estimate

        echo(check_data(data, held_out, allow, settings))
        echo(estimate(data, base, out, settings))
        return
    check_run_folder(out, COMMAND, go_on=resume)  # before the data is read, which takes a while
    if not resume:
        echo(check_data(data, held_out, allow, settings), err=True)
    narrator = Narrator(out)

    def report(event: dict[str, Any]) -> None:
        for line in narrator.lines(event):
            echo(line)

    finetune(data, base, out, settings, resume=resume, report=report)


if __name__ == "__main__":
    main()
