"""Images in other colours, so that a thing is known by its shape in colours it never had.

A critic that saw red signs and yellow signs and never a white one takes a white one for something
else. An image with its hues turned, its colours weakened or its lights raised still shows the same
things in the same places: sentences that name no colour stay as true or false as they were, and
those alone are asked about it.
"""

from __future__ import annotations

import re

import numpy as np

from revise_captions.critic.pixels import Pixels
from revise_captions.finetune.data import Example

COLOUR_WORDS = frozenset(
    [
        "red",
        "orange",
        "yellow",
        "green",
        "blue",
        "purple",
        "pink",
        "brown",
        "white",
        "black",
        "grey",
        "gray",
        "violet",
        "turquoise",
        "cyan",
        "magenta",
        "beige",
        "cream",
        "golden",
        "gold",
        "silver",
        "colour",
        "color",
        "colours",
        "colors",
        "colourful",
        "colorful",
        "coloured",
        "colored",
        "dark",
        "bright",
        "pale",
        "blond",
        "blonde",
    ]
)
_WORD = re.compile(r"[a-z]+")
#: Share of recoloured images that are grey.
GREY = 0.3
#: Luma weights (ITU-R BT.601), and two axes of chroma (YIQ) in RGB.
_LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)
_TO_YIQ = np.array([_LUMA, [0.596, -0.274, -0.322], [0.211, -0.523, 0.312]], dtype=np.float32)


def names_colour(text: str) -> bool:
    return not COLOUR_WORDS.isdisjoint(_WORD.findall(text.lower()))


def colourless(example: Example) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Indices of the sentences and of the asides that name no colour, nor do their rewrites.

    Of the sentences, only those that are known to need no context: it may name things by colour.
    """
    sentences = tuple(
        i
        for i, s in enumerate(example.sentences)
        if s.stands_alone and not names_colour(s.span.of(example.caption) + " " + s.rewrite)
    )
    asides = tuple(
        i for i, a in enumerate(example.asides) if not names_colour(f"{a.text} {a.rewrite}")
    )
    return sentences, asides


def recoloured(image: Pixels, seed: int) -> Pixels:
    """uint8 (height, width, 3), hues turned, chroma scaled (often to grey), lights raised."""
    rng = np.random.default_rng(seed)
    turn, lift = rng.uniform(0, 2 * np.pi), rng.uniform(0.5, 1.0) if rng.random() < 0.6 else 1.0
    strength = 0.0 if rng.random() < GREY else rng.uniform(0.2, 1.2)
    cos, sin = strength * np.cos(turn), strength * np.sin(turn)
    rotate = np.array([[1, 0, 0], [0, cos, -sin], [0, sin, cos]], dtype=np.float32)
    matrix = (np.linalg.inv(_TO_YIQ) @ rotate @ _TO_YIQ).astype(np.float32)
    turned = (image.astype(np.float32) / 255 @ matrix.T).clip(0, 1)
    raised = 1 - (1 - turned) * lift
    return np.asarray((raised * 255).round(), dtype=np.uint8)
