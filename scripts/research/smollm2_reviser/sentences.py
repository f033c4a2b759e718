"""True sentences under free licenses, with their parse: what edits are made from.

Read from a folder with `imageinwords`, `factual_sg` and `faithscore` (ImageInWords: CC BY 4.0;
FACTUAL: MIT, texts from Visual Genome, CC BY 4.0; COCO's captions: CC BY 4.0).
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from revise_captions.text.sentences import split

if TYPE_CHECKING:
    from spacy.tokens import Doc

#: One image, and one word, of so many is held out.
HELD_OUT = 10
_REGIONS = 16_000
_OPENINGS = frozenset("a an the two three four several some".split())  # noqa: SIM905
_PRESENTING = (
    "The image shows", "The image features", "The image depicts", "The picture shows",
    "The scene includes", "In the image, we can see", "The photo captures", "The image displays",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SourceSentence:
    """A sentence of a caption that people wrote or approved.

    Attributes:
        image: Names its image; images are either for training or held out.
        context: The caption before it.
        text: The sentence.
        source: The collection.
    """

    image: str
    context: str
    text: str
    source: str


def held_out(name: str) -> bool:
    """Whether an image or a word is kept from training, by its digest."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % HELD_OUT == 0


def read_sentences(folder: Path) -> Iterator[SourceSentence]:
    """Sentences of 4 to 45 words of all collections, in the order of the files."""
    for image, caption, source in _captions(folder):
        for span in split(caption):
            text = caption[span.start : span.end]
            if source != "imageinwords":
                text = _presented(text)
            if 4 <= len(text.split()) <= 45 and "\n" not in text:
                yield SourceSentence(image, caption[: span.start], text, source)


def _presented(text: str) -> str:
    """Of a fragment that names a thing, every third as "The image shows a thing ..."."""
    digest = int(hashlib.sha256(text.encode()).hexdigest(), 16)
    if digest % 3 or text.split()[0].lower() not in _OPENINGS:
        return text
    return f"{_PRESENTING[digest // 3 % len(_PRESENTING)]} {text[:1].lower()}{text[1:]}"


def _captions(folder: Path) -> Iterator[tuple[str, str, str]]:
    for name in ("IIW-400", "DOCCI_Test"):
        path = folder / "imageinwords" / f"{name}.jsonl"
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            image = str(row.get("image/key") or row.get("image"))
            for key in ("IIW", "IIW-P5B", "DOCCI"):
                if isinstance(row.get(key), str):
                    yield image, row[key], "imageinwords"
    path = folder / "faithscore" / "captions_boxes.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        for caption in row["captions"]:
            yield f"coco-{row['id']}", caption, "faithscore"
    with (folder / "factual_sg" / "train.csv").open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file)):
            if number >= _REGIONS:
                break
            text = row["caption"].strip().removesuffix(".").strip()
            if len(text.split()) >= 5:
                yield f"vg-{row['image_id']}", f"{text[:1].upper()}{text[1:]}.", "factual_sg"


def parsed(sentences: list[SourceSentence]) -> Iterator[tuple[SourceSentence, Doc]]:
    """Each sentence with its dependency parse by the bundled pipeline."""
    from revise_captions.graphs.parse import load_pipeline

    docs = load_pipeline().pipe((sentence.text for sentence in sentences), batch_size=128)
    yield from zip(sentences, docs, strict=True)
