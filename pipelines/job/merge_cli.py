"""The command `captions merge`."""

from __future__ import annotations

import click

from revise_captions.command_line.command import command
from revise_captions.command_line.printing import echo
from revise_captions.command_line.shared import OUT


@command(
    name="merge",
    heading="Large jobs and engines",
)
@click.argument("source", metavar="IN")
@click.argument("out", metavar="OUT", type=OUT)
@click.argument("shards", metavar="SHARD…", nargs=-1, required=True)
@click.option("--force", is_flag=True, help="Replace OUT.")
def merge_shards(source: str, out: str, shards: tuple[str, ...], force: bool) -> None:
    """Join the outputs of shards.

    Join the outputs of `revise-captions IN SHARD --shard I/N`, given in the order of I, into
    OUT: the same bytes as one run over IN writes. Quarantines are joined too.

    IN is what the shards were made from. A row that is missing, doubled or out of place is an
    error, and OUT is then not written.
    """
    from revise_captions.pipelines.job.merge import merge
    from revise_captions.text.formatting import plural

    written = merge(source, shards, out, force=force)
    echo(f"{plural(written.rows, 'row')} in {out}")
    if written.quarantine is not None:
        echo(f"{plural(written.quarantined, 'row')} in {written.quarantine}")
