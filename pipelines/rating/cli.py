"""The command `captions rate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from revise_captions.command_line.command import SECTIONS, command
from revise_captions.command_line.printing import echo
from revise_captions.command_line.shared import (
    EXISTING_FILE,
    OUT_FOLDER,
    shared,
)

EPILOG = """
\b
Examples:
  captions rate captions.jsonl --out board             # with a field that names the captioner
  captions rate LLaVA=llava.jsonl Molmo=molmo.jsonl --out board
  captions rate GPT=gpt.jsonl --out board              # adds one; keeps the others' scores
  captions rate revised.jsonl --out board              # output of revise-captions: before and after
"""


@command(
    name="rate",
    heading="Measure captions and metrics",
    epilog=EPILOG,
    sections=SECTIONS,
    go_on=lambda _: "run it again: finished windows are kept",
)
@click.argument("inputs", metavar="[NAME=]IN…", nargs=-1)
@click.option("--out", required=True, type=OUT_FOLDER, help="Folder of the leaderboard.")
@click.option(
    "--captioner-field", help="Field that names the captioner.  [default: detected by name]"
)
@shared("--config", "--image-field")
@shared("--caption-field", help="Field that holds the caption.  [default: detected by name]")
@shared("--image-root", "--allow-urls")
@shared("--expert")
@shared("--critic", "--critic-profile", "--adapter", "--threshold", "--batch-size", "--dtype")
@shared("--device", "--trust-remote-code", "--allow-unscored")
@shared("--limit", help="Read only this many records of each IN.")
@click.option(
    "--people",
    type=EXISTING_FILE,
    help="CSV of human scores to compare with: `captioner` and `score`, or a column by criterion.",
)
@shared("--replicates", default=10_000)
def rate_captions(inputs: tuple[str, ...], out: Path, people: Path | None, **options: Any) -> None:
    """Rank captioners by their share of true sentences.

    Judge every sentence of the captions in IN and rank their captioners.

    OUT gets leaderboard.json, .md, .tex and .html, a .csv for each criterion and one of errors,
    ratings.json (counts by captioner and image), and the judged captions. If OUT already holds a
    leaderboard, the captioners of IN are added to it; without IN, its tables are rebuilt. Ranks are
    ranges: one captioner ranks above another only if a paired permutation test says so. Error types
    come from the input (`error_type` of its labeled sentences) or from the critic's rationales.
    """
    from revise_captions.pipelines.options import JobOptions
    from revise_captions.pipelines.rating.leaderboard import RatingOptions, as_text
    from revise_captions.pipelines.rating.leaderboard import rate_captions as rate

    field, replicates = options.pop("captioner_field"), options.pop("replicates")
    found = rate(RatingOptions(inputs, out, field, replicates, JobOptions.of(options), people))
    echo(as_text(found))
