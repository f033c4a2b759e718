"""What commands write between marks in Markdown files: `<!-- name -->` to `<!-- /name -->`.

A checkout's pages are README.md and those in docs. Each mark is in one of them, and a command finds
it by the mark, so that a text can move from one page to another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from revise_captions.errors import UserError
from revise_captions.io.writing import write_text
from scripts.research.frame.shipped import ROOT, stamp_of, without_stamp


def with_block(text: str, block: str, name: str = "figures") -> str:
    """`text` with `block` between its marks. Raises ValueError where it has not one pair."""
    marks = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    filled, count = marks.subn(lambda found: f"{found[1]}{block}\n{found[2]}", text)
    if count != 1:
        raise ValueError(f"{count} pairs of <!-- {name} --> and <!-- /{name} -->, expected 1")
    return filled


def block_of(path: Path, name: str) -> str:
    """What stands between the marks `name` of a file."""
    text = path.read_text(encoding="utf-8")
    block = text.split(f"<!-- {name} -->\n")[1].split(f"<!-- /{name} -->")[0]
    return without_stamp(block).strip()


def write_blocks(path: Path, blocks: Mapping[str, str]) -> None:
    """Puts each block, by the name of its marks, into the file at `path`; all of them or none.

    Behind each stands what it was measured with (`shipped`), in a comment.
    """
    text = path.read_text(encoding="utf-8")
    for name, block in blocks.items():
        stamp = stamp_of(path, name) if path.is_relative_to(ROOT) else ""
        text = with_block(text, f"{block}\n{stamp}" if stamp else block, name)
    write_text(path, text)


def pages(root: Path) -> list[Path]:
    """README.md of the checkout at `root`, and all pages in docs but notes; elsewhere none."""
    docs = root / "docs"
    folders = ("measurements", "reference", "tutorials")
    inner = [path for name in folders for path in docs.glob(f"{name}/*.md")]
    return [*root.glob("README.md"), *sorted(docs.glob("*.md")), *sorted(inner)]


def page_with(root: Path, name: str) -> Path:
    """The page with the marks `name`. Raises `UserError` where none has them, or several."""
    opening = f"<!-- {name} -->"
    found = [page for page in pages(root) if opening in page.read_text(encoding="utf-8")]
    if len(found) != 1:
        raise UserError(
            f"{len(found)} of README.md and docs/*.md in {root} have {opening}, expected 1",
            hint="Only a checkout of the repository has such pages: run the command from one.",
        )
    return found[0]


def write_to_pages(root: Path, blocks: Mapping[str, str]) -> None:
    """Puts each block, by the name of its marks, into the page of the checkout that has them."""
    for name, page in [(name, page_with(root, name)) for name in blocks]:
        write_blocks(page, {name: blocks[name]})
