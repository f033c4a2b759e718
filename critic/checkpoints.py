"""A critic checkpoint's card, `critic.json`, stored beside transformers' own files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revise_captions.critic import chat_prompts, prompts
from revise_captions.critic.hub_names import write_hub_names
from revise_captions.critic.paligemma.packing import AttentionMode
from revise_captions.engines.model_files import model_type
from revise_captions.errors import UserError, described
from revise_captions.io.checked_json import read_checked
from revise_captions.io.writing import write_text
from revise_captions.stats.probability_maps import IDENTITY, ProbabilityMap

if TYPE_CHECKING:
    from transformers import PaliGemmaForConditionalGeneration, PreTrainedTokenizerFast

CARD = "critic.json"
#: The key in a critic's settings that names its default reviser.
GOES_WITH = "goes-with"
_CHAT = {chat_prompts.VERSION}


@dataclass(frozen=True, slots=True)
class CriticCard:
    """The facts about a checkpoint that its answers depend on, and how it was made.

    Attributes:
        attention_mode: Which tokens attend to which.
        threshold: P(factual) below which a sentence is nonfactual.
        prompt: Version of the prompts it was trained on.
        transformers: Version of transformers it was trained with.
        max_length: The longest prompt of its training, in tokens; longer ones are unscored.
        probability_map: Applied to the network's P(factual) (`ProbabilityMap.as_json`); empty for
            none.
        calibration: Figures on the validation split, as `calibration.Calibration` writes them.
        speed: Sentences per second, and the hardware they were measured on.
        training: Data, settings and figures of the training.
        goes_with: Name of the default reviser for what this critic flags.
    """

    attention_mode: AttentionMode
    threshold: float = 0.5
    prompt: str = prompts.VERSION
    transformers: str = ""
    max_length: int = 1024
    probability_map: Mapping[str, Any] = field(default_factory=dict)
    calibration: Mapping[str, Any] = field(default_factory=dict)
    speed: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)
    goes_with: str = ""

    @property
    def map(self) -> ProbabilityMap:
        """From the network's P(factual) to the calibrated one."""
        return ProbabilityMap.read(self.probability_map) if self.probability_map else IDENTITY

    def write(self, folder: Path) -> None:
        text = json.dumps(asdict(self), indent=1, sort_keys=True) + "\n"
        write_text(folder / CARD, text)


def read_card(folder: Path, prompt: str = prompts.VERSION) -> CriticCard:
    """`critic.json` of a folder; a plain PaliGemma gets prefix attention and threshold 0.5.

    Args:
        folder: The checkpoint.
        prompt: Version of the prompts that will be sent (`chat_prompts.VERSION` for an instruct
            model).

    Raises:
        UserError: The folder holds no critic, or its card is broken or for another prompt version.
    """
    path = folder / CARD
    if not path.exists():
        return _plain_card(folder)
    card = read_checked(CriticCard, path, what="a critic's card")
    try:
        _ = card.map  # raises if the map is broken
    except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        found = f"`probability_map`: {described(error)}"
        raise UserError(f"{path} is not a critic's card: {found}") from None
    for key, right in (
        ("threshold", 0 <= card.threshold <= 1.0001),
        ("max_length", card.max_length > 0),
    ):
        if not right:
            found = f"`{key}`: {getattr(card, key)}"
            raise UserError(f"{path} is not a critic's card: {found}")
    if card.prompt != prompt:
        raise UserError(
            f"{folder} was trained with prompt {card.prompt}, but this version sends {prompt}",
            hint="train it again, or use the version of revise-captions that wrote it",
        )
    return card


def card_settings(card: CriticCard) -> dict[str, str]:
    """A card's entries in a signature: its map of P(factual), and its default reviser."""
    return {
        **({"probability-map": str(card.map)} if card.probability_map else {}),
        **({GOES_WITH: card.goes_with} if card.goes_with else {}),
    }


def asks_by_chat(folder: Path) -> bool:
    """Whether a folder has an instruct model's card."""
    try:
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(card, dict) and str(card.get("prompt", "")) in _CHAT


def _plain_card(folder: Path) -> CriticCard:
    if not (folder / "config.json").exists():
        raise UserError(
            f"{folder} holds neither {CARD} nor a model's config.json",
            hint="name a folder written by captions finetune, or a hub id of a PaliGemma 2",
        )
    kind = model_type(folder)
    if kind != "paligemma":
        raise UserError(
            f"{folder} is a {kind} model, expected paligemma or a critic's checkpoint",
            hint="name a folder written by captions finetune, or a hub id of a PaliGemma 2",
        )
    return CriticCard(AttentionMode.PREFIX, max_length=8192)


def save_critic(
    model: PaliGemmaForConditionalGeneration,
    tokenizer: PreTrainedTokenizerFast,
    card: CriticCard,
    folder: Path,
) -> None:
    """Writes weights (in the model's dtype), tokenizer, image processor and card to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder, safe_serialization=True)
    write_hub_names(folder)
    save_processor(model.config, tokenizer, folder)
    card.write(folder)


def save_processor(config: Any, tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Writes the tokenizer and image processor for a model of that configuration."""
    tokenizer.save_pretrained(folder)
    vision = config.vision_config
    image = {
        "image_processor_type": "SiglipImageProcessor",
        "do_convert_rgb": True,
        "do_normalize": True,
        "do_rescale": True,
        "do_resize": True,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
        "image_seq_length": (vision.image_size // vision.patch_size) ** 2,
        "resample": 3,
        "rescale_factor": 1 / 255,
        "size": {"height": vision.image_size, "width": vision.image_size},
        "processor_class": "PaliGemmaProcessor",
    }
    write_text(folder / "preprocessor_config.json", json.dumps(image, indent=1) + "\n")
    (folder / "processor_config.json").write_text(
        json.dumps({"processor_class": "PaliGemmaProcessor"}) + "\n"
    )
