"""Tiny backbones of real classes in folders, and rated rows for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tinylm
import tinytowers
from PIL import Image

COLORS = ("red", "black", "blue", "green", "white", "brown")
#: For each rating: words that its captions have, so that text alone tells the rating.
WORDS = {0.0: "a", 0.25: "a man", 0.5: "a man runs", 0.75: "a man runs on grass", 1.0: "red barn"}


def language(folder: Path, family: str = "Qwen2") -> Path:
    """A language model with a chat tokenizer, saved."""
    tokenizer = tinylm.tokenizer_of()
    tinylm.model_of(family, len(tokenizer)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def towers(folder: Path, kind: str = "clip") -> Path:
    """A pair of towers, saved."""
    return tinytowers.save(kind, folder)


def rows(folder: Path, count: int = 30, *, perspectives: tuple[str, ...] = ()) -> Path:
    """Writes images and `rated.jsonl`, six captions of each image; returns the file."""
    names = perspectives or ("descriptiveness", "relevance", "fluency")
    lines: list[dict[str, Any]] = []
    for number in range(count):
        image = f"{number // 5}.png"
        if not (folder / image).exists():
            color = COLORS[number // 5 % len(COLORS)]
            Image.new("RGB", (16, 16), color).save(folder / image)
        rating, words = list(WORDS.items())[number % 5]
        scores = {name: rating if k != 1 else [1 - rating] for k, name in enumerate(names)}
        row = {"id": str(number), "image": image, "caption": words, "references": ["a man"]}
        lines.append({**row, "scores": scores})
    path = folder / "rated.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
