"""The command `caption-benchmarks`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

EPILOG = """
\b
Examples:
  caption-benchmarks show chocolate
  caption-benchmarks check chocolate ../data/chocolate
  caption-benchmarks export chocolate ../data/chocolate chocolate.jsonl
  revise-captions chocolate.jsonl judged.jsonl --stage critique --image-root ../data/chocolate
"""
_FOLDER = click.Path(path_type=Path, file_okay=False, exists=True)


@click.group(epilog=EPILOG, context_settings={"show_default": True, "max_content_width": 100})
@click.version_option(package_name="revise-captions")
def caption_benchmarks() -> None:
    """Public benchmarks of captions: what they are, where to get them, what is in your copy.

    Nothing is ever fetched: `show` says where a benchmark is to be had, and under what licence.
    """


@caption_benchmarks.command("list")
def list_() -> None:
    """Names, and what people labelled."""
    from revise_captions.pipelines.benchmarks import listed

    click.echo(listed())


@caption_benchmarks.command()
@click.argument("name")
def show(name: str) -> None:
    """Citation, licence, where to get it, known counts, published figures."""
    from revise_captions.benchmarks.catalog import benchmark
    from revise_captions.pipelines.benchmarks import described

    click.echo(described(benchmark(name)))


@caption_benchmarks.command()
@click.argument("name")
@click.argument("folder", metavar="DIR", type=_FOLDER)
@click.option("--as", "subset", help="Fail unless the counts are those of this known subset.")
def check(name: str, folder: Path, subset: str | None) -> None:
    """Read the benchmark in DIR whole, count it, and compare with what is known."""
    from revise_captions.benchmarks import checks
    from revise_captions.benchmarks.catalog import benchmark
    from revise_captions.pipelines.benchmarks import checked_text

    entry = benchmark(name)
    found = checks.require(entry, folder, subset) if subset else checks.check(entry, folder)
    click.echo(checked_text(entry, found))


@caption_benchmarks.command()
@click.argument("name")
@click.argument("folder", metavar="DIR", type=_FOLDER)
@click.argument("out", metavar="OUT", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--limit", type=click.IntRange(1), help="Only so many captions.")
def export(name: str, folder: Path, out: Path, limit: int | None) -> None:
    """Write the captions in DIR to OUT (.jsonl), for the other commands."""
    from revise_captions.benchmarks.catalog import benchmark
    from revise_captions.pipelines import benchmarks

    count = benchmarks.export(benchmark(name), folder, out, limit)
    click.echo(f"{count:,} captions in {out}; images start from {folder}")


def main(arguments: list[str] | None = None) -> None:
    """Entry point: a user's mistake is one line and exit 2."""
    from revise_captions.errors import UserError

    try:
        caption_benchmarks.main(arguments, "caption-benchmarks", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except UserError as error:
        click.echo(f"caption-benchmarks: {error}", err=True)
        sys.exit(2)
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("caption-benchmarks: interrupted", err=True)
        sys.exit(130)
