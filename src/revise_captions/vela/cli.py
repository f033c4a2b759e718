"""The command `captions vela`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from revise_captions.command_line.command import command
from revise_captions.command_line.shared import (
    EXISTING_FOLDER,
    OUT_FILE,
    shared,
)

EPILOG = """
\b
Examples:
  captions vela my-vela captions.jsonl scores.jsonl
  captions vela my-vela captions.jsonl scores.jsonl --cache features.sqlite
  captions evaluate-metric longcap-arena DIR VELA=scores.jsonl --field relevance
"""

_MODELS = ("language", "pair", "cache", "batch_size", "device")


@command(
    name="vela",
    heading="Measure captions and metrics",
    epilog=EPILOG,
    go_on=lambda _: "repeat the command with --resume to continue",
)
@click.argument("metric", metavar="METRIC", type=EXISTING_FOLDER)
@click.argument("source", metavar="IN")
@click.argument("out", type=OUT_FILE)
@shared("--image-field", "--caption-field")
@shared("--reference-field", default="references", help="Field of the reference captions.")
@shared("--image-root", "--allow-urls", "--limit")
@click.option(
    "--language",
    default="",
    show_default=False,
    help="Where the metric's language model is.  [default: where it was trained]",
)
@click.option(
    "--pair",
    default="",
    show_default=False,
    help="Where the metric's image and text towers are.  [default: where they were trained]",
)
@click.option("--cache", type=OUT_FILE, help="Keep features in this file, for the next run.")
@shared("--batch-size", help="Prompts per forward pass.")
@shared("--device")
@shared("--resume")
@shared("--force", help="Overwrite OUT.")
def score_vela(
    metric: Path,
    source: str,
    out: Path,
    reference_field: str,
    resume: bool,
    force: bool,
    **options: Any,
) -> int:
    """Score long captions with a trained VELA metric.

    Score the captions in IN with the trained METRIC, a folder that captions train-vela wrote.

    OUT (JSON Lines) gets one line for each caption: a score in [0, 1] for each perspective, or the
    reason why there is none, and how many tokens did not fit. Rows that cannot be scored go to
    NAME.quarantine.jsonl, if OUT is NAME.jsonl. Means with 95 % bootstrap intervals are printed.
    """
    from revise_captions.runs.options import InputOptions
    from revise_captions.runs.outputs import quarantine_status
    from revise_captions.runs.score_file import ScoreOptions
    from revise_captions.vela.score_file import VelaModels, run

    models = {name: options.pop(name) for name in _MODELS}
    inputs = InputOptions(source, **options)
    files = ScoreOptions(inputs, str(out), resume=resume, force=force)
    written = run(VelaModels(metric, **models), files, reference_field)
    return quarantine_status("captions vela", written) if written is not None else 0
