"""PIL images to pixel values, for training and inference alike.

The same as transformers' SigLIP image processor (PIL backend): RGB, bicubic resize with
antialiasing to a square, scaled to [-1, 1].
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

Pixels = NDArray[np.uint8]


def resized(image: Image, size: int) -> Pixels:
    """The image as uint8 of shape (size, size, 3)."""
    from PIL.Image import Resampling

    rgb = image if image.mode == "RGB" else image.convert("RGB")
    if rgb.size != (size, size):
        rgb = rgb.resize((size, size), Resampling.BICUBIC)
    return np.asarray(rgb, dtype=np.uint8)


class ImagePrefetcher:
    """Resizes images ahead of time; threads may share it.

    Pixels that are never taken are freed along with their image.

    Args:
        size: Side of the resized square, in pixels.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._pixels: dict[int, tuple[weakref.ref[Image], Pixels]] = {}

    def prepare(self, image: Image) -> None:
        """Resizes an image and keeps the pixels until they are taken."""
        key = id(image)
        gone = weakref.ref(image, lambda _: self._pixels.pop(key, None))
        self._pixels[key] = gone, resized(image, self.size)

    def take(self, image: Image) -> Pixels:
        """The image as `resized` returns it, resized now unless it was prepared."""
        owner, pixels = self._pixels.pop(id(image), (None, None))
        if owner is None or pixels is None or owner() is not image:
            return resized(image, self.size)
        return pixels


def pixel_values(images: Sequence[Pixels] | Pixels, dtype: torch.dtype) -> torch.Tensor:
    """uint8 images of shape (n, size, size, 3) as values in [-1, 1], shape (n, 3, size, size)."""
    import torch

    stacked = torch.from_numpy(np.ascontiguousarray(np.stack(list(images))))
    values = stacked.permute(0, 3, 1, 2).float().div_(127.5).sub_(1.0)
    return values.contiguous().to(dtype)
