"""A picture of a caption before and after, as SVG that needs nothing beside it."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from html import escape
from pathlib import Path
from typing import Any

#: Of the drawing, its picture, and its lines of text, in pixels.
WIDTH, SIDE, LINE, MARGIN = 720, 200, 28, 20
#: Characters in a line, at 19 pixels a character's height.
COLUMNS = 46
_STYLE = {
    "": "#1f2328",
    "out": "#b3261e",
    "in": "#0b6b3a",
    "label": "#57606a",
}


def before_after(row: Mapping[str, Any], image: Path) -> str:
    """The SVG.

    Args:
        row: A row of a run's output.
        image: Its picture, a PNG.
    """
    before, after = _words(row["caption"], row["revised_caption"])
    lines = [("before", before), ("after", after)]
    parts, top = [], MARGIN + 20
    for label, words in lines:
        parts.append(_text(top, [(label, "label")], 15))
        for line in _wrapped(words):
            top += LINE
            parts.append(_text(top, line, 19))
        top += LINE + 14
    height = max(SIDE + 2 * MARGIN, top)
    data = base64.b64encode(image.read_bytes()).decode()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'font-family="system-ui, sans-serif">\n'
        f'<rect width="{WIDTH}" height="{height}" rx="10" fill="#ffffff" stroke="#d0d7de"/>\n'
        f'<image x="{MARGIN}" y="{MARGIN}" width="{SIDE}" height="{SIDE}" '
        f'href="data:image/png;base64,{data}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _words(before: str, after: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The words of both texts, each with its style."""
    old, new = (re.findall(r"\S+", text) for text in (before, after))
    left: list[tuple[str, str]] = []
    right: list[tuple[str, str]] = []
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        same = tag == "equal"
        left += [(word, "" if same else "out") for word in old[i:j]]
        right += [(word, "" if same else "in") for word in new[k:m]]
    return left, right


def _wrapped(words: list[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    line: list[tuple[str, str]] = []
    length = 0
    for word, style in words:
        if line and length + len(word) + 1 > COLUMNS:
            yield line
            line, length = [], 0
        line.append((word, style))
        length += len(word) + 1
    if line:
        yield line


def _text(y: int, words: list[tuple[str, str]], size: int) -> str:
    spans = []
    for word, style in words:
        more = ' font-weight="600"' if style in ("in", "out") else ""
        more += ' text-decoration="line-through"' if style == "out" else ""
        spans.append(f'<tspan fill="{_STYLE[style]}"{more}>{escape(word)}</tspan>')
    return f'<text x="{SIDE + 2 * MARGIN}" y="{y}" font-size="{size}">{" ".join(spans)}</text>'
