"""Whether `--resume` finds a finished file of pairs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from revise_captions.io.fields import look_up
from revise_captions.io.readers import open_rows
from revise_captions.io.rows import BadRow, Row, dumps
from revise_captions.io.source import Source
from revise_captions.pipelines.preferences.options import PreferenceOptions
from revise_captions.pipelines.preferences.rows import as_value
from revise_captions.runs.begin import say_complete, stands_alone
from revise_captions.text.formatting import plural

#: What every pair has, and hardly a row of something else.
_KEYS = {"images", "prompt", "chosen", "rejected", "by"}


def is_complete(source: Source, options: PreferenceOptions) -> bool:
    """Whether there is nothing to do, which is said: OUT holds pairs of the source's images alone,
    in their order, and no journal stands beside it."""
    if not stands_alone(options.run):
        return False
    images = _images(source)
    image, pairs = None, 0
    with closing(open_rows(options.out)) as written:
        for row in written.rows():
            wanted = _image_of(row)
            while wanted is not None and image != wanted:
                image = next(images, None)
                wanted = wanted if image is not None else None
            if wanted is None:
                return False
            pairs += 1
    say_complete(options.run, plural(pairs, "pair"))
    return True


def _images(source: Source) -> Iterator[str]:
    field = source.fields.image or ""
    for row in source.rows():
        if isinstance(row, Row):
            yield dumps(as_value(look_up(row.data, field)))


def _image_of(row: Row | BadRow) -> str | None:
    """The image of a pair, as text; None of a row that is none."""
    if isinstance(row, BadRow) or not row.data.keys() >= _KEYS:
        return None
    images = row.data["images"]
    return dumps(images[0]) if isinstance(images, list) and len(images) == 1 else None
