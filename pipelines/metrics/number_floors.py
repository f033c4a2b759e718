"""Floors from numbers: numbers in a chart's caption that its image does not show are suspect.

`digits` only counts the numbers of a sentence. `numbers` counts those that optical character
recognition does not find (RapidOCR, extra `charts`, whose models are in its wheel). OCR takes
seconds per image, so results are cached in a file of JSON lines.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from revise_captions.benchmarks.types import Example
from revise_captions.errors import BadRecord, UserError
from revise_captions.io.images import load_image
from revise_captions.io.writing import check_writable, json_lines_writer, write_json
from revise_captions.records import ImageRef
from revise_captions.runs.progress import Progress

#: What reads the images, for the signature, and why a sentence has no score.
READER = "RapidOCR"
NO_TEXT = "its image has not been read"
#: The first line of a cache: nothing else is taken for one, or written to.
HEADER = {"format": "revise-captions texts of images", "reader": READER}
#: Digits with separators of thousands and a decimal point; a minus sign is no part of it.
_NUMBER = re.compile(r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+")


def numbers_in(text: str) -> list[float]:
    """The numbers written in digits, in order: `20,000` is 20000, `3.50 %` is 3.5."""
    return [float(found.replace(",", "")) for found in _NUMBER.findall(text)]


def digits(examples: Sequence[Example]) -> dict[tuple[str, int], float | None]:
    """Minus the count of numbers, by sentence."""
    return {key: -float(len(named)) for key, named in _by_sentence(examples)}


def not_found(
    examples: Sequence[Example], texts: Mapping[str, str]
) -> dict[tuple[str, int], float | None]:
    """Minus the count of numbers that the image's text lacks; None without that text."""
    seen = {image: frozenset(numbers_in(text)) for image, text in texts.items()}
    images = {example.id: example.image for example in examples}
    scores: dict[tuple[str, int], float | None] = {}
    for key, named in _by_sentence(examples):
        known = seen.get(images[key[0]])
        missing = None if known is None else sum(number not in known for number in named)
        scores[key] = None if missing is None else -float(missing)
    return scores


def _by_sentence(examples: Sequence[Example]) -> Iterator[tuple[tuple[str, int], list[float]]]:
    for example in examples:
        for k, sentence in enumerate(example.sentences):
            yield (example.id, k), numbers_in(sentence.span.of(example.caption))


def texts_of(examples: Sequence[Example], file: Path, folder: Path) -> dict[str, str]:
    """The text in each image, from the cache `file` or read now and added to it.

    Unreadable images have no text. Interrupted, it keeps what it has read.

    Raises:
        UserError: The extra `charts` is not installed, or the file is none of ours.
    """
    known = _stored(file)
    refs = {e.image: e.record.image for e in examples}
    # in an order of their own, so that what was read until an interruption is a fair sample
    order = sorted(refs, key=lambda image: hashlib.sha256(image.encode()).digest())
    missing = {image: refs[image] for image in order if image not in known}
    if missing:
        engine = _engine()
        if not file.exists():
            check_writable(file)
            write_json(file, HEADER)
        with file.open("ab") as out:
            writer = json_lines_writer(out, flush=True)
            for image, text in _read(missing, folder, engine):
                writer.write({"image": image, "text": text})
                known[image] = text
    return {image: text for image, text in known.items() if text is not None}


def _stored(file: Path) -> dict[str, str | None]:
    """The cached texts; a last line that is not whole is cut off."""
    if not os.path.lexists(file):
        return {}
    if not file.is_file():
        raise _no_cache(file, "it is no file")
    header, *lines = file.read_bytes().split(b"\n")
    if _parsed(header) != HEADER or not lines:
        raise _no_cache(file, "its first line does not say that it does")
    last = lines.pop()
    torn = _parsed(last) is None
    rows = [_parsed(line) for line in (lines if torn else [*lines, last])]
    found: dict[str, str | None] = {}
    for number, row in enumerate(rows, start=2):
        if not isinstance(row, dict) or row.keys() != {"image", "text"}:
            raise _no_cache(file, f"line {number} is none")
        found[str(row["image"])] = None if row["text"] is None else str(row["text"])
    if last and torn:
        os.truncate(file, file.stat().st_size - len(last))
    elif last:
        with file.open("ab") as out:
            out.write(b"\n")
    return found


def _parsed(line: bytes) -> Any:
    """A line's value; None for what is no JSON."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _no_cache(file: Path, why: str) -> UserError:
    return UserError(f"{file} does not hold OCR texts of images: {why}", hint="choose a new file")


def _engine() -> Any:
    try:
        from rapidocr import RapidOCR
    except ImportError:
        raise UserError(
            "floor:numbers needs OCR", hint="pip install 'revise-captions[charts]', or floor:digits"
        ) from None
    return RapidOCR(params={"Global.log_level": "error"})


def _read(
    images: Mapping[str, ImageRef], folder: Path, engine: Any
) -> Iterator[tuple[str, str | None]]:
    with Progress(len(images), "images") as progress:
        for name, ref in images.items():
            try:
                picture = load_image(ref, folder=folder)
                yield name, "\n".join(engine(picture, use_cls=False).txts or ())
            except BadRecord:
                yield name, None
            progress.advance(1, 0)
