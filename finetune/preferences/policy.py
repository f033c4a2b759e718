"""The policy: any vision–language model that TRL can train, PaliGemma included."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from revise_captions.critic.hub_names import write_hub_names
from revise_captions.engines.model_files import explained, find_model
from revise_captions.engines.placement import training_dtype
from revise_captions.engines.transformers import paligemma_chat
from revise_captions.errors import UserError
from revise_captions.finetune.config import TrainingSettings
from revise_captions.finetune.models.adapters import (
    linear_layers,
    part_of,
    parts,
    quantization_config,
)
from revise_captions.finetune.preferences.settings import PreferenceSettings
from revise_captions.pretrained import load_pretrained, load_weights

#: The file in a reward model's folder besides a captioner's files.
REWARD_HEAD = "reward_head.safetensors"


@dataclass(frozen=True, slots=True)
class Policy:
    """A captioner to train.

    Attributes:
        name: As the user gave it.
        folder: Where its files are.
        model: In the compute dtype; untrained parts are frozen.
        processor: With a chat template.
        adapter: PEFT's settings if it is trained with LoRA; None if its own weights are trained.
    """

    name: str
    folder: Path
    model: Any
    processor: Any
    adapter: Any | None

    @property
    def is_paligemma(self) -> bool:
        """Whether it needs `paligemma_chat`."""
        return bool(self.model.config.model_type == paligemma_chat.MODEL_TYPE)


def load_policy(name: str, settings: PreferenceSettings, *, trusted: bool = False) -> Policy:
    """Loads a captioner and freezes the parts that are not trained.

    Args:
        name: A folder or hub id of a vision–language model with a chat template, or a PaliGemma.
        settings: Dtype, device, parts to train, and LoRA.
        trusted: Whether code that comes with it may run.

    Raises:
        UserError: It cannot be loaded, takes no images, or has nothing to train.
    """
    folder = find_model(name, "--policy")
    if (folder / REWARD_HEAD).is_file():
        raise UserError(
            f"--policy {name} is a reward model, which cannot write captions",
            hint="name the captioner that it was trained from, and pass the reward model with "
            "--reward",
        )
    processor = load_processor(folder, name, trusted=trusted)
    place = device_of(settings)
    shared = _as_training_settings(settings)
    quantization = quantization_config(shared, place)
    # directly trained weights stay in float32, as steps of 1e-6 vanish in bfloat16
    full = settings.lora.method == "full"
    options: dict[str, Any] = {
        "dtype": torch.float32 if full else getattr(torch, dtype_of(settings))
    }
    if quantization is not None:
        options |= {"quantization_config": quantization, "device_map": {"": place}}
    model = load_network(folder, name, processor, trusted=trusted, **options)
    adapter = _frozen(model, shared, name)
    return Policy(name, folder, model, processor, adapter)


def device_of(settings: PreferenceSettings) -> str:
    """Where to train: as asked, or on a GPU if there is one."""
    if settings.batch.device != "auto":
        return settings.batch.device
    return "cuda" if torch.cuda.is_available() else "cpu"


def dtype_of(settings: PreferenceSettings) -> str:
    """What to compute in: as asked, or what the device is fast at."""
    return training_dtype(settings.batch.dtype, device_of(settings))


def load_network(
    folder: Path, name: str, processor: Any, *, trusted: bool = False, **options: Any
) -> Any:
    """A captioner's network; a PaliGemma itself determines which tokens attend in both directions.

    Raises:
        UserError: It cannot be loaded.
    """
    from transformers import AutoModelForImageTextToText

    try:
        model = load_weights(
            AutoModelForImageTextToText, folder, name=name, trusted=trusted, **options
        )
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        raise explained(name, error, "AutoModelForImageTextToText") from error
    if model.config.model_type == paligemma_chat.MODEL_TYPE:
        paligemma_chat.find_prefix(model, processor.tokenizer)
    return model


def load_processor(folder: Path, name: str, *, trusted: bool = False) -> Any:
    """A captioner's processor.

    Raises:
        UserError: It cannot be loaded, or has no chat template.
    """
    from transformers import AutoConfig, AutoProcessor

    try:
        config = load_pretrained(AutoConfig, folder, name=name, trusted=trusted)
        if config.model_type == paligemma_chat.MODEL_TYPE:
            return paligemma_chat.load_processor(folder, name=name)
        processor = load_pretrained(AutoProcessor, folder, name=name, trusted=trusted)
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        raise explained(name, error, "AutoModelForImageTextToText") from error
    if not getattr(processor, "image_processor", None):
        raise UserError(
            f"--policy {name} does not take images", hint="name a vision–language model"
        )
    if not processor.chat_template:
        raise UserError(
            f"--policy {name} has no chat template, so it is not an instruct model",
            hint="name its instruct version, for example Qwen/Qwen2.5-VL-7B-Instruct",
        )
    return processor


def _as_training_settings(settings: PreferenceSettings) -> TrainingSettings:
    """The part of the settings that `finetune.models.adapters` reads."""
    return TrainingSettings(lora=settings.lora).with_options(
        targets=settings.batch.targets, dtype=dtype_of(settings)
    )


def _frozen(model: Any, settings: TrainingSettings, name: str) -> Any | None:
    """Freezes what is not trained; with LoRA, returns PEFT's settings for what is."""
    chosen = parts(settings)
    if settings.lora.method == "full":
        for full_name, parameter in model.named_parameters():
            parameter.requires_grad_(part_of(full_name) in chosen)
        if not any(parameter.requires_grad for parameter in model.parameters()):
            raise UserError(f"{name} has no {', '.join(chosen)} to train")
        return None
    from peft import LoraConfig

    layers = linear_layers(model, chosen)
    for part, names in layers.items():
        if not names:
            raise UserError(f"{name} has no linear layers in its {part}", hint="change --targets")
    return LoraConfig(
        r=settings.lora.rank,
        lora_alpha=settings.lora.alpha,
        lora_dropout=settings.lora.dropout,
        target_modules=sorted(layer for names in layers.values() for layer in names),
    )


def write_policy(policy: Policy, trained: Any, out: Path, *, merge: bool) -> None:
    """Writes a trained policy: its weights, or the LoRA adapter, and what is needed to load it.

    Args:
        policy: As it was loaded.
        trained: The trainer's model, or PEFT's wrapper with LoRA.
        out: Folder.
        merge: Whether LoRA's adapter is added to the weights; it is kept in `out/adapter`.
    """
    if policy.adapter is not None:
        trained.peft_config["default"].base_model_name_or_path = policy.name
        trained.save_pretrained(out / "adapter" if merge else out)
        trained = trained.merge_and_unload() if merge else None
    if trained is not None:
        trained.save_pretrained(out, safe_serialization=True)
        if policy.is_paligemma:
            write_hub_names(out)
    policy.processor.save_pretrained(out)
