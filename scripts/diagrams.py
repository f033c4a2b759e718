"""Draws the diagrams of the pages from one source, `scripts/diagrams.toml`.

python -m scripts.diagrams           # which pictures differ from the source; status 1 where some do
python -m scripts.diagrams --write   # draw them

Boxes stand on a grid and neighbors are joined, so that a drawing needs no layout program; colors
follow the reader's light or dark setting.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from revise_captions.io.writing import write_text

ROOT = Path(__file__).parents[1]
SOURCE = Path(__file__).with_suffix(".toml")
FOLDER = ROOT / "docs" / "images"
#: Of a box, of the gaps between boxes, and around all, in pixels.
WIDTH, HEIGHT, ACROSS, DOWN, MARGIN = 168, 62, 58, 46, 16
_STYLE = """
text { font: 15px system-ui, sans-serif; fill: #1f2328; text-anchor: middle }
.note { font-size: 12px; fill: #57606a } .said { font-size: 12px; fill: #57606a }
rect { fill: #f6f8fa; stroke: #d0d7de } .model { fill: #ddf4ff; stroke: #54aeff }
.data { fill: #fff8c5; stroke: #d4a72c } path { stroke: #57606a; fill: none; stroke-width: 1.5 }
marker path { fill: #57606a; stroke: none }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .note, .said { fill: #9da7b1 } rect { fill: #161b22; stroke: #3d444d }
.model { fill: #0c2d6b; stroke: #388bfd } .data { fill: #3b2e04; stroke: #bb8009 }
path { stroke: #9da7b1 } marker path { fill: #9da7b1 }
}
"""


def drawing(alt: str, boxes: Sequence[Mapping[str, Any]], arrows: Sequence[Sequence[str]]) -> str:
    """An SVG that needs nothing beside it.

    Args:
        alt: What is seen, for those who do not see it.
        boxes: Each with `id`, `at` (column and row), `text`, and perhaps `note` and `kind`.
        arrows: From which box to which neighbor, and what is said beside.

    Raises:
        ValueError: An arrow joins boxes that are no neighbors.
    """
    places = {box["id"]: tuple(box["at"]) for box in boxes}
    columns = 1 + max(column for column, _ in places.values())
    rows = 1 + max(row for _, row in places.values())
    width = 2 * MARGIN + columns * WIDTH + (columns - 1) * ACROSS
    height = 2 * MARGIN + rows * HEIGHT + (rows - 1) * DOWN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(alt)}">\n<style>{_STYLE}</style>\n<defs><marker id="head" '
        'viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z"/></marker></defs>'
    ]
    parts += (_box(box) for box in boxes)
    parts += (_arrow(places[start], places[end], said) for start, end, said in arrows)
    return "\n".join([*parts, "</svg>\n"])


def _corner(place: tuple[int, int]) -> tuple[int, int]:
    return MARGIN + place[0] * (WIDTH + ACROSS), MARGIN + place[1] * (HEIGHT + DOWN)


def _box(box: Mapping[str, Any]) -> str:
    x, y = _corner(tuple(box["at"]))
    kind = f' class="{box["kind"]}"' if "kind" in box else ""
    middle = x + WIDTH // 2
    found = f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="8"{kind}/>'
    found += f'<text x="{middle}" y="{y + 27}">{escape(box["text"])}</text>'
    return found + f'<text x="{middle}" y="{y + 47}" class="note">{escape(box["note"])}</text>'


def _arrow(start: tuple[int, int], end: tuple[int, int], said: str) -> str:
    """From the middle of one box's side to that of its neighbor's."""
    across, down = end[0] - start[0], end[1] - start[1]
    if abs(across) + abs(down) != 1:
        raise ValueError(f"no neighbors: {start} and {end}")
    (x, y), half, tall = _corner(start), WIDTH // 2, HEIGHT // 2
    x, y = x + half + across * half, y + tall + down * tall
    to_x, to_y = x + across * (ACROSS - 4), y + down * (DOWN - 4)
    found = f'<path d="M{x} {y}L{to_x} {to_y}" marker-end="url(#head)"/>'
    if said:
        beside = (to_x + x) // 2, (to_y + y) // 2
        place = (beside[0], beside[1] - 8) if across else (beside[0] + 34, beside[1] + 4)
        found += f'<text x="{place[0]}" y="{place[1]}" class="said">{escape(said)}</text>'
    return found


def drawings() -> dict[Path, str]:
    """Every picture of the source, by its file."""
    source = tomllib.loads(SOURCE.read_text(encoding="utf-8"))
    return {FOLDER / f"diagram-{name}.svg": drawing(**own) for name, own in source.items()}


def main() -> int:
    differ = {path: svg for path, svg in drawings().items()
              if not path.is_file() or path.read_text("utf-8") != svg}  # fmt: skip
    for path, svg in differ.items():
        print(path.relative_to(ROOT))
        if "--write" in sys.argv[1:]:
            write_text(path, svg)
    return int(bool(differ) and "--write" not in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
