"""Images that are no pictures of the training world: what the domain gate learns to refuse.

All are made by programs, from a seed; none is, or derives from, anybody's photograph or drawing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection

from PIL import Image

from scripts.research.domain_gate.ood_generators.altered import ALTERED
from scripts.research.domain_gate.ood_generators.pages import PAGES
from scripts.research.domain_gate.ood_generators.scenes import SCENES
from scripts.research.domain_gate.ood_generators.textures import TEXTURES

Family = Callable[[random.Random], Image.Image]

FAMILIES: dict[str, Family] = {**SCENES, **TEXTURES, **PAGES, **ALTERED}
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
