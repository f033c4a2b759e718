"""The command `captions posh`."""

from __future__ import annotations

from revise_captions.command_line.command import command
from revise_captions.posh.options import PoshOptions

EPILOG = """
\b
Examples:
  captions posh captions.jsonl scores.jsonl                  # offline, no download
  captions posh captions.jsonl scores.jsonl --html scores.html
  captions posh captions.jsonl scores.jsonl --judge Qwen/Qwen3-14B
  captions posh captions.jsonl scores.jsonl --judge Qwen/Qwen3-14B@http://localhost:8000/v1
"""


@command(
    PoshOptions,
    name="posh",
    heading="Measure captions and metrics",
    epilog=EPILOG,
    go_on=lambda _: "repeat the command with --resume to continue",
)
def score_posh(options: PoshOptions) -> int:
    """Score detailed captions against references with POSH.

    Score the generations in IN (JSON Lines, CSV, Parquet, …) against their references with POSH.

    OUT gets one line per pair: its scores, their parts, and a grade with a span for every
    component. Rows that cannot be scored go, with the reason, to NAME.quarantine.jsonl if OUT is
    NAME.jsonl. Means with 95 % bootstrap intervals are printed.
    """
    from revise_captions.errors import UserError
    from revise_captions.posh.score_file import run
    from revise_captions.runs.outputs import quarantine_status

    if (options.protocol == "released") != (options.prompts is not None):
        raise UserError(
            "--protocol released and --prompts DIR go together",
            hint="the authors' prompts are read from your copy of their code: docs/posh.md",
        )
    written = run(options)
    return quarantine_status("captions posh", written) if written is not None else 0
