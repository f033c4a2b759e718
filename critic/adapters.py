"""LoRA adapters as critics: finding them, checking them against their base.

A folder with PEFT's `adapter_config.json` but no model `config.json` is an adapter. If it also has
a `critic.json` from captions finetune, it is a critic with a threshold, attention mode and
vocabulary of its own, and its weights are added to its base's.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from revise_captions.critic.checkpoints import CARD, CriticCard
from revise_captions.errors import UserError
from revise_captions.io.checked_json import read_checked
from revise_captions.pretrained import load_weights, with_adapter

CONFIG = "adapter_config.json"


@dataclass(frozen=True, slots=True)
class _AdapterConfig:
    """The part of PEFT's configuration that is read here."""

    base_model_name_or_path: str | None = None


def base_of(folder: Path) -> str | None:
    """The name of an adapter's base model; None where the folder holds no adapter.

    Raises:
        UserError: The adapter names no base model.
    """
    if not (folder / CONFIG).exists() or (folder / "config.json").exists():
        return None
    what = "an adapter's configuration"
    base = read_checked(_AdapterConfig, folder / CONFIG, what=what, more=True)
    if not base.base_model_name_or_path:
        raise UserError(
            f"the adapter in {folder} does not say which model it belongs to",
            hint="name the model with --critic and this folder with --adapter",
        )
    return base.base_model_name_or_path


def check_base(adapter: Path, digest: str, base: Path) -> None:
    """Checks an adapter of captions finetune against its base.

    Args:
        adapter: The adapter's folder.
        digest: `weights_digest` of the base.
        base: The base's folder, for messages.

    Raises:
        UserError: The adapter was trained on other weights.
    """
    path = adapter / CARD
    if not path.exists():
        return
    card = read_checked(CriticCard, path, what="a critic's card")
    trained = card.training.get("base_digest", digest)
    if trained != digest:
        raise UserError(
            f"the adapter in {adapter} was trained on weights other than those in {base} "
            f"({trained}, found {digest})",
            hint="name the model that it was trained on with --critic, and the adapter with "
            "--adapter",
        )


def merged_model(base: Path, adapter: Path) -> Any:
    """A vision–language model in float32 with an adapter merged into its weights."""
    import torch
    from transformers import AutoModelForImageTextToText

    model = load_weights(AutoModelForImageTextToText, base, dtype=torch.float32)
    return with_adapter(model, adapter)
