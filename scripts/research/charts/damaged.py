"""How many damaged charts are told from whole ones by their pixels.

    python -m scripts.research.charts.damaged DIR [--write]

DIR is CHOCOLATE as published, of whose development half the images are: all as they are, and every
sixteenth cut in halves, in two colors, dithered, or photographed from a screen. What is read off
those that pass for whole is not looked at: many are unreadable anyway.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path

import click
import numpy as np
from PIL import Image

from revise_captions.benchmarks.readers.chocolate import read
from revise_captions.charts.damage import damage, is_dithered
from scripts.research.chart_critic.halves import is_development
from scripts.research.frame.blocks import write_to_pages
from scripts.research.frame.figures import counted_share
from scripts.research.frame.report import ROOT, write_option

#: Of so many images one is damaged.
STEP = 16


Damage = Callable[[Image.Image], Image.Image]
Corners = tuple[tuple[float, float], ...]


def _part(left: float, top: float, right: float, bottom: float) -> Damage:
    def cut(image: Image.Image) -> Image.Image:
        wide, high = image.size
        return image.crop(
            (int(left * wide), int(top * high), int(right * wide), int(bottom * high))
        )

    return cut


def _in_eight(image: Image.Image) -> Image.Image:
    """In black, white, and six full colors, dithered as Floyd and Steinberg do."""
    palette = Image.new("P", (1, 1))
    colors = [part for color in product((0, 255), repeat=3) for part in color]
    palette.putpalette(colors + [0] * (768 - len(colors)))
    return image.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG)


#: Where the corners of what is seen lie beside those of the chart, from the upper left one down and
#: around: beyond it, so that the wall is seen, or within it.
_AWAY = ((-0.6, -0.5), (-1.0, 0.7), (0.8, -0.3), (-0.3, 1.0))
_CLOSE = ((0.1, 0.0), (0.3, -0.6), (-0.2, -0.1), (-0.5, 0.4))
_CORNERS = ((0, 0), (0, 1), (1, 1), (1, 0))


def _photographed(aslant: float, uneven: float, corners: Corners = _AWAY) -> Damage:
    """Taken from a screen on a gray wall, with little noise and losses.

    Args:
        aslant: How much of the chart's sides the corners are off by.
        uneven: By which one side is darker.
        corners: `_AWAY` or `_CLOSE`.
    """

    def taken(image: Image.Image) -> Image.Image:
        wide, high = image.size
        quad = tuple(
            side * (end + aslant * off)
            for place, offs in zip(_CORNERS, corners, strict=True)
            for side, end, off in zip((wide, high), place, offs, strict=True)
        )
        way = Image.Transform.QUAD, quad, Image.Resampling.BICUBIC
        seen = np.asarray(image.transform(image.size, *way, fillcolor="#786e64"), dtype=float)
        light = np.linspace(1 - uneven, 1, wide)[None, :, None]
        noise = np.random.default_rng(0).normal(0, 2, seen.shape)
        stream = io.BytesIO()
        pixels = (seen * light + noise).clip(0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(stream, "JPEG", quality=75)
        return Image.open(stream).convert("RGB")

    return taken


#: What is done to a chart.
DAMAGES: Mapping[str, Damage] = {
    "left half": _part(0, 0, 0.5, 1),
    "right half": _part(0.5, 0, 1, 1),
    "upper half": _part(0, 0, 1, 0.5),
    "lower half": _part(0, 0.5, 1, 1),
    "black and white, dithered": lambda image: image.convert("1"),
    "black and white": lambda image: image.convert("L").point(lambda value: 255 * (value > 127)),
    "eight full colors, dithered": _in_eight,
    "the eight best colors, dithered": lambda image: image.quantize(
        8, dither=Image.Dither.FLOYDSTEINBERG
    ),
    "photographed aslant": _photographed(0.08, 0.25),
    "photographed aslant, in even light": _photographed(0.03, 0.04),
    "photographed aslant and from nearby": _photographed(0.08, 0.25, _CLOSE),
    "photographed aslant and from nearby, in even light": _photographed(0.04, 0.04, _CLOSE),
    "photographed from the front": _photographed(0, 0.25),
    "photographed from the front, in even light": _photographed(0, 0.04),
}


def is_told(image: Image.Image) -> bool:
    """Whether an image is said to be damaged."""
    pixels = np.asarray(image.convert("RGB"))
    return bool(damage(pixels)) or is_dithered(pixels)


@click.command()
@click.argument("data", type=click.Path(path_type=Path, exists=True, file_okay=False))
@write_option
def main(data: Path, write: bool) -> None:
    """Print which are told, as they are and damaged."""
    names = {str(one.record.image.path) for one in read(data.resolve())}
    images = sorted(name for name in names if is_development(Path(name).name))
    whole = [is_told(Image.open(name)) for name in images]
    lines = ["| images | said to be damaged (95 %, exact) |", "| --- | --- |"]
    lines.append(f"| as they are | {counted_share(sum(whole), len(whole))} |")
    some = [Image.open(name).convert("RGB") for name in images[::STEP]]
    for name, damaged in DAMAGES.items():
        told = [is_told(damaged(image)) for image in some]
        lines.append(f"| {name} | {counted_share(sum(told), len(told))} |")
    print("\n".join(lines))
    if write:
        write_to_pages(ROOT, {"damaged": "\n".join(lines)})


if __name__ == "__main__":
    main()
