"""The commands of `caption-benchmarks`."""

from __future__ import annotations

from pathlib import Path

import click

_FOLDER = click.Path(path_type=Path, file_okay=False, exists=True)


@click.command("list")
def list_() -> None:
    """Names, and what people labelled."""
    from revise_captions.pipelines.benchmarks.listing import listed

    click.echo(listed())


@click.command()
@click.argument("name")
def show(name: str) -> None:
    """Citation, licence, where to get it, known counts, published figures."""
    from revise_captions.benchmarks.catalog.table import benchmark
    from revise_captions.pipelines.benchmarks.listing import described

    click.echo(described(benchmark(name)))


@click.command()
@click.argument("name")
@click.argument("folder", metavar="DIR", type=_FOLDER)
@click.option("--as", "subset", help="Fail unless the counts are those of this known subset.")
def check(name: str, folder: Path, subset: str | None) -> None:
    """Read the benchmark in DIR whole, count it, and compare with what is known."""
    from revise_captions.benchmarks import checks
    from revise_captions.benchmarks.catalog.table import benchmark
    from revise_captions.pipelines.benchmarks.listing import checked_text

    entry = benchmark(name)
    found = checks.require(entry, folder, subset) if subset else checks.check(entry, folder)
    click.echo(checked_text(entry, found))


@click.command()
@click.argument("name")
@click.argument("folder", metavar="DIR", type=_FOLDER)
@click.argument("out", metavar="OUT", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--limit", type=click.IntRange(1), help="Only so many captions.")
def export(name: str, folder: Path, out: Path, limit: int | None) -> None:
    """Write the captions in DIR to OUT (.jsonl), for the other commands."""
    from revise_captions.benchmarks.catalog.table import benchmark
    from revise_captions.pipelines.benchmarks import listing

    count = listing.export(benchmark(name), folder, out, limit)
    click.echo(f"{count:,} captions in {out}; images start from {folder}")
