"""The command `captions revise`, a program of its own as `revise-captions`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from revise_captions.command_line.command import SECTIONS, command
from revise_captions.command_line.printing import echo
from revise_captions.command_line.running import run_command
from revise_captions.pipelines.options import JobOptions, command_to_resume

EPILOG = """
\b
Examples:
  revise-captions captions.jsonl revised.jsonl --report report.html
  revise-captions in.parquet out.parquet --critic ./my-critic --reviser Qwen/Qwen3-14B
  revise-captions in.jsonl out.jsonl --resume          # after a crash or Ctrl-C
  revise-captions in.jsonl out.jsonl --dry-run         # counts, problems, time; writes nothing
"""


def _resume_line(arguments: Sequence[str]) -> str:
    fed = ", with the same standard input" if arguments[:1] == ["-"] else ""
    return f"resume with: {command_to_resume(arguments)}{fed}"


@command(
    JobOptions,
    name="revise",
    heading="Correct captions",
    epilog=EPILOG,
    go_on=_resume_line,
    sections=SECTIONS,
)
def revise_captions(job: JobOptions) -> int:
    """Judge each sentence by its image; rewrite what is wrong.

    The captions in IN are judged sentence by sentence against their images, the nonfactual
    sentences are rewritten, and the corrected captions go to OUT.

    IN and OUT: .jsonl, .json (an array, LLaVA's, COCO's), .csv, .tsv, each also .gz or .zst;
    .parquet; a WebDataset .tar; a folder of images with captions beside them or in metadata.jsonl
    or .csv; `-` (standard input or output). IN may also be a Hugging Face dataset's folder or id
    (`owner/name`, `owner/name:split`). Each row keeps its fields and gains `revised_caption` and
    `revision`. Rows that cannot be processed go, with the reason, to NAME.quarantine.jsonl if OUT
    is NAME.jsonl.
    """
    from revise_captions.pipelines.job.run import run
    from revise_captions.pipelines.job.verdict import exit_status

    summary = run(job)
    status, why = exit_status(
        {} if job.run.dry_run else summary,
        most=job.run.max_quarantine,
        allow_unscored=job.run.allow_unscored,
    )
    if why:
        echo(f"revise-captions: {why}", err=True)
    return status


def main(arguments: list[str] | None = None) -> None:
    """Entry point of `revise-captions`."""
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["doctor"] and not os.path.exists("doctor"):
        from revise_captions.command_line import captions

        captions.main(given)
    run_command(revise_captions, "revise-captions", given)


if __name__ == "__main__":
    main()
