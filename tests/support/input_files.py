"""Files for the readers, and what they make of them."""

from __future__ import annotations

import json
from pathlib import Path

from revise_captions.errors import Reason
from revise_captions.io.readers import open_source
from revise_captions.io.rows import BadRow
from revise_captions.io.source import Source

GOOD = b'{"image": "a.jpg", "caption": "A cat."}'


def opened(path: Path, data: bytes | str, **options: object) -> Source:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return open_source(str(path), **options)


def lines_of(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def reasons(source: Source) -> list[Reason | None]:
    return [item.reason if isinstance(item, BadRow) else None for item in source]
