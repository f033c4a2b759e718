"""Readings of the last images, by their pixels: the report shows what the run has read."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from typing import Generic, TypeVar

from PIL.Image import Image

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
