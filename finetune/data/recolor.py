"""Color augmentation, so that things are recognized by shape in colors never seen on them.

A critic trained on red and yellow signs mistakes a white one for something else. Rotating hues,
scaling chroma, raising lights or replacing some colors does not change the label of a sentence that
names no color, so only such sentences are asked about a recolored image. A slight shift of all
hues, like a wrong white balance, leaves even color names right, so then every question is asked.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from revise_captions.critic.paligemma.image_prefetch import Pixels
from revise_captions.finetune.data.records import TrainingExample

Floats = NDArray[np.float32]
COLOR_WORDS = frozenset((
    "red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "white", "black",
    "grey", "gray", "violet", "turquoise", "cyan", "magenta", "beige", "cream", "golden",
    "gold", "silver", "colour", "color", "colours", "colors", "colourful", "colorful",
    "coloured", "colored", "dark", "bright", "pale", "blond", "blonde",
))  # fmt: skip
_WORD = re.compile(r"[a-z]+")
#: Share of recolored images with some colors replaced; the others have all hues rotated.
REPLACED = 0.6
#: Share of rotated images that become gray, and of replaced colors that become black or white.
GRAY, BLACK_OR_WHITE = 0.3, 0.6
#: Largest "slight" shift of hues, as a share of the color circle: 22 degrees.
SLIGHT = 22 / 360
#: Distance in YIQ (luma counts half) at which two colors differ; share of the image above which a
#: color is background; pixels to draw until one is not background.
ALIKE, BACKGROUND, TRIES = 0.3, 0.12, 24
#: Luma weights (ITU-R BT.601), and two axes of chroma (YIQ) in RGB.
_LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)
_TO_YIQ = np.array([_LUMA, [0.596, -0.274, -0.322], [0.211, -0.523, 0.312]], dtype=np.float32)
_TO_RGB = np.linalg.inv(_TO_YIQ)


def names_color(text: str) -> bool:
    return not COLOR_WORDS.isdisjoint(_WORD.findall(text.lower()))


def colorless(example: TrainingExample) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Indices of the sentences and auxiliary sentences that name no color, nor do their rewrites.

    Sentences must be known to need no context, as that may refer to things by color; auxiliary
    ones must come first.
    """
    sentences = tuple(
        i
        for i, s in enumerate(example.sentences)
        if s.stands_alone and not names_color(s.span.of(example.caption) + " " + s.rewrite)
    )
    auxiliary_sentences = tuple(
        i
        for i, a in enumerate(example.auxiliary_sentences)
        if not a.after and not names_color(f"{a.text} {a.rewrite}")
    )
    return sentences, auxiliary_sentences


def recolored(image: Pixels, seed: int) -> Pixels:
    """uint8 (height, width, 3): all hues rotated together, or some colors replaced.

    A negative seed stands for a slight shift (`shifted_hues`).
    """
    if seed < 0:
        return shifted_hues(image, np.random.default_rng(-seed).uniform(-SLIGHT, SLIGHT))
    rng = np.random.default_rng(seed)
    colors = np.divide(image, 255, dtype=np.float32)
    found = replaced_colors(colors, rng) if rng.random() < REPLACED else rotated_hues(colors, rng)
    return np.asarray((found.clip(0, 1) * 255).round(), dtype=np.uint8)


def shifted_hues(image: Pixels, turn: float) -> Pixels:
    """All hues shifted along the color circle (HSV), of which `turn` is a share; uint8 RGB."""
    from PIL import Image as pillow

    hsv = np.array(pillow.fromarray(image).convert("HSV"))
    hsv[..., 0] += np.uint8(round(turn * 256) % 256)
    return np.asarray(pillow.fromarray(hsv, "HSV").convert("RGB"), dtype=np.uint8)


def rotated_hues(colors: Floats, rng: np.random.Generator) -> Floats:
    """Hues rotated, chroma scaled (often to gray), lights raised; RGB in [0, 1]."""
    turn, lift = rng.uniform(0, 2 * np.pi), rng.uniform(0.5, 1.0) if rng.random() < 0.6 else 1.0
    strength = 0.0 if rng.random() < GRAY else rng.uniform(0.2, 1.2)
    cos, sin = strength * np.cos(turn), strength * np.sin(turn)
    rotate = np.array([[1, 0, 0], [0, cos, -sin], [0, sin, cos]], dtype=np.float32)
    matrix = (_TO_RGB @ rotate @ _TO_YIQ).astype(np.float32)
    made = (colors @ matrix.T).clip(0, 1)
    return np.asarray(1 - (1 - made) * lift, dtype=np.float32)


def replaced_colors(colors: Floats, rng: np.random.Generator) -> Floats:
    """Two to five colors of things replaced, often by black or white, keeping shading; RGB.

    Each time, the color of a random foreground pixel is shifted, along with all similar pixels in
    proportion to their similarity.
    """
    made, yiq = colors.copy(), colors @ _TO_YIQ.T
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
    """Similarity of two colors in [0, 1] from their difference in YIQ (…, 3)."""
    distance = np.abs(apart[..., 0]) / 2 + np.sqrt(apart[..., 1] ** 2 + apart[..., 2] ** 2)
    return np.asarray((2 - 2 * distance / ALIKE).clip(0, 1), dtype=np.float32)
