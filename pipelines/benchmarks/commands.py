"""The commands of `captions benchmarks`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from revise_captions.command_line.command import command
from revise_captions.command_line.options import argument, option
from revise_captions.command_line.printing import echo
from revise_captions.command_line.shared import EXISTING_FOLDER, OUT_FILE, shared_option
from revise_captions.text.formatting import plural


@command(name="list")
def list_() -> None:
    """List the benchmarks and what their annotators labeled."""
    from revise_captions.pipelines.benchmarks.listing import listed

    echo(listed())


@dataclass(frozen=True, slots=True)
class ShowOptions:
    """Which benchmark is shown."""

    name: str = argument("NAME")


@command(ShowOptions)
def show(options: ShowOptions) -> None:
    """Show a benchmark's citation, license, source, counts and published figures."""
    from revise_captions.benchmarks.catalog.table import benchmark
    from revise_captions.pipelines.benchmarks.listing import described

    echo(described(benchmark(options.name)))


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """Which benchmark is compared with its publication."""

    name: str = argument("NAME")
    folder: Path = argument("DIR", type=EXISTING_FOLDER)
    subset: str | None = option(
        None, "Fail unless the counts match this published subset.", name="as"
    )


@command(CheckOptions)
def check(options: CheckOptions) -> None:
    """Read the benchmark in DIR and compare its counts with the published ones."""
    from revise_captions.benchmarks import checks
    from revise_captions.benchmarks.catalog.table import benchmark
    from revise_captions.pipelines.benchmarks.listing import checked_text

    entry, folder, subset = benchmark(options.name), options.folder, options.subset
    found = checks.require(entry, folder, subset) if subset else checks.check(entry, folder)
    echo(checked_text(entry, found))


@dataclass(frozen=True, slots=True)
class CaptionsOptions:
    """Which benchmark's captions are written, and where."""

    name: str = argument("NAME")
    folder: Path = argument("DIR", type=EXISTING_FOLDER)
    out: Path = argument("OUT", type=OUT_FILE)
    limit: int | None = shared_option("--limit", help="Export only this many captions.")


@command(CaptionsOptions)
def export(options: CaptionsOptions) -> None:
    """Write the captions in DIR to OUT (.jsonl) as input for the other commands."""
    from revise_captions.benchmarks.catalog.table import benchmark
    from revise_captions.pipelines.benchmarks import listing

    folder, out = options.folder, options.out
    count = listing.export(benchmark(options.name), folder, out, options.limit)
    echo(f"{plural(count, 'caption')} in {out}; use --image-root {folder}")
