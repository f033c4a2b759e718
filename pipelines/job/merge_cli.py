"""The command `merge-shards`."""

from __future__ import annotations

import click

from revise_captions.cli_options import OUT, SETTINGS, shared, version_option
from revise_captions.commands import echo, run_command


@click.command(context_settings=SETTINGS)
@version_option
@click.argument("source", metavar="IN")
@click.argument("out", metavar="OUT", type=OUT)
@click.argument("shards", metavar="SHARD…", nargs=-1, required=True)
@click.option("--force", is_flag=True, help="Replace OUT.")
@shared("--verbose")
def merge_shards(source: str, out: str, shards: tuple[str, ...], force: bool) -> None:
    """Join the outputs of `revise-captions IN SHARD --shard I/N`, given in the order of I, into
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


def main(arguments: list[str] | None = None) -> None:
    """Entry point."""
    run_command(merge_shards, "merge-shards", arguments)
