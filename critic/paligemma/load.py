"""Finding and loading a critic by name: `bundled`, a folder, or a hub id."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from revise_captions.critic.adapters import base_of, check_base, with_adapter
from revise_captions.critic.checkpoints import CARD, CriticCard, read_card
from revise_captions.critic.paligemma.packing import AttentionMode
from revise_captions.errors import UserError
from revise_captions.stats.calibration import threshold_for

if TYPE_CHECKING:
    import torch
    from transformers import PaliGemmaForConditionalGeneration

    from revise_captions.critic.paligemma.critic import LocalCritic

BUNDLED = Path(__file__).parents[1] / "bundled"
_HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")
_FILES = ["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja"]


def find_checkpoint(name: str, what: str = "critic") -> Path:
    """The folder of the critic (or adapter) `name`, downloaded first where it is a hub id.

    Raises UserError saying what was asked for, where it was looked for, and how to get it.
    """
    if name == "bundled":
        if (BUNDLED / "config.json").exists():
            return BUNDLED
        raise UserError(
            f"this installation has no bundled critic: {BUNDLED} is empty",
            hint="train one with finetune-critic and name its folder, or install a release",
        )
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    if not _HUB_ID.fullmatch(name):
        raise UserError(
            f"no {what} at {name!r}: there is no such folder",
            hint=f"--{what} takes a folder or a hub id (google/paligemma2-3b-pt-448)",
        )
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, allow_patterns=_FILES))
    except GatedRepoError:
        reason, hint = "its licence must be accepted first", "accept it on the hub, then log in"
    except LocalEntryNotFoundError:
        reason, hint = "the hub cannot be reached and it is not in the local cache", ""
    except (HfHubHTTPError, OSError) as error:
        reason, hint = str(error).strip().splitlines()[0], ""
    raise UserError(
        f"no {what} at {name!r}: neither a folder nor to be had from the hub ({reason})",
        hint=hint or "check the name and the network, or download it and name the folder",
    )


def critic_folders(name: str, adapter: str | None = None) -> tuple[Path, Path, Path | None]:
    """Where a critic's card is, where its weights are, and the adapter to add to them, if any.

    An adapter that finetune-critic wrote has a card of its own.
    """
    folder = find_checkpoint(name)
    base = base_of(folder)
    if base is not None:
        if adapter is not None:
            raise UserError(f"--critic {name} is an adapter itself, and --adapter names another")
        return folder, find_checkpoint(base, "critic"), folder
    if adapter is None:
        return folder, folder, None
    added = find_checkpoint(adapter, "adapter")
    return (added if (added / CARD).exists() else folder), folder, added


def stored_card(name: str = "bundled") -> CriticCard:
    """What the checkpoint says about itself; loads no weights."""
    return read_card(find_checkpoint(name))


def stored_threshold(
    name: str = "bundled", *, threshold: float | None = None, target_precision: float | None = None
) -> float:
    """The threshold that `load_critic` would use; loads no weights."""
    return chosen_threshold(stored_card(name), threshold, target_precision)


def chosen_threshold(card: CriticCard, threshold: float | None, precision: float | None) -> float:
    """The threshold asked for, by itself or by a precision; the card's own where none is."""
    if threshold is not None and precision is not None:
        raise UserError(
            "both a threshold and a target precision are given",
            hint="name one: the precision is turned into a threshold",
        )
    if threshold is not None:
        if not 0 <= threshold <= 1:
            raise UserError(f"threshold {threshold:g} is not a probability, expected 0…1")
        return threshold
    if precision is None:
        return card.threshold
    curve = card.calibration.get("curve")
    if not curve:
        raise UserError(
            "this critic's checkpoint stores no precision–recall curve",
            hint="name a --threshold instead of a --target-precision",
        )
    return threshold_for(curve, precision)


def load_critic(
    path_or_name: str | Path = "bundled",
    *,
    adapter: str | None = None,
    dtype: str = "auto",
    device: str = "auto",
    batch_size: int = 16,
    threshold: float | None = None,
    target_precision: float | None = None,
    packed: bool = True,
    attention_mode: str | None = None,
    compiled: bool = False,
) -> LocalCritic:
    """Loads a critic: `bundled`, a folder written by finetune-critic, or a PaliGemma 2 hub id.

    `adapter`: a PEFT adapter's folder or hub id, merged into the weights; where the critic is one
    itself, its base is loaded first. `dtype` auto is float32 on a CPU (the reference numbers) and
    bfloat16 elsewhere. `threshold` or `target_precision` overrule the stored threshold.
    `packed=False` asks one prompt per sentence: the same numbers, slower. `attention_mode`
    overrules the checkpoint's, which makes its answers wrong: to see by how much. `compiled`: with
    compiled layers (`critic.compiled`), the same but for rounding.

    Raises UserError where it cannot be found or does not fit.
    """
    name = str(path_or_name)
    own, folder, merged = critic_folders(name, adapter)
    card = read_card(own)
    if attention_mode is not None:
        card = replace(card, attention_mode=AttentionMode(attention_mode))
    limit = chosen_threshold(card, threshold, target_precision)

    from transformers import AutoTokenizer

    from revise_captions.critic.gates.image_domain import read_gate
    from revise_captions.critic.gates.language import read_lexicon
    from revise_captions.critic.paligemma.critic import LocalCritic
    from revise_captions.critic.paligemma.tokenizer import PromptTokenizer

    place, number = _device_and_dtype(device, dtype)
    digest = weights_digest(folder)
    if merged is not None:
        check_base(merged, digest, folder)
    return LocalCritic(
        _placed(load_model(folder, number, merged), place, number, compiled),
        PromptTokenizer(AutoTokenizer.from_pretrained(folder)),
        card,
        lexicon=read_lexicon(own),
        gate=read_gate(own),
        threshold=limit,
        settings={
            "critic": f"{'bundled' if folder == BUNDLED else folder.name}@{digest}",
            **({"adapter": f"{merged.name}@{weights_digest(merged)}"} if merged else {}),
            **_settings(card, number, place, compiled),
        },
        batch_size=batch_size,
        packed=packed,
    )


def _placed(
    model: PaliGemmaForConditionalGeneration, place: str, dtype: torch.dtype, compiled: bool
) -> PaliGemmaForConditionalGeneration:
    """On its device, with what makes it faster there."""
    from revise_captions.critic.paligemma.cpu_fusion import fuse, keep_freed_memory

    if place == "cpu":
        keep_freed_memory()
        if not compiled:
            fuse(model, dtype)
    model = model.to(place)
    if compiled:
        from revise_captions.critic.paligemma.compile import compile_layers

        compile_layers(model, training=False)
    return model


def _settings(card: CriticCard, dtype: torch.dtype, place: str, compiled: bool) -> dict[str, str]:
    """How a critic is asked and computed, as far as its answers depend on it."""
    from torch import __version__ as torch_version
    from transformers import __version__

    return {
        "attention-mode": str(card.attention_mode),
        "prompt": card.prompt,
        "dtype": str(dtype).removeprefix("torch."),
        "device": place.split(":")[0],
        "transformers": __version__,
        **({"compiled": f"torch {torch_version}"} if compiled else {}),
    }


def _device_and_dtype(device: str, dtype: str) -> tuple[str, torch.dtype]:
    import torch

    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    known = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
    if dtype == "auto":
        return device, torch.float32 if device == "cpu" else torch.bfloat16
    if dtype not in known:
        raise UserError(f"unknown dtype {dtype!r}, expected auto, {', '.join(known)}")
    return device, known[dtype]


def load_model(
    folder: Path, dtype: torch.dtype, adapter: Path | None
) -> PaliGemmaForConditionalGeneration:
    """The network of a folder, an adapter merged into it, with the attention that packing needs."""
    from safetensors import SafetensorError
    from transformers import PaliGemmaForConditionalGeneration

    from revise_captions.critic.paligemma.model import use_tree_attention

    try:
        model = PaliGemmaForConditionalGeneration.from_pretrained(folder, dtype=dtype)
    except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as error:
        raise UserError(
            f"the critic in {folder} cannot be loaded: {str(error).strip().splitlines()[0]}",
            hint="its files may be incomplete: train or download it again",
        ) from None
    if adapter is not None:
        model = with_adapter(model, adapter)
    use_tree_attention(model)
    return model


def weights_digest(folder: Path) -> str:
    """The first 12 hex digits of the SHA-256 of a folder's safetensors and tokenizer."""
    digest = hashlib.sha256()
    for path in sorted([*folder.glob("*.safetensors"), *folder.glob("tokenizer.json")]):
        with path.open("rb") as file:
            digest.update(f"{path.name}\0".encode())
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:12]
