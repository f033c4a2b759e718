"""The command `evaluate-metric`."""

from __future__ import annotations

from pathlib import Path

import click

from revise_captions.commands import run_command

LEVELS = ("sentence", "segment", "system", "preference", "spans", "agreement")
EPILOG = """
\b
Examples:
  evaluate-metric chocolate DIR judged.jsonl       # what revise-captions judged
  evaluate-metric chocolate DIR judged.jsonl --floors
  evaluate-metric chocolate DIR floor:digits floor:numbers=read.jsonl    # read by OCR, kept there
  evaluate-metric flickr8k-expert DIR CLIP=clip.csv BLEU=bleu.csv --ratings each
  evaluate-metric annotations DIR                                # agreement between your raters

\b
Rows of a scores file (JSON Lines, CSV, Parquet): {"id", "score"} for a caption,
{"id", "sentence", "score"} for a sentence, {"id", "spans": [{"start", "end", "score"}]} for what it
finds wrong, or what revise-captions wrote. null is “could not judge”. Ids: `caption-benchmarks
export`.

\b
Floors: length, position, digits (of the captions alone); bleu, rouge-l, meteor, cider, graph-f1
(with references); numbers=FILE (charts' numbers that OCR does not find), clip=MODEL (CLIPScore or
SigLIP, a folder or hub id).
"""


@click.command(epilog=EPILOG, context_settings={"show_default": True, "max_content_width": 100})
@click.version_option(package_name="revise-captions")
@click.argument("name", metavar="BENCHMARK")
@click.argument(
    "folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False, exists=True)
)
@click.argument("scores", metavar="[[NAME=]SCORES]…", nargs=-1)
@click.option("--floors", is_flag=True, help="All floors too that the data alone allow.")
@click.option(
    "--level", "only", multiple=True, type=click.Choice(LEVELS), help="Only these.  [default: all]"
)
@click.option(
    "--ratings",
    type=click.Choice(["mean", "each"]),
    default="mean",
    help="Raters' scores of a caption: their mean, or a row for each.",
)
@click.option(
    "--by-captioner/--no-by-captioner", default=True, help="Sentences of each captioner too."
)
@click.option("--field", default="score", help="Field or column that holds the score.")
@click.option(
    "--replicates", type=click.IntRange(100), default=1000, help="Resamples and permutations."
)
@click.option(
    "--json", "out", type=click.Path(path_type=Path, dir_okay=False), help="Write all of it."
)
def evaluate_metric(
    name: str,
    folder: Path,
    scores: tuple[str, ...],
    floors: bool,
    only: tuple[str, ...],
    ratings: str,
    by_captioner: bool,
    field: str,
    replicates: int,
    out: Path | None,
) -> None:
    """Hold a metric's or a rater's SCORES against what people said in BENCHMARK (files in DIR).

    At every level that the data have: sentences, captions, captioners, preferences, marked spans,
    and agreement between the raters themselves. Every figure has an interval over images, and all
    SCORES but the first are tested against the first. `caption-benchmarks list` names the
    benchmarks; scores named `floor:…` need no file of scores.
    """
    from revise_captions.pipelines.metrics.evaluate import EvaluationOptions, as_text, evaluate

    chosen = only or LEVELS
    found = evaluate(
        EvaluationOptions(
            name,
            folder,
            scores,
            chosen,
            replicates,
            ratings == "each",
            by_captioner,
            field,
            out,
            floors,
        )
    )
    click.echo(as_text(found))


def main(arguments: list[str] | None = None) -> None:
    """Entry point."""
    run_command(evaluate_metric, "evaluate-metric", arguments)
