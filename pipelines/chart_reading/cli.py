"""The command `captions read-chart`."""

from __future__ import annotations

from pathlib import Path

import click

from revise_captions.command_line.command import command

EPILOG = """
\b
Examples:
  captions read-chart chart.png
  captions read-chart *.png --format csv > marks.csv
  captions read-chart charts/ --format jsonl > readings.jsonl
"""


@command(
    name="read-chart",
    heading="Correct captions",
    epilog=EPILOG,
)
@click.argument(
    "images",
    nargs=-1,
    required=True,
    metavar="IMAGE…",
    type=click.Path(path_type=Path, exists=True),
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "text", "csv", "json", "jsonl"]),
    default="table",
    help="How to print: tables for people, the text that a critic reads, a CSV row per mark, one "
    "JSON object by image, or a JSON line per image.",
)
def read_chart(images: tuple[Path, ...], form: str) -> int:
    """Print the values that a chart shows.

    Print what the charts in IMAGE… show: titles, axes, series, values.

    A folder stands for the images in it. Values that were measured rather than printed in the chart
    stand behind ~. Several images are read at once, and printed in their order. The exit status is
    4 if nothing could be read in any image.
    """
    from revise_captions.pipelines.chart_reading.run import print_readings

    return print_readings(images, form)
