"""The command `revise-captions`: only option parsing; the work is in `pipelines.job.run`."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from revise_captions.cli_options import (
    COUNT,
    OUT,
    SETTINGS,
    SectionedCommand,
    shared,
    version_option,
)
from revise_captions.commands import echo, run_command

EPILOG = """
\b
Examples:
  revise-captions captions.jsonl revised.jsonl --report report.html
  revise-captions in.parquet out.parquet --critic ./my-critic --reviser Qwen/Qwen3-14B
  revise-captions in.jsonl out.jsonl --resume          # after a crash or Ctrl-C
  revise-captions in.jsonl out.jsonl --dry-run         # counts, problems, time; writes nothing
"""


@click.command(cls=SectionedCommand, epilog=EPILOG, context_settings=SETTINGS)
@version_option
@click.argument("source", metavar="IN")
@click.argument("out", metavar="OUT", type=OUT)
@shared("--config", "--image-field", "--caption-field", "--image-root", "--allow-urls")
@shared("--critic", "--critic-profile", "--adapter", "--reviser", "--engine", "--samples")
@shared("--threshold", "--target-precision")
@click.option(
    "--rounds",
    type=click.IntRange(0, 20),
    default=2,
    help="Rewrites tried for each flagged sentence.",
)
@click.option(
    "--on-unfixable",
    type=click.Choice(["keep", "drop", "flag"]),
    default="keep",
    help="What to do with a sentence that is still nonfactual after all rounds: `keep` it, `drop` "
    "the sentence (never the record), or keep it and `flag` the row with revision.needs_review.",
)
@click.option(
    "--guard",
    type=click.Choice(["strict", "warn"]),
    help="What to do with a rewrite that contains words from neither the sentence nor its "
    "rationale: refuse it, or accept it with a warning.  [default: strict for the bundled "
    "reviser, else warn]",
)
@click.option(
    "--stage",
    type=click.Choice(["all", "critique", "revise"]),
    default="all",
    help="`critique` loads only the critic, `revise` only the reviser. Run in turn on each other's "
    "output, they give the same result as `all`.",
)
@shared("--batch-size", "--dtype", "--compile", "--device", "--trust-remote-code", "--limit")
@click.option(
    "--shard",
    default="0/1",
    metavar="I/N",
    help="Process every N-th window of 64 records, from the I-th (0 to N-1). merge-shards joins "
    "the outputs.",
)
@click.option(
    "--runner",
    type=click.Choice(["local", "ray"]),
    default="local",
    help="Run in this process, or on a Ray cluster (needs the extra `ray`).",
)
@click.option(
    "--replicas",
    type=COUNT,
    help="Copies of the models on the cluster.  [default: one per GPU, or per CPU but one]",
)
@click.option("--ray-address", help="Address of the Ray cluster.  [default: start a local one]")
@shared("--resume", "--force")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Only count, check and estimate; write nothing. The bundled critic judges a few records.",
)
@shared("--allow-unscored", "--max-quarantine", "--report", "--group-by")
@shared("--verify", default="none")
@shared("--reference-field", "--judge", "--parser", "--verbose")
def revise_captions(**options: Any) -> int:
    """Judge every sentence of the captions in IN against their images, rewrite the nonfactual
    ones, and write the corrected captions to OUT.

    IN and OUT: .jsonl (also .gz, .zst), `-` (standard input or output), .parquet, a WebDataset
    .tar; IN may also be a Hugging Face dataset's folder or id (`owner/name`, `owner/name:split`).
    Each row keeps its fields and gains `revised_caption` and `revision`. Rows that cannot be
    processed go to NAME.quarantine.jsonl, if OUT is NAME.jsonl, with the reason.
    """
    from revise_captions.pipelines.job.run import run
    from revise_captions.pipelines.job.verdict import exit_status
    from revise_captions.pipelines.options import JobOptions

    job = JobOptions.of(options)
    summary = run(job)
    status, why = exit_status({} if job.run.dry_run else summary, job.run)
    if why:
        echo(f"revise-captions: {why}", err=True)
    return status


def main(arguments: list[str] | None = None) -> None:
    """Entry point."""
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["doctor"] and not os.path.exists("doctor"):
        from revise_captions import umbrella

        umbrella.main(given)
    run_command(revise_captions, "revise-captions", given, go_on=lambda: _resume_line(given))


def _resume_line(arguments: list[str]) -> str:
    from revise_captions.pipelines.options import command_to_resume

    fed = ", with the same standard input" if arguments[:1] == ["-"] else ""
    return f"resume with: {command_to_resume(arguments)}{fed}"


if __name__ == "__main__":
    main()
