"""Folders of images: with `metadata.jsonl` or `metadata.csv`, or with captions beside the images.

The first is what `datasets` reads as `imagefolder`: rows name their image in `file_name`, relative
to the metadata. In the second, the captions of `a/1.jpg` stand in `a/1.txt`, `a/1.caption` or
`a/1.json`; what a run adds stands in `a/1.revised.txt` or `a/1.original.txt`, and
`a/1.revision.json`.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from revise_captions.errors import BadRecord, Reason, UserError
from revise_captions.io.jsonl import MAX_LINE, parse
from revise_captions.io.rows import BadRow, Row

METADATA = ("metadata.jsonl", "metadata.csv")
#: Of the formats that `decoding.FORMATS` reads.
IMAGE_SUFFIXES = (
    *(".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif"),
    *(".ppm", ".pgm", ".pbm", ".jp2"),
)
#: What may stand beside an image, and the field that it becomes.
BESIDE = {".txt": "txt", ".caption": "caption", ".json": "json"}
ADDED = {
    "revised_caption": (".revised.txt", ".revised.json"),
    "caption_original": (".original.txt", ".original.json"),
    "revision": (".revision.json",),
}
FIRST_FILES = 1000
"""How many files are looked at before a folder is taken for another kind."""


def metadata_of(folder: Path) -> Path | None:
    """The folder's metadata file, if it has one."""
    return next((folder / name for name in METADATA if (folder / name).is_file()), None)


def has_captions_beside(folder: Path) -> bool:
    """Whether one of the first images has a caption beside it."""
    files = islice(_files(folder), FIRST_FILES)
    return any(_is_image(file) and _beside(folder / file) for file in files)


def beside_rows(folder: Path, name: str) -> Iterator[Row | BadRow]:
    """A row for each image, by name, folders in between; `line` is its number.

    `file_name` is relative to the folder. What is not UTF-8 or no JSON makes a bad row, and so does
    a second image of the same name but for the suffix, which would share the captions. Hidden files
    and folders are left out, and links to folders are not followed. Memory holds the names of one
    folder at a time.

    Raises:
        UserError: A folder cannot be read.
    """
    before = None
    for number, file in enumerate(filter(_is_image, _files(folder)), 1):
        stem = str(PurePosixPath(file).with_suffix(""))
        if stem == before:
            detail = f"{file}: another image has this name but for the suffix, and its captions"
            yield BadRow(name, number, Reason.MISSING_CAPTION, detail, file)
        else:
            yield _row(folder, file, name, number)
        before = stem


def count_images(folder: Path) -> int:
    return sum(map(_is_image, _files(folder)))


def files_beside(image: Path, without: Container[str] = ()) -> list[Path]:
    """The captions beside an image, without what a run added of these names."""
    return [path for path, _ in _beside(image) if _added_as(path) not in without]


def _added_as(path: Path) -> str:
    """What a run added in a file of this name; "" for a file of the user's."""
    return next((name for name, group in ADDED.items() if path.name.endswith(group)), "")


def _beside(image: Path) -> list[tuple[Path, str]]:
    suffixes = dict(BESIDE)
    suffixes |= {suffix: field for field, group in ADDED.items() for suffix in group}
    paths = ((image.with_suffix(suffix), field) for suffix, field in suffixes.items())
    return [(path, field) for path, field in paths if path.is_file()]


def _row(folder: Path, file: str, name: str, number: int) -> Row | BadRow:
    data: dict[str, Any] = {"file_name": file}
    content = b""
    try:
        for path, field in _beside(folder / file):
            if path.stat().st_size > MAX_LINE:
                detail = f"{path.name} has over {MAX_LINE:,} bytes"
                return BadRow(name, number, Reason.LINE_TOO_LONG, detail, file)
            content = path.read_bytes()
            text = content.decode("utf-8-sig")
            data[field] = parse(text) if path.suffix == ".json" else text
    except UnicodeDecodeError as error:
        detail = f"{path.name}, byte {error.start}: {error.reason}"
        return BadRow(name, number, Reason.INVALID_UTF8, detail, content)
    except BadRecord as error:
        return BadRow(name, number, error.reason, f"{path.name}: {error.detail}", text)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    return Row(number, data)


def _is_image(file: str) -> bool:
    return file.lower().endswith(IMAGE_SUFFIXES)


def _is_entry(entry: os.DirEntry[str]) -> bool:
    """Whether it is a file, or a link that leads nowhere or to itself, whose reading will say so.

    Links to folders are neither.
    """
    try:
        return entry.is_file() or (entry.is_symlink() and not entry.is_dir())
    except OSError:  # too many links
        return True


def _files(folder: Path, inner: str = "") -> Iterator[str]:
    """Paths of files, relative to the folder, with `/`; in each folder by name."""
    try:
        with os.scandir(folder / inner) as found:
            entries = sorted(
                (entry.name, entry.is_dir(follow_symlinks=False), _is_entry(entry))
                for entry in found
                if not entry.name.startswith(".")
            )
    except OSError as error:
        raise UserError(f"cannot read the folder {folder / inner}: {error.strerror}") from None
    for name, is_folder, is_file in entries:
        path = f"{inner}/{name}" if inner else name
        if is_folder:
            yield from _files(folder, path)
        elif is_file:
            yield path
