"""The critic's prompts, verbatim from VNLI-Critique (section 4.1), as lists of pieces.

A prompt is a concatenation of pieces, each tokenized on its own, in training and in inference.
`Special` pieces come from the template; `UntrustedText` pieces come from the user and are encoded
without special tokens, so that no caption can close a delimiter. The context is exactly
`caption[:start]`, one piece per earlier sentence with the white space *leading* the next sentence:
each sentence's context is then a token prefix of the next one's, so a caption's sentences share a
trunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from revise_captions.records import Span

VERSION = "vnli-4.1/1"

OPEN = "Given the image and the prompt prefix <PREFIX>"
ASK_FACTUAL = "</PREFIX>, does the following text align with the image: <TARGET>"
END_FACTUAL = "</TARGET>?\n"
ASK_RATIONALE = "</PREFIX>, the text <TARGET>"
END_RATIONALE = (
    "</TARGET> is considered inaccurate. Explain the misalignments and factual inaccuracies "
    "that make it inaccurate.\n"
)
YES = "Yes"
NO = "No"
#: Follows `Yes` if the sentence makes no claim about the image (paper, section 3).
NOTHING = ", nothing to assess"


@dataclass(frozen=True, slots=True)
class Special:
    """Text of the template, encoded with its special tokens."""

    text: str


@dataclass(frozen=True, slots=True)
class UntrustedText:
    """Text of a caption, encoded without special tokens."""

    text: str


Piece = Special | UntrustedText


def context_pieces(caption: str, spans: Sequence[Span], index: int) -> list[UntrustedText]:
    """`caption[:spans[index].start]` cut after each sentence: `"S0"`, `" S1"`, …, `" "`.

    The last piece is the white space before the sentence itself; empty pieces are left out.
    """
    cuts = [0, *(span.end for span in spans[:index]), spans[index].start]
    return [UntrustedText(caption[a:b]) for a, b in pairwise(cuts) if b > a]


def classification(caption: str, spans: Sequence[Span], index: int) -> list[Piece]:
    """“…does the following text align with the image: <TARGET>…</TARGET>?\\n”: answer Yes or No."""
    return [
        Special(OPEN),
        *context_pieces(caption, spans, index),
        Special(ASK_FACTUAL),
        UntrustedText(spans[index].of(caption)),
        Special(END_FACTUAL),
    ]


def rationale(caption: str, spans: Sequence[Span], index: int) -> list[Piece]:
    """“…the text <TARGET>…</TARGET> is considered inaccurate. Explain…\\n”: answer is free text."""
    return [
        Special(OPEN),
        *context_pieces(caption, spans, index),
        Special(ASK_RATIONALE),
        UntrustedText(spans[index].of(caption)),
        Special(END_RATIONALE),
    ]


def as_text(pieces: Sequence[Piece]) -> str:
    """The prompt as the paper prints it."""
    return "".join(piece.text for piece in pieces)
