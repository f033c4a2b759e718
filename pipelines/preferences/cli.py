"""The command `captions preferences`: only option parsing; the work is in `run`."""

from __future__ import annotations

from revise_captions.command_line.command import command
from revise_captions.pipelines.preferences.options import PreferenceOptions

EPILOG = """
\b
Examples:
  captions preferences images.jsonl pairs.jsonl --policy Qwen/Qwen2.5-VL-7B-Instruct
  captions preferences captions.jsonl pairs.jsonl --given caption_a,caption_b
  captions preferences images.jsonl pairs.jsonl --policy ./captioner --verifier ./critic-a \\
      --verifier Qwen/Qwen3-VL-8B-Instruct@http://localhost:8000/v1
  captions preferences revised.jsonl pairs.jsonl --from-revisions
"""


@command(
    PreferenceOptions,
    name="preferences",
    heading="Label and train",
    epilog=EPILOG,
    go_on=lambda _: "repeat the command with --resume to continue",
)
def collect_preferences(options: PreferenceOptions) -> int:
    """Make preference pairs of captions.

    Make preference pairs for the images in IN by comparing the verified units of captions.

    OUT is JSON Lines in TRL's preference format, with the images as IN has them. Rows that cannot
    be processed go, with the reason, to NAME.quarantine.jsonl if OUT is NAME.jsonl.
    """
    from revise_captions.runs.outputs import quarantine_status

    options.check()
    if options.from_revisions:
        from revise_captions.pipelines.preferences.from_revisions import pairs_of_revisions

        written = pairs_of_revisions(options)
    else:
        from revise_captions.pipelines.preferences.run import collect

        written = collect(options)
    if written is None:
        return 0
    return quarantine_status("captions preferences", written)
