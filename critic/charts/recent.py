"""Readings of the last images, by their pixels: several experts and the report look at them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from typing import Generic, TypeVar

from PIL.Image import Image

from revise_captions.charts.ocr import TextLine, seen_and_unread

T = TypeVar("T")


class Recent(Generic[T]):
    """Remembers what was made of images, for as many as `size`. Any thread may use it."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._known: OrderedDict[bytes, T] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, image: Image, make: Callable[[Image], T]) -> T:
        """What `make` makes of the image, or made of one with the same pixels."""
        name = f"{image.mode} {image.size}".encode()
        key = blake2b(name + image.tobytes(), digest_size=16).digest()
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        made = make(image)
        with self._lock:
            self._known[key] = made
            if len(self._known) > self.size:
                self._known.popitem(last=False)
        return made


#: Lines of text, and what looks like text and cannot be read.
TextSeen = tuple[tuple[TextLine, ...], tuple[TextLine, ...]]
#: With what the OCR saw, some hundred kilobytes each.
_LINES: Recent[TextSeen] = Recent(32)


def read_text(image: Image) -> TextSeen:
    """What an OCR makes of an RGB image, unless it was read lately.

    Raises:
        ModuleNotFoundError: RapidOCR is not installed.
    """
    return _LINES.of(image, _read_text)


def _read_text(image: Image) -> TextSeen:
    import numpy as np

    return seen_and_unread(np.asarray(image.convert("RGB")))
