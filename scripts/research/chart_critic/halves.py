"""CHOCOLATE's images in two halves: one to choose on, and one to report."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
from PIL import Image

from revise_captions.io.images import load_image
from revise_captions.records import ImageRef

#: Thumbnails of the same chart differ by less: the mean over `SIDE`² gray levels.
SAME, SIDE = 4.5, 48


def is_development(image: str) -> bool:
    """Half of the images, by a digest of the name: those that the reader was tuned on, too."""
    return int(hashlib.sha256(image.encode()).hexdigest(), 16) % 2 == 0


def twins(images: Mapping[str, ImageRef]) -> frozenset[str]:
    """The images that the other half has, too, under another name.

    Raises:
        BadRecord: An image cannot be read.
    """
    names: tuple[list[str], list[str]] = ([], [])
    for name in images:
        names[is_development(name)].append(name)
    first, second = (np.array([_thumbnail(images[name]) for name in half]) for half in names)
    same = np.array([np.abs(second - one).mean(1) < SAME for one in first])
    found = {names[0][k] for k in np.flatnonzero(same.any(1))}
    return frozenset(found | {names[1][k] for k in np.flatnonzero(same.any(0))})


def _thumbnail(image: ImageRef) -> np.ndarray:
    small = load_image(image).convert("L").resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    return np.asarray(small, dtype=np.float32).ravel()
