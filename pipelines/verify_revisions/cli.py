"""The command `captions verify`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from revise_captions.command_line.command import SECTIONS, command
from revise_captions.command_line.options import argument
from revise_captions.command_line.shared import OUT, shared_option
from revise_captions.pipelines.options import JobOptions, JudgeOptions

EPILOG = """
\b
Examples:
  captions verify revised.jsonl verified.jsonl --report verified.html
  captions verify revised.jsonl verified.jsonl --verify text,critic --critic ./another-critic
  captions verify revised.jsonl verified.jsonl --verify text,posh --reference-field reference
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyRevisionsOptions(JudgeOptions):
    """A run's options, as far as they concern the checks of what it has written."""

    source: str = argument("IN")
    out: str = argument("OUT", type=OUT)
    config: Path | None = shared_option("--config")
    verify: str = shared_option("--verify", default="text")
    reference_field: str | None = shared_option("--reference-field")
    judge: str = shared_option("--judge")
    parser: str = shared_option("--parser")
    image_field: str | None = shared_option("--image-field")
    caption_field: str | None = shared_option(
        "--caption-field",
        help="Field that holds the caption, as given to revise-captions.  "
        "[default: detected by name]",
    )
    image_root: Path | None = shared_option("--image-root")
    allow_urls: bool = shared_option("--allow-urls")
    limit: int | None = shared_option("--limit")
    resume: bool = shared_option("--resume")
    force: bool = shared_option("--force")
    report: Path | None = shared_option("--report")
    group_by: str | None = shared_option("--group-by")


@command(
    VerifyRevisionsOptions,
    name="verify",
    heading="Correct captions",
    epilog=EPILOG,
    sections=SECTIONS,
    go_on=lambda _: "repeat the command with --resume to continue",
)
def verify_revisions(options: VerifyRevisionsOptions) -> None:
    """Check revisions by other means than the critic.

    Check the revisions in IN, the output of revise-captions, by more than the critic's verdicts.

    OUT gets the rows of IN; each `revision` gains `verification`, and nothing else changes. The
    table at the end compares figures before and after revision, with intervals over records.
    """
    from revise_captions.pipelines.verify_revisions.run import verify_file

    verify_file(JobOptions.of(asdict(options)))
