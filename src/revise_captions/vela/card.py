"""What a trained metric is: `vela.json` and `vela.safetensors` in one folder.

The card names the backbones by name and digest, the branches, the prompts' version, the
perspectives with the scales that people rated on, and how it was trained.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revise_captions.errors import UserError
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
        settings: What decides its features: `name@digest`, dtype, versions, limits.
    """

    name: str
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class VelaCard:
    """Everything that decides a score, beside the weights, and where they come from.

    Attributes:
        perspectives: Names of the scores.
        scales: For each, lowest and highest rating; scores are the share of the way between.
        language: The R2C branch's model; None: the branch is off.
        pair: The I2C branch's model; None: the branch is off.
        references: Whether the prompts hold references.
        adapter: Whether a LoRA adapter of the language model lies in `adapter`.
        training: Settings, data, the course of training, and validation figures.
    """

    perspectives: tuple[str, ...]
    scales: tuple[tuple[float, float], ...]
    language: Backbone | None
    pair: Backbone | None
    references: bool = True
    adapter: bool = False
    training: Mapping[str, Any] = field(default_factory=dict)


def save(folder: Path, card: VelaCard, tensors: Mapping[str, torch.Tensor]) -> None:
    """Writes weights, then the card, without which a folder is no metric."""
    from safetensors.torch import save as as_bytes

    with replacing(folder / WEIGHTS) as file:
        file.write(as_bytes(dict(tensors)))
    text = json.dumps({"format": FORMAT, **asdict(card)}, indent=1, ensure_ascii=False)
    write_text(folder / CARD, text + "\n")


def load(folder: Path) -> tuple[VelaCard, dict[str, torch.Tensor]]:
    """Reads a metric's folder.

    Raises:
        UserError: It holds none, or one that this version cannot read.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        found = json.loads((folder / CARD).read_text(encoding="utf-8"))
        tensors = load_file(folder / WEIGHTS)
        if found.pop("format") != FORMAT:
            raise ValueError(f"expected format {FORMAT}")
        backbones = {
            key: Backbone(**found.pop(key)) if found[key] else found.pop(key)
            for key in ("language", "pair")
        }
        scales = tuple((float(low), float(high)) for low, high in found.pop("scales"))
        card = VelaCard(
            tuple(found.pop("perspectives")), scales, backbones["language"], backbones["pair"],
            **found,
        )  # fmt: skip
        shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
        if shapes.keys() != {"weight", "bias", "shift", "scale"}:
            raise ValueError(f"{WEIGHTS} holds {', '.join(shapes)}")
    except FileNotFoundError as error:
        raise UserError(
            f"{folder} holds no VELA metric: there is no {Path(str(error.filename)).name}",
            hint="train one with captions train-vela, and name its folder",
        ) from None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, SafetensorError) as error:
        raise UserError(f"{folder} holds no readable VELA metric: {error}") from None
    return card, tensors
