"""Which records a run reads: options that several commands take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from revise_captions.command_line.options import argument, option
from revise_captions.command_line.shared import shared_option
from revise_captions.errors import UserError


@dataclass(frozen=True, slots=True)
class InputOptions:
    """Which records are read. `revise-captions --help` says what each option means."""

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
    config: Path | None = shared_option("--config")

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
