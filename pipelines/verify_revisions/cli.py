"""The command `verify-revisions`."""

from __future__ import annotations

from typing import Any

import click

from revise_captions.cli_options import (
    LOCAL_ENGINES,
    OUT,
    SETTINGS,
    SectionedCommand,
    shared,
    version_option,
)
from revise_captions.commands import run_command

EPILOG = """
\b
Examples:
  verify-revisions revised.jsonl verified.jsonl --report verified.html
  verify-revisions revised.jsonl verified.jsonl --verify text,critic --critic ./another-critic
  verify-revisions revised.jsonl verified.jsonl --verify text,posh --reference-field reference
"""


@click.command(cls=SectionedCommand, epilog=EPILOG, context_settings=SETTINGS)
@version_option
@click.argument("source", metavar="IN")
@click.argument("out", metavar="OUT", type=OUT)
@shared("--config")
@shared("--verify", default="text")
@shared("--reference-field", "--judge", "--parser")
@shared("--critic", "--critic-profile", "--adapter", "--trust-remote-code")
@shared("--engine", type=LOCAL_ENGINES, help="Inference engine for the critic.")
@shared("--image-field")
@shared(
    "--caption-field",
    help="Field that holds the caption, as given to revise-captions.  [default: detected by name]",
)
@shared("--image-root", "--allow-urls")
@shared("--batch-size", help="Claims per forward pass of the critic.")
@shared("--dtype", "--device", "--limit", "--resume", "--force", "--report", "--group-by")
@shared("--verbose")
def verify_revisions(**options: Any) -> None:
    """Check the revisions in IN, the output of revise-captions, by more than its critic's verdicts.

    OUT gets the rows of IN; each `revision` gains `verification`, and nothing else changes. The
    table at the end compares figures before and after revision, with intervals over records.
    """
    from revise_captions.pipelines.options import JobOptions
    from revise_captions.pipelines.verify_revisions.run import verify_file

    verify_file(JobOptions.of(options))


def main(arguments: list[str] | None = None) -> None:
    """Entry point."""
    run_command(
        verify_revisions,
        "verify-revisions",
        arguments,
        go_on=lambda: "repeat the command with --resume to continue",
    )


if __name__ == "__main__":
    main()
