"""Reads the value of an image field into upright RGB pixels, or says precisely why not.

Values are untrusted: with an image root, nothing outside it is read; sizes are checked before
anything is decoded; only formats that Pillow itself decodes are opened (no EPS, which would start
Ghostscript); and nothing blocks on a pipe.
"""

from __future__ import annotations

import base64
import binascii
import io
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from revise_captions.errors import BadRecord, Reason, own_step
from revise_captions.io.decoding import LIMITS, ImageLimits, Keep, decode, sniff, too_large
from revise_captions.records import ImageRef, Record

if TYPE_CHECKING:
    from PIL.Image import Image

#: Reads a record's image, or raises `BadRecord`.
LoadImage = Callable[[Record], "Image"]


def parse_image(value: object) -> ImageRef:
    """The image that a field's value refers to, without reading it.

    Args:
        value: A data URI, an http(s) URL, base64 of an image, or a path (`file://` too); encoded
            bytes; Hugging Face's `{"bytes": …, "path": …}` (bytes first); a Pillow image; a NumPy
            array of bytes, height × width or height × width × 3 (RGB) or 4; or a list of exactly
            one of these; or the turns of a chat, or the parts of one turn, with exactly one image
            among the parts.

    Raises:
        BadRecord: MISSING_IMAGE or IMAGE_UNREADABLE.
    """
    with own_step(Reason.IMAGE_UNREADABLE):
        return _parse(value)


def _parse(value: object) -> ImageRef:
    if hasattr(value, "__array_interface__") and not hasattr(value, "save"):
        return ImageRef(data=_as_png(_of_array(value)))  # comparing it with "" would give an array
    match value:
        case None | "" | b"" | []:
            raise BadRecord(Reason.MISSING_IMAGE, "the image field is empty")
        case bytes() | bytearray() | memoryview():
            return ImageRef(data=bytes(value))
        case str():
            return _parse_text(value)
        case os.PathLike():
            return ImageRef(path=os.fsdecode(value))
        case list() if is_chat(value):
            return _parse_only(images_in_chat(value))
        case [one]:
            return _parse(one)
        case list() | tuple():
            return _parse_only(value)
        case dict():
            return _parse_mapping(value)
    if hasattr(value, "save") and hasattr(value, "convert"):
        return ImageRef(data=_as_png(value))
    kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    detail = (
        f"the image field holds {kind}; expected a path, a URL, bytes, a Pillow image, or a NumPy "
        "array of bytes"
    )
    raise BadRecord(Reason.IMAGE_UNREADABLE, detail)


def _parse_only(values: Sequence[object]) -> ImageRef:
    if len(values) != 1:
        detail = f"{len(values)} images in one record; expected one"
        raise BadRecord(Reason.MISSING_IMAGE, detail)
    return _parse(values[0])


def is_chat(value: object) -> TypeGuard[list[object]]:
    """Whether a value is a list of turns (`role` or `from`), or of a turn's parts (`type`)."""
    return isinstance(value, list) and any(
        isinstance(item, dict) and ("role" in item or "from" in item or "type" in item)
        for item in value
    )


def images_in_chat(items: Iterable[object]) -> list[object]:
    """The images among the parts of turns, in order: `{"type": "image", "image": …}` (or `path`,
    `url`, `base64`, `data`), `{"type": "image_url", "image_url": {"url": …}}`, `{"type": "image",
    "source": {"data": …}}`."""
    found: list[object] = []
    for item in items:
        if not isinstance(item, dict):
            continue
        content = item.get("content", item.get("value"))
        if isinstance(content, list):
            found += images_in_chat(content)
        elif "image" in str(item.get("type", "image")):
            values = (item.get(name) for name in _IN_PARTS)
            found += [value for value in values if value][:1]
    return found


_IN_PARTS = ("image", "image_url", "source", "path", "url", "base64", "data", "bytes")


def load_image(
    ref: ImageRef,
    *,
    root: Path | None = None,
    folder: Path | None = None,
    allow_urls: bool = False,
    limits: ImageLimits = LIMITS,
    keep: Keep | None = None,
) -> Image:
    """The image as RGB, upright by its EXIF orientation.

    Animations give their first frame, transparency is composited on white, 16-bit and float pixels
    are scaled to 8 bits, color profiles are ignored.

    Args:
        ref: Where the image is.
        root: Relative paths start here, and nothing outside is read, whether by `..`, an absolute
            path or a symbolic link.
        folder: The input file's own. Without a `root`, relative paths start here, and neither `..`
            nor an absolute path leads outside; links in it may. With neither, any path is read.
        allow_urls: Whether URLs are fetched.
        limits: Limits for one image.
        keep: Makes what is kept of it, such as `decoding.reduced`; by default all.

    Raises:
        BadRecord: Its reason says what is wrong.
    """
    data = image_bytes(ref, root, folder, allow_urls, limits)
    with own_step(Reason.IMAGE_UNREADABLE):
        return decode(data, limits, keep)


def image_bytes(
    ref: ImageRef,
    root: Path | None = None,
    folder: Path | None = None,
    allow_urls: bool = False,
    limits: ImageLimits = LIMITS,
) -> bytes:
    """The encoded image as it is stored, not decoded. Arguments and errors as in `load_image`."""
    with own_step(Reason.URL_FAILED if ref.url is not None else Reason.IMAGE_UNREADABLE):
        if ref.data is not None:
            data = ref.data
        elif ref.url is not None:
            data = _fetch(ref.url, allow_urls, limits)
        elif ref.path is not None:
            data = _read(resolve_path(ref.path, root, folder), limits)
        else:
            raise BadRecord(Reason.MISSING_IMAGE, "the record names no image")
    if len(data) > limits.max_bytes:
        raise too_large(f"{len(data):,} bytes; the limit is {limits.max_bytes:,}")
    return data


# --- Values -------------------------------------------------------------------------------------

_BASE64 = re.compile(r"[A-Za-z0-9+/_\-\s]+={0,2}\s*")
_PATH_MAX = 4096


def _parse_text(text: str) -> ImageRef:
    head = text[:16].lower().lstrip()
    if head.startswith("data:"):
        return ImageRef(data=_data_uri(text.lstrip()))
    if head.startswith(("http://", "https://")):
        return ImageRef(url=text.strip())
    if head.startswith("file://"):
        return ImageRef(path=unquote(urlsplit(text.strip()).path))
    data = _base64_image(text)
    return ImageRef(path=text) if data is None else ImageRef(data=data)


def _parse_mapping(value: dict[Any, Any]) -> ImageRef:
    encoded = value.get("bytes")
    if isinstance(encoded, str):
        return ImageRef(data=_base64_bytes(encoded))
    for name in ("bytes", "path", "url", "data"):
        if value.get(name):
            return _parse(value[name])
    names = ", ".join(map(str, value)) or "none"
    detail = f"the image field is an object with the keys {names}; expected bytes, path or url"
    raise BadRecord(Reason.MISSING_IMAGE, detail)


def _data_uri(uri: str) -> bytes:
    head, comma, body = uri.partition(",")
    if not comma:
        raise BadRecord(Reason.IMAGE_UNREADABLE, "a data URI without a comma holds no data")
    if head.lower().endswith(";base64"):
        return _base64_bytes(unquote(body) if "%" in body else body)
    return unquote_to_bytes(body)


def _base64_image(text: str) -> bytes | None:
    """The decoded bytes if `text` is base64 of an image rather than a path.

    A path hardly ever spells an image's first bytes without a dot, and a text in the base64
    alphabet that no file system accepts as a path cannot be one.
    """
    if len(text) < 32 or not _BASE64.fullmatch(text, 0, min(len(text), 2 * _PATH_MAX)):
        return None
    start = re.sub(r"\s", "", text[:64])[:32].translate(_URLSAFE)
    looks = sniff(base64.b64decode(start)) if len(start) == 32 and "=" not in start else ""
    if not looks and len(text) <= _PATH_MAX:
        return None
    if not _BASE64.fullmatch(text):
        return None
    return _base64_bytes(text)


_URLSAFE = str.maketrans("-_", "+/")


def _base64_bytes(text: str) -> bytes:
    compact = "".join(text.split()).translate(_URLSAFE)
    compact += "=" * (-len(compact) % 4)
    try:
        return base64.b64decode(compact, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadRecord(Reason.IMAGE_UNREADABLE, f"broken base64: {error}") from None


def _of_array(array: Any) -> Any:
    """A NumPy array as a Pillow image."""
    from PIL import Image

    shape, dtype = tuple(array.shape), str(array.dtype)
    planes = shape[2:] if len(shape) == 3 else None if len(shape) == 2 else (0,)
    if dtype != "uint8" or planes not in (None, (3,), (4,)) or 0 in shape:
        kind = f"an array of {dtype}, {' × '.join(map(str, shape))}" if shape else f"one {dtype}"
        detail = (
            f"the image field holds {kind}; expected "
            "bytes (uint8), height × width, or height × width × 3 (RGB) or 4 (RGBA)"
        )
        raise BadRecord(Reason.IMAGE_UNREADABLE, detail)
    return Image.fromarray(array)


def _as_png(image: Any) -> bytes:
    """A Pillow image from a caller, losslessly encoded."""
    buffer = io.BytesIO()
    try:
        image.save(buffer, "PNG")
    except (OSError, ValueError):
        image.convert("RGB").save(buffer, "PNG")
    return buffer.getvalue()


def _fetch(url: str, allow_urls: bool, limits: ImageLimits) -> bytes:
    if not allow_urls:
        detail = f"{_short(url)} is a URL; pass --allow-urls to fetch images from the network"
        raise BadRecord(Reason.URL_NOT_ALLOWED, detail)
    from revise_captions.io.url_fetch import FetchLimits, fetch

    return fetch(url, limits=FetchLimits(max_bytes=limits.max_bytes, seconds=limits.url_seconds))


def resolve_path(path: str, root: Path | None, folder: Path | None) -> Path:
    """Resolves an image path as `load_image` describes, without checking that the file exists.

    Raises `BadRecord`.
    """
    if re.match(r"[a-z][a-z0-9+.-]+://", path):
        detail = f"{_short(path)}: expected a local path or an http(s) URL"
        raise BadRecord(Reason.IMAGE_UNREADABLE, detail)
    if root is None:
        return Path(path) if folder is None else _inside(path, folder)
    try:
        base = root.resolve()
        real = (base / path).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise BadRecord(Reason.IMAGE_NOT_FOUND, f"{_short(path)}: {error}") from None
    if not real.is_relative_to(base):
        detail = f"{_short(path)} leads to {_short(str(real))}, outside the image root {base}"
        raise BadRecord(Reason.IMAGE_OUTSIDE_ROOT, detail)
    return real


def _inside(path: str, folder: Path) -> Path:
    """The path below the input's folder, `..` resolved. Raises `BadRecord` if it leads outside."""
    base = os.path.abspath(folder)
    real = os.path.normpath(os.path.join(base, path))
    if not Path(real).is_relative_to(base):
        raise BadRecord(
            Reason.IMAGE_OUTSIDE_ROOT,
            f"{_short(path)} leads outside the input's folder {base}; --image-root names the "
            "folder that images may be read from (/ allows any absolute path)",
        )
    return Path(real)


def mark_of(path: str, root: Path | None, folder: Path | None) -> str:
    """Identifies a version of an image file, at the cost of two small reads: its size and a
    checksum of its first and last 4 KiB; "" if it is not a regular file.
    """
    try:
        real = resolve_path(path, root, folder)
        with open(os.open(real, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                return ""
            ends = file.read(_END)
            file.seek(max(0, about.st_size - _END))
            return f"{about.st_size}.{zlib.crc32(ends + file.read(_END)):08x}"
    except (BadRecord, OSError, ValueError):
        return ""  # reading it for the critic will report what is wrong


_END = 4096


def _read(path: Path, limits: ImageLimits) -> bytes:
    name = _short(str(path))
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise BadRecord(Reason.IMAGE_UNREADABLE, f"{name} is not a regular file")
        # O_NONBLOCK: if the file has meanwhile become a pipe, opening it does not hang.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > limits.max_bytes:
                raise too_large(f"{name} has {size:,} bytes; the limit is {limits.max_bytes:,}")
            return file.read(limits.max_bytes + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise BadRecord(Reason.IMAGE_NOT_FOUND, f"{name} does not exist") from None
    except ValueError as error:  # a NUL or a lone surrogate, which no file name can contain
        raise BadRecord(Reason.IMAGE_NOT_FOUND, f"{name}: {error}") from None
    except OSError as error:
        missing = error.errno == 36 or "too long" in str(error)
        reason = Reason.IMAGE_NOT_FOUND if missing else Reason.IMAGE_UNREADABLE
        raise BadRecord(reason, f"{name}: {error.strerror}") from None


def _short(text: str) -> str:
    return text if len(text) <= 160 else f"{text[:120]}…{text[-30:]}"
