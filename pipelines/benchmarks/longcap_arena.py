"""`captions benchmarks run longcap-arena`: metrics beside the rows of VELA's Tables 1 and 4."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from revise_captions.benchmarks.catalog.benchmark import Benchmark
from revise_captions.benchmarks.catalog.longcap_arena import (
    AXES,
    REFERENCE_FREE,
    TABLE_1,
    TABLE_4,
    TESTS,
    test_of,
)
from revise_captions.benchmarks.types import Example
from revise_captions.errors import UserError
from revise_captions.metrics.registry import load_metric, metric_label, scored
from revise_captions.pipelines.metrics.scores import METRIC, metric_input, read_scores
from revise_captions.signature import signature
from revise_captions.stats.correlations import correlation
from revise_captions.stats.paired_tests import ResampledFigure, measured

TABLES = (("kendall-c", "τ-c (Table 1)"), ("kendall-b", "τ-b (Table 4)"))
Cell = tuple[str, str]
#: Scores by id; None where the metric could not judge.
ById = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class ArenaRow:
    """One metric's figures.

    Attributes:
        name: What the tables call it.
        figures: By statistic, test set and perspective.
        unscored: Captions that it could not judge.
        milliseconds: A caption; None where scores were read from a file.
        source: What decides its scores.
    """

    name: str
    figures: Mapping[tuple[str, Cell], ResampledFigure]
    unscored: int
    milliseconds: float | None
    source: str


def run(entry: Benchmark, folder: Path, given: Sequence[str], replicates: int) -> str:
    """Both tables: what the paper prints, and below it the given metrics.

    Args:
        entry: The benchmark.
        folder: Where its files are.
        given: Scores, as `captions evaluate-metric` takes them. Files have a column for each
        perspective,
            as `captions vela` writes them, or one `score` for all.
        replicates: Resamples behind the intervals.

    Raises:
        UserError: A metric cannot be had, or the folder holds neither test set.
    """
    cells = test_sets(entry, folder)
    rows = [row_of(name, cells, folder, replicates) for name in given]
    sizes = ", ".join(
        f"{test}: {max(len(own) for (t, _), own in cells.items() if t == test):,} captions"
        for test in TESTS
        if any(t == test for t, _ in cells)
    )
    parts = [f"{sizes} here; the paper has 294 in TestA and 324 in TestB."]
    parts += ["\n".join(_table(kind, title, rows)) for kind, title in TABLES]
    parts += ["\n".join(_notes(row)) for row in rows]
    return "\n\n".join(parts)


def test_sets(entry: Benchmark, folder: Path) -> dict[Cell, list[Example]]:
    """The captions by test set and perspective.

    Raises:
        UserError: The folder holds neither test set.
    """
    examples = [item for item in entry.read(folder) if isinstance(item, Example)]
    cells: dict[Cell, list[Example]] = {}
    for example in examples:
        if test := test_of(example):
            cells.setdefault((test, example.scores[0].axis), []).append(example)
    if not cells:
        raise UserError(
            f"none of the {len(examples):,} captions in {folder} is of a test set",
            hint="paths of test files hold dci_val or testA, dci_test or testB",
        )
    return cells


def row_of(
    given: str, cells: Mapping[Cell, Sequence[Example]], folder: Path, replicates: int
) -> ArenaRow:
    """A metric's figures, with intervals over images from so many resamples."""
    figures: dict[tuple[str, Cell], ResampledFigure] = {}
    unscored, seconds, captions = 0, 0.0, 0
    name = source = ""
    metric = load_metric(given.removeprefix(METRIC)) if given.startswith(METRIC) else None
    for cell, examples in cells.items():
        began = time.monotonic()
        if metric is not None:
            # VELA has a score of its own for each perspective; other metrics have one for all
            one = metric.on(cell[1]) if hasattr(metric, "on") else metric
            found = scored(one, [metric_input(example, folder) for example in examples])
            values: ById = {e.id: s.value for e, s in zip(examples, found, strict=True)}
            name, source = metric_label(given.removeprefix(METRIC)), signature(metric.settings)
        else:
            name, source, values = _read(given, examples, cell[1], folder)
        seconds += time.monotonic() - began
        captions += len(examples)
        known = [e for e in examples if values.get(e.id) is not None]
        unscored += len(examples) - len(known)
        human = [np.mean([s.value for s in e.scores]) for e in known]
        scores = [values[e.id] for e in known]
        images = [e.image for e in known]
        for kind, _ in TABLES:
            statistic = partial(correlation, kind)  # type: ignore[arg-type]
            figures[kind, cell] = measured(
                statistic, np.array(scores, dtype=float), np.array(human), images, replicates
            )
    per_caption = 1000 * seconds / captions if metric is not None else None
    return ArenaRow(name, figures, unscored, per_caption, source)


def _read(
    given: str, examples: Sequence[Example], axis: str, folder: Path
) -> tuple[str, str, ById]:
    """Name, source and scores by id: the perspective's column of a file, else `score`."""
    columns = ("score",) if given.startswith("floor:") else (axis, "score")
    for column in columns:
        try:
            found = read_scores(given, examples, column, folder)
        except UserError:
            if column == columns[-1]:
                raise
            continue
        values = {example.id: found.caption(example.id) for example in examples}
        if any(value is not None for value in values.values()) or column == columns[-1]:
            return found.name, found.source, values
    raise AssertionError("the last column returns or raises")


def _table(kind: str, title: str, rows: Sequence[ArenaRow]) -> Iterator[str]:
    width = max([len("reference-free VELA"), *(len(row.name) for row in rows), 24])
    heads = "  ".join(f"{axis[:4].capitalize() + '.':>6}" for axis in AXES)
    yield f"{title + ' ×100':<{width}}  {'TestA':^22}  {'TestB':^22}  {'ms':>7}"
    yield f"{'':<{width}}  {heads}  {heads}"
    published = TABLE_1 if kind == "kendall-c" else {n: (v, None) for n, v in TABLE_4.items()}
    for name, (six, ms) in published.items():
        yield _line(name, six, ms, width)
    if kind == "kendall-c":
        yield _line("VELA w/o references", REFERENCE_FREE, None, width)
    for row in rows:
        own = [value_of(row, kind, (test, axis)) for test in TESTS for axis in AXES]
        yield _line(f"→ {row.name}", own, row.milliseconds, width)


def value_of(row: ArenaRow, kind: str, cell: Cell) -> float | None:
    """A figure in percent; None where there is none."""
    figure = row.figures.get((kind, cell))
    return None if figure is None or figure.value is None else 100 * figure.value


def _line(name: str, six: Sequence[float | None], ms: float | None, width: int) -> str:
    cells = "  ".join(f"{'–' if value is None else f'{value:.1f}':>6}" for value in six)
    return f"{name:<{width}}  {cells}  {'–' if ms is None else f'{ms:.3g}':>7}"


def _notes(row: ArenaRow) -> Iterator[str]:
    """Intervals over images, what was not scored, and the signature."""
    for (kind, (test, axis)), figure in row.figures.items():
        if kind == "kendall-c" and figure.low is not None and figure.high is not None:
            yield (
                f"{row.name}, {test}, {axis}: τ-c 95 % [{100 * figure.low:.1f}, "
                f"{100 * figure.high:.1f}], {figure.rows:,} captions, {figure.units:,} images"
            )
    if row.unscored:
        yield f"{row.name}: {row.unscored:,} ratings of captions that it could not score, left out"
    yield f"{row.name}: {row.source}"
