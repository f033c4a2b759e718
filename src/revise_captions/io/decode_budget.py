"""The memory that decoding an image takes, from its header, and the budget decoders share."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

#: Most bytes of all images that are being decoded, or kept for the critic, at once.
BUDGET = 1 << 30
#: Bytes that Pillow holds per pixel; 4 for every mode not listed.
_PIXEL = {"1": 1, "L": 1, "P": 1, "I;16": 2, "I;16L": 2, "I;16B": 2, "I;16N": 2}
_RGB = 4
#: Bytes per pixel that a format's decoder needs in addition: canvases, planes, 32-bit integers.
#: `tests/io/test_decode_budget.py` measures them.
_DECODER = {"WEBP": 12, "AVIF": 7, "PPM": 8}
_BITS_PER_SAMPLE = 258
_SCAN = b"\xff\xda"


def decoded_bytes(image: Image, data: bytes, *, whole: bool = True) -> int:
    """The peak memory, in bytes, of decoding, rotating and converting to RGB.

    Args:
        image: Opened, not loaded.
        data: The encoded image.
        whole: Whether all pixels become RGB; otherwise images without color are reduced first.
    """
    bands = len(image.getbands())
    needed = _DECODER.get(image.format or "", 0)
    if image.format in ("JPEG", "MPO") and data.count(_SCAN) > 1:
        needed = 2 * bands  # the 16-bit coefficients of all scans
    elif image.format == "JPEG2000":
        needed = 6 * bands
    elif image.format == "TIFF":
        # One strip may hold the whole image.
        needed = -(-sum(image.tag_v2.get(_BITS_PER_SAMPLE, (8,) * bands)) // 8)  # type: ignore
    copied = image.mode.startswith(("1", "I", "F"))  # converted to L, one byte per pixel
    gray = copied or (image.mode == "L" and "transparency" not in image.info)
    pixel = _PIXEL.get(image.mode, 4) + max(needed, _RGB + copied if whole or not gray else 1)
    return image.width * image.height * pixel


class DecodeBudget:
    """Shared by all threads of a process. An image that does not fit beside those kept waits until
    nothing else is being decoded, and is then decoded anyway."""

    def __init__(self, total: int = BUDGET) -> None:
        self.total = total
        self.used = self.peak = 0
        self._decoding = 0
        self._kept: dict[int, weakref.ref[Image]] = {}
        self._changed = threading.Condition()

    @contextmanager
    def decoding(self, size: int) -> Iterator[None]:
        """Waits for room for `size` bytes, and reserves it."""
        with self._changed:
            self._changed.wait_for(lambda: not self._decoding or self.used + size <= self.total)
            self._decoding += 1
            self._add(size)
        try:
            yield
        finally:
            with self._changed:
                self._decoding -= 1
                self._add(-size)

    def keep(self, image: Image) -> Image:
        """Counts a decoded image against the budget for as long as it is referenced."""
        key, size = id(image), image.width * image.height * _PIXEL.get(image.mode, 4)

        def gone(_: weakref.ref[Image]) -> None:
            self._kept.pop(key, None)
            self._add(-size)

        with self._changed:
            if key not in self._kept:
                self._kept[key] = weakref.ref(image, gone)
                self._add(size)
        return image

    def _add(self, size: int) -> None:
        with self._changed:
            self.used += size
            self.peak = max(self.peak, self.used)
            if size < 0:
                self._changed.notify_all()


DECODE_BUDGET = DecodeBudget()
