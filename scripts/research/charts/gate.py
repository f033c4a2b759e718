"""How well the gate tells charts from photographs, other pictures and picture-book scenes.

    python -m scripts.research.charts.gate ../shared/data [--each]

Thresholds were chosen on the other half of each collection (`tuning_half`).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from revise_captions.charts.gate import is_chart, may_be_chart
from revise_captions.charts.ocr import text_lines
from revise_captions.errors import BadRecord
from revise_captions.io.images import load_image
from revise_captions.picturebook.drawing.draw import draw
from revise_captions.picturebook.world.sample import sample_scene
from revise_captions.records import ImageRef

_SUFFIXES = {".png", ".jpg", ".jpeg", ".gif", ".webp"}
#: Collections and whether their images are charts.
COLLECTIONS = {"chocolate": True, "flickr8k_expert": False, "contextual_descriptions": False}


def tuning_half(image: str) -> bool:
    """Whether thresholds were chosen with an image in sight."""
    return int(hashlib.sha256(image.encode()).hexdigest(), 16) % 2 == 0


def images(folder: Path, most: int) -> Iterator[tuple[str, NDArray[np.uint8]]]:
    """Reporting images of a collection, by name, at most so many, in an order of their hashes."""
    found = [path for path in folder.rglob("*") if path.suffix.lower() in _SUFFIXES]
    found = [path for path in found if not tuning_half(path.name)]
    found.sort(key=lambda path: hashlib.sha256(path.name.encode()).digest())
    for path in found[:most]:
        try:
            yield path.name, np.asarray(load_image(ImageRef(path=str(path))))
        except BadRecord:
            continue


def scenes(most: int) -> Iterator[tuple[str, NDArray[np.uint8]]]:
    """Picture-book scenes that trained nothing."""
    for number in range(most):
        yield f"scene {number}", np.asarray(draw(sample_scene(number, "test")).convert("RGB"))


@click.command()
@click.argument("data", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--most", default=300, help="Images of each collection.")
@click.option("--each", is_flag=True, help="Also name the images that are told wrong.")
def main(data: Path, most: int, each: bool) -> None:
    """Print what the gate says of the images in DATA's collections and of drawn scenes."""
    print("| images | number | charts at first look | charts | wrong | ms of first look |")
    print("| --- | --- | --- | --- | --- | --- |")
    sources = {name: (images(data / name, most), chart) for name, chart in COLLECTIONS.items()}
    for name, (source, chart) in {**sources, "picture book": (scenes(most), False)}.items():
        number = first = second = 0
        wrong, spent = [], 0.0
        for image, pixels in source:
            start = time.process_time()
            maybe = may_be_chart(pixels)
            spent += time.process_time() - start
            found = maybe and is_chart(pixels, text_lines(pixels))
            number, first, second = number + 1, first + maybe, second + found
            wrong += [image] if found != chart else []
        share = f"{len(wrong) / number:.1%}"
        print(f"| {name} | {number} | {first} | {second} | {share} | {1000 * spent / number:.0f} |")
        if each:
            print("\n".join(wrong))


if __name__ == "__main__":
    main()
