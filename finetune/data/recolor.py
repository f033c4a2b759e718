"""Images in other colours, so that a thing is known by its shape in colours it never had.

A critic that saw red signs and yellow signs and never a white one takes a white one for something
else. An image with its hues turned, its colours weakened, its lights raised, or with some of its
colours replaced, still shows the same things in the same places: sentences that name no colour stay
as true or false as they were, and those alone are asked about it.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from revise_captions.critic.paligemma.image_prefetch import Pixels
from revise_captions.finetune.data.records import TrainingExample

Floats = NDArray[np.float32]
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
#: Share of recoloured images of which some colours are replaced; of the others all are turned.
REPLACED = 0.6
#: Share of turned images that are grey, and of replaced colours that become black or white.
GREY, BLACK_OR_WHITE = 0.3, 0.6
#: Distance in YIQ (luma counts half) at which a colour is another one; the share of an image from
#: which on a colour is the background's; of how many pixels the first that is not is taken.
ALIKE, BACKGROUND, TRIES = 0.3, 0.12, 24
#: Luma weights (ITU-R BT.601), and two axes of chroma (YIQ) in RGB.
_LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)
_TO_YIQ = np.array([_LUMA, [0.596, -0.274, -0.322], [0.211, -0.523, 0.312]], dtype=np.float32)
_TO_RGB = np.linalg.inv(_TO_YIQ)


def names_colour(text: str) -> bool:
    return not COLOUR_WORDS.isdisjoint(_WORD.findall(text.lower()))


def colourless(example: TrainingExample) -> tuple[tuple[int, ...], tuple[int, ...]]:
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
    """uint8 (height, width, 3): all colours turned together, or some of them replaced."""
    rng = np.random.default_rng(seed)
    colours = np.divide(image, 255, dtype=np.float32)
    found = replaced(colours, rng) if rng.random() < REPLACED else turned(colours, rng)
    return np.asarray((found.clip(0, 1) * 255).round(), dtype=np.uint8)


def turned(colours: Floats, rng: np.random.Generator) -> Floats:
    """Hues turned, chroma scaled (often to grey), lights raised; RGB in [0, 1]."""
    turn, lift = rng.uniform(0, 2 * np.pi), rng.uniform(0.5, 1.0) if rng.random() < 0.6 else 1.0
    strength = 0.0 if rng.random() < GREY else rng.uniform(0.2, 1.2)
    cos, sin = strength * np.cos(turn), strength * np.sin(turn)
    rotate = np.array([[1, 0, 0], [0, cos, -sin], [0, sin, cos]], dtype=np.float32)
    matrix = (_TO_RGB @ rotate @ _TO_YIQ).astype(np.float32)
    made = (colours @ matrix.T).clip(0, 1)
    return np.asarray(1 - (1 - made) * lift, dtype=np.float32)


def replaced(colours: Floats, rng: np.random.Generator) -> Floats:
    """Two to five colours of things become others, black and white often; shades stay; RGB.

    Whatever has about the colour of a pixel drawn at random changes by one step, less the less it
    resembles it. Colours of a large part of the image are its background's, and are not drawn.
    """
    made, yiq = colours.copy(), colours @ _TO_YIQ.T
    coarse = yiq[::4, ::4].reshape(-1, 3)
    for _ in range(int(rng.integers(2, 6))):
        tried = coarse[rng.integers(len(coarse), size=TRIES)]
        share = _alike(coarse[:, None] - tried).mean(0)
        own = tried[int(np.argmax(share < BACKGROUND))]
        wanted = _TO_YIQ @ rng.uniform(0, 1, 3)
        if rng.random() < BLACK_OR_WHITE:
            wanted = np.array([rng.choice((rng.uniform(0, 0.25), rng.uniform(0.8, 1))), 0, 0])
        if (share < BACKGROUND).any():
            made += _alike(yiq - own)[..., None] * (_TO_RGB @ (wanted - own)).astype(np.float32)
    return made


def _alike(apart: Floats) -> Floats:
    """How much of one colour two are, in [0, 1], from their difference in YIQ (…, 3)."""
    distance = np.abs(apart[..., 0]) / 2 + np.sqrt(apart[..., 1] ** 2 + apart[..., 2] ** 2)
    return np.asarray((2 - 2 * distance / ALIKE).clip(0, 1), dtype=np.float32)
