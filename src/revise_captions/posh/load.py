"""POSH's judges and coreference resolvers by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from revise_captions.graphs.grading.judge import Judge
    from revise_captions.graphs.parse import Coreference


def load_judge(
    name: str = "offline",
    *,
    encoder: str = "",
    engine: str = "transformers",
    device: str = "auto",
    batch_size: int = 16,
    trust_remote_code: bool = False,
    rewriting: bool = True,
    unreadable_is_absent: bool = False,
) -> Judge:
    """Loads a judge.

    Args:
        name: `offline`, a model, or a server's MODEL@URL.
        encoder: Sentence encoder of the offline judge; "" for the bundled one.
        engine: See `ModelSpec`; likewise the next three, of a model.
        rewriting: Whether a model may reword how its questions name objects.
        unreadable_is_absent: Whether an answer that cannot be parsed counts as 1.

    Raises:
        UserError: It cannot be loaded.
    """
    if name == "offline":
        from revise_captions.graphs.grading.offline_judge import OfflineJudge
        from revise_captions.text.sentence_encoder import load_encoder

        return OfflineJudge(load_encoder(encoder, device="cpu" if device == "auto" else device))
    from revise_captions.engines.load import load_engine
    from revise_captions.engines.model_spec import resolve_model
    from revise_captions.posh.language_judge import LanguageJudge

    spec = resolve_model(
        name, engine=engine, device=device, trust_remote_code=trust_remote_code, option="--judge"
    )
    loaded = load_engine(spec, option="--judge", batch_size=batch_size, scores=True)
    return LanguageJudge(loaded, rewriting=rewriting, unreadable_is_absent=unreadable_is_absent)


def load_coreference(name: str, device: str = "auto") -> Coreference | None:
    """None for `rules` alone. Raises UserError if the resolver cannot be loaded."""
    if name == "rules":
        return None
    from revise_captions.graphs.maverick import HUB_ID, Maverick

    own = HUB_ID if name == "maverick" else name
    return Maverick(own, "cpu" if device == "auto" else device)
