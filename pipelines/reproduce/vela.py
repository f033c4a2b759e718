"""VELA's tables (2509.25818): metrics against people on LongCap-Arena, and on short captions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from revise_captions.benchmarks.catalog.longcap_arena import (
    AXES,
    REFERENCE_FREE,
    TABLE_1,
    TABLE_2,
    TABLE_4,
    TABLE_8,
    TESTS,
    VELA,
)
from revise_captions.benchmarks.catalog.table import benchmark
from revise_captions.benchmarks.types import Example
from revise_captions.errors import UserError
from revise_captions.pipelines.benchmarks.longcap_arena import row_of, test_sets, value_of
from revise_captions.pipelines.metrics.scores import read_scores
from revise_captions.pipelines.reproduce.table import (
    PAPER,
    Asked,
    Figures,
    PaperTable,
    TableRows,
)
from revise_captions.stats.correlations import Kind, correlation

ARENA, FLICKR = "longcap-arena", "flickr8k-expert"
FILES = "a metric or its scores: metric:vela=FOLDER, floor:length, a file with perspectives"


def arena(kind: Kind, asked: Asked) -> TableRows:
    """Tables 1, 2, 4 and 7: correlations of each perspective on TestA and TestB, in percent."""
    folder = asked.folder(ARENA)
    cells = test_sets(benchmark(ARENA), folder)
    if asked.limit is not None:
        cells = {cell: own[: asked.limit] for cell, own in cells.items()}
    found = [row_of(given, cells, folder, replicates=1) for given in _files(asked)]
    sizes = [f"{test} {axis} {len(own)}" for (test, axis), own in sorted(cells.items())]
    unscored = [f"{row.name}: {row.unscored} left out, not scored" for row in found if row.unscored]
    return TableRows(
        {
            row.name: [value_of(row, kind, (test, axis)) for test in TESTS for axis in AXES]
            for row in found
        },
        {f"scores {row.name}": row.source for row in found},
        (f"captions: {', '.join(sizes)}", *unscored),
    )


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
