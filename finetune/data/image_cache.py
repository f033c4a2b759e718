"""A cache of resized images, decoded once and then memory-mapped.

Each image has a clean row and `variants` augmented ones: rescaled by 0.5–2 and mostly re-encoded as
JPEG at quality 60–95 before the resize, which makes the critic robust to image encodings.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from revise_captions.critic.paligemma.image_prefetch import Pixels, resized
from revise_captions.errors import BadRecord, UserError
from revise_captions.io.decoding import LIMITS
from revise_captions.io.images import load_image
from revise_captions.records import ImageRef

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, slots=True)
class PixelCache:
    """`pixels`: uint8 of shape (images, 1 + variants, size, size, 3); variant 0 is clean."""

    pixels: np.memmap[tuple[int, ...], np.dtype[np.uint8]]

    def take(self, images: Sequence[int], variants: Sequence[int]) -> Pixels:
        return np.asarray(self.pixels[list(images), list(variants)])  # a copy

    @property
    def variants(self) -> int:
        return int(self.pixels.shape[1]) - 1


def upright(image: Path | bytes) -> Image:
    """The image as at inference: RGB, upright, transparency on white."""
    ref = ImageRef(data=image) if isinstance(image, bytes) else ImageRef(path=str(image))
    try:
        return load_image(ref)
    except BadRecord as error:
        where = "" if isinstance(image, bytes) else f"{image}: "
        raise UserError(f"{where}{error}", hint="replace it, or remove its rows") from None


def augmented(image_bytes: bytes, size: int, seed: int) -> Pixels:
    """The image after a random rescale by 0.5–2 and, mostly, JPEG compression; resized."""
    from PIL import Image as pillow
    from PIL.Image import Resampling

    rng = np.random.default_rng(seed)
    image = upright(image_bytes)
    most = math.sqrt(LIMITS.max_pixels / (image.width * image.height))
    scale = min(2 ** rng.uniform(-1, 1), most)  # no image grows beyond the decoding limit
    target = (max(8, round(image.width * scale)), max(8, round(image.height * scale)))
    filters = (Resampling.BILINEAR, Resampling.BICUBIC, Resampling.LANCZOS, Resampling.BOX)
    image = image.resize(target, filters[rng.integers(len(filters))])
    if rng.random() < 0.75:
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", quality=int(rng.integers(60, 96)))
        image = pillow.open(buffer)
    return resized(image, size)


def _rows(path: Path, size: int, variants: int) -> Pixels:
    data = path.read_bytes()
    try:
        image = upright(data)
    except UserError as error:
        raise UserError(f"{path}: {error.message}", hint=error.hint) from None
    seed = int.from_bytes(hashlib.sha256(data).digest()[:6], "big")
    clean = resized(image, size)
    return np.stack([clean, *(augmented(data, size, seed + v) for v in range(variants))])


def preallocated(
    path: Path, shape: tuple[int, ...]
) -> np.memmap[tuple[int, ...], np.dtype[np.uint8]]:
    """A new uint8 array in a file whose disk space is allocated. Raises UserError if it is full.

    Writing to a memory map of a sparse file on a full disk would kill the process by a signal.
    """
    size = math.prod(shape)
    try:
        with path.open("wb") as file:
            if sys.platform == "darwin":
                file.truncate(size)  # macOS has no posix_fallocate
            else:
                os.posix_fallocate(file.fileno(), 0, size)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise UserError(
            f"{path.parent} has no room for {size / 2**30:.1f} GiB of resized images: {error}",
            hint="free some space, or move the data to a larger disk",
        ) from None
    return np.memmap(path, dtype=np.uint8, mode="r+", shape=shape)


def pixel_cache(
    root: Path, images: Sequence[str], folder: Path, *, size: int, variants: int
) -> PixelCache:
    """The cache in `folder` of `images` (paths below `root`), built on first use.

    Raises:
        UserError: An image is missing or the disk is full.
    """
    paths = [root / image for image in images]
    key = hashlib.sha256(f"v1 {size} {variants}".encode())
    for path in paths:
        try:
            stat = path.stat()
        except FileNotFoundError:
            raise UserError(
                f"image {path} does not exist", hint=f"image paths are relative to {root}"
            ) from None
        key.update(f"{path}\0{stat.st_size}\0{stat.st_mtime_ns}\n".encode())
    shape = (len(paths), 1 + variants, size, size, 3)
    file = folder / f"pixels-{key.hexdigest()[:16]}.u8"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        draft = file.with_suffix(f".{os.getpid()}.tmp")
        made = preallocated(draft, shape)
        try:
            with ProcessPoolExecutor() as pool:
                rows = pool.map(partial(_rows, size=size, variants=variants), paths, chunksize=64)
                for index, row in enumerate(rows):
                    made[index] = row
            made.flush()
            draft.rename(file)
        finally:
            draft.unlink(missing_ok=True)
    return PixelCache(np.memmap(file, dtype=np.uint8, mode="r", shape=shape))
