"""POSH's judges and coreference resolvers by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from revise_captions.engines.model_spec import HERE, Placement

if TYPE_CHECKING:
    from revise_captions.graphs.grading.judge import Judge
    from revise_captions.graphs.parse import Coreference


def load_judge(
    name: str = "offline",
    placement: Placement = HERE,
    *,
    encoder: str = "",
    rewriting: bool = True,
    unreadable_is_absent: bool = False,
) -> Judge:
    """Loads a judge.

    Args:
        name: `offline`, a model, or a server's MODEL@URL.
        placement: What computes it.
        encoder: Sentence encoder of the offline judge; "" for the bundled one.
        rewriting: Whether a model may reword how its questions name objects.
        unreadable_is_absent: Whether an answer that cannot be parsed counts as 1.

    Raises:
        UserError: It cannot be loaded.
    """
    if name == "offline":
        from revise_captions.graphs.grading.offline_judge import OfflineJudge
        from revise_captions.text.sentence_encoder import load_encoder

        device = "cpu" if placement.device == "auto" else placement.device
        return OfflineJudge(load_encoder(encoder, device=device))
    from revise_captions.engines.load import load_engine
    from revise_captions.posh.language_judge import LanguageJudge

    loaded = load_engine(name, placement, option="--judge", scores=True)
    return LanguageJudge(loaded, rewriting=rewriting, unreadable_is_absent=unreadable_is_absent)


def load_coreference(name: str, device: str = "auto") -> Coreference | None:
    """None for `rules` alone. Raises UserError if the resolver cannot be loaded."""
    if name == "rules":
        return None
    from revise_captions.graphs.maverick import HUB_ID, Maverick

    own = HUB_ID if name == "maverick" else name
    return Maverick(own, "cpu" if device == "auto" else device)
