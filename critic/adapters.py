"""LoRA adapters as critics: finding them, checking them against their base, merging.

A folder with PEFT's `adapter_config.json` and without a model's `config.json` is an adapter. With
`critic.json` of captions finetune beside it, it is a critic: threshold, attention mode, vocabulary
are its own, and its weights are added to its base's.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from revise_captions.critic.checkpoints import CARD
from revise_captions.errors import UserError
from revise_captions.pretrained import check_files, load_weights

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"


def base_of(folder: Path) -> str | None:
    """The name of an adapter's base model; None where the folder holds no adapter.

    Raises:
        UserError: The adapter names no base model.
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
    training = json.loads(path.read_text(encoding="utf-8")).get("training", {})
    trained = training.get("base_digest", digest)
    if trained != digest:
        raise UserError(
            f"the adapter in {adapter} was trained on other weights than {base} holds "
            f"({trained}, found {digest})",
            hint="name the model that it was trained on with --critic, the adapter with --adapter",
        )


def with_adapter(model: Any, adapter: Path) -> Any:
    """The model with an adapter merged into its weights.

    Raises:
        UserError: The adapter does not fit, wholly or in part (PEFT itself drops weights that
            have no place without a word).
    """
    try:
        from peft import PeftModel
    except ImportError:
        raise UserError(
            "--adapter needs the package peft", hint="pip install 'revise-captions[peft]'"
        ) from None
    check_files(adapter)
    try:
        loaded = PeftModel.from_pretrained(model, str(adapter), use_safetensors=True)
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise UserError(
            f"the adapter in {adapter} cannot be loaded: {str(error).strip().splitlines()[0]}",
            hint="--adapter takes a folder or hub id of a PEFT adapter for this critic",
        ) from None
    _check_whole(loaded, adapter)
    return loaded.merge_and_unload()


def _check_whole(loaded: Any, adapter: Path) -> None:
    """Raises UserError where a weight of the adapter's file did not reach the model.

    Weights are recognized by their values: PEFT renames them along with versions of transformers.
    """
    from peft import get_peft_model_state_dict
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = adapter / WEIGHTS
    try:
        wanted = load_file(path)
    except (OSError, SafetensorError) as error:
        raise UserError(
            f"{path} cannot be read: {error}", hint="--adapter reads safetensors only"
        ) from None
    there = {_digest(tensor) for tensor in get_peft_model_state_dict(loaded).values()}
    lost = [name for name, tensor in wanted.items() if _digest(tensor) not in there]
    if lost:
        raise UserError(
            f"{len(lost)} of {len(wanted)} weights of the adapter in {adapter} have no place in "
            f"this model ({lost[0]}, …) and would be left out",
            hint="merge it where it was trained (peft: merge_and_unload), and name the result",
        )


def _digest(tensor: Any) -> bytes:
    """A hash of the values, independent of their dtype: PEFT loads adapters in float32."""
    values = tensor.detach().float().cpu().contiguous().numpy()
    return hashlib.sha256(str(values.shape).encode() + values.tobytes()).digest()


def merged_model(base: Path, adapter: Path) -> Any:
    """A vision–language model in float32 with an adapter merged into its weights."""
    import torch
    from transformers import AutoModelForImageTextToText

    model = load_weights(AutoModelForImageTextToText, base, dtype=torch.float32)
    return with_adapter(model, adapter)
