"""A run's input as its options describe it."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revise_captions.io.decoding import reduced
from revise_captions.io.fields import Fields
from revise_captions.io.images import LoadImage, load_image
from revise_captions.io.readers import open_source
from revise_captions.io.source import Source
from revise_captions.records import Record
from revise_captions.runs.filters import check_image, filtered
from revise_captions.runs.options import InputOptions, parse_shard

if TYPE_CHECKING:
    from PIL.Image import Image


def input_settings(inputs: InputOptions) -> dict[str, Any]:
    """The input options that affect the output."""
    return {
        "in": inputs.source,
        "image-field": inputs.image_field,
        "caption-field": inputs.caption_field,
        "image-root": str(inputs.image_root) if inputs.image_root else None,
        "allow-urls": inputs.allow_urls,
        "limit": inputs.limit,
        "shard": inputs.shard,
        **{name: value for name, value in asdict(inputs.filters).items() if value},
    }


def open_input(inputs: InputOptions, out: str, *, need_image: bool = True) -> Source:
    """The input as a repeatable source with its fields recognized.

    Args:
        inputs: Which records.
        out: The output's name: standard input is copied to a file beside it.
        need_image: Whether a row without an image is a bad row.

    Raises:
        UserError: It cannot be read, or has no such fields.
    """
    source = open_source(
        inputs.source,
        fields=Fields(inputs.image_field, inputs.caption_fields),
        need_image=need_image,
        shard=parse_shard(inputs.shard),
        limit=inputs.limit,
        spool=Path("stdout" if out == "-" else out),
        strict=inputs.strict,
    )
    if inputs.folder is not None:
        source = replace(source, folder=inputs.folder)
    return filtered(source, inputs.filters)


def image_loader(source: Source, inputs: InputOptions) -> LoadImage:
    """Reads a record's image as the options allow; large ones are scaled down."""

    filters = inputs.filters

    def load(record: Record) -> Image:
        image = load_image(
            record.image,
            root=inputs.image_root,
            folder=source.folder,
            allow_urls=inputs.allow_urls,
            keep=reduced,
        )
        check_image(image, filters)
        return image

    return load
