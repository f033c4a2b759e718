"""The base model: a new one, a critic trained earlier, a PaliGemma 2, or an instruct model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from revise_captions.critic.checkpoints import CARD, read_card
from revise_captions.critic.locate import BUNDLED, find_checkpoint
from revise_captions.critic.paligemma.model import new_model, use_tree_attention
from revise_captions.critic.paligemma.tokenizer import PromptTokenizer, train_tokenizer
from revise_captions.engines.model_files import model_type
from revise_captions.errors import UserError
from revise_captions.finetune.config import TrainingSettings
from revise_captions.finetune.data.new_words import add_words, new_words
from revise_captions.finetune.data.records import Examples, texts
from revise_captions.finetune.models.adapters import quantization_config
from revise_captions.pretrained import load_pretrained, load_weights

if TYPE_CHECKING:
    from transformers import PaliGemmaForConditionalGeneration

    from revise_captions.engines.transformers.engine import TransformersEngine

#: Names that are neither a folder nor a hub id.
NAMED = ("bundled", "new")


@dataclass(frozen=True, slots=True)
class Base:
    """A loaded base.

    Attributes:
        model: The transformers model.
        codec: A PaliGemma's tokenizer; None for an instruct model.
        engine: An instruct model's engine; None for a PaliGemma.
        folder: Its files; None for a new model.
        new_words: Tokens added to its tokenizer.
    """

    model: Any
    codec: PromptTokenizer | None
    engine: TransformersEngine | None
    folder: Path | None
    new_words: tuple[str, ...] = ()


def base_folder(base: str) -> Path | None:
    """The folder of a base, downloaded if it is a hub id; None for `new`."""
    if base == "new":
        return None
    folder = find_checkpoint(base, "base", NAMED)
    if (folder / "adapter_config.json").exists() and not (folder / "config.json").exists():
        raise UserError(
            f"--base {base} holds an adapter, not a model",
            hint="name a folder that was written with --merge, or the adapter's own base",
        )
    return folder


def is_own(base: str) -> bool:
    """Whether a base is a PaliGemma folder that captions finetune wrote; loads nothing."""
    return (Path(base).expanduser() / CARD).exists() and _is_paligemma(Path(base).expanduser())


def _is_paligemma(folder: Path) -> bool:
    return model_type(folder) == "paligemma"


def named(base: str) -> str:
    """A base's name for resuming and for PEFT: a folder's absolute path, or a hub id."""
    folder = Path(base).expanduser()
    return str(folder.resolve()) if folder.is_dir() else base


def shown(base: str) -> str:
    """A base's name for the card: a folder's last component, or a hub id."""
    folder = Path(base).expanduser()
    return folder.resolve().name if folder.is_dir() else base


def load_base(base: str, train: Examples, settings: TrainingSettings, device: str = "cpu") -> Base:
    """Loads the base model in its own dtype.

    Args:
        base: `new`, `bundled`, a folder, or a hub id.
        train: Training data, for a new tokenizer and new words.

    Raises:
        UserError: There is no such model, or the settings do not fit it.
    """
    torch.manual_seed(settings.seed)
    if base == "new":
        if settings.lora.method != "full":
            raise UserError("LoRA has nothing to adapt in a new model", hint="leave --method out")
        codec = PromptTokenizer(train_tokenizer(texts(train), settings.model.vocab_size))
        model = new_model(codec)
        if settings.tower.source:
            copy_tower(Path(settings.tower.source), model)
        return Base(model, codec, None, None)
    folder = base_folder(base)
    assert folder is not None
    if not _is_paligemma(folder):
        return _instruct(base, folder, settings, device)
    from transformers import AutoTokenizer, PaliGemmaForConditionalGeneration

    if (folder / CARD).exists():
        trained = read_card(folder).attention_mode
        if (
            trained is not settings.model.attention_mode
            and not settings.model.change_attention_mode
        ):
            raise UserError(
                f"{base} was trained with {trained} attention, but this run is set to "
                f"{settings.model.attention_mode}",
                hint=f"add --attention-mode {trained}, or --change-attention-mode to teach it "
                f"{settings.model.attention_mode}",
            )
    bits = quantization_config(settings, device)
    more = {"quantization_config": bits, "device_map": {"": device}} if bits else {}
    try:
        tokenizer = load_pretrained(AutoTokenizer, folder)
        model = load_weights(PaliGemmaForConditionalGeneration, folder, **more)
    except (OSError, ValueError) as error:
        raise UserError(
            f"no base model at {base!r}: {str(error).splitlines()[0]}",
            hint="--base takes a folder, a hub id that you have access to, or 'new'",
        ) from None
    use_tree_attention(model)
    codec, found = PromptTokenizer(tokenizer), list[str]()
    if settings.model.new_words:
        found = new_words(codec, texts(train), settings.model.new_words)
        codec = add_words(model, codec, found, settings)
    return Base(model, codec, None, BUNDLED if base == "bundled" else folder, tuple(found))


def _instruct(base: str, folder: Path, settings: TrainingSettings, device: str) -> Base:
    dense = (
        settings.tower.minutes
        or settings.losses.tower
        or settings.data.recolor_share
        or settings.data.hue_share
    )
    if dense or settings.model.new_words or settings.compute.compile:
        raise UserError(
            f"{base} is an instruct model, which supports no dense labels, no new words and no "
            "compilation",
            hint="add --preset lora or --preset paper, which are made for such models",
        )
    from revise_captions.engines.load import EngineUse
    from revise_captions.engines.model_spec import ModelSpec, Placement
    from revise_captions.engines.transformers.load import load_engine

    spec = ModelSpec(
        str(folder), str(folder), None, Placement(device=device, dtype=settings.compute.dtype)
    )
    engine = load_engine(
        spec,
        EngineUse("--base", scores=True),
        quantization=quantization_config(settings, device),
    )
    return Base(engine.model, None, engine, folder)


def copy_tower(folder: Path, model: PaliGemmaForConditionalGeneration) -> None:
    """Copies the image tower of a checkpoint, which must have the same shape, into `model`."""
    from transformers import PaliGemmaForConditionalGeneration

    try:
        other = load_weights(PaliGemmaForConditionalGeneration, folder)
        model.model.vision_tower.load_state_dict(other.model.vision_tower.state_dict())
    except (OSError, ValueError, RuntimeError) as error:
        raise UserError(
            f"no image tower of this shape in {folder}: {str(error).splitlines()[0]}",
            hint="--tower-from takes a folder that captions finetune wrote",
        ) from None
