"""The command `captions stress-metric`."""

from __future__ import annotations

from typing import Any

import click

from revise_captions.command_line.command import command
from revise_captions.command_line.printing import echo
from revise_captions.command_line.shared import (
    EXISTING_FOLDER,
    OUT_FILE,
    OUT_FOLDER,
    shared,
)

EPILOG = """
\b
Examples:
  captions stress-metric posh length DIR --benchmark contextual-descriptions --html stress.html
  captions stress-metric clipscore=openai/clip-vit-base-patch32 DIR --benchmark contextref
  captions stress-metric critic=bundled DIR --writer none  # without the two continuations
  captions stress-metric DIR --export variants          # for a metric that runs elsewhere, then
  captions stress-metric mine=scores.csv DIR            # its scores, by the exported ids

\b
A METRIC is a name that --list prints, NAME=MODEL, a floor or a scores file as `evaluate-metric`
takes it. DIR holds the benchmark (`captions benchmarks list`).
"""


def _list(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if not value or context.resilient_parsing:
        return
    from revise_captions.registry import METRICS, load, names

    for name in names(METRICS):
        said = (load(METRICS, name).__doc__ or "").strip().splitlines()
        echo(f"{name:22}{said[0] if said else ''}")
    context.exit()


@command(
    name="stress-metric",
    heading="Measure captions and metrics",
    epilog=EPILOG,
)
@click.argument("metrics", metavar="[METRIC]…", nargs=-1)
@click.argument("folder", metavar="DIR", type=EXISTING_FOLDER)
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list,
    help="List the installed metrics and exit.",
)
@click.option("--benchmark", default="plain", help="What DIR holds.")
@click.option("--html", type=OUT_FILE, help="Write a page with charts to this file.")
@click.option("--json", type=OUT_FILE, help="Write all figures to this JSON file.")
@click.option(
    "--export",
    type=OUT_FOLDER,
    help="Write all original and changed descriptions and images to this new folder.",
)
@click.option(
    "--writer",
    default="smollm2",
    help="Language model that continues descriptions: a folder, a Hugging Face id, `smollm2`, or "
    "`none`, which leaves two checks out.",
)
@click.option(
    "--continuations",
    type=OUT_FILE,
    help="Keep its continuations in this file, and take them from there.",
)
@click.option(
    "--scale",
    type=(float, float),
    default=(1.0, 5.0),
    metavar="LOW HIGH",
    help="Leave out ratings outside this range; they are counted.",
)
@click.option(
    "--limit", type=click.IntRange(1), metavar="N", help="Use N descriptions only, evenly spread."
)
@click.option(
    "--part",
    type=click.Choice(["all", "train", "test"]),
    default="all",
    help="Use all images, four fifths of them, or the other fifth: finetune-metric trains on "
    "`train`, so measure what it made on `test`.",
)
@shared("--seed")
@shared("--replicates", default=1000)
@shared("--engine", "--device", "--batch-size")
@shared("--critic-profile", help="Profile of the critic that a METRIC asks (captions calibrate).")
@shared("--force", help="Overwrite files that are no earlier output.")
def stress_metric(**options: Any) -> None:
    """Show what a metric does not notice.

    Run ten checks on each METRIC: descriptions in DIR are made worse in ten ways, and a sound
    metric scores each of them lower than the original (ContextRef).

    Prints how many scores went lower, stayed the same, or went higher, with intervals over images
    and the paper's figures for other metrics; correlations with people's ratings and among the
    metrics; and what each metric must not be used for.
    """
    from revise_captions.pipelines.stress.run import StressOptions, run
    from revise_captions.pipelines.stress.terminal import as_text

    found = run(StressOptions(**options))
    if found:
        echo(as_text(found))
