"""Options of `captions train-vela`: what to train, on what, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from revise_captions.command_line.options import REQUIRED, argument, group, option
from revise_captions.command_line.shared import (
    COUNT,
    OUT_FILE,
    OUT_FOLDER,
    listed_option,
    shared_option,
)
from revise_captions.errors import UserError


@dataclass(frozen=True, slots=True)
class RatingFields:
    """Where ratings are, and what they mean.

    Attributes:
        perspectives: Perspective by its name in the data; {}: determined from the data.
        low: The lowest rating.
        high: The highest.
        reference_field: Field that holds references in the user's own rows.
    """

    perspectives: Mapping[str, str]
    low: float = 0.0
    high: float = 1.0
    reference_field: str = "references"


@dataclass(frozen=True, slots=True)
class VelaSettings:
    """How the metric is trained.

    AdamW has β = (0.9, 0.999), and PyTorch's default weight decay, as the paper gives none. `seed`
    is for initial weights and order.
    """

    epochs: int = option(10, "Most passes over the data.", type=COUNT)
    batch_size: int = option(4, "Captions per training step.", type=COUNT)
    learning_rate: float = option(1e-4, "Of AdamW.", type=click.FloatRange(0, min_open=True))
    weight_decay: float = option(0.01, "Of AdamW.", type=click.FloatRange(0))
    patience: int = option(
        1,
        "Stop after so many epochs without a better τ-c on the validation split.",
        type=COUNT,
    )
    seed: int = shared_option("--seed")
    lora_rank: int = option(
        0,
        "Also train a LoRA adapter of this rank on the language model; 0: it stays frozen.",
        type=click.IntRange(0),
    )
    lora_alpha: float = option(32.0, "Scale of the LoRA adapter.")
    lora_targets: tuple[str, ...] = listed_option(
        ("q_proj", "v_proj"),
        "Names of the layers that get a LoRA adapter, comma-separated.",
    )


@dataclass(frozen=True, slots=True)
class VelaJob:
    """What is trained, and on what."""

    data: Path = argument("DATA", type=click.Path(path_type=Path, exists=True))
    out: Path = option(REQUIRED, "Folder to write the metric to.", type=OUT_FOLDER)
    benchmark: str = option("", "DATA is a folder with this benchmark's files.", show_default=False)
    perspectives: tuple[str, ...] = option(
        (),
        "Train a score NAME on the ratings AXIS; repeat for several.  [default: the paper's "
        "three, or the only one that DATA has, as `overall`]",
        name="perspective",
        metavar="NAME[=AXIS]",
    )
    scale: tuple[float, float] = option(
        (0.0, 1.0),
        "Lowest and highest possible rating. Rows with ratings outside are left out.",
        metavar="LOW HIGH",
    )
    reference_field: str = shared_option(
        "--reference-field", default="references", help="Field of the reference captions."
    )
    image_root: Path | None = shared_option("--image-root")
    validation_share: float = option(
        0.1,
        "Share of the images to use for early stopping, unless DATA has a validation split.",
        type=click.FloatRange(0, 0.5, min_open=True),
    )
    test_share: float = option(
        0.2,
        "Share of the images to test on, unless DATA has splits.",
        type=click.FloatRange(0, 0.9),
    )
    limit: int | None = shared_option("--limit", help="Use only the first captions of DATA.")
    language: str = option(
        "smollm2",
        "Language model of the R2C branch: a folder, a Hugging Face model id, `smollm2`, or "
        "`none` to switch the branch off.",
    )
    pair: str = option(
        "none",
        "Towers of the I2C branch: a CLIP, Long-CLIP or SigLIP checkpoint, `minilm` (references "
        "instead of the image), or `none`.",
    )
    reference_free: bool = option(False, "Leave the references out of the prompts.")
    max_tokens: int = option(2048, "Longest prompt, in tokens.", type=COUNT)
    cache: Path | None = option(
        None, "Keep features in this file, for the next training.", type=OUT_FILE
    )
    settings: VelaSettings = group(VelaSettings)
    seeds: int = option(
        1,
        "Train with this many seeds, starting at --seed; report means and standard deviations, "
        "and keep the metric with the best τ-c on the validation split.",
        type=COUNT,
        metavar="N",
    )
    prompts: int = option(16, "Prompts per forward pass.", type=COUNT)
    replicates: int = shared_option("--replicates", default=1000)
    device: str = shared_option("--device")
    dtype: str = shared_option("--dtype")
    resume: bool = shared_option("--resume", help="Continue from the last epoch in --out.")
    force: bool = shared_option("--force", help="Replace the metric in --out.")

    @property
    def references(self) -> bool:
        """Whether prompts have references."""
        return not self.reference_free

    @property
    def fields(self) -> RatingFields:
        """Where the ratings are. Raises `UserError` for options that make no sense."""
        low, high = self.scale
        if not low < high:
            raise UserError(f"--scale {low:g} {high:g}: the lowest rating comes first")
        axes = dict(_axis(given) for given in self.perspectives)
        return RatingFields(axes, low, high, self.reference_field)


def _axis(given: str) -> tuple[str, str]:
    """`NAME=AXIS`, or `NAME` if the data uses the same name, as (axis, name)."""
    name, equals, axis = given.partition("=")
    if not name or (equals and not axis):
        raise UserError(f"--perspective {given}: expected NAME or NAME=AXIS")
    return axis or name, name
