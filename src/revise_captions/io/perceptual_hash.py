"""Images that look the same: rescaled, recompressed, or saved in another format.

Two images look alike if at most `BITS` of their difference hashes' 64 bits differ (Krawetz 2013: is
each cell of a 9 × 8 gray thumbnail brighter than its right neighbor?) and no cell of their 16 × 16
color thumbnails differs by more than `SIGHT` of 255. The hash alone confuses flat drawings and
charts with one another.

Does not use the library imagehash, which hashes more slowly (6.0 ms against 4.4 ms for an image of
1200 × 900, our color thumbnail included) and compares pairs singly (0.3 against 39 million/s).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from PIL.Image import Image

BITS, SIGHT = 10, 24
#: How many pairs of hashes are compared at a time.
_BLOCK = 4_000_000


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """`bits`: the difference hash; `thumbnail`: uint8 (16, 16, 3)."""

    bits: int
    thumbnail: npt.NDArray[np.uint8]


def fingerprint(image: Image) -> Fingerprint:
    """The fingerprint of an upright RGB image, as `images.load_image` returns it."""
    from PIL.Image import Resampling

    gray = np.asarray(image.convert("L").resize((9, 8), Resampling.BOX), dtype=np.int16)
    bits = np.packbits((gray[:, :-1] > gray[:, 1:]).ravel())
    thumbnail = np.asarray(image.resize((16, 16), Resampling.BOX), dtype=np.uint8)
    return Fingerprint(int.from_bytes(bits.tobytes()), thumbnail)


def alike(a: Fingerprint, b: Fingerprint) -> bool:
    """Whether two images look the same."""
    return (a.bits ^ b.bits).bit_count() <= BITS and _near(a.thumbnail, b.thumbnail)


def _near(a: npt.NDArray[np.uint8], b: npt.NDArray[np.uint8]) -> bool:
    return int(np.abs(a.astype(np.int16) - b.astype(np.int16)).max()) <= SIGHT


def candidates(a: Sequence[Fingerprint], b: Sequence[Fingerprint]) -> Iterator[tuple[int, int]]:
    """Indices (in `a`, in `b`) of all pairs with close hashes, which may be `alike`."""
    first = np.array([one.bits for one in a], dtype=np.uint64)
    second = np.array([one.bits for one in b], dtype=np.uint64)
    rows = max(1, _BLOCK // max(1, len(b)))
    for start in range(0, len(a), rows):
        apart = np.bitwise_count(first[start : start + rows, None] ^ second[None, :])
        for i, j in np.argwhere(apart <= BITS):
            yield start + int(i), int(j)


def groups(prints: Mapping[str, Fingerprint]) -> dict[str, str]:
    """Groups images that look alike; a chain of such pairs is one group.

    Compares all pairs of hashes: 20,000 images take seconds.

    Args:
        prints: Fingerprints by image name.

    Returns:
        For each image, the name of the first image in its group.
    """
    names = sorted(prints)
    found = [prints[name] for name in names]
    leader = list(range(len(names)))

    def root(k: int) -> int:
        while leader[k] != k:
            leader[k] = k = leader[leader[k]]
        return k

    for a, b in candidates(found, found):
        if a < b and root(a) != root(b) and alike(found[a], found[b]):
            leader[max(root(a), root(b))] = min(root(a), root(b))
    return {name: names[root(k)] for k, name in enumerate(names)}
