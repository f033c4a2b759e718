"""Which records a run reads: options that several commands take."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import click

from revise_captions.command_line.options import argument, option
from revise_captions.command_line.shared import COUNT, shared_option
from revise_captions.errors import UserError
from revise_captions.runs.filters import Filters


@dataclass(frozen=True, slots=True)
class InputOptions:
    """Which records are read. `revise-captions --help` says what each option means.

    `folder` is not an option: it is where relative image paths start if the source is a copy of
    rows from another folder.
    """

    source: str = argument("IN", default="")
    image_field: str | None = shared_option("--image-field")
    caption_field: str | None = shared_option("--caption-field")
    image_root: Path | None = shared_option("--image-root")
    allow_urls: bool = shared_option("--allow-urls")
    limit: int | None = shared_option("--limit")
    shard: str = option(
        "0/1",
        "Process every N-th window of 64 records, from the I-th (0 to N-1). `captions merge` joins "
        "the outputs.",
        metavar="I/N",
    )
    strict: bool = shared_option("--strict")
    drop_duplicates: float | None = option(
        None,
        "Leave out captions that repeat an earlier record's: 1 for exact duplicates; below 1 "
        "also those that share this much of their word trigrams (needs the extra `filters`).",
        type=click.FloatRange(0, 1, min_open=True),
        metavar="SHARE",
    )
    language: str | None = option(
        None,
        "Leave out captions that are more likely than not in one other language than this, such "
        "as en (needs the extra `filters`).",
        metavar="CODE",
    )
    min_side: int | None = option(
        None, "Leave out images whose shorter side is below this.", type=COUNT, metavar="PIXELS"
    )
    max_ratio: float | None = option(
        None,
        "Leave out images with one side longer than this times the other.",
        type=click.FloatRange(1),
        metavar="RATIO",
    )
    drop_gray: bool = option(False, "Leave out images without colors.")
    config: Path | None = shared_option("--config")
    folder: Path | None = None

    @property
    def filters(self) -> Filters:
        """Which records to exclude."""
        return Filters(**{item.name: getattr(self, item.name) for item in fields(Filters)})

    @property
    def caption_fields(self) -> tuple[str, ...]:
        """The fields named in `caption_field`."""
        return tuple(filter(None, (self.caption_field or "").split(",")))


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
