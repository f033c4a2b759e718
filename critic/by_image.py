"""Values attached to images for as long as the image objects live."""

from __future__ import annotations

import weakref
from typing import Generic, TypeVar

from PIL.Image import Image

T = TypeVar("T")


class ByImage(Generic[T]):
    """A mapping from image objects, which cannot be hashed. Any thread may use it."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Image], T]] = {}

    def get(self, image: Image) -> T | None:
        """The image's value; None if it has none."""
        owner, found = self._known.get(id(image), (None, None))
        return found if owner is not None and owner() is image else None

    def put(self, image: Image, value: T) -> T:
        """Keeps the value until the image is gone, and returns it."""
        key = id(image)
        self._known[key] = weakref.ref(image, lambda _: self._known.pop(key, None)), value
        return value
