"""The command `verify-revisions`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from revise_captions.commands import run_command

EPILOG = """
\b
Examples:
  verify-revisions revised.jsonl verified.jsonl --report verified.html
  verify-revisions revised.jsonl verified.jsonl --verify text,critic --critic ./another-critic
  verify-revisions revised.jsonl verified.jsonl --verify text,posh --reference-field reference
"""


@click.command(epilog=EPILOG, context_settings={"show_default": True, "max_content_width": 100})
@click.version_option(package_name="revise-captions")
@click.argument("source", metavar="IN")
@click.argument("out", metavar="OUT")
@click.option(
    "--verify",
    default="text",
    metavar="CHECKS",
    help="Several with commas: `text`, what was lost, or changed beyond the rationales; `critic`, "
    "single components put to a critic; `posh`, mistakes and omissions beside a reference caption.",
)
@click.option("--reference-field", metavar="FIELD", help="For `--verify posh`: a text, or a list.")
@click.option(
    "--judge",
    default="offline",
    help="POSH's judge: `offline` (a sentence encoder), a folder, a hub id, MODEL@URL.",
)
@click.option("--parser", default="bundled", help="A spaCy pipeline: `bundled`, a name, a folder.")
@click.option("--critic", default="bundled", help="For `--verify critic`: as in revise-captions.")
@click.option("--adapter", help="LoRA adapter for the critic: a folder or a hub id.")
@click.option("--engine", type=click.Choice(["transformers", "vllm"]), default="transformers")
@click.option("--image-field", help="Field that holds the image.  [default: found by its name]")
@click.option(
    "--caption-field", help="As it was given to revise-captions.  [default: found by its name]"
)
@click.option(
    "--image-root",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder that image paths start from and never leave.  [default: IN's folder]",
)
@click.option("--allow-urls", is_flag=True, help="Fetch images from public http(s) addresses.")
@click.option("--batch-size", type=click.IntRange(1), default=16, help="Questions at a time.")
@click.option(
    "--dtype",
    type=click.Choice(["auto", "float32", "bfloat16", "float16"]),
    default="auto",
    help="Of the critic's arithmetic.",
)
@click.option("--device", default="auto", help="`auto`, `cpu`, `cuda`, `cuda:1`, `mps`, …")
@click.option("--limit", type=click.IntRange(1), help="Stop after this many records.")
@click.option("--resume", is_flag=True, help="Go on where an earlier run of this command stopped.")
@click.option("--force", is_flag=True, help="Overwrite OUT, and forget an unfinished run of it.")
@click.option("--report", type=click.Path(path_type=Path, dir_okay=False), help="Write HTML here.")
@click.option("--group-by", metavar="FIELD", help="Figures per value of this field, too.")
def verify_revisions(**options: Any) -> None:
    """Check what revise-captions made of the captions in IN, by more than its critic's verdicts.

    OUT has IN's rows; each `revision` gains `verification`, and nothing else changes. The table
    has every figure before and after, with intervals over records.
    """
    from revise_captions.pipelines.options import Options
    from revise_captions.pipelines.verify_revisions.run import verify_file

    verify_file(Options.from_cli(options))


def main(arguments: list[str] | None = None) -> None:
    """Entry point."""
    run_command(
        verify_revisions,
        "verify-revisions",
        arguments,
        go_on=lambda: "go on with the same command and --resume",
    )


if __name__ == "__main__":
    main()
