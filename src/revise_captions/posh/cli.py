"""The command `score-posh`."""

from __future__ import annotations

from pathlib import Path

import click

from revise_captions.commands import run_command

EPILOG = """
\b
Examples:
  score-posh captions.jsonl scores.jsonl                     # offline, no download
  score-posh captions.jsonl scores.jsonl --html scores.html
  score-posh captions.jsonl scores.jsonl --judge Qwen/Qwen3-14B
  score-posh captions.jsonl scores.jsonl --judge Qwen/Qwen3-14B@http://localhost:8000/v1
"""


@click.command(epilog=EPILOG, context_settings={"show_default": True, "max_content_width": 100})
@click.version_option(package_name="revise-captions")
@click.argument("source", metavar="IN", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("out", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--generation-field", default="generation", help="Field with the text to score.")
@click.option(
    "--reference-field", default="reference", help="Field with the reference, or a list of them."
)
@click.option("--group-field", default="", help="Field that names the image.  [default: the line]")
@click.option(
    "--judge", default="offline", help="`offline`, a model's hub id or folder, `MODEL@URL`."
)
@click.option("--encoder", default="", help="The offline judge's: a folder or hub id.")
@click.option("--parser", default="bundled", help="A spaCy pipeline: `bundled`, a name, a folder.")
@click.option(
    "--coreference",
    default="rules",
    help="`rules`, or `maverick` or its weights' path: not for commercial use.",
)
@click.option("--engine", type=click.Choice(["transformers", "vllm"]), default="transformers")
@click.option("--device", default="auto", help="`auto`, `cpu`, `cuda`, …")
@click.option("--batch-size", type=click.IntRange(1), default=16, help="Prompts at a time.")
@click.option("--no-rewriting", is_flag=True, help="Do not let the judge rewrite identifiers.")
@click.option(
    "--unreadable-is-absent",
    is_flag=True,
    help="Score an unreadable answer 1, as the authors' code does, not as unscored.",
)
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="A page with marks.")
@click.option("--show", type=click.IntRange(0), default=0, help="Print so many pairs, with marks.")
@click.option("--force", is_flag=True, help="Overwrite OUT and the page.")
def score_posh(source: Path, out: Path, **options: object) -> None:
    """Score the generations in IN (JSON Lines) against their references by POSH.

    OUT gets a line for each of IN's: its scores, what they are made of, and a grade with a span for
    every component. Means with 95 % intervals go to the terminal.
    """
    from revise_captions.posh.score_file import PoshOptions, run

    run(PoshOptions(source, out, **options))  # type: ignore[arg-type]


def main(arguments: list[str] | None = None) -> None:
    """Entry point."""
    run_command(score_posh, "score-posh", arguments, interrupted="interrupted; nothing was written")


if __name__ == "__main__":
    main()
