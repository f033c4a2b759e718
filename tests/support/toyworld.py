"""A throwaway world for tests: coloured shapes on a 4×4 board, sentences with exact truth."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

COLOURS = {
    "red": (220, 40, 40),
    "green": (40, 170, 60),
    "blue": (50, 80, 220),
    "yellow": (230, 210, 50),
}
KINDS = ("circle", "square", "triangle")


def draw(things: list[tuple[str, str, int, int]], size: int = 128) -> Image.Image:
    image = Image.new("RGB", (size, size), (245, 245, 240))
    pen = ImageDraw.Draw(image)
    cell = size // 4
    for colour, kind, x, y in things:
        box = (x * cell + 3, y * cell + 3, (x + 1) * cell - 4, (y + 1) * cell - 4)
        if kind == "circle":
            pen.ellipse(box, COLOURS[colour])
        elif kind == "square":
            pen.rectangle(box, COLOURS[colour])
        else:
            pen.polygon(
                [(box[0], box[3]), (box[2], box[3]), ((box[0] + box[2]) / 2, box[1])],
                COLOURS[colour],
            )
    return image


def scene(rng: np.random.Generator) -> list[tuple[str, str, int, int]]:
    kinds = rng.permutation(KINDS)[: rng.integers(2, 4)]
    cells = rng.choice(16, len(kinds), replace=False)
    return [
        (str(rng.choice(list(COLOURS))), str(k), int(c % 4), int(c // 4))
        for k, c in zip(kinds, cells, strict=True)
    ]


def row(index: int, rng: np.random.Generator) -> tuple[dict, list]:
    things = scene(rng)
    caption, sentences = "", []

    def say(text: str, rationale: str | None, assessable: bool = True) -> None:
        nonlocal caption
        if caption:
            caption += " "
        sentences.append(
            {
                "start": len(caption),
                "end": len(caption) + len(text),
                "label": "nonfactual" if rationale else "factual",
                "assessable": assessable,
                "rationale": rationale,
            }
        )
        caption += text

    for n in rng.permutation(len(things)):
        colour, kind, x, _ = things[n]
        shown = (
            colour if rng.random() < 0.5 else str(rng.choice([c for c in COLOURS if c != colour]))
        )
        say(
            f"There is a {shown} {kind}.",
            None if shown == colour else f"The {kind} is {colour}, not {shown}.",
        )
        side, other = ("left", "right") if x < 2 else ("right", "left")
        told = side if rng.random() < 0.5 else other
        say(f"It is on the {told}.", None if told == side else f"The {kind} is on the {side}.")
    if rng.random() < 0.3:
        say("The scene feels calm.", None, assessable=False)
    description = " ".join(
        f"A {c} {k} at {x} {y}." for c, k, x, y in sorted(things, key=lambda t: (t[3], t[2]))
    )
    return {
        "id": str(index),
        "image": f"images/{index:06}.png",
        "image_index": index,
        "caption": caption,
        "sentences": sentences,
        "description": description,
    }, things


def write(folder: Path, counts: dict[str, int], seed: int = 0, grid: int = 8) -> Path:
    """`<split>.jsonl`, images and dense labels (of grid × grid patches) of a toy data set."""
    step = grid // 4
    for number, (split, count) in enumerate(counts.items()):
        rng = np.random.default_rng((seed, number))
        (folder / split).mkdir(parents=True, exist_ok=True)
        labels = np.zeros((count, grid, grid, 2), dtype=np.uint8)
        with (folder / f"{split}.jsonl").open("w") as file:
            for index in range(count):
                item, things = row(index, rng)
                item["image"] = f"{split}/{index:06}.png"
                draw(things).save(folder / item["image"])
                file.write(json.dumps(item) + "\n")
                for colour, kind, x, y in things:
                    across, down = (
                        slice(step * x, step * x + step),
                        slice(step * y, step * y + step),
                    )
                    labels[index, down, across] = (
                        1 + KINDS.index(kind),
                        1 + list(COLOURS).index(colour),
                    )
        (folder / "labels").mkdir(exist_ok=True)
        np.save(folder / "labels" / f"{split}.npy", labels)
    channels = [
        {"name": "kind", "classes": ["none", *KINDS]},
        {"name": "colour", "classes": ["none", *COLOURS]},
    ]
    (folder / "labels" / "channels.json").write_text(json.dumps(channels))
    return folder
