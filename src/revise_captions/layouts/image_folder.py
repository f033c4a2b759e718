"""Folders of images: with `metadata.jsonl` or `metadata.csv`, or with captions beside the images.

The first is what `datasets` reads as `imagefolder`: rows name their image in `file_name`, relative
to the metadata. In the second, the captions of `a/1.jpg` are in `a/1.txt`, `a/1.caption` or
`a/1.json`; a run adds `a/1.revised.txt` or `a/1.original.txt`, and `a/1.revision.json`.

An output links to the same images: by hard links, which take no space or time, or by copies if the
file system does not allow links (another disk). It has only the files of good rows.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from revise_captions.errors import BadRecord, Reason, UserError
from revise_captions.io.fields import look_up, place_of
from revise_captions.io.images import parse_image, resolve_path
from revise_captions.io.jsonl import MAX_LINE, parse
from revise_captions.io.rows import BadRow, Row, dumps
from revise_captions.io.source import Layout, Source
from revise_captions.io.writing import replacing_folder
from revise_captions.layouts.delimited import DELIMITED
from revise_captions.layouts.json_rows import JSON_LINES, with_caption
from revise_captions.layouts.style import OutputStyle
from revise_captions.runs.journal import RowResult
from revise_captions.runs.pairing import Pairing

#: A file in every folder that a run wrote; only such a folder may be replaced.
MARK = ".revise-captions"

METADATA = ("metadata.jsonl", "metadata.csv")
#: Suffixes of the formats in `decoding.FORMATS`.
IMAGE_SUFFIXES = (
    *(".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif"),
    *(".ppm", ".pgm", ".pbm", ".jp2"),
)
#: Suffixes of files beside an image, and the field that each becomes.
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
    """A row for each image, sorted by name together with folders; `line` is its number.

    `file_name` is relative to the folder. Invalid UTF-8 or JSON makes a bad row, and so does a
    second image that differs only in its suffix, as both would share the captions. Hidden files and
    folders are left out, and links to folders are not followed. Memory holds the names of one
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
    """The caption files beside an image, except what a run added under the names `without`."""
    return [path for path, _ in _beside(image) if _added_as(path) not in without]


def _added_as(path: Path) -> str:
    """What a file of this name holds if a run added it; "" for a user's file."""
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
    """Whether it is a file, or a broken or circular link, which will be reported when read.

    Links to folders are neither.
    """
    try:
        return entry.is_file() or (entry.is_symlink() and not entry.is_dir())
    except OSError:  # too many links
        return True


def _files(folder: Path, inner: str = "") -> Iterator[str]:
    """Paths of files, relative to the folder, with `/`; sorted by name in each folder."""
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


# --- Writing --------------------------------------------------------------------------------------


def write_with_metadata(
    rows: Layout, source: Source, pairs: Pairing, folder: Path, style: OutputStyle
) -> None:
    """Writes the metadata file with two more fields, and links the images that it names."""
    assert source.metadata is not None
    with (folder / source.metadata.name).open("wb") as file:
        rows.write(source, _linking(source, pairs, folder), file, style)
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
    """Writes a caption into the file that holds it."""
    name, *inner = place_of(row.data, field) or (field,)
    suffix = next(suffix for suffix, known in BESIDE.items() if known == name)
    path = image.with_suffix(suffix)
    path.write_bytes(with_caption(path.read_bytes(), inner, caption))


def _linking(source: Source, pairs: Pairing, folder: Path) -> Iterator[tuple[Row, RowResult]]:
    for row, result in pairs:
        with suppress(BadRecord):  # `--stage revise` reads no image, so it may be gone
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
def _marked_folder(path: Path) -> Iterator[Path]:
    """Like `replacing_folder`, plus the mark that lets a later run replace it."""
    with replacing_folder(path) as new:
        (new / MARK).write_text("written by revise-captions, which may replace this folder\n")
        yield new


# --- The layouts ---------------------------------------------------------------------------------


def _open_beside(name: str, folder: Path, lacking: Callable[[str], None]) -> Source:
    read, count = partial(beside_rows, folder, name), partial(count_images, folder)
    return Source(name, BESIDE_IMAGES, folder, folder, read, count)


BESIDE_IMAGES = Layout(
    "folder of images with captions beside them",
    _open_beside,
    write_beside,
    takes=lambda folder, _: metadata_of(folder) is None and has_captions_beside(folder),
    folder=_marked_folder,
    mark=MARK,
)


def _with_metadata(metadata: str, rows: Layout) -> Layout:
    """A folder whose images are listed in a file of another layout."""

    def opened(name: str, folder: Path, lacking: Callable[[str], None]) -> Source:
        file = folder / metadata
        source = rows.open(name, file, lacking)
        return replace(source, layout=layout, path=folder, folder=folder, metadata=file)

    layout = Layout(
        "image folder with a metadata file",
        opened,
        partial(write_with_metadata, rows),
        takes=lambda folder, _: metadata_of(folder) == folder / metadata,
        rows_are_json=rows.rows_are_json,
        folder=_marked_folder,
        mark=MARK,
    )
    return layout


METADATA_CSV = _with_metadata("metadata.csv", DELIMITED)
METADATA_LINES = _with_metadata("metadata.jsonl", JSON_LINES)
