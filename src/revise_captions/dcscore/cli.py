"""The command `captions dcscore`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from revise_captions.command_line.command import command
from revise_captions.command_line.shared import EXISTING_FOLDER, OUT_FILE, shared

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
_MODELS = (
    "decomposer", "matcher", "verifier", "vote", "threshold", "critic_profile", "parser", "encoder",
    "engine", "device", "batch_size", "trust_remote_code", "protocol", "prompts",
)  # fmt: skip
_INPUTS = ("image_field", "caption_field", "image_root", "allow_urls", "limit")
_NAME = "a model folder, a Hugging Face model id, or MODEL@URL."


@command(
    name="dcscore",
    heading="Measure captions and metrics",
    epilog=EPILOG,
    go_on=lambda _: "repeat the command with --resume to continue",
)
@click.argument("source", metavar="IN")
@click.argument("out", metavar="OUT", type=OUT_FILE)
@click.option(
    "--verifier",
    multiple=True,
    default=("reference",),
    help="What decides whether a unit is true: `reference` looks at no image, a unit is true where "
    "the reference says it; `bundled`, or another critic of ours, judges units as sentences; any "
    f"other vision–language model is asked by image and reference: {_NAME} Give several for an "
    "ensemble.",
)
@click.option(
    "--vote",
    type=click.Choice(["majority", "mean"]),
    default="majority",
    help="How an ensemble decides: by majority (a tie is unscored), or by the mean P(correct).",
)
@click.option(
    "--decomposer",
    default="offline",
    help=f"What takes texts apart: `offline` (scene graphs and clauses), {_NAME}",
)
@click.option(
    "--matcher",
    default="offline",
    help=f"What finds units in the reference: `offline` (POSH's offline judge), {_NAME}",
)
@click.option(
    "--protocol",
    type=click.Choice(["paper", "released"]),
    default="paper",
    help="Recall by the paper's equation, or as the authors' code computes it.",
)
@click.option(
    "--prompts",
    type=EXISTING_FOLDER,
    help="Folder of your copy of the authors' evaluation_decapbench.py, whose prompts and numbers "
    "of samples are used (--protocol released).",
)
@shared("--threshold", help="Threshold of critics of ours.  [default: the calibrated one]")
@shared("--critic-profile", help="Profile of the critic that verifies, from captions calibrate.")
@shared(
    "--reference-field",
    default="reference",
    help="Field that holds the reference, or a list of references.",
)
@click.option(
    "--units-field",
    default="oracle_facts",
    help="Field that holds the reference's units where somebody made them by hand: a list of "
    "texts. Rows without it have their reference taken apart by the decomposer.",
)
@click.option(
    "--group-field",
    default="",
    show_default=False,
    help="Field that identifies the image, the unit of the intervals.  [default: the image]",
)
@shared("--image-field")
@shared("--caption-field", help="Field that holds the caption.  [default: detected by name]")
@shared("--image-root", "--allow-urls", "--limit", "--parser")
@click.option(
    "--encoder",
    default="",
    show_default=False,
    help="Sentence encoder of the offline matcher: a folder or a Hugging Face model id.",
)
@shared("--engine", help="Inference engine for models that name no server.")
@shared("--device", "--trust-remote-code")
@shared("--batch-size", help="Prompts, or captions of a critic, per forward pass.")
@click.option("--html", type=OUT_FILE, help="Write an HTML page with marked units to this file.")
@click.option(
    "--show",
    type=click.IntRange(0),
    default=0,
    help="Print this many captions with marked units.",
)
@shared("--resume")
@shared("--force", help="Overwrite OUT and the HTML page.")
def score_dcscore(source: str, out: Path, **options: Any) -> int:
    """Score detailed captions unit by unit with DCScore.

    Score the captions in IN by their primitive information units (DCScore).

    OUT gets one line per caption: s_p, s_r, F and their parts, and every unit with its verdict,
    its place, and what it matches in the reference. Rows that cannot be scored go to
    NAME.quarantine.jsonl, if OUT is NAME.jsonl, with the reason. Means with 95 % bootstrap
    intervals over images are printed.
    """
    from revise_captions.dcscore.run import DcscoreOptions, run
    from revise_captions.runs.outputs import quarantine_status

    inputs, models = options_of(source, options)
    written = run(DcscoreOptions(out, inputs, models, **options))
    return quarantine_status("captions dcscore", written) if written is not None else 0


def options_of(source: str, options: dict[str, Any]) -> tuple[Any, Any]:
    """Takes the options of input and models out of a command's; the rest are its own."""
    from revise_captions.dcscore.load import UnitModels
    from revise_captions.runs.options import InputOptions

    def taken(names: tuple[str, ...]) -> Mapping[str, Any]:
        return {name: options.pop(name) for name in names if name in options}

    return InputOptions(source=source, **taken(_INPUTS)), UnitModels(**taken(_MODELS))
