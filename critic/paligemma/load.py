"""Loading a PaliGemma 2 critic into this process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from revise_captions.critic.adapters import check_base
from revise_captions.critic.checkpoints import CriticCard, card_settings, read_card
from revise_captions.critic.locate import BUNDLED, chosen_threshold, critic_folders, weights_digest
from revise_captions.critic.options import DEFAULT, CriticOptions
from revise_captions.critic.paligemma.packing import AttentionMode
from revise_captions.critic.profile import CALIBRATION, UNCALIBRATED
from revise_captions.engines.placement import device_and_dtype
from revise_captions.errors import UserError
from revise_captions.pretrained import load_pretrained, load_weights, with_adapter
from revise_captions.process_memory import keep_freed_memory

#: Default limit of rows per forward pass.
ROWS = 16

if TYPE_CHECKING:
    import torch
    from transformers import PaliGemmaForConditionalGeneration

    from revise_captions.critic.paligemma.critic import PaliGemmaCritic


def load_paligemma(name: str, options: CriticOptions = DEFAULT) -> PaliGemmaCritic:
    """Loads a PaliGemma 2 critic into this process.

    Args:
        name: `picturebook`, a folder written by `captions finetune`, or a PaliGemma 2 hub id. For
            an adapter, the base is loaded first.
        options: How it is loaded; a profile is not applied here.

    Raises:
        UserError: The critic cannot be found, read, or combined with the adapter.
    """
    own, folder, merged = critic_folders(name, options.adapter)
    card = read_card(own)
    if options.attention_mode is not None:
        card = replace(card, attention_mode=AttentionMode(options.attention_mode))
    limit = chosen_threshold(card, options.threshold, options.target_precision)

    from transformers import AutoTokenizer

    from revise_captions.critic.gates.image_domain import read_gate
    from revise_captions.critic.gates.language import read_vocabulary
    from revise_captions.critic.paligemma.critic import PaliGemmaCritic
    from revise_captions.critic.paligemma.tokenizer import PromptTokenizer

    placement, compiled = options.placement, options.compiled
    place, number = device_and_dtype(placement.device, placement.dtype)
    digest = weights_digest(folder)
    if merged is not None:
        check_base(merged, digest, folder)
    return PaliGemmaCritic(
        _placed(load_model(folder, number, merged), place, compiled),
        PromptTokenizer(load_pretrained(AutoTokenizer, folder)),
        card,
        vocabulary=read_vocabulary(own),
        gate=read_gate(own),
        threshold=limit,
        settings={
            "critic": f"{'bundled' if folder == BUNDLED else folder.name}@{digest}",
            **({"adapter": f"{merged.name}@{weights_digest(merged)}"} if merged else {}),
            **_settings(card, number, place, compiled),
        },
        batch_size=placement.batch_size or ROWS,
        packed=options.packed,
    )


def _placed(
    model: PaliGemmaForConditionalGeneration, place: str, compiled: bool
) -> PaliGemmaForConditionalGeneration:
    """The model on its device."""
    if place == "cpu":
        keep_freed_memory()
    model = model.to(place)
    if compiled:
        from revise_captions.critic.paligemma.compile import compile_layers

        compile_layers(model, training=False)
    return model


def _settings(card: CriticCard, dtype: torch.dtype, place: str, compiled: bool) -> dict[str, str]:
    """The settings, besides the weights, that answers depend on."""
    from torch import __version__ as torch_version
    from transformers import __version__

    return {
        "attention-mode": str(card.attention_mode),
        "prompt": card.prompt,
        "dtype": str(dtype).removeprefix("torch."),
        "device": place.split(":")[0],
        "transformers": __version__,
        **card_settings(card),
        **({"compiled": f"torch {torch_version}"} if compiled else {}),
        **({} if card.calibration else {CALIBRATION: UNCALIBRATED}),
    }


def load_model(
    folder: Path, dtype: torch.dtype, adapter: Path | None
) -> PaliGemmaForConditionalGeneration:
    """The network in a folder, with the attention that packing needs.

    Args:
        folder: The checkpoint.
        dtype: Of its weights.
        adapter: Merged into them; None for none.

    Raises:
        UserError: The checkpoint or the adapter cannot be loaded.
    """
    from transformers import PaliGemmaForConditionalGeneration

    from revise_captions.critic.paligemma.model import use_tree_attention

    try:
        model: PaliGemmaForConditionalGeneration = load_weights(
            PaliGemmaForConditionalGeneration, folder, dtype=dtype
        )
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise UserError(
            f"the critic in {folder} cannot be loaded: {str(error).strip().splitlines()[0]}",
            hint="its files may be incomplete: train or download it again",
        ) from None
    if adapter is not None:
        model = with_adapter(model, adapter)
    use_tree_attention(model)
    return model
