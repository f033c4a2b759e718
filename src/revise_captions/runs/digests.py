"""The hashes by which a journal recognizes its run, and the input of each of its windows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from revise_captions.io.rows import BadRow, dumps
from revise_captions.records import ImageRef, Record


def run_key(settings: Mapping[str, Any]) -> str:
    """The hash of everything that determines a run's result, apart from its input."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()


Mark = Callable[[str], str]


def window_digest(items: Sequence[Record | BadRow], mark: Mark = lambda path: "") -> str:
    """The hash of a window's input rows. `mark` identifies the content of image files."""
    total = hashlib.sha256()
    for item in items:
        parts = _content(item)
        if isinstance(item, Record) and item.image.path is not None:
            parts.append(_utf8(mark(item.image.path)))
        for part in parts:
            total.update(b"%d:" % len(part))
            total.update(part)
    return total.hexdigest()


def _content(item: Record | BadRow) -> list[bytes]:
    line = b"%d" % item.line
    if isinstance(item, BadRow):
        original = item.original
        text = original if isinstance(original, bytes) else _utf8(original)
        return [line, _utf8(item.reason), text]
    if item.raw is not None:
        return [line, _utf8(item.raw)]
    image: ImageRef = item.image
    where = image.data if image.data is not None else _utf8(dumps([image.path, image.url]))
    return [line, _utf8(dumps(item.captions)), where]


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
