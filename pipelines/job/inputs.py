"""A run's input as its options describe it, for whoever reads it: the command or a worker."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from revise_captions.io.fields import Fields
from revise_captions.io.images import LoadImage, load_image
from revise_captions.io.readers import Source, open_source
from revise_captions.pipelines.options import Options, parse_shard
from revise_captions.pipelines.output.writers import journal_path
from revise_captions.records import Record

if TYPE_CHECKING:
    from PIL.Image import Image


def open_input(options: Options) -> Source:
    """The input as a repeatable source, its fields recognized. Raises `UserError`."""
    captions = tuple(filter(None, (options.caption_field or "").split(",")))
    # The process's id keeps two runs that name the same OUT from spooling into one file.
    spool = f"{journal_path(options.out).with_suffix('')}.stdin.{os.getpid()}"
    return open_source(
        options.source,
        fields=Fields(options.image_field, captions),
        need_image=options.stage != "revise",
        shard=parse_shard(options.shard),
        limit=options.limit,
        spool=journal_path(options.out).with_name(os.path.basename(spool)),
    )


def image_loader(source: Source, options: Options) -> LoadImage:
    """Reads a record's image the way the options allow."""

    def load(record: Record) -> Image:
        return load_image(
            record.image,
            root=options.image_root,
            folder=source.folder,
            allow_urls=options.allow_urls,
        )

    return load
