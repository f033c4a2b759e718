"""A run's input as its options describe it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revise_captions.errors import UserError
from revise_captions.io.decoding import reduced
from revise_captions.io.fields import Fields
from revise_captions.io.images import LoadImage, load_image
from revise_captions.io.readers import Source, open_source
from revise_captions.records import Record

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, slots=True)
class InputOptions:
    """Which records are read. `revise-captions --help` says what each option means."""

    source: str = ""
    image_field: str | None = None
    caption_field: str | None = None
    image_root: Path | None = None
    allow_urls: bool = False
    limit: int | None = None
    shard: str = "0/1"
    config: Path | None = None  # where options came from

    @property
    def caption_fields(self) -> tuple[str, ...]:
        """The fields named in `caption_field`."""
        return tuple(filter(None, (self.caption_field or "").split(",")))


def input_settings(inputs: InputOptions) -> dict[str, Any]:
    """What of the input options decides what is written."""
    return {
        "in": inputs.source,
        "image-field": inputs.image_field,
        "caption-field": inputs.caption_field,
        "image-root": str(inputs.image_root) if inputs.image_root else None,
        "allow-urls": inputs.allow_urls,
        "limit": inputs.limit,
        "shard": inputs.shard,
    }


def parse_shard(text: str) -> tuple[int, int]:
    """`"3/8"` to (3, 8): every eighth window from the fourth. Raises `UserError`."""
    index, slash, count = text.partition("/")
    if not (slash and index.isdecimal() and count.isdecimal()):
        raise UserError(f"--shard {text}: expected I/N, such as 0/8 to 7/8")
    if int(index) >= int(count):
        raise UserError(
            f"there is no shard {text}",
            hint=f"the shards are 0/{count} to {int(count) - 1}/{count}",
        )
    return int(index), int(count)


def open_input(inputs: InputOptions, out: str, *, need_image: bool = True) -> Source:
    """The input as a repeatable source with its fields recognized.

    Args:
        inputs: Which records.
        out: The output's name: standard input is copied to a file beside it.
        need_image: Whether a row without an image is a bad row.

    Raises:
        UserError: It cannot be read, or has no such fields.
    """
    return open_source(
        inputs.source,
        fields=Fields(inputs.image_field, inputs.caption_fields),
        need_image=need_image,
        shard=parse_shard(inputs.shard),
        limit=inputs.limit,
        spool=Path("stdout" if out == "-" else out),
    )


def image_loader(source: Source, inputs: InputOptions) -> LoadImage:
    """Reads a record's image the way the options allow; large ones are reduced."""

    def load(record: Record) -> Image:
        return load_image(
            record.image,
            root=inputs.image_root,
            folder=source.folder,
            allow_urls=inputs.allow_urls,
            keep=reduced,
        )

    return load
