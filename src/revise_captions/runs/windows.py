"""The windows of an input that a journal does not hold yet."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from revise_captions.io.images import LoadImage, mark_of
from revise_captions.io.rows import BadRow
from revise_captions.io.source import Source
from revise_captions.records import Record
from revise_captions.runs.digests import window_digest
from revise_captions.runs.journal import Journal
from revise_captions.runs.overlap import ahead
from revise_captions.runs.progress import Progress
from revise_captions.runs.window_images import LoadedRecord, windows_of, with_images


def unfinished_windows(
    source: Source,
    image_root: Path | None,
    journal: Journal,
    load: LoadImage | None,
    progress: Progress,
    model: object = None,
) -> Iterator[tuple[int, str, list[LoadedRecord | BadRow]]]:
    """(number, digest, rows with their images) of each window that the journal does not hold.

    Rows and images are read ahead. Windows in the journal are skipped.
    """
    mark = partial(mark_of, root=image_root, folder=source.folder)
    todo: list[tuple[int, str]] = []

    def unfinished() -> Iterator[list[Record | BadRow]]:
        for number, window in enumerate(windows_of(source)):
            digest = window_digest(window, mark)
            if journal.done(number, digest):
                progress.skip(len(window))
                continue
            todo.append((number, digest))
            yield window

    for loaded in with_images(ahead(unfinished()), load, model):
        yield *todo.pop(0), loaded
