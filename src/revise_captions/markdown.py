"""What commands write between marks in Markdown files: `<!-- name -->` to `<!-- /name -->`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path


def with_block(text: str, block: str, name: str = "figures") -> str:
    """`text` with `block` between its marks. Raises ValueError where it has not one pair."""
    marks = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    filled, count = marks.subn(lambda found: f"{found[1]}{block}\n{found[2]}", text)
    if count != 1:
        raise ValueError(f"{count} pairs of <!-- {name} --> and <!-- /{name} -->, expected 1")
    return filled


def write_blocks(path: Path, blocks: Mapping[str, str]) -> None:
    """Puts each block, by the name of its marks, into the file at `path`; all of them or none."""
    text = path.read_text(encoding="utf-8")
    for name, block in blocks.items():
        text = with_block(text, block, name)
    path.write_text(text, encoding="utf-8")
