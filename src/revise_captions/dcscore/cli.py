"""The command `captions dcscore`."""

from __future__ import annotations

from revise_captions.command_line.command import command
from revise_captions.dcscore.options import DcscoreOptions

EPILOG = """
\b
Examples:
  captions dcscore captions.jsonl scores.jsonl                 # offline, against references only
  captions dcscore captions.jsonl scores.jsonl --verifier bundled --html scores.html
  captions dcscore captions.jsonl scores.jsonl --decomposer gpt-4o@https://api.openai.com/v1 \\
    --matcher gpt-4o@https://api.openai.com/v1 --verifier gpt-4o@https://api.openai.com/v1
  captions dcscore captions.jsonl scores.jsonl --verifier Qwen/Qwen3-VL-8B-Instruct \\
    --verifier OpenGVLab/InternVL3_5-8B-HF --vote mean
"""


@command(
    DcscoreOptions,
    name="dcscore",
    heading="Measure captions and metrics",
    epilog=EPILOG,
    go_on=lambda _: "repeat the command with --resume to continue",
)
def score_dcscore(options: DcscoreOptions) -> int:
    """Score detailed captions unit by unit with DCScore.

    Score the captions in IN by their primitive information units (DCScore).

    OUT gets one line per caption: s_p, s_r, F and their parts, and every unit with its verdict, its
    place, and what it matches in the reference. Rows that cannot be scored go, with the reason, to
    NAME.quarantine.jsonl if OUT is NAME.jsonl. Means with 95 % bootstrap intervals over images are
    printed.
    """
    from revise_captions.dcscore.run import run
    from revise_captions.runs.outputs import quarantine_status

    written = run(options)
    return quarantine_status("captions dcscore", written) if written is not None else 0
