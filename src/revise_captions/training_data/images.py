"""A folder of images stored by content hash, identical for the critic, raters and training.

The original bytes are kept if browsers and Pillow show them as the critic sees them. Otherwise
(EXIF rotation, transparency, several frames, TIFF, …) the critic's upright RGB image is stored as
PNG. Names are hashes of the bytes, so equal images are stored once and no
input text enters a path.
"""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import TYPE_CHECKING

from revise_captions.io.images import image_bytes, load_image
from revise_captions.io.perceptual_hash import Fingerprint, fingerprint
from revise_captions.records import ImageRef

if TYPE_CHECKING:
    from PIL.Image import Image

FOLDER = "images"
_KEPT = {"JPEG": ".jpg", "PNG": ".png", "WEBP": ".webp"}
_ORIENTATION = 0x0112


class ImageFolder:
    """`root/images`, created with its first image. `prints` has the fingerprints by name."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.prints: dict[str, Fingerprint] = {}

    def add(
        self,
        ref: ImageRef,
        *,
        image_root: Path | None = None,
        folder: Path = Path(),
        allow_urls: bool = False,
    ) -> str:
        """Stores an image and returns its path below `root`. Raises `BadRecord`."""
        data, suffix, picture = storable(image_bytes(ref, image_root, folder, allow_urls))
        name = f"{FOLDER}/{hashlib.sha256(data).hexdigest()[:20]}{suffix}"
        if name not in self.prints:
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                partial = path.with_name(path.name + ".partial")
                with partial.open("xb") as file:
                    file.write(data)
                partial.replace(path)
            self.prints[name] = fingerprint(picture)
        return name

    def look_at(
        self, ref: ImageRef, *, image_root: Path | None = None, folder: Path = Path()
    ) -> str:
        """The absolute path of an image that stays where it is. Raises `BadRecord`."""
        picture = load_image(ref, root=image_root, folder=folder)
        name = str(((image_root or folder) / (ref.path or "")).resolve())
        self.prints[name] = fingerprint(picture)
        return name


def storable(data: bytes) -> tuple[bytes, str, Image]:
    """Bytes to store, their suffix, and the decoded image. Raises `BadRecord`."""
    from PIL import Image as pillow

    picture = load_image(ImageRef(data=data))  # whole, of a known format, within the limits
    with pillow.open(io.BytesIO(data)) as stored:
        suffix = _KEPT.get(stored.format or "", "")
        plain = stored.mode in ("RGB", "L") and "transparency" not in stored.info
        upright = stored.getexif().get(_ORIENTATION, 1) == 1
        if suffix and plain and upright and getattr(stored, "n_frames", 1) == 1:
            return data, suffix, picture
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue(), ".png", picture
