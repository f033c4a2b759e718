"""The command `captions posh`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from revise_captions.command_line.command import command
from revise_captions.command_line.shared import OUT_FILE, shared

EPILOG = """
\b
Examples:
  captions posh captions.jsonl scores.jsonl                  # offline, no download
  captions posh captions.jsonl scores.jsonl --html scores.html
  captions posh captions.jsonl scores.jsonl --judge Qwen/Qwen3-14B
  captions posh captions.jsonl scores.jsonl --judge Qwen/Qwen3-14B@http://localhost:8000/v1
"""
_INPUTS = ("caption_field", "limit")
_FILE = ("html", "show", "resume", "force")


@command(
    name="posh",
    heading="Measure captions and metrics",
    epilog=EPILOG,
    go_on=lambda _: "repeat the command with --resume to continue",
)
@click.argument("source", metavar="IN")
@click.argument("out", type=OUT_FILE)
@shared("--caption-field", default="generation", help="Field that holds the text to score.")
@shared(
    "--reference-field",
    default="reference",
    help="Field that holds the reference, or a list of references.",
)
@click.option(
    "--group-field",
    default="",
    show_default=False,
    help="Field that identifies the image, the unit of the intervals.  [default: the image]",
)
@shared("--limit")
@shared("--judge")
@click.option(
    "--encoder",
    default="",
    show_default=False,
    help="Sentence encoder of the offline judge: a folder or a Hugging Face model id.",
)
@shared("--parser")
@click.option(
    "--coreference",
    default="rules",
    help="Coreference resolver: `rules`, `maverick`, or a folder of Maverick weights. Maverick's "
    "license excludes commercial use.",
)
@shared("--engine", help="Inference engine for the judge.")
@shared("--device", "--trust-remote-code")
@shared("--batch-size", help="Prompts per forward pass of the judge.")
@click.option(
    "--no-rewriting",
    is_flag=True,
    help="Do not let a language-model judge reword how its questions name objects.",
)
@click.option(
    "--unreadable-is-absent",
    is_flag=True,
    help="Score an answer that cannot be parsed as 1 (absent), as the authors' code does, instead "
    "of leaving it unscored.",
)
@click.option(
    "--html", type=OUT_FILE, help="Write an HTML page with marked components to this file."
)
@click.option(
    "--show",
    type=click.IntRange(0),
    default=0,
    help="Print this many pairs with marked components.",
)
@shared("--resume")
@shared("--force", help="Overwrite OUT and the HTML page.")
def score_posh(source: str, out: Path, **options: Any) -> int:
    """Score detailed captions against references with POSH.

    Score the generations in IN (JSON Lines, CSV, Parquet, …) against their references with POSH.

    OUT gets one line per pair: its scores, their parts, and a grade with a span for every
    component. Rows that cannot be scored go to NAME.quarantine.jsonl, if OUT is NAME.jsonl, with
    the reason. Means with 95 % bootstrap intervals are printed.
    """
    from revise_captions.posh.score_file import PoshOptions, run
    from revise_captions.runs.options import InputOptions
    from revise_captions.runs.outputs import quarantine_status
    from revise_captions.runs.score_file import ScoreOptions

    inputs = InputOptions(source, **{name: options.pop(name) for name in _INPUTS})
    file = ScoreOptions(inputs, str(out), **{name: options.pop(name) for name in _FILE})
    written = run(PoshOptions(file, **options))
    return quarantine_status("captions posh", written) if written is not None else 0
