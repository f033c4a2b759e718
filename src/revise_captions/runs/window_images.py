"""A window's images, read and prepared while the previous window is worked on."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Protocol, runtime_checkable

from PIL import Image

from revise_captions.errors import BadRecord, Reason, own_step
from revise_captions.io.decode_budget import DECODE_BUDGET
from revise_captions.io.decoding import reduced
from revise_captions.io.images import LoadImage
from revise_captions.io.rows import BadRow
from revise_captions.io.source import WINDOW
from revise_captions.records import Record
from revise_captions.runs import overlap

#: A record with its image; None where the stage looks at no images.
LoadedRecord = tuple[Record, "Image.Image | None"]


@runtime_checkable
class PreparesImages(Protocol):
    """A model that can preprocess an image before being asked about it."""

    def prepare(self, image: Image.Image) -> None:
        """Called by the thread that read the image, while the model works on others."""
        ...


def prepare(model: object, image: Image.Image) -> None:
    """Hands the image to a model that `PreparesImages`."""
    if isinstance(model, PreparesImages):
        model.prepare(image)


def windows_of(
    rows: Iterable[Record | BadRow], window: int = WINDOW
) -> Iterator[list[Record | BadRow]]:
    """The input cut into fixed windows."""
    source = iter(rows)
    while batch := list(islice(source, window)):
        yield batch


def with_images(
    windows: Iterable[Sequence[Record | BadRow]],
    load: LoadImage | None,
    model: object = None,
) -> Iterator[list[LoadedRecord | BadRow]]:
    """The windows with their images, which are read while the previous window is worked on, and
    prepared for a model that `PreparesImages`.

    If `load` is None, no image is looked at, as in stage `revise`.
    """
    if load is None:
        for window in windows:
            yield [row if isinstance(row, BadRow) else (row, None) for row in window]
        return
    if not overlap.ENABLED:
        for window in windows:
            yield [_with_image(row, load, model) for row in window]
        return
    pool = ThreadPoolExecutor(min(8, 1 + (os.cpu_count() or 1)))
    try:
        ahead: list[Future[LoadedRecord | BadRow]] = []
        for window in windows:
            reading = [pool.submit(_with_image, row, load, model) for row in window]
            if ahead:
                yield [row.result() for row in ahead]
            ahead = reading
        if ahead:
            yield [row.result() for row in ahead]
    finally:
        # Stopping here (Ctrl-C, a full disk) should not wait for a hundred images.
        pool.shutdown(wait=False, cancel_futures=True)


def _with_image(row: Record | BadRow, load: LoadImage, model: object) -> LoadedRecord | BadRow:
    if isinstance(row, BadRow):
        return row
    try:
        with own_step(Reason.IMAGE_UNREADABLE):
            image = DECODE_BUDGET.keep(reduced(load(row)))
            prepare(model, image)
    except BadRecord as error:
        return BadRow.of(row, row.source, error)
    return row, image
