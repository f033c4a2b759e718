"""The command `merge-shards`."""

from __future__ import annotations

import sys

import click


@click.command(context_settings={"show_default": True, "max_content_width": 100})
@click.argument("source", metavar="IN")
@click.argument("out", metavar="OUT")
@click.argument("shards", metavar="SHARD…", nargs=-1, required=True)
@click.option("--force", is_flag=True, help="Replace OUT.")
def merge_shards(source: str, out: str, shards: tuple[str, ...], force: bool) -> None:
    """Join the outputs of `revise-captions IN SHARD --shard I/N`, given in the order of I, into
    OUT: the same bytes as one run over IN writes. Quarantines are joined too.

    IN is what the shards were made from. A row that is missing, doubled or out of place is an
    error, and OUT is then not written.
    """
    from revise_captions.pipelines.merge import merge

    written = merge(source, shards, out, force=force)
    click.echo(f"{written.rows:,} rows in {out}")
    if written.quarantine is not None:
        click.echo(f"{written.quarantined:,} rows in {written.quarantine}")


def main(arguments: list[str] | None = None) -> None:
    """Entry point: a user's mistake is one line and exit 2."""
    from revise_captions.errors import UserError

    try:
        merge_shards.main(arguments, "merge-shards", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except UserError as error:
        click.echo(f"merge-shards: {error}", err=True)
        sys.exit(2)
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("merge-shards: interrupted", err=True)
        sys.exit(130)
