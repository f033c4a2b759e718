"""Critics that are an adapter of another model: found, checked against their base, merged.

A folder that holds PEFT's `adapter_config.json` and no `config.json` of a model is an adapter. With
finetune-critic's `critic.json` beside it, it is a whole critic: threshold, regime and the words it
knows are its own, the weights are its base's plus its own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from revise_captions.critic.checkpoint import CARD
from revise_captions.errors import UserError

CONFIG = "adapter_config.json"


def base_of(folder: Path) -> str | None:
    """The name of the model that an adapter's folder belongs to; None where it holds no adapter.

    Raises UserError where it names none.
    """
    if not (folder / CONFIG).exists() or (folder / "config.json").exists():
        return None
    try:
        base = json.loads((folder / CONFIG).read_text(encoding="utf-8"))["base_model_name_or_path"]
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{folder / CONFIG} cannot be read: {error!r}") from None
    if not base:
        raise UserError(
            f"the adapter in {folder} does not say which model it belongs to",
            hint="name the model with --critic and this folder with --adapter",
        )
    return str(base)


def check_base(adapter: Path, digest: str, base: Path) -> None:
    """Raises UserError where an adapter of ours was trained on other weights than `base` has."""
    path = adapter / CARD
    if not path.exists():
        return
    training = json.loads(path.read_text(encoding="utf-8")).get("training", {})
    trained = training.get("base_digest", digest)
    if trained != digest:
        raise UserError(
            f"the adapter in {adapter} was trained on other weights than {base} holds "
            f"({trained}, found {digest})",
            hint="name the model that it was trained on with --critic, the adapter with --adapter",
        )


def with_adapter(model: Any, adapter: Path) -> Any:
    """The model with an adapter added to its weights. Raises UserError where it does not fit."""
    try:
        from peft import PeftModel
    except ImportError:
        raise UserError(
            "--adapter needs the package peft", hint="pip install 'revise-captions[peft]'"
        ) from None
    try:
        return PeftModel.from_pretrained(model, str(adapter)).merge_and_unload()
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise UserError(
            f"the adapter in {adapter} cannot be loaded: {str(error).strip().splitlines()[0]}",
            hint="--adapter takes a folder or hub id of a PEFT adapter for this critic",
        ) from None


def merged_model(base: Path, adapter: Path) -> Any:
    """A vision–language model in float32 with an adapter added to its weights."""
    import torch
    from transformers import AutoModelForImageTextToText

    model = AutoModelForImageTextToText.from_pretrained(base, dtype=torch.float32)
    return with_adapter(model, adapter)
