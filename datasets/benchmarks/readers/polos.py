"""Captions with references and one averaged human score: Composite, Polaris, Nebula, LongCap-Arena.

Polos' CSV files have the columns `mt`, `refs` (a Python list), `score`, `imgid`; the hub's Parquet
files `mt` or `cand`, `refs`, `human_score` or `score`, and the image or its name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from revise_captions.benchmarks.catalog.longcap_arena import test_named
from revise_captions.benchmarks.entries import (
    Entry,
    csv_rows,
    image_at,
    record,
    rows,
    shown,
)
from revise_captions.benchmarks.types import Example, HumanScore
from revise_captions.records import ImageRef

_PERSPECTIVES = {"desc": "descriptiveness", "rel": "relevance", "flu": "fluency"}
_PERSPECTIVE = re.compile(r"(?<![a-z])(desc|rel|flu)(?![a-z])")


def read(folder: Path) -> Iterator[Example]:
    """Reads captions with references and one human score."""
    for path in _files(folder):
        yield from _examples(path, "human score", path.relative_to(folder).as_posix())


def read_longcap(folder: Path) -> Iterator[Example]:
    """Each file is for one perspective, named by its path: `dci_test.desc`, `rel_dci_val.csv`.

    The release has the test captions twice: in `test`, and by images in `dci_val` and `dci_test`.
    They are read once, from the latter.
    """
    parts: set[tuple[str, str, str]] = set()
    for path in sorted(_files(folder), key=lambda path: not _of_part(path, folder)):
        name = path.relative_to(folder).as_posix()
        found = _PERSPECTIVE.search(name)
        if found is None:
            entry = Entry(str(path), 1, {})
            raise entry.error("the path names none of the perspectives desc, rel, flu")
        part = _of_part(path, folder)
        for example in _examples(path, _PERSPECTIVES[found[1]], name):
            key = found[1], example.image, example.caption
            if part:
                parts.add(key)
            if part or "test" not in name or key not in parts:
                yield example


def _of_part(path: Path, folder: Path) -> bool:
    return test_named(path.relative_to(folder).as_posix()) != ""


def _files(folder: Path) -> list[Path]:
    return sorted([*folder.rglob("*.csv"), *folder.rglob("*.parquet")])


def _examples(path: Path, axis: str, subset: str) -> Iterator[Example]:
    for entry in csv_rows(path) if path.suffix == ".csv" else rows(path):
        caption = entry.text("mt" if "mt" in entry.data else "cand")
        value = entry.number_at("human_score" if "human_score" in entry.data else "score")
        image, ref = _image(entry)
        yield Example(
            f"{subset}-{entry.number}",
            record(entry, caption, ref),
            image,
            subset=subset,
            scores=(HumanScore(axis, value),),
            references=_references(entry),
        )


def _image(entry: Entry) -> tuple[str, ImageRef]:
    held: Any = entry.data.get("image", entry.data.get("img"))
    named = entry.data.get("file_name") or entry.data.get("imgid")
    ref = ImageRef(path=str(named)) if held is None else image_at(held)
    name = named or ref.path
    if not name:
        raise entry.error("nothing names its image; expected `imgid`, `file_name` or a path")
    return str(name), ref


def _references(entry: Entry) -> tuple[str, ...]:
    value = entry["refs"]
    if isinstance(value, str):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise entry.error(f"`refs` is {shown(value)}; expected a list of texts") from None
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        raise entry.error(f"`refs` is {shown(value)}; expected a list of texts")
    return tuple(value)
