"""Counts what was read, and compares the counts with the known ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from revise_captions.benchmarks.catalog.benchmark import Benchmark
from revise_captions.benchmarks.types import Example, Item
from revise_captions.errors import UserError


def count(items: Iterable[Item]) -> dict[str, int]:
    """Counts of what was read, by name; `captions[x]`: of captioner or subset x. Omits zeroes.

    Only the images' names are kept in memory in proportion to the data.
    """
    found: Counter[str] = Counter()
    images: set[str] = set()
    captioners: set[str] = set()
    for item in items:
        images.add(item.image)
        if isinstance(item, Example):
            _count_example(item, found)
            captioners.add(item.captioner)
        else:
            found["preferences"] += 1
            found[f"preferences[{item.axis}]"] += 1
            found["ties"] += item.value == 0
    captioners.discard("")
    found["images"], found["captioners"] = len(images), len(captioners)
    return {name: number for name, number in sorted(found.items()) if number}


def _count_example(item: Example, found: Counter[str]) -> None:
    found["captions"] += 1
    for name in filter(None, {item.captioner, item.subset}):
        found[f"captions[{name}]"] += 1
    found["sentences"] += len(item.sentences)
    found["factual"] += sum(s.factual is True for s in item.sentences)
    found["nonfactual"] += sum(s.factual is False for s in item.sentences)
    found["not_assessable"] += sum(s.assessable is False for s in item.sentences)
    for kind in (kind for s in item.sentences for kind in s.error_types):
        found[f"error[{kind}]"] += 1
    found["votes"] += sum(len(s.ratings) for s in item.sentences)
    found["rationales"] += sum(bool(s.rationale) for s in item.sentences)
    found["scores"] += len(item.scores)
    for score in item.scores:
        found[f"scores[{score.axis}]"] += 1
    found["facts"] += len(item.facts)
    found["supported_facts"] += sum(f.supported is True for f in item.facts)
    found["error_spans"] += len(item.errors)
    found["references"] += len(item.references)
    found["graphs"] += bool(item.graph)
    found["triples"] += len(item.graph)
    found["doubts"] += len(item.doubts)


@dataclass(frozen=True, slots=True)
class Checked:
    """`counts` of what was read; `matches`: the known subset whose counts it has, None if none.

    `differences`: by known subset, the counts that differ as name → (expected, found).
    """

    counts: Mapping[str, int]
    matches: str | None
    differences: Mapping[str, Mapping[str, tuple[int, int]]]


def check(benchmark: Benchmark, folder: Path) -> Checked:
    """Reads the benchmark in `folder` and counts it. Raises `UserError` where it cannot be read."""
    counts = count(benchmark.read(folder))
    differences = {
        subset: {
            name: (number, counts.get(name, 0))
            for name, number in expected.items()
            if counts.get(name, 0) != number
        }
        for subset, expected in benchmark.expected.items()
    }
    matches = next((subset for subset, wrong in differences.items() if not wrong), None)
    return Checked(counts, matches, differences)


def require(benchmark: Benchmark, folder: Path, subset: str) -> Checked:
    """As `check`; raises `UserError` if the counts are not those of `subset`."""
    checked = check(benchmark, folder)
    if subset not in benchmark.expected:
        known = ", ".join(benchmark.expected) or "none"
        raise UserError(
            f"{benchmark.name} has no counted subset “{subset}”", hint=f"the subsets are: {known}"
        )
    if wrong := checked.differences[subset]:
        said = "; ".join(f"{k}: {found:,}, not {want:,}" for k, (want, found) in wrong.items())
        raise UserError(
            f"{folder} does not hold the {subset} of {benchmark.name}: {said}",
            hint="is the file truncated, or another version?",
        )
    return checked
