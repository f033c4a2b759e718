"""The command `captions calibrate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from revise_captions.command_line.command import SECTIONS, command
from revise_captions.command_line.printing import echo
from revise_captions.command_line.shared import (
    OUT_FILE,
    shared,
)

EPILOG = """
\b
Examples:
  captions calibrate Qwen/Qwen3-VL-8B-Instruct annotated --out qwen.json
  captions calibrate qwen@http://localhost:8000/v1 annotated --out qwen.json --wrong-share 0.2
  captions calibrate bundled rated --benchmark chocolate --out profile.json
  captions calibrate my-critic data --into-card --false-alarms 0.01
"""
_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


@command(
    name="calibrate",
    heading="Label and train",
    epilog=EPILOG,
    sections=SECTIONS,
)
@click.argument("critic")
@click.argument("data", type=click.Path(exists=True, path_type=Path))
@click.option("--out", type=OUT_FILE, help="Write the profile to this file.")
@click.option(
    "--into-card",
    is_flag=True,
    help="Instead of --out: store threshold and curve in the critic's own critic.json. P(factual) "
    "stays as it is.",
)
@click.option(
    "--benchmark",
    metavar="NAME",
    help="DATA is the folder of this benchmark, as published (`captions benchmarks list`).",
)
@click.option(
    "--rewrites",
    metavar="DATA",
    type=click.Path(exists=True, path_type=Path),
    help="More labeled data, of which only the rewrites count: how many of those that the critic "
    "accepts are true?  [default: those of DATA]",
)
@click.option(
    "--map",
    "method",
    type=click.Choice(["auto", "none", "temperature", "logistic", "isotonic"]),
    default="auto",
    help="How P(factual) is calibrated: not at all; logit P divided by a temperature; the same "
    "with a shift; by a rising step function. `auto`: the best in cross-validation over images.",
)
@click.option(
    "--wrong-share",
    type=_SHARE,
    help="Share of wrong sentences in the captions that will be judged, which map, threshold and "
    "figures are for.  [default: that of DATA]",
)
@click.option(
    "--false-alarms",
    type=_SHARE,
    help="Largest share of true sentences to flag, held with 95 % confidence.  [default: any]",
)
@click.option(
    "--held-out",
    type=click.FloatRange(0.1, 0.9),
    default=0.5,
    help="Fraction of the images that nothing is fitted on, and that all figures are of.",
)
@shared("--adapter", "--engine", "--samples", "--device", "--dtype", "--batch-size")
@shared("--trust-remote-code")
@shared("--replicates", default=1000)
@click.option("--force", is_flag=True, help="Overwrite --out.")
def calibrate_critic(
    critic: str, data: Path, out: Path | None, into_card: bool, **options: Any
) -> None:
    """Measure a critic's errors; calibrate P(factual).

    Measure how far the verdicts of CRITIC can be trusted, and calibrate its P(factual).

    CRITIC is any critic: `bundled`, a checkpoint's folder, a hub id, MODEL@http://host:8000/v1.
    DATA holds labeled sentences: what `captions annotate import` or `captions annotate convert`
    wrote, another folder of training data, or, with --benchmark, a benchmark. Half of the images
    serve to choose map and threshold; every figure is of the other half. The profile names the
    critic and its prompt, and `--critic-profile` of other commands takes it for that critic only.
    """
    from revise_captions.finetune.calibration.run import as_text, calibrate

    echo(as_text(calibrate(critic, data, out, into_card=into_card, **options)))
