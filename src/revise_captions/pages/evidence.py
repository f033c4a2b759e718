"""Where the image shows what is wrong: the boxes that a sentence's fixes go by, outlined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from revise_captions.io.decoding import full_size
from revise_captions.records import Box

#: Seen beside any color of a mark, on its white rim.
_INK, _RIM = "#c2185b", "white"


def boxes_of(sentence: Mapping[str, Any]) -> list[Box]:
    """The boxes of a sentence of a row's `revision`, each once, in the order of its fixes."""
    every = (one["box"] for fix in sentence["fixes"] for one in fix["evidence"])
    return list(dict.fromkeys((box[0], box[1], box[2], box[3]) for box in every))


def outlined(image: Image.Image, notes: Sequence[tuple[int, Sequence[Box]]]) -> Image.Image:
    """A copy of the image with boxes outlined, each with the number of its note.

    Args:
        image: Of any size; the boxes are in pixels of the image that it was reduced from.
        notes: Numbers, and the boxes of each.

    Returns:
        The image itself where there is nothing to outline.
    """
    if not notes:
        return image
    full = full_size(image)
    drawn = image.convert("RGB")
    pen = ImageDraw.Draw(drawn)
    scale = drawn.width / full[0], drawn.height / full[1]
    size = max(11, drawn.height // 28)
    for number, box in ((number, box) for number, boxes in notes for box in boxes):
        left, top, right, bottom = (
            round(side * scale[k % 2]) + (-3 if k < 2 else 3) for k, side in enumerate(box)
        )
        pen.rectangle((left - 1, top - 1, right + 1, bottom + 1), outline=_RIM, width=4)
        pen.rectangle((left, top, right, bottom), outline=_INK, width=2)
        font = ImageFont.load_default(size)
        width = pen.textlength(str(number), font)
        # inside, at the mark's left end: beside it there are its label and its value
        corner = (max(0, left - 2), max(0, min(bottom - size - 4, drawn.height - size - 4)))
        room = (*corner, corner[0] + width + 6, corner[1] + size + 4)
        pen.rectangle(room, fill=_INK, outline=_RIM)
        pen.text((corner[0] + 3, corner[1] + 1), str(number), fill=_RIM, font=font)
    return drawn
