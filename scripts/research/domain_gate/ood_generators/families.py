"""Images that are no pictures of the training world: what the domain gate learns to refuse.

All are made by programs, from a seed; none is, or derives from, anybody's photograph or drawing.

    python -m scripts.research.domain_gate.ood_generators.families OUT.png

writes a contact sheet, one family a row.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from pathlib import Path

import click
from PIL import Image

from scripts.research.domain_gate.ood_generators.altered import ALTERED
from scripts.research.domain_gate.ood_generators.pages import PAGES
from scripts.research.domain_gate.ood_generators.scenes import SCENES
from scripts.research.domain_gate.ood_generators.textures import TEXTURES

Family = Callable[[random.Random], Image.Image]

#: Families by kind; the kinds are what is left out in turn when generalisation is measured.
KINDS: dict[str, dict[str, Family]] = {
    "drawings": SCENES,
    "textures": TEXTURES,
    "pages": PAGES,
    "altered": ALTERED,
}
FAMILIES: dict[str, Family] = {name: f for kind in KINDS.values() for name, f in kind.items()}
#: How often a family is drawn, 1 where not named: the nearer the picture-book, the more often.
WEIGHTS = {"scene": 5.0, "plain scene": 5.0, "room": 3.0, "portrait": 2.0, "icon": 2.0,
           "foreign things": 4.0, "foreign scenery": 4.0, "toned": 2.0,
           "collage": 2.0, "landscape": 2.0, "lit things": 2.0, "chart": 2.0}  # fmt: skip


def family_of(seed: int, without: Collection[str] = ()) -> str:
    """The family of outlier number `seed`, never one of `without`."""
    names = [name for name in FAMILIES if name not in without]
    rng = random.Random(f"outlier.family.{seed}")
    return rng.choices(names, [WEIGHTS.get(name, 1.0) for name in names])[0]


def outlier(seed: int, family: str) -> Image.Image:
    """Image number `seed` of a family, RGB, of any size. Raises KeyError for an unknown family."""
    return FAMILIES[family](random.Random(f"outlier.{family}.{seed}"))


@click.command(help="Draws a contact sheet of every family to OUT.")
@click.argument("out", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--across", default=10, show_default=True, help="Images of a family.")
@click.option("--first", default=0, show_default=True, help="Number of the first.")
def main(out: Path, across: int, first: int) -> None:
    cell = 96
    sheet = Image.new("RGB", (across * cell, len(FAMILIES) * cell))
    for row, family in enumerate(FAMILIES):
        for column in range(across):
            image = outlier(first + column, family).resize((cell - 2, cell - 2))
            sheet.paste(image, (column * cell, row * cell))
    sheet.save(out)


if __name__ == "__main__":
    main()
