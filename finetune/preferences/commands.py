"""The commands of `train-preferences`, one for each method."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any

import click

from revise_captions.cli_options import EXISTING_FILE, OUT_FOLDER, SETTINGS, shared
from revise_captions.commands import echo
from revise_captions.finetune.options import GroupedOptions, add_options
from revise_captions.finetune.preferences.settings import (
    DpoSettings,
    GrpoSettings,
    PreferenceSettings,
)

#: Figures of the log that are printed, besides the rewards.
_SHOWN = (
    *("loss", "reward", "accuracy", "margin", "kl", "entropy", "completions/mean_length"),
    *("train_loss", "train_runtime"),
)


class RewardModelCommand(GroupedOptions):
    """`train-preferences reward`."""

    SETTINGS = PreferenceSettings


class DpoCommand(GroupedOptions):
    """`train-preferences dpo`."""

    SETTINGS = DpoSettings


class GrpoCommand(GroupedOptions):
    """`train-preferences grpo`."""

    SETTINGS = GrpoSettings


def _common(command: Callable[..., Any]) -> Callable[..., Any]:
    """What the three methods ask for."""
    options = (
        click.option(
            "--policy",
            required=True,
            help="Captioner to start from: a folder or Hugging Face id of a vision–language model.",
        ),
        click.option("--out", required=True, type=OUT_FOLDER, help="Folder to write."),
        click.option(
            "--prompt",
            "prompts",
            multiple=True,
            help="What the captioner is asked; several are used in turn.  [default: the rows' own]",
        ),
        shared("--image-root", "--allow-urls", "--limit", "--trust-remote-code"),
        shared("--resume", help="Continue from the last checkpoint in OUT."),
        shared("--force", help="Overwrite OUT."),
        shared("--verbose"),
    )
    for option in reversed(options):
        command = option(command)
    return command


_BY = click.option(
    "--by",
    default="",
    show_default=False,
    help="Use only pairs that this score decided: c_p, c_r, both, revision.  [default: all]",
)


@click.command(cls=RewardModelCommand, context_settings=SETTINGS)
@click.argument("data", type=EXISTING_FILE)
@_common
@_BY
@add_options(PreferenceSettings)
def reward(**options: Any) -> None:
    """Train a reward model on the pairs in DATA, the output of collect-preferences."""
    from revise_captions.finetune.preferences.run import run_reward_model

    run_reward_model(_job(options), _filled(PreferenceSettings(), options))


@click.command(cls=DpoCommand, context_settings=SETTINGS)
@click.argument("data", type=EXISTING_FILE)
@_common
@_BY
@add_options(DpoSettings)
def dpo(**options: Any) -> None:
    """Train a captioner on the pairs in DATA by direct preference optimization."""
    from revise_captions.finetune.preferences.run import run_dpo

    run_dpo(_job(options), _filled(DpoSettings(), options))


@click.command(cls=GrpoCommand, context_settings=SETTINGS)
@click.argument("data", type=EXISTING_FILE)
@_common
@click.option(
    "--reward",
    "rewards",
    multiple=True,
    metavar="NAME[=WEIGHT]",
    help="Reward, with its weight: c_p (share of true units), c_r (number of units), posh, or the "
    "folder of a reward model; several are summed.  [default: c_p and c_r=0.5]",
)
@shared("--units", "--verifier")
@shared("--critic-profile", help="Profile of the critic that verifies, from calibrate-critic.")
@shared("--reference-field", help="Field that holds the reference caption, for the reward posh.")
@shared("--judge")
@add_options(GrpoSettings)
def grpo(**options: Any) -> None:
    """Train a captioner on the images in DATA by group-relative policy optimization.

    Captions are sampled, rewarded, and compared with the others of their image.
    """
    from revise_captions.finetune.preferences.run import run_grpo

    run_grpo(_job(options), _filled(GrpoSettings(), options))


def _job(options: Mapping[str, Any]) -> Any:
    from revise_captions.finetune.preferences.run import PreferenceJob

    log = options["out"] / "training" / "log.jsonl"

    def report(line: dict[str, Any]) -> None:
        if os.environ.get("RANK", "0") != "0":
            return
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        echo(shown(line))

    return PreferenceJob.of(options, report)


def shown(line: Mapping[str, Any]) -> str:
    """A line of the log for people; the log has all of its figures."""
    if line.get("event") == "data":
        kind = "pairs" if "pairs" in line else "images"
        return f"{line[kind]:,} {kind}, {line['quarantined']:,} rows quarantined"
    parts = [
        f"{name} {value:.4g}"
        for name, value in line.items()
        if value is not None  # a batch of which nothing could be rewarded
        and (name in _SHOWN or (name.startswith("rewards/") and not name.endswith("/std")))
    ]
    return f"step {line['step']:,}: {', '.join(parts)}"


def _filled(settings: Any, options: Mapping[str, Any]) -> Any:
    """Settings with the values from the command line."""
    from revise_captions.finetune.options import with_values

    return with_values(settings, options)
