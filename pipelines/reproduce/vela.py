"""VELA's tables (2509.25818): metrics against people on LongCap-Arena, and on short captions."""

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
    TABLE_2,
    TABLE_4,
    TABLE_8,
    TESTS,
    VELA,
    test_of,
)
from revise_captions.benchmarks.catalog.table import benchmark
from revise_captions.benchmarks.types import Example
from revise_captions.errors import UserError
from revise_captions.metrics.registry import load_metric, metric_label, scored
from revise_captions.pipelines.metrics.scores import METRIC, metric_input, read_scores
from revise_captions.pipelines.reproduce.table import (
    PAPER,
    Asked,
    Figures,
    PaperTable,
    TableRows,
)
from revise_captions.signature import signature
from revise_captions.stats.correlations import Kind, correlation
from revise_captions.stats.paired_tests import ResampledFigure, measured

ARENA, FLICKR = "longcap-arena", "flickr8k-expert"
FILES = "a metric or its scores: metric:vela=FOLDER, floor:length, a file with perspectives"
#: A test set and a perspective.
Cell = tuple[str, str]
#: Scores by id; None where the metric could not judge.
ById = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class ArenaRow:
    """One metric's figures.

    Attributes:
        name: What the tables call it.
        figures: By test set and perspective, with intervals over images.
        unscored: Ratings of captions that it could not judge.
        milliseconds: A caption; None where scores were read from a file.
        source: What decides its scores.
    """

    name: str
    figures: Mapping[Cell, ResampledFigure]
    unscored: int
    milliseconds: float | None
    source: str

    def percent(self, cell: Cell) -> float | None:
        """A figure; None where there is none."""
        figure = self.figures.get(cell)
        return None if figure is None or figure.value is None else 100 * figure.value

    def notes(self) -> Iterator[str]:
        """Intervals, what was not scored, and the time."""
        for (test, axis), figure in self.figures.items():
            if figure.low is not None and figure.high is not None:
                yield (
                    f"{self.name}, {test}, {axis}: 95 % [{100 * figure.low:.1f}, "
                    f"{100 * figure.high:.1f}], {figure.rows:,} captions, {figure.units:,} images"
                )
        if self.unscored:
            yield f"{self.name}: {self.unscored} left out, not scored"
        if self.milliseconds is not None:
            yield f"{self.name}: {self.milliseconds:.3g} ms a caption"


def arena(kind: Kind, asked: Asked) -> TableRows:
    """Tables 1, 2, 4 and 7: correlations of each perspective on TestA and TestB, in percent."""
    folder = asked.folder(ARENA)
    cells = test_sets(benchmark(ARENA), folder)
    if asked.limit is not None:
        cells = {cell: own[: asked.limit] for cell, own in cells.items()}
    found = [row_of(given, kind, cells, folder) for given in _files(asked)]
    sizes = [f"{test} {axis} {len(own)}" for (test, axis), own in sorted(cells.items())]
    return TableRows(
        {row.name: [row.percent((test, axis)) for test in TESTS for axis in AXES] for row in found},
        {f"scores {row.name}": row.source for row in found},
        (f"captions: {', '.join(sizes)}", *(note for row in found for note in row.notes())),
    )


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
            f"none of the {len(examples):,} captions in {folder} is in a test set",
            hint="paths of test files contain dci_val or testA, dci_test or testB",
        )
    return cells


def row_of(
    given: str, kind: Kind, cells: Mapping[Cell, Sequence[Example]], folder: Path
) -> ArenaRow:
    """A metric's figures."""
    figures: dict[Cell, ResampledFigure] = {}
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
        own = np.array([values[e.id] for e in known], dtype=float)
        images = [e.image for e in known]
        figures[cell] = measured(partial(correlation, kind), own, np.array(human), images)
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


def short(asked: Asked) -> TableRows:
    """Table 8, right: τ-c with every rating of Flickr8k-Expert, in percent."""
    folder = asked.folder(FLICKR)
    items = (item for item in benchmark(FLICKR).read(folder) if isinstance(item, Example))
    examples = list(items)[: asked.limit]
    rows: dict[str, Figures] = {}
    settings = {}
    for given in _files(asked):
        scores = read_scores(given, examples, folder=folder)
        each = [(scores.caption(e.id), s.value) for e in examples for s in e.scores]
        known = np.array([pair for pair in each if pair[0] is not None], dtype=float)
        value = correlation("kendall-c", *known.T) if len(known) else np.nan
        rows[scores.name] = [100 * float(value) if np.isfinite(value) else None]
        settings[f"scores {scores.name}"] = scores.source
    ratings = sum(len(example.scores) for example in examples)
    return TableRows(rows, settings, (f"{len(examples)} captions, {ratings} ratings",))


def _files(asked: Asked) -> tuple[str, ...]:
    if not asked.files:
        raise UserError("no metric is given", hint=f"add {FILES}")
    return asked.files


def _table(number: int, title: str, rows: Mapping[str, Figures], kind: Kind) -> PaperTable:
    return PaperTable(
        id=f"vela:table{number}",
        title=title,
        source=f"2509.25818, Table {number}",
        benchmarks=(ARENA,),
        cost="618 captions for three perspectives: a forward pass of VELA's two models each",
        columns=tuple(f"{test[-1]} {axis[:4]}" for test in TESTS for axis in AXES),
        published=rows,
        roles=(),
        run=partial(arena, kind),
        sample="vela",
        files=FILES,
        sample_files=("floor:length", "metric:random"),
        digits=(1,),
        differs={
            PAPER: ("the paper's rows of VELA and GPT-4o are means of five runs (--seeds 5)",)
        },
    )


TABLES = (
    _table(1, "metrics against people, τ-c in percent",
           {name: six for name, (six, _) in TABLE_1.items()}, "kendall-c"),
    _table(2, "VELA without a branch or with others, τ-c in percent (train-vela)",
           TABLE_2, "kendall-c"),
    _table(4, "VELA and GPT-4o against people, τ-b in percent", TABLE_4, "kendall-b"),
    _table(7, "VELA without references, τ-c in percent (train-vela --reference-free)",
           {"VELA w/o references": REFERENCE_FREE, VELA: TABLE_1[VELA][0]}, "kendall-c"),
    PaperTable(
        id="vela:table8",
        title="short captions: τ-c on Flickr8k-Expert, in percent",
        source="2509.25818, Table 8",
        benchmarks=(FLICKR,),
        cost="5,664 captions, by the metric",
        columns=("tau-c",),
        published=TABLE_8,
        roles=(),
        run=short,
        sample="vela",
        files=FILES,
        sample_files=("floor:length", "metric:random"),
        digits=(1,),
    ),
)  # fmt: skip
