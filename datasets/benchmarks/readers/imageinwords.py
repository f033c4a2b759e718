"""ImageInWords: long captions by people and models, compared side by side (Garg et al. 2024).

`IIW-400.jsonl` compares IIW's human caption with GPT-4V's (whose caption is not in the file) and
with IIW's PaLI-5B; `DOCCI_Test.jsonl` compares it with DOCCI's. Five axes, five steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from revise_captions.benchmarks.entries import Entry, record, rows
from revise_captions.benchmarks.types import HUMAN, Example, Item, Preference
from revise_captions.records import ImageRef

IIW = f"{HUMAN} (IIW)"
_SIZES = {"marginally": 1.0, "substantially": 2.0}
_METRIC = "metrics/"


def read(folder: Path) -> Iterator[Item]:
    if (folder / "IIW-400.jsonl").exists():
        yield from _iiw400(folder / "IIW-400.jsonl")
    if (folder / "DOCCI_Test.jsonl").exists():
        yield from _docci(folder / "DOCCI_Test.jsonl")


def _iiw400(path: Path) -> Iterator[Item]:
    for entry in rows(path):
        image = entry.text("image/key")
        subset = "IIW-400"
        yield _example(entry, image, IIW, entry.text("IIW"), subset)
        if "IIW-P5B" in entry.data:
            yield _example(entry, image, "IIW-P5B", entry.text("IIW-P5B"), subset)
        for key, other, label in (
            ("iiw-human-sxs-gpt4v", "GPT-4V", "GPT-4V"),
            ("iiw-human-sxs-iiw-p5b", "IIW-P5B", "IIW-P5B"),
        ):
            if key in entry.data:
                known = f"{image}-{other}" if other in entry.data else None
                said = entry[key]
                yield from _preferences(entry, said, image, other, ("IIW-Human", label), known)


def _docci(path: Path) -> Iterator[Item]:
    for entry in rows(path):
        image, other = entry.text("image"), f"{HUMAN} (DOCCI)"
        yield _example(entry, image, IIW, entry.text("IIW"), "DOCCI_Test")
        yield _example(entry, image, other, entry.text("DOCCI"), "DOCCI_Test")
        known = f"{image}-{other}"
        yield from _preferences(entry, entry.data, image, other, ("IIW", "DOCCI"), known)


def _example(entry: Entry, image: str, captioner: str, caption: str, subset: str) -> Example:
    row = record(entry, caption, ImageRef(path=f"{image}.jpg"))
    return Example(f"{image}-{captioner}", row, image, captioner, subset)


def _preferences(
    entry: Entry,
    said: Mapping[str, Any],
    image: str,
    other: str,
    labels: tuple[str, str],
    known: str | None,
) -> Iterator[Preference]:
    steps = {"Neutral": 0.0}
    for sign, label in zip((1, -1), labels, strict=True):
        steps |= {f"{label} is {how} better": sign * size for how, size in _SIZES.items()}
    answers = Entry(entry.file, entry.number, said)
    for key in said:
        if key.startswith(_METRIC):
            yield Preference(
                image,
                IIW,
                other,
                key.removeprefix(_METRIC),
                answers.one_of(key, steps),
                f"{image}-{IIW}",
                known,
                verdict=said[key],
            )
