"""Sentences that differ in one place: “One finds the tent [wide open].” and “[zipped up].”

Most sentences of other images speak of what is not there at all, and a critic that knows which
things are there tells them from its own: it need never look at what is said of these. Where
captions say alike things in alike words, the sentence that differs in one place is the one to ask.

A sentence with a place left out is a frame, “One finds the tent …”. Frames are kept as 64-bit
hashes in one sorted array: `MOST` entries per word of a pool, twelve bytes each.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from hashlib import blake2b

import numpy as np

#: A place has at most so many words, and at most half of its sentence's.
MOST = 4


class Contrasts:
    """For a sentence, those of `texts` that have another text in one of its places."""

    def __init__(self, texts: Sequence[str]) -> None:
        hashes: list[int] = []
        sizes = np.zeros(len(texts), np.int64)
        for number, text in enumerate(texts):
            before = len(hashes)
            hashes.extend(frames(text))
            sizes[number] = len(hashes) - before
        frame = np.array(hashes, np.uint64)
        order = np.argsort(frame, kind="stable")
        self._texts = texts
        self._frame = frame[order]
        self._number = np.repeat(np.arange(len(texts), dtype=np.int32), sizes)[order]

    def draw(self, text: str, rng: random.Random, tries: int = 8) -> int | None:
        """The number of a text that differs from `text` in one place, if one is soon found."""
        own = list(frames(text))
        for frame in rng.sample(own, min(tries, len(own))):
            value = np.uint64(frame)
            low = int(np.searchsorted(self._frame, value, "left"))
            high = int(np.searchsorted(self._frame, value, "right"))
            if low < high:
                number = int(self._number[rng.randrange(low, high)])
                if self._texts[number].casefold() != text.casefold():
                    return number
        return None


def frames(text: str) -> Iterator[int]:
    """The hash of each frame of a text, upper case or lower."""
    words = text.casefold().split()
    for length in range(1, min(MOST, len(words) // 2) + 1):
        for start in range(len(words) - length + 1):
            rest = (" ".join(words[:start]), " ".join(words[start + length :]))
            yield int.from_bytes(blake2b("\n".join(rest).encode(), digest_size=8).digest())
