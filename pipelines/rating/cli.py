"""The command `rate-captions`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from revise_captions.commands import run_command

EPILOG = """
\b
Examples:
  rate-captions captions.jsonl --out board             # with a field that names the captioner
  rate-captions LLaVA=llava.jsonl Molmo=molmo.jsonl --out board
  rate-captions GPT=gpt.jsonl --out board              # add one; the others are not scored again
  rate-captions revised.jsonl --out board              # output of revise-captions: before and after
"""


@click.command(epilog=EPILOG, context_settings={"show_default": True, "max_content_width": 100})
@click.version_option(package_name="revise-captions")
@click.argument("inputs", metavar="[NAME=]IN…", nargs=-1)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the leaderboard.",
)
@click.option(
    "--captioner-field", help="Field that names the captioner.  [default: found by its name]"
)
@click.option("--image-field", help="Field that holds the image.  [default: found by its name]")
@click.option("--caption-field", help="Field that holds the caption.  [default: found by its name]")
@click.option(
    "--image-root",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder that image paths start from.",
)
@click.option("--allow-urls", is_flag=True, help="Fetch images from public http(s) addresses.")
@click.option("--critic", default="bundled", help="Critic: `bundled`, a folder, or a hub id.")
@click.option("--adapter", help="LoRA adapter for the critic: a folder or a hub id.")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    help="Sentences with P(factual) below it are wrong.  [default: the critic's calibrated one]",
)
@click.option("--batch-size", type=click.IntRange(1), default=16, help="Captions per forward pass.")
@click.option(
    "--dtype",
    type=click.Choice(["auto", "float32", "bfloat16", "float16"]),
    default="auto",
    help="Of the critic's arithmetic.",
)
@click.option("--device", default="auto", help="`auto`, `cpu`, `cuda`, `cuda:1`, `mps`, …")
@click.option("--limit", type=click.IntRange(1), help="Only so many records of each IN.")
@click.option(
    "--people",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="CSV of people's scores (captioner, score) to compare the ranking with.",
)
@click.option(
    "--replicates",
    type=click.IntRange(100),
    default=10_000,
    help="Bootstrap resamples and permutations.",
)
def rate_captions(inputs: tuple[str, ...], out: Path, people: Path | None, **options: Any) -> None:
    """Judge every sentence of captions by several captioners, and rank the captioners.

    Writes to OUT: leaderboard.json, .md, .tex, .html, a .csv for each criterion and one of errors,
    ratings.json (counts by captioner and image) and what was judged. If OUT holds a leaderboard,
    the captioners of IN are added to it; without IN its tables are made again. Ranks are ranges: an
    order is claimed only where a paired permutation test finds one. Kinds of errors are those that
    the input names (`error_type` of its labelled sentences), or that the critic's rationales speak
    of.
    """
    from revise_captions.pipelines.options import Options
    from revise_captions.pipelines.rating.rate import RatingOptions, as_text
    from revise_captions.pipelines.rating.rate import rate_captions as rate

    field, replicates = options.pop("captioner_field"), options.pop("replicates")
    found = rate(RatingOptions(inputs, out, field, replicates, Options.from_cli(options), people))
    click.echo(as_text(found))


def main(arguments: list[str] | None = None) -> None:
    """Entry point."""
    run_command(
        rate_captions,
        "rate-captions",
        arguments,
        go_on=lambda: "run it again: finished windows are kept",
    )
