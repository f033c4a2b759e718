"""The command `captions preferences`: only option parsing; the work is in `run`."""

from __future__ import annotations

from typing import Any

import click

from revise_captions.command_line.command import command
from revise_captions.command_line.shared import COUNT, OUT, shared

SCORES = ("c_p", "c_r", "both")
EPILOG = """
\b
Examples:
  captions preferences images.jsonl pairs.jsonl --policy Qwen/Qwen2.5-VL-7B-Instruct
  captions preferences captions.jsonl pairs.jsonl --given caption_a,caption_b
  captions preferences images.jsonl pairs.jsonl --policy ./captioner --verifier ./critic-a \\
      --verifier Qwen/Qwen3-VL-8B-Instruct@http://localhost:8000/v1
  captions preferences revised.jsonl pairs.jsonl --from-revisions
"""


def _listed(_: click.Context, __: click.Parameter, value: str) -> tuple[str, ...]:
    return tuple(filter(None, (part.strip() for part in value.split(","))))


def _scores(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    found = _listed(context, parameter, value)
    if unknown := sorted(set(found) - set(SCORES)):
        raise click.BadParameter(f"no score {', '.join(unknown)}; expected {', '.join(SCORES)}")
    return found


@command(
    name="preferences",
    heading="Label and train",
    epilog=EPILOG,
    go_on=lambda _: "repeat the command with --resume to continue",
)
@click.argument("source", metavar="IN")
@click.argument("out", metavar="OUT", type=OUT)
@click.option(
    "--policy",
    help="Captioner to sample from: a folder, a Hugging Face id, or MODEL@http://host:8000/v1.",
)
@click.option("--samples", type=COUNT, default=8, help="Captions to sample for each image.")
@click.option(
    "--temperature", type=click.FloatRange(0, min_open=True), default=1.0, help="Of sampling."
)
@click.option(
    "--top-p",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.7,
    help="Nucleus: the likeliest tokens that have this probability together.",
)
@click.option("--max-tokens", type=COUNT, default=512, help="Where a caption is cut.")
@shared("--seed")
@click.option(
    "--prompt",
    "prompts",
    multiple=True,
    help="What the captioner is asked; several are used in turn.  [default: Describe this image in "
    "detail.]",
)
@click.option(
    "--given",
    default="",
    show_default=False,
    callback=_listed,
    help="Fields that hold a caption or a list of captions, separated by commas; they are compared "
    "with sampled ones, or with each other.",
)
@shared("--units", "--verifier")
@shared("--critic-profile", help="Profile of the critic that verifies, from captions calibrate.")
@click.option(
    "--by",
    default=",".join(SCORES),
    callback=_scores,
    help="Scores that decide pairs: c_p, the share of true units; c_r, their number; both.",
)
@click.option(
    "--margin",
    type=click.FloatRange(0),
    default=0.0,
    help="Captions whose scores differ by this or less are a tie, and no pair.",
)
@click.option(
    "--pairs", type=COUNT, default=1, help="Pairs for each image and score, widest margins first."
)
@click.option(
    "--from-revisions",
    is_flag=True,
    help="IN is the output of revise-captions: the revised caption is preferred to the original "
    "where a rewrite was accepted. No model is loaded.",
)
@shared("--image-field", "--image-root", "--allow-urls", "--limit")
@shared("--engine", "--device", "--dtype", "--trust-remote-code")
@shared("--batch-size", help="Captions, and units of captions, per forward pass.")
@shared("--resume", "--force")
def collect_preferences(**options: Any) -> int:
    """Make preference pairs of captions.

    Make preference pairs for the images in IN: captions compared by their verified units.

    OUT is JSON Lines in TRL's preference format, with the images as IN has them. Rows that cannot
    be processed go to NAME.quarantine.jsonl, if OUT is NAME.jsonl, with the reason.
    """
    from revise_captions.pipelines.preferences.options import PreferenceOptions
    from revise_captions.runs.outputs import quarantine_status

    job = PreferenceOptions.of(options)
    job.check()
    if job.from_revisions:
        from revise_captions.pipelines.preferences.from_revisions import pairs_of_revisions

        written = pairs_of_revisions(job)
    else:
        from revise_captions.pipelines.preferences.run import collect

        written = collect(job)
    if written is None:
        return 0
    return quarantine_status("captions preferences", written)
