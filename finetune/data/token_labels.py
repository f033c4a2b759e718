"""Token labels: where in a sentence the error begins.

A label at the end of a sentence says little about which word is wrong, and learning from it alone
takes very many sentences. A wrong sentence and its true rewrite differ from some word on, which
gives two further losses without another forward pass:

- *error onset*: at each word, is the sentence wrong so far? (A linear head, discarded after
  training.)
- *caption*: the next word of a true sentence, or of a wrong one before its error. Predicting it
  requires looking at the image.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from revise_captions.critic.paligemma.tokenizer import PromptTokenizer

UNKNOWN, RIGHT, WRONG = -1, 0, 1
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class TokenLabels:
    """Labels of a sentence's tokens.

    Attributes:
        error_onset: Whether the sentence is wrong so far: UNKNOWN, RIGHT or WRONG.
        true: Whether the token is a true continuation.
    """

    error_onset: tuple[int, ...]
    true: tuple[bool, ...]


def first_difference(wrong: str, right: str) -> tuple[int, int]:
    """The half-open span of the first word of `wrong` that differs from `right`.

    Empty, at the end, if `right` begins with `wrong`.
    """
    words = list(_WORD.finditer(wrong))
    others = _WORD.findall(right)
    for index, word in enumerate(words):
        if index >= len(others) or word.group() != others[index]:
            return word.span()
    return len(wrong), len(wrong)


def token_labels(
    codec: PromptTokenizer, text: str, factual: bool, rewrite: str = ""
) -> TokenLabels:
    """Labels each token of a sentence; for a wrong one without a rewrite, only the last.

    The first differing word is UNKNOWN: in “a red ball”, only the noun may show the error.
    """
    offsets = codec.offsets(text)
    if factual:
        return TokenLabels((RIGHT,) * len(offsets), (True,) * len(offsets))
    if not rewrite:
        error_onset = [UNKNOWN] * len(offsets)
        true = [False] * len(offsets)
    else:
        start, end = first_difference(text, rewrite)
        true = [b <= start for _, b in offsets]
        error_onset = [
            RIGHT if before else UNKNOWN if a < end else WRONG
            for before, (a, _) in zip(true, offsets, strict=True)
        ]
    if error_onset:
        error_onset[-1] = WRONG
    return TokenLabels(tuple(error_onset), tuple(true))
