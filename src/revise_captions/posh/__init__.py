"""POSH: scores a detailed description by its scene graph and its reference's.

    from revise_captions import posh

    print(posh.score("A dog on a red sofa.", "A cat sleeps on a red sofa.").overall)

Many pairs, or another judge:

    judge = posh.OfflineJudge(posh.load_encoder())
    pair = posh.Pair("A dog on a red sofa.", ("A cat sleeps on a red sofa.",))
    for scored in posh.score_captions([pair], judge):
        print(scored.mistakes.score, scored.omissions.score, scored.overall)

`posh/scoring.py` follows a caption to its score. (PoSh, Ananthram et al. 2025.)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from revise_captions.graphs.grading.offline_judge import OfflineJudge
    from revise_captions.posh.language_judge import LanguageJudge
    from revise_captions.posh.scoring import Pair, Score, score, score_captions, signature_of
    from revise_captions.text.sentence_encoder import load_encoder

__all__ = [
    "LanguageJudge",
    "OfflineJudge",
    "Pair",
    "Score",
    "load_encoder",
    "score",
    "score_captions",
    "signature_of",
]

_HOMES = {
    "LanguageJudge": "revise_captions.posh.language_judge",
    "OfflineJudge": "revise_captions.graphs.grading.offline_judge",
    "Pair": "revise_captions.posh.scoring",
    "Score": "revise_captions.posh.scoring",
    "load_encoder": "revise_captions.text.sentence_encoder",
    "score": "revise_captions.posh.scoring",
    "score_captions": "revise_captions.posh.scoring",
    "signature_of": "revise_captions.posh.scoring",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
