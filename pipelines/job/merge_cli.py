"""The command `captions merge`."""

from __future__ import annotations

from dataclasses import dataclass

from revise_captions.command_line.command import command
from revise_captions.command_line.options import argument
from revise_captions.command_line.printing import echo
from revise_captions.command_line.shared import OUT, shared_option


@dataclass(frozen=True, slots=True)
class MergeOptions:
    """Which outputs are joined, and into which file."""

    source: str = argument("IN")
    out: str = argument("OUT", type=OUT)
    shards: tuple[str, ...] = argument("SHARD…")
    force: bool = shared_option("--force", help="Replace OUT.")


@command(MergeOptions, name="merge", heading="Large jobs and engines")
def merge_shards(options: MergeOptions) -> None:
    """Join the outputs of shards.

    Joins the outputs of `revise-captions IN SHARD --shard I/N`, given in the order of I, into OUT:
    the same bytes that one run over IN writes. Quarantines are joined too.

    IN is the input of the shards. A missing, duplicate or misplaced row is an error, and OUT is
    then not written.
    """
    from revise_captions.pipelines.job.merge import merge
    from revise_captions.text.formatting import plural

    out = options.out
    written = merge(options.source, options.shards, out, force=options.force)
    echo(f"{plural(written.rows, 'row')} in {out}")
    if written.quarantine is not None:
        echo(f"{plural(written.quarantined, 'row')} in {written.quarantine}")
