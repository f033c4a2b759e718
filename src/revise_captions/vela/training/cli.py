"""The command `captions train-vela`."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from revise_captions.command_line.command import command
from revise_captions.command_line.printing import echo
from revise_captions.command_line.shared import COUNT, OUT_FILE, OUT_FOLDER, shared
from revise_captions.errors import UserError
from revise_captions.vela.training.settings import VelaSettings

EPILOG = """
\b
Examples:
  captions train-vela rated/ --out my-vela --language smollm2 --pair bundled#early
  captions train-vela LONGCAP/ --benchmark longcap-arena --out my-vela \\
      --language Qwen/Qwen2.5-3B-Instruct --pair ./LongCLIP-L --lora-rank 16
  captions train-vela FLICKR/ --benchmark flickr8k-expert --scale 1 4 --out my-vela --pair minilm

\b
A row of DATA:
  {"id": "7", "image": "7.jpg", "caption": "…", "references": ["…"],
   "scores": {"descriptiveness": 4, "relevance": [3, 4, 4], "fluency": 5}}
"""
_DEFAULT = VelaSettings()


@command(
    name="train-vela",
    heading="Label and train",
    epilog=EPILOG,
    go_on=lambda _: "continue by the same command --resume",
)
@click.argument("data", metavar="DATA", type=click.Path(path_type=Path, exists=True))
@click.option("--out", required=True, type=OUT_FOLDER, help="Folder to write the metric to.")
@click.option(
    "--benchmark", default="", show_default=False, help="DATA holds this benchmark's files."
)
@click.option(
    "--perspective",
    "perspectives",
    metavar="NAME[=AXIS]",
    multiple=True,
    help="Train a score NAME on the ratings AXIS; repeat for several.  [default: the paper's "
    "three, or the only one that DATA has, as `overall`]",
)
@click.option(
    "--scale",
    nargs=2,
    type=float,
    default=(0.0, 1.0),
    metavar="LOW HIGH",
    help="Lowest and highest possible rating. Rows with others are left out.",
)
@shared("--reference-field", default="references", help="Field of the reference captions.")
@shared("--image-root")
@click.option(
    "--validation-share",
    type=click.FloatRange(0, 0.5, min_open=True),
    default=0.1,
    help="Share of the images to stop by, unless DATA has a validation split.",
)
@click.option(
    "--test-share",
    type=click.FloatRange(0, 0.9),
    default=0.2,
    help="Share of the images to test on, unless DATA has splits.",
)
@shared("--limit", help="Use only the first captions of DATA.")
@click.option(
    "--language",
    default="smollm2",
    help="Language model of the R2C branch: a folder, a Hugging Face model id, `smollm2`, or "
    "`none` to switch the branch off.",
)
@click.option(
    "--pair",
    default="none",
    help="Towers of the I2C branch: a CLIP, Long-CLIP or SigLIP checkpoint, `bundled#late`, "
    "`#early` or `#verdict` (the bundled critic), `minilm` (references instead of the image), or "
    "`none`.",
)
@click.option("--reference-free", is_flag=True, help="Leave the references out of the prompts.")
@click.option("--max-tokens", type=COUNT, default=2048, help="Longest prompt, in tokens.")
@click.option("--cache", type=OUT_FILE, help="Keep features in this file, for the next training.")
@click.option("--epochs", type=COUNT, default=_DEFAULT.epochs, help="Most passes over the data.")
@click.option(
    "--batch-size", type=COUNT, default=_DEFAULT.batch_size, help="Captions per training step."
)
@click.option(
    "--learning-rate",
    type=click.FloatRange(0, min_open=True),
    default=_DEFAULT.learning_rate,
    help="Of AdamW.",
)
@click.option(
    "--weight-decay", type=click.FloatRange(0), default=_DEFAULT.weight_decay, help="Of AdamW."
)
@click.option(
    "--patience",
    type=COUNT,
    default=_DEFAULT.patience,
    help="Stop after so many epochs without a better τ-c on the validation split.",
)
@click.option(
    "--lora-rank",
    type=click.IntRange(0),
    default=0,
    help="Also train a LoRA adapter of this rank on the language model; 0: it stays frozen.",
)
@click.option(
    "--lora-alpha", type=float, default=_DEFAULT.lora_alpha, help="Scale of the LoRA adapter."
)
@click.option(
    "--lora-targets",
    default=",".join(_DEFAULT.lora_targets),
    help="Names of the layers that get a LoRA adapter, comma-separated.",
)
@click.option("--prompts", type=COUNT, default=16, help="Prompts per forward pass.")
@shared("--replicates", default=1000)
@shared("--device", "--dtype", "--seed")
@shared("--resume", help="Continue from the last epoch in --out.")
@shared("--force", help="Replace the metric in --out.")
def train_vela(
    data: Path,
    out: Path,
    perspectives: tuple[str, ...],
    scale: tuple[float, float],
    reference_field: str,
    lora_targets: str,
    reference_free: bool,
    **options: Any,
) -> None:
    """Train a VELA metric on people's ratings.

    Train the metric VELA on the rated captions in DATA.

    DATA is a file of rows, a folder with train.jsonl, validation.jsonl and test.jsonl, or, with
    --benchmark, the folder of a public benchmark. Images of the test split are never trained on;
    its τ-c and τ-b are printed and stored in the card, OUT/vela.json.
    """
    from revise_captions.vela.training.data import RatingFields
    from revise_captions.vela.training.run import VelaJob, run

    low, high = scale
    if not low < high:
        raise UserError(f"--scale {low:g} {high:g}: the lowest rating comes first")
    axes = dict(_axis(given) for given in perspectives)
    names = {f.name for f in fields(VelaSettings)} & options.keys()
    chosen = {name: options.pop(name) for name in sorted(names)}
    targets = tuple(part.strip() for part in lora_targets.split(",") if part.strip())
    settings = VelaSettings(**chosen, lora_targets=targets)
    found = RatingFields(axes, low, high, reference_field)
    options["references"] = not reference_free
    job = VelaJob(data, out, fields=found, settings=settings, **options)
    run(job, lambda line: echo(line, err=not line.startswith(("validation", "test"))))


def _axis(given: str) -> tuple[str, str]:
    """`NAME=AXIS`, or `NAME` where the data calls it the same: (axis, name)."""
    name, equals, axis = given.partition("=")
    if not name or (equals and not axis):
        raise UserError(f"--perspective {given}: expected NAME or NAME=AXIS")
    return axis or name, name
