"""A trained metric's files: `vela.json`, its card, and `vela.safetensors` in one folder.

The card gives the backbones by name and digest, the branches, the prompts' version, the
perspectives with the scales that people rated on, and how the metric was trained.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revise_captions.errors import UserError, described
from revise_captions.io.checked_json import read_checked
from revise_captions.io.writing import replacing, write_text

if TYPE_CHECKING:
    import torch

CARD, WEIGHTS, ADAPTER = "vela.json", "vela.safetensors", "adapter"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Backbone:
    """A frozen model of a branch.

    Attributes:
        name: As the user gave it.
        settings: What determines its features: `name@digest`, dtype, versions, limits.
    """

    name: str
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class VelaCard:
    """Everything besides the weights that determines a score, and where the weights come from.

    Attributes:
        perspectives: Names of the scores.
        scales: For each, the lowest and highest rating, which correspond to scores of 0 and 1.
        language: The R2C branch's model; None: the branch is off.
        pair: The I2C branch's model; None: the branch is off.
        references: Whether the prompts hold references.
        adapter: Whether there is a LoRA adapter of the language model in `adapter`.
        training: Settings, data, training history, and validation figures.
        format: Version of this format.
    """

    perspectives: tuple[str, ...]
    scales: tuple[tuple[float, float], ...]
    language: Backbone | None
    pair: Backbone | None
    references: bool = True
    adapter: bool = False
    training: Mapping[str, Any] = field(default_factory=dict)
    format: int = FORMAT


def save(folder: Path, card: VelaCard, tensors: Mapping[str, torch.Tensor]) -> None:
    """Writes weights, then the card, without which a folder is not a metric."""
    from safetensors.torch import save as as_bytes

    with replacing(folder / WEIGHTS) as file:
        file.write(as_bytes(dict(tensors)))
    text = json.dumps(asdict(card), indent=1, ensure_ascii=False)
    write_text(folder / CARD, text + "\n")


def load(folder: Path) -> tuple[VelaCard, dict[str, torch.Tensor]]:
    """Reads a metric's folder.

    Raises:
        UserError: It holds no metric, or one that this version cannot read.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    for name in (CARD, WEIGHTS):
        if not (folder / name).exists():
            raise UserError(
                f"{folder} holds no VELA metric: there is no {name}",
                hint="train one with captions train-vela, and name its folder",
            )
    card = read_checked(VelaCard, folder / CARD, what="a VELA metric's card")
    if card.format != FORMAT:
        found = f"`format`: {card.format}, this version reads {FORMAT}"
        raise UserError(f"{folder / CARD} is from another version: {found}")
    try:
        tensors = load_file(folder / WEIGHTS)
    except (OSError, SafetensorError) as error:
        raise UserError(f"{folder / WEIGHTS} cannot be read: {described(error)}") from None
    if tensors.keys() != {"weight", "bias", "shift", "scale"}:
        found = f"{folder / WEIGHTS} holds {', '.join(sorted(tensors))}"
        raise UserError(f"{found}; expected weight, bias, shift and scale")
    return card, tensors
