"""Folders of images with what a run added, beside links to the same images.

Images become hard links, which cost no space and no time; where the file system does not allow
them (another disk), copies. Only the files of good rows are there.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from revise_captions.errors import BadRecord
from revise_captions.io.fields import look_up, place_of
from revise_captions.io.images import parse_image, resolve_path
from revise_captions.io.layouts.image_folder import ADDED, BESIDE, METADATA, files_beside
from revise_captions.io.layouts.kinds import InputKind
from revise_captions.io.readers import Source
from revise_captions.io.rows import Row, dumps
from revise_captions.io.writing import sync_folder, working_file
from revise_captions.pipelines.output.delimited import write_delimited
from revise_captions.pipelines.output.lines import with_caption, write_lines
from revise_captions.pipelines.output.style import OutputStyle
from revise_captions.runs.journal import RowResult
from revise_captions.runs.pairing import Pairing

MARK = ".revise-captions"
"""A file in every folder that a run wrote: only such a folder may be replaced."""


def write_with_metadata(source: Source, pairs: Pairing, folder: Path, style: OutputStyle) -> None:
    """Writes the metadata file with two more fields, and links the images that it names."""
    assert source.metadata is not None
    write = write_delimited if source.rows_kind is InputKind.CSV else write_lines
    with (folder / source.metadata.name).open("wb") as file:
        write(source, _linking(source, pairs, folder), file, style)
        file.flush()
        os.fsync(file.fileno())


def write_beside(source: Source, pairs: Pairing, folder: Path, style: OutputStyle) -> None:
    """Links images, copies their captions, and writes the new files beside them."""
    for row, result in pairs:
        image = source.folder / row.data["file_name"]
        there = _linked(image, folder / row.data["file_name"])
        for path in files_beside(image, without=style.replaced):
            shutil.copyfile(path, there.with_name(path.name))
        for field, caption in result.captions.items():
            _put_in_place(there, row, field, caption)
        for name, value in result.revised.items():
            suffixes = ADDED[name]
            text = value if isinstance(value, str) else dumps(value)
            suffix = suffixes[0] if isinstance(value, str) else suffixes[-1]
            there.with_suffix(suffix).write_bytes(text.encode("utf-8", "replace"))


def _put_in_place(image: Path, row: Row, field: str, caption: str) -> None:
    """Writes a caption into the file that it stands in."""
    name, *inner = place_of(row.data, field) or (field,)
    suffix = next(suffix for suffix, known in BESIDE.items() if known == name)
    path = image.with_suffix(suffix)
    path.write_bytes(with_caption(path.read_bytes(), inner, caption))


def _linking(source: Source, pairs: Pairing, folder: Path) -> Iterator[tuple[Row, RowResult]]:
    for row, result in pairs:
        with suppress(BadRecord):  # `--stage revise` looks at no image, and it may be gone
            path = parse_image(look_up(row.data, source.fields.image or "file_name")).path
            if path is not None:
                image = resolve_path(path, None, source.folder)
                inner = os.path.relpath(image, os.path.abspath(source.folder))
                if image.is_file() and inner not in (*METADATA, MARK):
                    _linked(image, folder / inner)
        yield row, result


def _linked(image: Path, place: Path) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.exists():
        try:
            os.link(image.resolve(), place)
        except OSError:
            shutil.copyfile(image, place)
    return place


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """A folder that takes its name, complete, when the block succeeds, or never."""
    held = working_file(path, "partial", folder=True)
    try:
        new = held.path / "new"
        new.mkdir()
        (new / MARK).write_text("written by revise-captions, which may replace this folder\n")
        yield new
        if path.exists():
            os.rename(path, held.path / "old")
        os.rename(new, path)
        sync_folder(path)
    finally:
        held.remove()
