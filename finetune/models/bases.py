"""The model that training starts from: new, a critic of ours, a PaliGemma 2, an instruct model."""

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
from revise_captions.finetune.models.adapters import four_bit

if TYPE_CHECKING:
    from transformers import PaliGemmaForConditionalGeneration

    from revise_captions.engines.transformers.engine import TransformersEngine


@dataclass(frozen=True, slots=True)
class Base:
    """A loaded base. `codec`: of a PaliGemma; `engine`: of an instruct model, which has its own.

    `folder`: where its files are, None of a new one. `new_words`: tokens that its tokenizer gained.
    """

    model: Any
    codec: PromptTokenizer | None
    engine: TransformersEngine | None
    folder: Path | None
    new_words: tuple[str, ...] = ()


def base_folder(base: str) -> Path | None:
    """The folder of a base by name, downloaded where it is a hub id; None for `new`."""
    if base == "new":
        return None
    folder = find_checkpoint(base, "base")
    if (folder / "adapter_config.json").exists() and not (folder / "config.json").exists():
        raise UserError(
            f"--base {base} holds an adapter and no model",
            hint="name a folder that was written with --merge, or the adapter's own base",
        )
    return folder


def is_own(base: str) -> bool:
    """Whether a base is a small critic of this repository's own kind; loads and fetches nothing."""
    return (Path(base).expanduser() / CARD).exists() and _is_paligemma(Path(base).expanduser())


def _is_paligemma(folder: Path) -> bool:
    return model_type(folder) == "paligemma"


def named(base: str) -> str:
    """A base's name for resuming and for PEFT: a folder's is made absolute, so that it is found."""
    folder = Path(base).expanduser()
    return str(folder.resolve()) if folder.is_dir() else base


def shown(base: str) -> str:
    """A base's name for the card, which others read: of a folder its last name, no path."""
    folder = Path(base).expanduser()
    return folder.resolve().name if folder.is_dir() else base


def load_base(base: str, train: Examples, settings: TrainingSettings, device: str = "cpu") -> Base:
    """The model that training starts from, in its own dtype. Raises UserError where there is none.

    `base`: `new`, `bundled`, a folder, or a hub id.
    """
    torch.manual_seed(settings.seed)
    if base == "new":
        if settings.lora.method != "full":
            raise UserError("a new model has nothing to adapt", hint="leave --method out")
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
                f"{base} was trained {trained}, this run is set to {settings.model.attention_mode}",
                hint=f"add --attention-mode {trained}, or --change-attention-mode to teach it "
                f"{settings.model.attention_mode}",
            )
    bits = four_bit(settings, device)
    more = {"quantization_config": bits, "device_map": {"": device}} if bits else {}
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model = PaliGemmaForConditionalGeneration.from_pretrained(folder, **more)
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
    dense = settings.tower.minutes or settings.losses.tower or settings.data.recolor_share
    if dense or settings.model.new_words or settings.compute.compile:
        raise UserError(
            f"{base} is an instruct model: it has no dense labels to learn, gains no words, and is "
            "not compiled",
            hint="add --preset lora or --preset paper, which are made for such models",
        )
    from revise_captions.engines.transformers.engine import load_engine

    engine = load_engine(
        str(folder),
        option="--base",
        dtype=settings.compute.dtype,
        device=device,
        scores=True,
        quantization=four_bit(settings, device),
    )
    return Base(engine.model, None, engine, folder)


def copy_tower(folder: Path, model: PaliGemmaForConditionalGeneration) -> None:
    """Gives `model` the image tower of a checkpoint of the same tower shape."""
    from transformers import PaliGemmaForConditionalGeneration

    try:
        other = PaliGemmaForConditionalGeneration.from_pretrained(folder)
        model.model.vision_tower.load_state_dict(other.model.vision_tower.state_dict())
    except (OSError, ValueError, RuntimeError) as error:
        raise UserError(
            f"no image tower of this shape in {folder}: {str(error).splitlines()[0]}",
            hint="--tower-from takes a folder that finetune-critic wrote",
        ) from None
