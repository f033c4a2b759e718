"""Chooses the weights of a model to train: parts by name, in full or through LoRA.

Parts are found by module names, which differ between families. It is an error if a requested part
has nothing to train, and the card lists what was trained.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch

from revise_captions.errors import UserError
from revise_captions.finetune.config import TrainingSettings

PARTS = ("language", "tower", "projector")
METHODS = ("full", "lora", "qlora")
_PROJECTOR = re.compile(r"(^|\.)(multi_modal_projector|connector|merger|aligner|mlp1)(\.|$)")
_TOWER = re.compile(r"(^|\.)(vision\w*|visual|image_tower)(\.|$)")


def part_of(name: str) -> str:
    """Which of `PARTS` a module or parameter belongs to, by its full name."""
    if _PROJECTOR.search(name):
        return "projector"
    return "tower" if _TOWER.search(name) else "language"


def parts(settings: TrainingSettings) -> tuple[str, ...]:
    """The parts to train. Raises UserError for an unknown one."""
    found = tuple(part.strip() for part in settings.model.targets.split(",") if part.strip())
    if unknown := sorted(set(found) - set(PARTS)):
        raise UserError(
            f"--targets: unknown part {', '.join(unknown)}",
            hint=f"expected {', '.join(PARTS)}",
        )
    if not found:
        raise UserError("--targets is empty", hint=f"name some of {', '.join(PARTS)}")
    return found


def linear_layers(model: Any, chosen: tuple[str, ...]) -> dict[str, list[str]]:
    """Full names of the linear layers of each chosen part, without the output layer."""
    head = model.get_output_embeddings()
    found: dict[str, list[str]] = {part: [] for part in chosen}
    for name, module in model.named_modules():
        part = part_of(name)
        if isinstance(module, torch.nn.Linear) and part in found and module is not head:
            found[part].append(name)
    return found


def choose_weights(model: torch.nn.Module, settings: TrainingSettings, base: str) -> Any | None:
    """Freezes all other weights; with LoRA, adds adapters to `model` and returns PEFT's wrapper.

    Raises:
        UserError: A requested part has no weights to train this way.
    """
    chosen = parts(settings)
    if settings.lora.method == "full":
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(part_of(name) in chosen)
        for part in chosen:
            if not any(part_of(name) == part for name, _ in model.named_parameters()):
                raise UserError(f"{base} has no {part} to train", hint="leave it out of --targets")
        return None
    layers = linear_layers(model, chosen)
    for part, names in layers.items():
        if not names:
            raise UserError(
                f"{base} has no linear layers in its {part}, so LoRA cannot train it",
                hint="leave it out of --targets",
            )
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=settings.lora.rank,
        lora_alpha=settings.lora.alpha,
        lora_dropout=settings.lora.dropout,
        target_modules=sorted(name for names in layers.values() for name in names),
    )
    wrapped = get_peft_model(model, config)
    # otherwise PEFT would store the local path of a downloaded base
    wrapped.peft_config["default"].base_model_name_or_path = base
    return wrapped


def quantization_config(settings: TrainingSettings, device: str) -> Any | None:
    """transformers' settings for a 4-bit base (NF4, as QLoRA); None for other methods.

    Raises:
        UserError: bitsandbytes cannot quantize on this device.
    """
    if settings.lora.method != "qlora":
        return None
    from transformers import BitsAndBytesConfig

    try:
        from bitsandbytes.functional import dequantize_4bit, quantize_4bit

        packed, state = quantize_4bit(torch.ones(64, 64, device=device), quant_type="nf4")
        dequantize_4bit(packed, state)
    except Exception as error:  # bitsandbytes raises any exception of its backend
        raise UserError(
            f"bitsandbytes cannot quantize on {device}: {str(error).splitlines()[0]}",
            hint="use --method lora",
        ) from None
    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16
        if settings.compute.dtype == "bfloat16"
        else torch.float32,
    )


def set_dropout(model: torch.nn.Module, share: float) -> int:
    """Sets the attention dropout of all layers, active in train mode; returns their number."""
    count = 0
    for module in model.modules():
        for name in ("attention_dropout", "dropout"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, share)
                count += 1
    return count


def cast(network: torch.nn.Module, dtype: torch.dtype) -> None:
    """Casts floating-point weights to `dtype`, except quantized ones and buffers.

    Rotary frequencies with few bits would rotate distant positions by wrong angles.
    """
    for tensor in network.parameters():
        if tensor.is_floating_point():
            tensor.data = tensor.data.to(dtype)


def trained_parts(model: torch.nn.Module) -> dict[str, int]:
    """Numbers of trained parameters by part."""
    found = dict.fromkeys(PARTS, 0)
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            found[part_of(name)] += parameter.numel()
    return {part: count for part, count in found.items() if count}


def save_adapter(wrapped: Any, folder: Path) -> None:
    """Writes PEFT's two files, without its model card."""
    wrapped.save_pretrained(folder, safe_serialization=True)
    (folder / "README.md").unlink(missing_ok=True)
