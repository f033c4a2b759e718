"""The command `captions vela`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from revise_captions.command_line.command import command
from revise_captions.command_line.options import argument, option
from revise_captions.command_line.shared import EXISTING_FOLDER, OUT_FILE, shared_option

EPILOG = """
\b
Examples:
  captions vela my-vela captions.jsonl scores.jsonl
  captions vela my-vela captions.jsonl scores.jsonl --cache features.sqlite
  captions evaluate-metric longcap-arena DIR VELA=scores.jsonl --field relevance
"""


@dataclass(frozen=True, slots=True)
class VelaOptions:
    """Which metric scores which captions."""

    metric: Path = argument("METRIC", type=EXISTING_FOLDER)
    source: str = argument("IN")
    out: Path = argument("OUT", type=OUT_FILE)
    image_field: str | None = shared_option("--image-field")
    caption_field: str | None = shared_option("--caption-field")
    reference_field: str = shared_option(
        "--reference-field", default="references", help="Field of the reference captions."
    )
    image_root: Path | None = shared_option("--image-root")
    allow_urls: bool = shared_option("--allow-urls")
    limit: int | None = shared_option("--limit")
    language: str = option(
        "",
        "Where the metric's language model is.  [default: where it was trained]",
        show_default=False,
    )
    pair: str = option(
        "",
        "Where the metric's image and text towers are.  [default: where they were trained]",
        show_default=False,
    )
    cache: Path | None = option(
        None, "Keep features in this file, for the next run.", type=OUT_FILE
    )
    batch_size: int = shared_option("--batch-size", help="Prompts per forward pass.")
    device: str = shared_option("--device")
    resume: bool = shared_option("--resume")
    force: bool = shared_option("--force", help="Overwrite OUT.")


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

    OUT (JSON Lines) gets one line for each caption: a score in [0, 1] for each perspective, or the
    reason why there is none, and how many tokens did not fit. Rows that cannot be scored go to
    NAME.quarantine.jsonl, if OUT is NAME.jsonl. Means with 95 % bootstrap intervals are printed.
    """
    from revise_captions.runs.options import InputOptions
    from revise_captions.runs.outputs import quarantine_status
    from revise_captions.runs.score_file import ScoreOptions
    from revise_captions.vela.score_file import VelaModels, run

    o = options
    inputs = InputOptions(
        o.source, o.image_field, o.caption_field, o.image_root, o.allow_urls, o.limit
    )
    files = ScoreOptions(inputs, str(o.out), resume=o.resume, force=o.force)
    models = VelaModels(o.metric, o.language, o.pair, o.cache, o.batch_size, o.device)
    written = run(models, files, o.reference_field)
    return quarantine_status("captions vela", written) if written is not None else 0
