"""POSH's judges and coreference resolvers by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from revise_captions.engines.model_spec import HERE, Placement
from revise_captions.errors import UserError

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
    prompts: Path | None = None,
) -> Judge:
    """Loads a judge.

    Args:
        name: `offline`, a model, or a server's MODEL@URL.
        placement: Where and how it runs.
        encoder: Sentence encoder of the offline judge; "" for the bundled one.
        rewriting: Whether a model may reword how its questions name objects.
        unreadable_is_absent: Whether an answer that cannot be parsed counts as 1.
        prompts: The user's copy of the authors' prompts; with it, a model is asked, and its
            answers are read, as in the authors' code.

    Raises:
        UserError: It cannot be loaded.
    """
    if prompts is not None and name == "offline":
        raise UserError(
            "the authors' prompts are for a language model", hint="name one with --judge"
        )
    if name == "offline":
        from revise_captions.graphs.grading.offline_judge import OfflineJudge
        from revise_captions.text.sentence_encoder import load_encoder

        device = "cpu" if placement.device == "auto" else placement.device
        return OfflineJudge(load_encoder(encoder, device=device))
    from revise_captions.engines.load import load_engine
    from revise_captions.posh.language_judge import LanguageJudge
    from revise_captions.posh.released import ReleasedQuestions

    questions = None if prompts is None else ReleasedQuestions.read(prompts)
    return LanguageJudge(
        load_engine(name, placement, option="--judge", scores=True),
        rewriting=rewriting,
        unreadable_is_absent=unreadable_is_absent or prompts is not None,
        questions=questions,
    )


def load_coreference(name: str, device: str = "auto") -> Coreference | None:
    """The resolver; None for `rules` alone. Raises UserError if it cannot be loaded."""
    if name == "rules":
        return None
    from revise_captions.graphs.maverick import HUB_ID, Maverick

    own = HUB_ID if name == "maverick" else name
    return Maverick(own, "cpu" if device == "auto" else device)
