"""Where a sentence becomes wrong: targets for every word of it, not for its Yes or No alone.

One bit at the end of a sentence says little about which word was at fault; a critic that learns
from that bit alone needs very many sentences. A wrong sentence and its true rewrite differ from
some word on, so two more losses can look at the words of a question, which are there anyway:

- *trace*: at each word, has the sentence become wrong by now? (A linear head, thrown away.)
- *caption*: the next word of a true sentence, or of a wrong one before it goes wrong. To predict it
  is to look at the image.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from revise_captions.critic.paligemma.tokenizer import PromptTokenizer

UNKNOWN, RIGHT, WRONG = -1, 0, 1
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Credit:
    """For each token of a sentence: `trace` in {UNKNOWN, RIGHT, WRONG}, and is it `true` to say."""

    trace: tuple[int, ...]
    true: tuple[bool, ...]


def parting(wrong: str, right: str) -> tuple[int, int]:
    """The half-open span in `wrong` of the first word that `right` does not have there.

    An empty span at the end where `wrong` is the beginning of `right`.
    """
    words = list(_WORD.finditer(wrong))
    others = _WORD.findall(right)
    for index, word in enumerate(words):
        if index >= len(others) or word.group() != others[index]:
            return word.span()
    return len(wrong), len(wrong)


def credit(codec: PromptTokenizer, text: str, factual: bool, rewrite: str = "") -> Credit:
    """Word by word truth of a sentence. A wrong one without a rewrite is known at its end only.

    The parting word itself is UNKNOWN: in “a red ball”, it may take the noun to tell.
    """
    offsets = codec.offsets(text)
    if factual:
        return Credit((RIGHT,) * len(offsets), (True,) * len(offsets))
    if not rewrite:
        trace = [UNKNOWN] * len(offsets)
        true = [False] * len(offsets)
    else:
        start, end = parting(text, rewrite)
        true = [b <= start for _, b in offsets]
        trace = [
            RIGHT if before else UNKNOWN if a < end else WRONG
            for before, (a, _) in zip(true, offsets, strict=True)
        ]
    if trace:
        trace[-1] = WRONG
    return Credit(tuple(trace), tuple(true))
