"""The commands of `captions benchmarks`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from revise_captions.command_line.command import command
from revise_captions.command_line.printing import echo
from revise_captions.command_line.shared import EXISTING_FOLDER, OUT_FILE, shared
from revise_captions.text.formatting import plural


@command(name="list")
def list_() -> None:
    """List the benchmarks and what their annotators labeled."""
    from revise_captions.pipelines.benchmarks.listing import listed

    echo(listed())


@command()
@click.argument("name")
def show(name: str) -> None:
    """Show a benchmark's citation, license, source, counts and published figures."""
    from revise_captions.benchmarks.catalog.table import benchmark
    from revise_captions.pipelines.benchmarks.listing import described

    echo(described(benchmark(name)))


@command()
@click.argument("name")
@click.argument("folder", metavar="DIR", type=EXISTING_FOLDER)
@click.option("--as", "subset", help="Fail unless the counts match this published subset.")
def check(name: str, folder: Path, subset: str | None) -> None:
    """Read the benchmark in DIR and compare its counts with the published ones."""
    from revise_captions.benchmarks import checks
    from revise_captions.benchmarks.catalog.table import benchmark
    from revise_captions.pipelines.benchmarks.listing import checked_text

    entry = benchmark(name)
    found = checks.require(entry, folder, subset) if subset else checks.check(entry, folder)
    echo(checked_text(entry, found))


@command()
@click.argument("name")
@click.argument("folder", metavar="DIR", type=EXISTING_FOLDER)
@click.argument("scores", metavar="[[NAME=]SCORES]…", nargs=-1)
@shared("--replicates", default=1000)
@click.option("--verifier", multiple=True, default=("reference",), help="As in captions dcscore.")
@click.option("--decomposer", default="offline", help="As in captions dcscore.")
@click.option("--matcher", default="offline", help="As in captions dcscore.")
@shared("--critic-profile", help="As in captions dcscore.")
@shared("--image-root", "--device")
def run(name: str, folder: Path, scores: tuple[str, ...], replicates: int, **options: Any) -> None:
    """Put SCORES beside the tables that the benchmark's paper prints, read from DIR.

    For longcap-arena, SCORES are as for captions evaluate-metric: files, `floor:…` or `metric:…`,
    such as metric:vela=my-vela. For decapbench they are files of captions, one file a captioner,
    which are scored by DCScore; --verifier and the options after it are for these.
    `captions evaluate-metric` evaluates on every benchmark.
    """
    from revise_captions.benchmarks.catalog.table import benchmark
    from revise_captions.errors import UserError

    entry = benchmark(name)
    if name == "decapbench":
        from revise_captions.pipelines.benchmarks import decapbench

        echo(decapbench.run(entry, folder, scores, **options))
        return
    if name != "longcap-arena":
        raise UserError(
            f"no tables of a paper are known for {name}",
            hint=f"use captions evaluate-metric {name} {folder} SCORES",
        )
    from revise_captions.pipelines.benchmarks import longcap_arena

    echo(longcap_arena.run(entry, folder, scores, replicates))


@command()
@click.argument("name")
@click.argument("folder", metavar="DIR", type=EXISTING_FOLDER)
@click.argument("out", metavar="OUT", type=OUT_FILE)
@shared("--limit", help="Export only this many captions.")
def export(name: str, folder: Path, out: Path, limit: int | None) -> None:
    """Write the captions in DIR to OUT (.jsonl) as input for the other commands."""
    from revise_captions.benchmarks.catalog.table import benchmark
    from revise_captions.pipelines.benchmarks import listing

    count = listing.export(benchmark(name), folder, out, limit)
    echo(f"{plural(count, 'caption')} in {out}; use --image-root {folder}")
