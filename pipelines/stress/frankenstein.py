"""Images with an object pasted into them, big enough to be seen at once (Yu et al. 2022).

The objects are drawn here: a golden crown, a beach ball, a traffic cone, a rubber duck.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from revise_captions.metrics.protocol import ImageSource

if TYPE_CHECKING:
    from PIL.Image import Image

#: Side of the object as a part of the image's shorter side.
SIZE = 0.4
_DRAWN = 400  # pixels of a side, before it is scaled
Draw = Callable[[Any], None]


def _crown(draw: Any) -> None:
    points = [(20, 330), (20, 110), (110, 220), (200, 60), (290, 220), (380, 110), (380, 330)]
    draw.polygon(points, fill="#e8b923", outline="#7a5a00", width=8)
    draw.rectangle((20, 300, 380, 350), fill="#c99700", outline="#7a5a00", width=8)
    for x, color in ((80, "#c8102e"), (200, "#1f6fd6"), (320, "#c8102e")):
        draw.ellipse((x - 20, 305, x + 20, 345), fill=color)


def _ball(draw: Any) -> None:
    colors = ("#d7263d", "#ffffff", "#1b6ca8", "#ffffff", "#f4d35e", "#ffffff")
    for k, color in enumerate(colors):
        draw.pieslice((20, 20, 380, 380), 60 * k, 60 * (k + 1), fill=color, outline="#222222")
    draw.ellipse((20, 20, 380, 380), outline="#222222", width=8)
    draw.ellipse((170, 170, 230, 230), fill="#ffffff", outline="#222222", width=6)


def _cone(draw: Any) -> None:
    draw.polygon([(200, 20), (330, 340), (70, 340)], fill="#f26a1b", outline="#7a2f00", width=8)
    draw.polygon([(160, 120), (240, 120), (272, 200), (128, 200)], fill="#ffffff")
    draw.polygon([(112, 240), (288, 240), (312, 300), (88, 300)], fill="#ffffff")
    draw.rectangle((20, 330, 380, 380), fill="#f26a1b", outline="#7a2f00", width=8)


def _duck(draw: Any) -> None:
    draw.ellipse((20, 170, 330, 370), fill="#ffd21f", outline="#8a6a00", width=8)
    draw.ellipse((200, 40, 360, 200), fill="#ffd21f", outline="#8a6a00", width=8)
    draw.polygon([(350, 100), (398, 125), (350, 150)], fill="#f26a1b", outline="#8a3a00")
    draw.ellipse((285, 85, 312, 112), fill="#111111")
    draw.chord((70, 210, 230, 330), 0, 180, fill="#f0b400", outline="#8a6a00", width=6)


OBJECTS: dict[str, Draw] = {"crown": _crown, "ball": _ball, "cone": _cone, "duck": _duck}


@dataclass(frozen=True, slots=True)
class Frankenstein:
    """An image with an object; `seed` chooses object and place."""

    source: ImageSource
    seed: int

    @property
    def key(self) -> str:
        return f"{self.source.key}#frankenstein:{self.seed}"

    def load(self) -> Image:
        """See `ImageSource`."""
        from PIL import Image as pillow
        from PIL import ImageDraw

        image = self.source.load().copy()
        rng = random.Random(self.seed)
        side = max(1, round(SIZE * min(image.size)))
        drawn = pillow.new("RGBA", (_DRAWN, _DRAWN))
        OBJECTS[rng.choice(sorted(OBJECTS))](ImageDraw.Draw(drawn))
        scaled = drawn.resize((side, side), pillow.Resampling.LANCZOS)
        place = rng.randint(0, image.width - side), rng.randint(0, image.height - side)
        image.paste(scaled, place, scaled)
        return image
