"""`captions`: one command for all others, each of which keeps its own name, too.

A sub-command is one row of `COMMANDS`, and is imported only when it is asked for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import NamedTuple

import click

from revise_captions.cli_options import SETTINGS, version_option
from revise_captions.commands import program, run_command

NAME = "captions"
#: What click looks for in the environment when a shell asks it to complete a line.
COMPLETE = "_CAPTIONS_COMPLETE"


class SubCommand(NamedTuple):
    """A sub-command.

    Attributes:
        name: What follows `captions`.
        group: The heading in the help under which it stands.
        target: `module:function`; the function takes the arguments, as entry points do.
        line: What it does, in a line of the help.
        script: Its own name as a command, under which `captions` knows it, too; "" for none.
    """

    name: str
    group: str
    target: str
    line: str
    script: str = ""


CORRECT = "Correct captions"
MEASURE = "Measure captions and metrics"
TRAIN = "Label and train"
LARGE = "Large jobs and engines"
SHELL = "Settings and shell"

_JOBS = "revise_captions.pipelines"
#: Most used first, in the groups and among them.
COMMANDS = (
    SubCommand(
        "revise",
        CORRECT,
        f"{_JOBS}.cli:main",
        "Judge each sentence by its image; rewrite what is wrong.",
        "revise-captions",
    ),
    SubCommand(
        "try",
        CORRECT,
        f"{_JOBS}.try_cli:main",
        "Judge and revise one caption in the terminal.",
    ),
    SubCommand(
        "doctor",
        CORRECT,
        f"{_JOBS}.doctor.cli:main",
        "Check an input and this machine; name the command to run.",
    ),
    SubCommand(
        "read-chart",
        CORRECT,
        "revise_captions.pipelines.chart_reading.cli:main",
        "Print the values that a chart shows.",
        "read-chart",
    ),
    SubCommand(
        "verify",
        CORRECT,
        f"{_JOBS}.verify_revisions.cli:main",
        "Check revisions by other means than the critic's verdict.",
        "verify-revisions",
    ),
    SubCommand(
        "explore",
        CORRECT,
        f"{_JOBS}.explore.cli:main",
        "Look at a run in the browser; decide about its rewrites.",
        "explore",
    ),
    SubCommand(
        "rate",
        MEASURE,
        f"{_JOBS}.rating.cli:main",
        "Rank captioners by their share of true sentences.",
        "rate-captions",
    ),
    SubCommand(
        "dcscore",
        MEASURE,
        "revise_captions.dcscore.cli:main",
        "Score detailed captions unit by unit with DCScore.",
        "score-dcscore",
    ),
    SubCommand(
        "posh",
        MEASURE,
        "revise_captions.posh.cli:main",
        "Score detailed captions against references with POSH.",
        "score-posh",
    ),
    SubCommand(
        "vela",
        MEASURE,
        "revise_captions.vela.cli:main",
        "Score long captions with a trained VELA metric.",
        "score-vela",
    ),
    SubCommand(
        "evaluate-metric",
        MEASURE,
        f"{_JOBS}.metrics.cli:main",
        "Compare a metric with the human labels of a benchmark.",
        "evaluate-metric",
    ),
    SubCommand(
        "stress-metric",
        MEASURE,
        f"{_JOBS}.stress.cli:main",
        "Show what a metric does not notice.",
        "stress-metric",
    ),
    SubCommand(
        "benchmarks",
        MEASURE,
        f"{_JOBS}.benchmarks.cli:main",
        "List public benchmarks; check and export copies of them.",
        "caption-benchmarks",
    ),
    SubCommand(
        "annotate",
        TRAIN,
        f"{_JOBS}.annotate.cli:main",
        "Have people label a sample; import their answers.",
        "annotate",
    ),
    SubCommand(
        "finetune",
        TRAIN,
        "revise_captions.finetune.cli:main",
        "Train a critic of your own.",
        "finetune-critic",
    ),
    SubCommand(
        "calibrate",
        TRAIN,
        "revise_captions.finetune.calibration.cli:main",
        "Measure a critic's errors; calibrate P(factual).",
        "calibrate-critic",
    ),
    SubCommand(
        "train-vela",
        TRAIN,
        "revise_captions.vela.training.cli:main",
        "Train a VELA metric on people's ratings.",
        "train-vela",
    ),
    SubCommand(
        "finetune-metric",
        TRAIN,
        "revise_captions.finetune.metric.cli:main",
        "Train a metric to pass these checks.",
        "finetune-metric",
    ),
    SubCommand(
        "preferences",
        TRAIN,
        f"{_JOBS}.preferences.cli:main",
        "Make preference pairs of captions.",
        "collect-preferences",
    ),
    SubCommand(
        "train-preferences",
        TRAIN,
        "revise_captions.finetune.preferences.cli:main",
        "Train a captioner on preferences.",
        "train-preferences",
    ),
    SubCommand(
        "merge",
        LARGE,
        f"{_JOBS}.job.merge_cli:main",
        "Join the outputs of shards.",
        "merge-shards",
    ),
    SubCommand(
        "check-engine",
        LARGE,
        f"{_JOBS}.engine_check.cli:main",
        "Compare a critic's answers in two setups.",
        "check-engine",
    ),
    SubCommand(
        "init-config",
        SHELL,
        "revise_captions.init_config:main",
        "Write a command's options as a commented TOML file.",
    ),
    SubCommand(
        "completion",
        SHELL,
        "revise_captions.completion:main",
        "Print what makes a shell complete these commands.",
    ),
)

EPILOG = """
\b
Start with:
  captions revise captions.jsonl revised.jsonl --report report.html
  captions COMMAND --help
"""


def find(name: str) -> SubCommand | None:
    """The sub-command of this name, or of this name as a command of its own."""
    return next((c for c in COMMANDS if name and name in (c.name, c.script)), None)


def command_of(entry: SubCommand) -> click.Command:
    """The one click command of a sub-command's module, which is imported."""
    module = import_module(entry.target.partition(":")[0])
    return next(v for v in vars(module).values() if isinstance(v, click.Command))


class Umbrella(click.Group):
    """Sub-commands that are imported when they are used or completed, never for the help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [command.name for command in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = find(cmd_name)
        return None if entry is None else command_of(entry)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if find(args[0]) is None:
            names = [name for c in COMMANDS for name in (c.name, c.script) if name]
            near = get_close_matches(args[0], names, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"See {NAME} --help."
            ctx.fail(f"No such command {args[0]!r}. {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(len(command.name) for command in COMMANDS)
        for group in dict.fromkeys(command.group for command in COMMANDS):
            with formatter.section(group):
                rows = [(c.name.ljust(width), c.line) for c in COMMANDS if c.group == group]
                formatter.write_dl(rows)


@click.group(cls=Umbrella, epilog=EPILOG, context_settings=SETTINGS)
@version_option
def captions() -> None:
    """Find and mend what is not true of the image in captions by vision–language models."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: hands over to the command that is named, under the name `captions …`."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    entry = find(given[0]) if given else None
    if entry is None or COMPLETE in os.environ:
        run_command(captions, NAME, given or ["--help"])
    module, _, function = entry.target.partition(":")
    with program(f"{NAME} {entry.name}"):
        getattr(import_module(module), function)(given[1:])


if __name__ == "__main__":
    main()
