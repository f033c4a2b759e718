"""The commands of `captions benchmarks`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from revise_captions.command_line.command import command
from revise_captions.command_line.options import argument, group, option
from revise_captions.command_line.printing import echo
from revise_captions.command_line.shared import EXISTING_FOLDER, OUT_FILE, shared_option
from revise_captions.engines.model_spec import Placement
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
class TablesOptions:
    """Whose scores stand beside a paper's tables."""

    name: str = argument("NAME")
    folder: Path = argument("DIR", type=EXISTING_FOLDER)
    scores: tuple[str, ...] = argument("[[NAME=]SCORES]…")
    replicates: int = shared_option("--replicates", default=1000)
    verifier: tuple[str, ...] = option(("reference",), "As in captions dcscore.")
    decomposer: str = option("offline", "As in captions dcscore.")
    matcher: str = option("offline", "As in captions dcscore.")
    critic_profile: Path | None = shared_option("--critic-profile", help="As in captions dcscore.")
    image_root: Path | None = shared_option("--image-root")
    placement: Placement = group(Placement, batch_size=16)


@command(TablesOptions)
def run(options: TablesOptions) -> None:
    """Put SCORES beside the tables that the benchmark's paper prints, read from DIR.

    For longcap-arena, SCORES are as for captions evaluate-metric: files, `floor:…` or `metric:…`,
    such as metric:vela=my-vela. For decapbench they are files of captions, one file a captioner,
    which are scored by DCScore; --verifier and the options after it are for these.
    `captions evaluate-metric` evaluates on every benchmark.
    """
    from revise_captions.benchmarks.catalog.table import benchmark
    from revise_captions.errors import UserError

    name, folder, scores = options.name, options.folder, options.scores
    entry = benchmark(name)
    if name == "decapbench":
        from revise_captions.dcscore.options import UnitModels
        from revise_captions.pipelines.benchmarks import decapbench

        models = UnitModels(
            options.decomposer,
            options.matcher,
            options.verifier,
            critic_profile=options.critic_profile,
            placement=options.placement,
        )
        echo(decapbench.run(entry, folder, scores, models, image_root=options.image_root))
        return
    if name != "longcap-arena":
        raise UserError(
            f"no tables of a paper are known for {name}",
            hint=f"use captions evaluate-metric {name} {folder} SCORES",
        )
    from revise_captions.pipelines.benchmarks import longcap_arena

    echo(longcap_arena.run(entry, folder, scores, options.replicates))


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
