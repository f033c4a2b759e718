"""Decodes untrusted image bytes into upright RGB pixels, or says precisely why not."""

from __future__ import annotations

import functools
import io
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from revise_captions.errors import BadRecord, Reason
from revise_captions.io.decode_budget import DECODE_BUDGET, decoded_bytes
from revise_captions.process_memory import give_back_freed_memory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "JPEG2000", "PPM")


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """Limits for one image.

    Attributes:
        max_pixels: Pillow's own limit.
        max_decoded: Bytes while decoding (`decode_budget.decoded_bytes`), known from the header:
            enough for `max_pixels` of 8 or 16 bits in PNG, baseline JPEG, BMP or GIF.
        max_bytes: Size of the encoded image.
        url_seconds: Time to fetch it.
    """

    max_pixels: int = 89_478_485
    max_decoded: int = 768 << 20
    max_bytes: int = 64 << 20
    url_seconds: float = 30.0


LIMITS = ImageLimits()
#: Pixels. Two windows' images are held decoded, so larger ones are reduced to this, which is more
#: than any critic's tower looks at (896 × 896).
LARGEST = 1_500_000
#: The key of a reduced image's original size; places in the image are reported in those pixels.
_FULL_SIZE = "revise-captions: full size"
#: Makes what a caller keeps of a decoded image; the memory of the whole is then freed.
Keep = Callable[["Image"], "Image"]


_MAGIC = {
    b"\xff\xd8\xff": "JPEG",
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"GIF8": "GIF",
    b"BM": "BMP",
    b"II*\0": "TIFF",
    b"MM\0*": "TIFF",
    b"\xff\x4f\xff\x51": "JPEG 2000",
    b"\0\0\0\x0cjP  ": "JPEG 2000",
}


def reduced(image: Image, pixels: int = LARGEST) -> Image:
    """The image, scaled down if it has more than `pixels` pixels; its aspect ratio stays."""
    from PIL.Image import Resampling

    share = (pixels / (image.width * image.height)) ** 0.5
    if share >= 1:
        return image
    size = (max(1, int(image.width * share)), max(1, int(image.height * share)))
    small = image.resize(size, Resampling.BICUBIC, reducing_gap=2.0)
    small.info = {**small.info, _FULL_SIZE: full_size(image)}
    return small


def full_size(image: Image) -> tuple[int, int]:
    """An image's width and height, upright, before `reduced` scaled it down."""
    size = image.info.get(_FULL_SIZE)
    # an image's own metadata, such as PNG's text, is always a string
    return (size[0], size[1]) if isinstance(size, tuple) else image.size


def shrink(image: Image, side: int) -> None:
    """Scales an image, in place, to at most `side` pixels a side; it remembers its full size."""
    size = full_size(image)
    image.thumbnail((side, side))
    image.info[_FULL_SIZE] = size


def decode(data: bytes, limits: ImageLimits, keep: Keep | None = None) -> Image:
    """The first frame, upright, as RGB, or what `keep` makes of it. Waits for room in the budget
    that all decoders share. Raises BadRecord if it is too large or not an image."""
    from PIL import Image as pillow

    _refuse_other_kinds(data)
    try:
        with _strict(), pillow.open(io.BytesIO(data), formats=_formats()) as image:
            width, height = image.size
            if width < 1 or height < 1:
                detail = f"an image of {width} × {height} pixels is empty"
                raise BadRecord(Reason.IMAGE_UNREADABLE, detail)
            if width * height > limits.max_pixels:
                detail = f"{width:,} × {height:,} pixels; the limit is {limits.max_pixels:,}"
                raise too_large(detail)
            need = decoded_bytes(image, data, whole=keep is None)
            if need > limits.max_decoded:
                detail = f"{need:,} bytes when decoded; the limit is {limits.max_decoded:,}"
                raise too_large(detail)
            with DECODE_BUDGET.decoding(need):
                kept = _upright(image, keep)
                if kept is not image:
                    image.close()
                if need >= _MUCH:
                    give_back_freed_memory()
                return kept
    except (pillow.DecompressionBombError, pillow.DecompressionBombWarning, MemoryError) as error:
        raise too_large(str(error) or "not enough memory to decode it") from None
    except BadRecord:
        raise
    except Exception as error:  # Pillow's decoders can raise almost any type on hostile bytes
        raise _undecodable(data, error) from None


def _upright(image: Image, keep: Keep | None) -> Image:
    """An opened image's pixels; those not kept are freed on return.

    An image without color gets its three channels only after it is reduced: this takes a quarter
    of the memory and gives the same pixels, as each channel is reduced separately.
    """
    from PIL import ImageOps

    image.load()
    ImageOps.exif_transpose(image, in_place=True)
    eight = _eight_bits(image)
    kept = eight if keep is None else keep(eight)
    return kept if kept.mode == "RGB" else kept.convert("RGB")


#: If decoding took this many bytes, freed memory is returned before the room in the budget is.
_MUCH = 64 << 20


_BLOCK = 64 << 20


@functools.cache
def _formats() -> tuple[str, ...]:
    """Those of `FORMATS` that this build of Pillow supports."""
    from PIL import Image as pillow

    pillow.init()
    # The C library keeps freed blocks of up to 32 MiB for the thread that had them. Pillow's are
    # 16 MiB, so each thread would keep as much memory as its largest image took.
    pillow.core.set_block_size(_BLOCK)
    return tuple(name for name in FORMATS if name in pillow.OPEN)


def _eight_bits(image: Image) -> Image:
    """The image as RGB or, without color, as L."""
    mode = image.mode
    if mode.startswith("I") or mode == "F":
        return _scaled(image)
    if mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        return _by_strips(image, "RGB", _on_white)
    if mode == "1":
        return image.convert("L")
    return image if mode in ("RGB", "L") else image.convert("RGB")


def _by_strips(image: Image, mode: str, convert: Callable[[Image], Image]) -> Image:
    """The image converted strip by strip, so that no copy of the whole is needed."""
    from PIL import Image as pillow

    result = pillow.new(mode, image.size)
    rows = max(1, _STRIP // image.width)
    for top in range(0, image.height, rows):
        strip = image.crop((0, top, image.width, min(image.height, top + rows)))
        result.paste(convert(strip), (0, top))
    return result


_STRIP = 1 << 18  # pixels


def _on_white(image: Image) -> Image:
    from PIL import Image as pillow

    rgba = image.convert("RGBA")
    white = pillow.new("RGBA", rgba.size, (255, 255, 255, 255))
    return pillow.alpha_composite(white, rgba).convert("RGB")


def _scaled(image: Image) -> Image:
    """Integers wider than 8 bits and floats, mapped to 8 bits by their range.

    For 16 bits it is 0 … 65,535. 32-bit integers and floats do not state their range, so it is the
    first that fits of 0 to 1 (floats), 255, 65,535, or else from the smallest to the largest value.
    """
    import numpy as np
    from PIL import Image as pillow

    low, high = 0.0, 65_535.0
    if not image.mode.startswith("I;16"):
        least, most = _range(image)
        bounds = (1.0, 255.0, 65_535.0) if image.mode == "F" else (255.0, 65_535.0)
        fitting = [bound for bound in bounds if least >= 0 and most <= bound]
        low, high = (0.0, fitting[0]) if fitting else (least, most)

    def eight(strip: Image) -> Image:
        values = (_values(strip) - low) * (255.0 / max(high - low, 1e-12))
        return pillow.fromarray(np.rint(values).astype(np.uint8))

    return _by_strips(image, "L", eight)


def _values(image: Image) -> NDArray[np.float64]:
    import numpy as np

    return np.nan_to_num(np.asarray(image, dtype=np.float64), posinf=0.0, neginf=0.0)


def _range(image: Image) -> tuple[float, float]:
    """The smallest and largest values, found strip by strip."""
    rows = max(1, _STRIP // image.width)
    ends = []
    for top in range(0, image.height, rows):
        values = _values(image.crop((0, top, image.width, min(image.height, top + rows))))
        ends += [float(values.min()), float(values.max())]
    return min(ends), max(ends)


_OTHER_KINDS = {
    b"<svg": "an SVG drawing",
    b"<!doctype html": "an HTML page",
    b"<html": "an HTML page",
    b"<?xml": "an XML or SVG document",
    b"%pdf": "a PDF",
    b"%!ps": "a PostScript file",
    b"{": "JSON text",
    b"version https://git-lfs": "a Git LFS pointer (run `git lfs pull`)",
}


def _refuse_other_kinds(data: bytes) -> None:
    if not data:
        raise BadRecord(Reason.IMAGE_UNREADABLE, "the image is empty (0 bytes)")
    head = data[:256].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    for start, name in _OTHER_KINDS.items():
        if head.startswith(start):
            raise BadRecord(Reason.IMAGE_UNREADABLE, f"not an image but {name}")
    if data[4:8] == b"ftyp" and data[8:12] in (b"heic", b"heix", b"mif1", b"msf1"):
        raise BadRecord(Reason.IMAGE_UNREADABLE, "HEIC is not supported; convert it to JPEG or PNG")
    if data.startswith(b"\0\0\1\0") and data[4:8] != b"ftyp":  # AVIF may begin like this too
        raise BadRecord(Reason.IMAGE_UNREADABLE, "ICO is not supported; convert it to PNG")


def _undecodable(data: bytes, error: Exception) -> BadRecord:
    kind = sniff(data)
    text = "" if "BytesIO" in str(error) else f" ({error})"
    if not kind:
        return BadRecord(Reason.IMAGE_UNREADABLE, f"not a known image format{text}")
    cut_riff = kind == "WebP" and int.from_bytes(data[4:8], "little") + 8 > len(data)
    if cut_riff or "truncated" in str(error).lower():
        detail = f"the {kind} ends too early, after {len(data):,} bytes{text}"
        return BadRecord(Reason.IMAGE_TRUNCATED, detail)
    return BadRecord(Reason.IMAGE_UNREADABLE, f"a damaged {kind}{text}")


_strict_lock = threading.Lock()


@contextmanager
def _strict() -> Iterator[None]:
    """Switches off Pillow's filling of truncated images with gray, which a process may have set."""
    from PIL import ImageFile

    if not ImageFile.LOAD_TRUNCATED_IMAGES:
        yield
        return
    with _strict_lock:
        ImageFile.LOAD_TRUNCATED_IMAGES = False
        try:
            yield
        finally:
            ImageFile.LOAD_TRUNCATED_IMAGES = True


def too_large(detail: str) -> BadRecord:
    return BadRecord(Reason.IMAGE_TOO_LARGE, detail)


def sniff(data: bytes) -> str:
    """The image format that `data` starts like, of those that Pillow opens here; or ""."""
    for magic, name in _MAGIC.items():
        if data.startswith(magic):
            return name
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WebP"
    if data[4:12] in (b"ftypavif", b"ftypavis"):
        return "AVIF"
    return "PPM" if re.match(rb"P[1-7f][\s#]", data) else ""
