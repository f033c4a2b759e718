"""The table of all benchmarks, by name."""

from __future__ import annotations

from difflib import get_close_matches

from revise_captions.benchmarks.catalog import captions, scores, sentences
from revise_captions.benchmarks.catalog.benchmark import Benchmark
from revise_captions.errors import UserError


def benchmark(name: str) -> Benchmark:
    """A benchmark by name.

    Args:
        name: As in `captions benchmarks list`.

    Returns:
        Its entry; nothing has been read.

    Raises:
        UserError: There is no such name.
    """
    known = benchmarks()
    if name not in known:
        near = get_close_matches(name.lower(), known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UserError(
            f"there is no benchmark “{name}”", hint=f"{hint}known are: {', '.join(sorted(known))}"
        )
    return known[name]


def benchmarks() -> dict[str, Benchmark]:
    """All benchmarks by name."""
    tables = (sentences.TABLE, scores.TABLE, captions.TABLE)
    return {entry.name: entry for table in tables for entry in table}
