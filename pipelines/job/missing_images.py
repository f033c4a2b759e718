"""Before a run: finds where the images are if none of the first is where the input says, or can be
fetched."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from revise_captions.errors import BadRecord
from revise_captions.io.images import resolve_path
from revise_captions.io.source import WINDOW, Source
from revise_captions.records import Record
from revise_captions.text.formatting import plural

logger = logging.getLogger(__name__)
MAX_FOLDERS = 2000
"""How many folders are looked into."""
DEPTH = 2


def warn_of_missing_images(source: Source, root: Path | None, *, allow_urls: bool) -> None:
    """Warns if none of the first window's images can be read, naming the option that fixes it."""
    problem = None if allow_urls else unfetched(source)
    if problem is None:
        problem = missing_images(source, root)
    if problem is not None:
        logger.warning("%s; %s", *problem)


def unfetched(source: Source) -> tuple[str, str] | None:
    """The same if all of the first window's images are URLs, where none are fetched."""
    records = [row for row in islice(source, WINDOW) if isinstance(row, Record)]
    if not records or any(record.image.url is None for record in records):
        return None
    return f"the first {plural(len(records), 'image')} are URLs, which are not fetched", (
        "add --allow-urls to fetch them, or name a field with files: --image-field"
    )


def missing_images(source: Source, root: Path | None) -> tuple[str, str] | None:
    """A message and a remedy if none of the first window's image files exists; otherwise None."""
    records = [row for row in islice(source, WINDOW) if isinstance(row, Record)]
    paths = [record.image.path for record in records if record.image.path is not None]
    if not paths or len(paths) < len(records) or any(_is_there(p, root, source) for p in paths):
        return None
    folder = root or source.folder
    example = "" if len(paths) == 1 else f", such as {paths[0]}"
    if there := [os.path.dirname(path) for path in paths if os.path.isabs(path) and _exists(path)]:
        which = f"image {paths[0]} is" if len(paths) == 1 else f"first {len(paths)} images are"
        found = (
            f"the {which} outside the folder {folder}, the only place images are read from{example}"
        )
        return found, f"add --image-root {os.path.commonpath(there)}, their common folder"
    which = f"image {paths[0]} is" if len(paths) == 1 else f"first {len(paths)} images is"
    found = f"the {which} not there" if len(paths) == 1 else f"none of the {which} there"
    return found + example, _hint(paths, folder)


def _is_there(path: str, root: Path | None, source: Source) -> bool:
    try:
        return resolve_path(path, root, source.folder).is_file()
    except (BadRecord, OSError, ValueError):
        return False


def _hint(paths: list[str], folder: Path) -> str:
    path = paths[0]
    if not os.path.isabs(path):
        if (home := _home_of(path, folder)) is not None:
            return f"it is in {home}: add --image-root {home}"
        return "--image-root names the folder that the paths are relative to"
    parts = Path(path).parts
    for count in (3, 2, 1):
        tail = os.path.join(*parts[-count:])
        if count < len(parts) and (home := _home_of(tail, folder)) is not None:
            begin = path.removesuffix(tail)
            return (
                f"{tail} is in {home}: remove {begin} from the paths, and add --image-root {home}"
            )
    return "the paths are absolute: make them relative, and name their folder with --image-root"


def _home_of(path: str, folder: Path) -> Path | None:
    """The nearest folder that contains this path: below `folder`, or one or two levels above it."""
    bases = [folder, folder.absolute().parent, folder.absolute().parent.parent]
    near = (home for base in bases for home in _folders(base))
    home = next((h for h in islice(near, MAX_FOLDERS) if _exists(h / path)), None)
    return None if home is None else Path(os.path.relpath(home))


def _folders(base: Path) -> Iterator[Path]:
    """A folder and those inside it, the nearest first."""
    level: Iterable[Path] = [base]
    for _ in range(DEPTH + 1):
        level = list(level)
        yield from level
        level = (inner for folder in level for inner in _inside(folder))


def _inside(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            found = [e.path for e in entries if e.is_dir() and not e.name.startswith(".")]
    except OSError:
        return []
    return [Path(path) for path in sorted(found)]


def _exists(path: str | Path) -> bool:
    try:
        return os.path.isfile(path)
    except ValueError:  # a NUL, which no file name can contain
        return False
