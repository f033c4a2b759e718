"""The command `captions vela`."""

from __future__ import annotations

from revise_captions.command_line.command import command
from revise_captions.vela.options import VelaOptions

EPILOG = """
\b
Examples:
  captions vela my-vela captions.jsonl scores.jsonl
  captions vela my-vela captions.jsonl scores.jsonl --cache features.sqlite
  captions evaluate-metric longcap-arena DIR VELA=scores.jsonl --field relevance
"""


@command(
    VelaOptions,
    name="vela",
    heading="Measure captions and metrics",
    epilog=EPILOG,
    go_on=lambda _: "repeat the command with --resume to continue",
)
def score_vela(options: VelaOptions) -> int:
    """Score long captions with a trained VELA metric.

    Score the captions in IN with the trained METRIC, a folder that captions train-vela wrote.

    OUT (JSON Lines) gets one line per caption: a score in [0, 1] for each perspective, or the
    reason why there is none, and how many tokens did not fit. Rows that cannot be scored go to
    NAME.quarantine.jsonl if OUT is NAME.jsonl. Means with 95 % bootstrap intervals are printed.
    """
    from revise_captions.runs.outputs import quarantine_status
    from revise_captions.vela.score_file import run

    written = run(options)
    return quarantine_status("captions vela", written) if written is not None else 0
