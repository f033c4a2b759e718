"""Sentences that differ in one place: “One finds the tent [wide open].” and “[zipped up].”

Most sentences of other images mention things that are not there at all, so a critic that recognizes
things can tell them from the image's own without checking what is said about these things. A
sentence that differs in one place forces it to look.

A sentence with one place left out is a frame, “One finds the tent …”. Frames are 64-bit hashes in a
sorted array: at most `MOST` entries of twelve bytes per word of the pool.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator, Sequence
from hashlib import blake2b

import numpy as np

#: Most words of a place, which also has at most half of its sentence's words.
MOST = 4
#: Draws from one frame, where the text itself is among what is drawn from.
TRIES = 3


class Contrasts:
    """An index of `texts` that finds, for a sentence, those that differ from it in one place."""

    def __init__(self, texts: Sequence[str]) -> None:
        hashes = array("Q")  # a list would take five times the memory
        sizes = np.zeros(len(texts), np.int64)
        for number, text in enumerate(texts):
            before = len(hashes)
            hashes.extend(frame for _, frame in frames(text))
            sizes[number] = len(hashes) - before
        frame = np.frombuffer(hashes, np.uint64)
        order = np.argsort(frame, kind="stable")
        self._texts = texts
        self._frame = frame[order]
        self._number = np.repeat(np.arange(len(texts), dtype=np.int32), sizes)[order]

    def draw(self, text: str, rng: random.Random) -> int | None:
        """The number of a text that differs from `text` in one place, the shorter the better.

        Texts are drawn as often as they occur, so that a text alone does not reveal whose it is.
        """
        own = list(frames(text))
        values = np.array([frame for _, frame in own], np.uint64)
        lows = np.searchsorted(self._frame, values, "left").tolist()
        highs = np.searchsorted(self._frame, values, "right").tolist()
        found = [(own[k][0], rng.random(), lows[k], highs[k]) for k in range(len(own))]
        for _, _, low, high in sorted(one for one in found if one[2] < one[3]):
            for place in rng.choices(range(low, high), k=TRIES):
                number = int(self._number[place])
                if self._texts[number].casefold() != text.casefold():
                    return number
        return None


def frames(text: str) -> Iterator[tuple[int, int]]:
    """The number of words left out and the hash of each frame, case-insensitive; fewest first."""
    words = text.casefold().split()
    for length in range(1, min(MOST, len(words) // 2) + 1):
        for start in range(len(words) - length + 1):
            rest = (" ".join(words[:start]), " ".join(words[start + length :]))
            digest = blake2b("\n".join(rest).encode(), digest_size=8).digest()
            yield length, int.from_bytes(digest)
