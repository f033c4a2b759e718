"""The command `captions verify`."""

from __future__ import annotations

from typing import Any

import click

from revise_captions.command_line.command import SECTIONS, command
from revise_captions.command_line.shared import (
    LOCAL_ENGINES,
    OUT,
    shared,
)

EPILOG = """
\b
Examples:
  captions verify revised.jsonl verified.jsonl --report verified.html
  captions verify revised.jsonl verified.jsonl --verify text,critic --critic ./another-critic
  captions verify revised.jsonl verified.jsonl --verify text,posh --reference-field reference
"""


@command(
    name="verify",
    heading="Correct captions",
    epilog=EPILOG,
    sections=SECTIONS,
    go_on=lambda _: "repeat the command with --resume to continue",
)
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
def verify_revisions(**options: Any) -> None:
    """Check revisions by other means than the critic's verdict.

    Check the revisions in IN, the output of revise-captions, by more than its critic's verdicts.

    OUT gets the rows of IN; each `revision` gains `verification`, and nothing else changes. The
    table at the end compares figures before and after revision, with intervals over records.
    """
    from revise_captions.pipelines.options import JobOptions
    from revise_captions.pipelines.verify_revisions.run import verify_file

    verify_file(JobOptions.of(options))
