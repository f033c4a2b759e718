"""Benchmarks by name, ours and those of other installed packages: `registry.BENCHMARKS`."""

from __future__ import annotations

from revise_captions.benchmarks.catalog.benchmark import Benchmark
from revise_captions.errors import UserError
from revise_captions.registry import BENCHMARKS, load, names


def benchmark(name: str) -> Benchmark:
    """A benchmark by name.

    Args:
        name: As in `captions benchmarks list`.

    Returns:
        Its entry; nothing has been read.

    Raises:
        UserError: There is no such name, or its package declares something else.
    """
    found = load(BENCHMARKS, name)
    if not isinstance(found, Benchmark) or found.name != name:
        raise UserError(
            f"the benchmark {name!r} is {getattr(found, 'name', type(found).__name__)!r}",
            hint="its package must declare a `Benchmark` of that name",
        )
    return found


def benchmarks() -> dict[str, Benchmark]:
    """All benchmarks by name."""
    return {name: benchmark(name) for name in names(BENCHMARKS)}
