"""Sentences that differ in one place: “One finds the tent [wide open].” and “[zipped up].”

Most sentences of other images speak of what is not there at all, and a critic that knows which
things are there tells them from its own: it need never look at what is said of these. Where
captions say alike things in alike words, the sentence that differs in one place is the one to ask.

A sentence with a place left out is a frame, “One finds the tent …”. Frames are kept as 64-bit
hashes in one sorted array: at most `MOST` entries per word of a pool, twelve bytes each.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator, Sequence
from hashlib import blake2b

import numpy as np

#: A place has at most so many words, and at most half of its sentence's.
MOST = 4
#: Draws from one frame, where the text itself is among what is drawn from.
TRIES = 3


class Contrasts:
    """For a sentence, those of `texts` that have another text in one of its places."""

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
        """The number of a text that differs from `text` in one place, if there is one: a short one.

        SampledLocation as often as it was said, so that a text by itself does not tell whose it is.
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
    """How many words are left out, and the frame's hash, upper case or lower; the fewest first."""
    words = text.casefold().split()
    for length in range(1, min(MOST, len(words) // 2) + 1):
        for start in range(len(words) - length + 1):
            rest = (" ".join(words[:start]), " ".join(words[start + length :]))
            digest = blake2b("\n".join(rest).encode(), digest_size=8).digest()
            yield length, int.from_bytes(digest)
