"""The command `captions read-chart`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from revise_captions.command_line.command import command
from revise_captions.command_line.options import argument, option

EPILOG = """
\b
Examples:
  captions read-chart chart.png
  captions read-chart *.png --format csv > marks.csv
  captions read-chart charts/ --format jsonl > readings.jsonl
"""


@dataclass(frozen=True, slots=True)
class ReadChartOptions:
    """Which charts, and how they are printed."""

    images: tuple[Path, ...] = argument("IMAGE…", type=click.Path(path_type=Path, exists=True))
    form: Literal["table", "text", "csv", "json", "jsonl"] = option(
        "table",
        "How to print: tables for people, the text that a critic reads, a CSV row per mark, one "
        "JSON object by image, or a JSON line per image.",
        name="format",
    )


@command(ReadChartOptions, name="read-chart", heading="Correct captions", epilog=EPILOG)
def read_chart(options: ReadChartOptions) -> int:
    """Print the values that a chart shows.

    Also prints titles, axes and series. A folder stands for the images in it. A ~ marks values that
    were measured rather than printed in the chart. Several images are read in parallel and printed
    in order. The exit status is 4 if nothing could be read in any image.
    """
    from revise_captions.pipelines.chart_reading.run import print_readings

    return print_readings(options.images, options.form)
