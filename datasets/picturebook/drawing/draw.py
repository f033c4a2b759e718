"""Draws a scene as a picture-book illustration, with Pillow alone."""

from __future__ import annotations

from functools import cache

import numpy as np
from PIL import Image, ImageChops, ImageDraw

from revise_captions.picturebook.drawing.pen import Pen, style_of
from revise_captions.picturebook.drawing.scenery import (
    gradient,
    rain,
    scenery,
    sky_colors,
)
from revise_captions.picturebook.drawing.things import DRAWERS
from revise_captions.picturebook.world.scene import Scene

#: Drawn at this multiple of the size and averaged down, which softens every edge.
OVERSAMPLING = 2


def draw(scene: Scene, size: int = 384) -> Image.Image:
    """Draws a scene.

    Args:
        scene: What is true.
        size: Width and height in pixels.

    Returns:
        An RGB image; the same scene gives the same bytes.
    """
    pixels = size * OVERSAMPLING
    style = style_of(scene.style)
    rng = style.rng("sky")
    image = gradient(pixels, *sky_colors(scene, rng.randrange(6)), 0.56)
    pen = Pen(
        draw=ImageDraw.Draw(image),
        veil=ImageDraw.Draw(image, "RGBA"),
        pixels=pixels,
        style=style,
        night=scene.time == "night" and scene.setting != "room",
        dull=scene.weather != "clear",
        indoors=scene.setting == "room",
    )
    scenery(pen, scene)
    for thing in sorted(scene.things, key=lambda thing: thing.depth):
        DRAWERS[thing.kind](pen.of(thing), thing)
    if scene.weather == "rainy":
        rain(pen, scene, 24)
    image = image.reduce(OVERSAMPLING)
    return ImageChops.multiply(image, _paper(size, style.grain)) if style.grain else image


@cache
def _paper(size: int, grain: int) -> Image.Image:
    """Paper of three roughnesses: a bright image to multiply a picture with."""
    noise = np.random.default_rng(grain).normal(0.0, 1.0, (size, size))
    noise = (noise + np.roll(noise, 1, 0) + np.roll(noise, 1, 1)) / 1.7
    values = np.clip(251 - grain * (2.0 + 1.2 * noise), 200, 255).astype(np.uint8)
    warm = np.stack([values, values, np.clip(values - grain * 2.0, 0, 255).astype(np.uint8)], 2)
    return Image.fromarray(warm.astype(np.uint8))
