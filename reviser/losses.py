"""Content that a rewrite drops although nobody called it wrong.

"The cat is a white animal." may be true, but does not correct "The picture features two girls, an
orange cat, a tree, and a house.": the rationale was about the cat alone.
"""

# ruff: noqa: SIM905  (word lists read better as text)

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from revise_captions.text.content_words import (
    content_keys,
    known_keys,
    repeated_content,
)

_SEGMENT = re.compile(
    r"(?<!\d)[,:.]|[,:.](?!\d)|[;!?()\u3001\u3002\uff0c]|\b(?:and|or|but|while|whereas|although|as\s+well\s+as)\b",
    re.IGNORECASE,
)
#: Words that introduce a scene without saying anything about it.
_FRAME = frozenset(
    "image picture photo photograph scene shot view show feature depict display capture present "
    "include contain see visible appear look seem there".split()
)
#: How many lost words one new or named word may account for ("red delivery van" for "truck").
PHRASE = 3
Word = tuple[str, frozenset[str]]


def lost_content(text: str, sentence: str, rationale: str, denied: Sequence[str] = ()) -> list[str]:
    """Content words that a rewrite drops without a reason in the rationale.

    Words of the sentence that the rewrite lacks form runs: neighbors with no kept word, comma or
    conjunction between them. A run may go if the rationale says that one of its words is not there.
    Up to `PHRASE` words of a run may go if the rationale names one of them, or the kept word beside
    them ("orange" of "an orange cat" with "The cat is white."), or for each new word.

    Args:
        text: The rewrite.
        sentence: The original.
        rationale: What is wrong with it.
        denied: Content words that the rationale says are not there.

    Returns:
        The words of the other runs as the sentence writes them, in order.
    """
    kept, named, said = known_keys(text), known_keys(rationale), known_keys(sentence)
    frame = _FRAME - named
    known = said | frame
    new = sum(keys.isdisjoint(known) for _, keys in content_keys(text))
    new += len(repeated_content(text, sentence, ""))
    # new words replace what is denied, and the rest of the run should stay
    absent = set() if new else known_keys(*denied)
    unnamed: list[list[str]] = []
    for run, neighbors in _runs(sentence, kept):
        if any(keys & absent for _, keys in run):
            continue
        lost = [word for word, keys in run if not keys & named]
        if len(lost) <= PHRASE and any(keys & named for _, keys in (*run, *neighbors)):
            new -= new > 0
        elif lost:
            unnamed.append(lost)
    lost = [word for run in unnamed for word in run]
    return lost if len(unnamed) > new or len(lost) > PHRASE * new else []


def _runs(sentence: str, kept: set[str]) -> Iterator[tuple[list[Word], list[Word]]]:
    """Runs of lost words, each with the kept words next to it."""
    for segment in _SEGMENT.split(sentence):
        run: list[Word] = []
        before: list[Word] = []
        for word, keys in content_keys(segment):
            if word in _FRAME or keys & _FRAME:
                continue
            if not keys & kept:
                run.append((word, keys))
                continue
            if run:
                yield run, [*before, (word, keys)]
            run, before = [], [(word, keys)]
        if run:
            yield run, before
