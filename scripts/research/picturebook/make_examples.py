"""Writes the demo's input: pictures with captions as simulated captioners write them.

    python -m scripts.research.picturebook.make_examples datasets/picturebook/examples

Scenes of the two test splits, chosen by eye. After them come two drawings that are no picture-book
scenes (the critic should refuse them) and one file cut short (the run should set it aside). The
command prints how many sentences each captioner got right, by the oracle.
"""

from __future__ import annotations

import io
import json
import random
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import click
import numpy as np
from PIL import Image, ImageDraw

from revise_captions.command_line.printing import echo
from revise_captions.io.writing import write_text
from revise_captions.picturebook.captioners import (
    CAPTIONERS,
    Captioner,
    sentence_count,
)
from revise_captions.picturebook.drawing.draw import draw
from revise_captions.picturebook.language.captions import Caption, caption
from revise_captions.picturebook.oracle.truth import Truth
from revise_captions.picturebook.world.sample import sample_scene

SIZE = 384
TEST = (9, 31, 6, 12, 46, 17, 22, 76, 80, 99, 21, 40, 64, 50, 89, 73, 98)
COMPOSITIONAL = (13, 25, 1, 41, 24, 4, 36)
#: Captioners in turn: two weak ones twice as often as one in the middle and a strong one.
TURNS = ("minigpt-4", "llava-1.5", "molmo", "minigpt-4", "llava-1.5", "gpt-4o")
CHART = (
    "The bar chart shows the rainfall of four seasons. Winter is the wettest of them. "
    "The bar of summer is green."
)
PHOTOGRAPH = "The sun sets behind a foggy field. Two people walk along the path. The air is cold."
CUT_SHORT = "A dog runs after a ball. The sky is clear."


def scenes() -> Iterator[tuple[str, int]]:
    """Split and number of each example, the compositional ones spread among the others."""
    more = iter(COMPOSITIONAL)
    for place, number in enumerate(TEST):
        yield "test", number
        if place % 2 and (extra := next(more, None)) is not None:
            yield "compositional", extra
    yield from (("compositional", number) for number in more)


def written(split: str, number: int, name: str) -> Caption:
    """The first typical caption of a scene by the captioner `name`."""
    captioner = next(c for c in CAPTIONERS if c.name == name)
    tries = (_try(split, number, captioner, attempt) for attempt in count())
    return next(found for found in tries if _typical(found, captioner))


def _try(split: str, number: int, captioner: Captioner, attempt: int) -> Caption:
    rng = random.Random(f"example.{split}.{number}.{attempt}")
    return caption(
        sample_scene(number, split),
        rng,
        error_rate=captioner.error_rate,
        error_weights=captioner.errors,
        sentences=sentence_count(captioner, rng),
    )


def _typical(found: Caption, captioner: Captioner) -> bool:
    """At least three sentences, less than one away from the captioner's share of wrong ones."""
    total = len(found.sentences)
    wrong = sum(sentence.truth is Truth.FALSE for sentence in found.sentences)
    return total >= 3 and abs(wrong - captioner.error_rate * total) < 1


def encoded(picture: Image.Image) -> bytes:
    """PNG with 256 colors: a quarter of the size, no color more than some 15 levels off."""
    coverage, plain = Image.Quantize.MAXCOVERAGE, Image.Dither.NONE  # others lose small bright hats
    small = picture.quantize(256, coverage, kmeans=4, dither=plain)
    buffer = io.BytesIO()
    small.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def bar_chart() -> Image.Image:
    """Four bars on white, with axes and grid lines."""
    chart = Image.new("RGB", (480, 360), "white")
    pen = ImageDraw.Draw(chart)
    for y in range(60, 301, 48):
        pen.line((60, y, 450, y), fill="#d8d8d8")
    bars = (
        ("Spring", 118, "#4c78a8"),
        ("Summer", 61, "#54a24b"),
        ("Autumn", 172, "#f58518"),
        ("Winter", 215, "#b279a2"),
    )
    for place, (name, height, color) in enumerate(bars):
        left = 85 + 92 * place
        pen.rectangle((left, 300 - height, left + 60, 300), fill=color)
        pen.text((left + 12, 308), name, fill="#333333")
    pen.line((60, 50, 60, 300, 450, 300), fill="#333333", width=2)
    pen.text((170, 22), "Rainfall by season (mm)", fill="#333333")
    return chart


def photograph() -> Image.Image:
    """Fog over a field as a camera would see it: smooth light, soft shapes, grain."""
    rng = np.random.default_rng(7)
    height, width = 320, 480
    y, x = np.mgrid[0:height, 0:width] / (height, width)[0]
    glow = np.exp(-(((x - 0.95) / 0.5) ** 2 + ((y - 0.45) / 0.25) ** 2))
    cloud = np.zeros((height, width))
    for cells, weight in ((3, 1.0), (7, 0.5), (19, 0.3), (60, 0.15)):
        coarse = Image.fromarray(rng.random((cells, cells)).astype(np.float32))
        cloud += weight * np.asarray(coarse.resize((width, height), Image.Resampling.BICUBIC))
    ground = 1 / (1 + np.exp(-(y - 0.58 - 0.05 * cloud) * 40))
    light = np.stack([0.62 + 0.35 * glow, 0.60 + 0.20 * glow, 0.66 + 0.02 * glow], axis=-1)
    light += 0.07 * (cloud - cloud.mean())[..., None]
    field = np.stack([0.27 + 0.1 * y, 0.30 + 0.06 * y, 0.20 + 0.02 * y], axis=-1)
    field += 0.10 * (cloud - cloud.mean())[..., None] * y[..., None]
    pixels = light * (1 - ground[..., None]) + field * ground[..., None]
    pixels += rng.normal(0, 0.018, pixels.shape)
    return Image.fromarray((pixels.clip(0, 1) * 255).astype(np.uint8))


def contact_sheet(pictures: list[Image.Image], across: int = 6, cell: int = 148) -> Image.Image:
    """The first rows of pictures, small, side by side."""
    rows = 3
    gap = 4
    sheet = Image.new("RGB", (across * (cell + gap) - gap, rows * (cell + gap) - gap), "white")
    for place, picture in enumerate(pictures[: across * rows]):
        row, column = divmod(place, across)
        shown = picture.resize((cell, cell), Image.Resampling.LANCZOS)
        sheet.paste(shown, (column * (cell + gap), row * (cell + gap)))
    return sheet


@click.command(help=__doc__.splitlines()[0])
@click.argument("out", type=click.Path(path_type=Path))
def main(out: Path) -> None:
    images = out / "images"
    images.mkdir(parents=True, exist_ok=True)
    lines, pictures = [], []
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()

    def add(name: str, data: bytes, model: str, text: str) -> None:
        (images / f"{name}.png").write_bytes(data)
        row = {"id": name, "image": f"images/{name}.png", "model": model, "caption": text}
        lines.append(json.dumps(row, ensure_ascii=False))

    for place, (split, number) in enumerate(scenes()):
        model = TURNS[place % len(TURNS)]
        found = written(split, number, model)
        right[model] += sum(s.truth is not Truth.FALSE for s in found.sentences)
        total[model] += len(found.sentences)
        pictures.append(draw(sample_scene(number, split), SIZE))
        add(f"{split}-{number:03d}", encoded(pictures[-1]), f"simulated-{model}", found.text)
    add("chart", encoded(bar_chart()), "somebody", CHART)
    add("photograph", encoded(photograph()), "somebody", PHOTOGRAPH)
    whole = encoded(draw(sample_scene(TEST[0], "test"), SIZE))
    add("cut-short", whole[: len(whole) // 2], "somebody", CUT_SHORT)
    write_text(out / "captions.jsonl", "\n".join(lines) + "\n")
    (out / "contact-sheet.png").write_bytes(encoded(contact_sheet(pictures)))
    for model in dict.fromkeys(TURNS):
        share = right[model] / total[model]
        echo(f"simulated-{model:12} {right[model]:3} of {total[model]:3} true ({share:.0%})")
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    echo(f"{len(lines)} records, {size / 1e6:.2f} MB in {out}")


if __name__ == "__main__":
    main()
