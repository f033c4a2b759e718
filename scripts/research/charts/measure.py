"""How well charts are read: DePlot's RMS-F1 and RNSS, against tables that are known.

    python -m scripts.research.charts.measure IMAGES --rendered 20

The tables of real charts are in `tests/charts/real_tables.json`, read off by eye before the reader
saw the images; the images are of the half of CHOCOLATE (SHA-256 of their names, odd) that no rule
was tuned on. A table is [{"columns": [series], "rows": {category: [values]}}, …]; null stands for a
cell without a value. With `--rendered`, drawn charts are measured, too: rules were tuned on those
of Vega-Lite and matplotlib, of other seeds than here, and on none of the infographics.
"""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from PIL.Image import Image

from revise_captions.chart_world.drawing import draw_table
from revise_captions.chart_world.readings import exact_reading
from revise_captions.chart_world.tables import sample_table
from revise_captions.charts import Chart
from revise_captions.charts.read import read
from revise_captions.command_line.printing import echo
from revise_captions.errors import UserError
from revise_captions.io.images import load_image
from revise_captions.records import ImageRef
from scripts.research.charts.table_metrics import TablePoint, rms, rnss
from scripts.research.frame.blocks import write_to_pages
from scripts.research.frame.figures import share_of, spread
from scripts.research.frame.report import ROOT, write_option

TABLES = Path(__file__).parents[3] / "tests/charts/real_tables.json"
#: Names of CHOCOLATE's images begin with their source.
SOURCES = ("vistext", "pew")
STYLES = ("vega", "matplotlib", "infographic")
#: Kinds of the drawn charts' rows; pies and tables of text have rows of their own.
READ_KINDS = ("vertical bar", "horizontal bar", "grouped bar", "stacked bar", "line", "area")
KINDS = {"": READ_KINDS, " pies": ("pie",), " tables": ("text table",)}


@dataclass(frozen=True, slots=True)
class ChartScore:
    """How well an image's charts were read.

    Attributes:
        image: Its name.
        precision: Of RMS.
        recall: Of RMS.
        f1: Of RMS.
        rnss: As in `table_metrics`.
        seconds: Of the processor.
    """

    image: str
    precision: float
    recall: float
    f1: float
    rnss: float
    seconds: float


def points_of_table(tables: Sequence[Mapping[str, Any]]) -> list[TablePoint]:
    """The cells of an image's tables."""
    return [
        TablePoint(row, column, float(value))
        for table in tables
        for row, values in table["rows"].items()
        for column, value in zip(table["columns"], values, strict=True)
        if value is not None
    ]


def points_of_charts(charts: Iterable[Chart]) -> list[TablePoint]:
    """The values that were read."""
    return [
        TablePoint(mark.category, series.name, mark.value)
        for chart in charts
        for series in chart.series
        for mark in series.marks
        if mark.value is not None
    ]


def score(
    image: str, charts: Iterable[Chart], truth: Sequence[TablePoint], seconds: float = 0.0
) -> ChartScore:
    """Compares a reading with the truth."""
    read = points_of_charts(charts)
    precision, recall, f1 = rms(read, truth)
    numbers = rnss([point.value for point in read], [point.value for point in truth])
    return ChartScore(image, precision, recall, f1, numbers, seconds)


def summary(name: str, scores: Sequence[ChartScore]) -> str:
    """A row of the table, with intervals over images."""
    cells = [name, str(len(scores))]
    for key in ("f1", "precision", "recall", "rnss"):
        found = share_of(key, [getattr(one, key) for one in scores])
        digits = 4 if _is_point(found.low, found.high) else 3
        cells.append(f"{found.value:.{digits}f}{spread(found.low, found.high, digits)}")
    cells.append(f"{sum(one.seconds for one in scores) / len(scores):.2f}")
    return "| " + " | ".join(cells) + " |"


def _is_point(low: float | None, high: float | None) -> bool:
    """Whether three digits would print an interval as one number."""
    return low is not None and high is not None and f"{low:.3f}" == f"{high:.3f}"


HEADER = "\n".join(
    (
        "| charts | images | RMS-F1 (95 %) | precision | recall | RNSS | seconds an image |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    )
)


@click.command()
@click.argument("images", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--rendered", default=0, help="Also draw so many charts in each style.")
@write_option
def main(images: Path, rendered: int, write: bool) -> None:
    """Print RMS-F1 and RNSS on real charts of IMAGES whose tables were read off by eye."""
    tables = json.loads(TABLES.read_text(encoding="utf-8"))
    missing = [name for name in tables if not (images / name).exists()]
    if missing:
        raise UserError(f"{images} lacks {len(missing)} images, such as {missing[0]}")
    scores = [
        timed(name, load_image(ImageRef(path=str(images / name))), points_of_table(table))
        for name, table in tables.items()
    ]
    lines = [HEADER]
    lines += [summary(s, [one for one in scores if one.image.startswith(s)]) for s in SOURCES]
    lines.append(summary("all real charts", scores))
    for name, kinds in KINDS.items() if rendered else ():
        for style in STYLES if name != " tables" else STYLES[1:]:
            lines.append(summary(f"drawn{name}, {style}", drawn_scores(style, rendered, kinds)))
    block = "\n".join(lines)
    echo(block)
    if write:
        write_to_pages(ROOT, {"chart-reader": block})


def timed(name: str, image: Image, truth: Sequence[TablePoint]) -> ChartScore:
    """Reads an image and compares it with the truth."""
    start = time.process_time()
    charts = read(np.asarray(image))
    return score(name, charts, truth, time.process_time() - start)


def drawn_scores(style: str, count: int, kinds: Sequence[str] = READ_KINDS) -> list[ChartScore]:
    """The first `count` charts of the world of some kinds, drawn in a style."""
    scores: list[ChartScore] = []
    for number in itertools.count():
        rng = random.Random(f"measure.{number}")
        table = sample_table(rng)
        if table.kind not in kinds or (style == "vega" and len(table.columns) > 1):
            continue
        if len(scores) == count:
            return scores
        truth = points_of_charts([exact_reading(table)])
        scores.append(timed(f"{style} {number}", draw_table(table, rng, style), truth))
    return scores


if __name__ == "__main__":
    main()
