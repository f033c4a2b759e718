"""The command `read-chart`."""

from __future__ import annotations

from pathlib import Path

import click

from revise_captions.cli_options import SETTINGS, version_option
from revise_captions.commands import run_command

EPILOG = """
\b
Examples:
  read-chart chart.png
  read-chart *.png --format csv > marks.csv
  read-chart charts/ --format jsonl > readings.jsonl
"""


@click.command(epilog=EPILOG, context_settings=SETTINGS)
@version_option
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
    """Print what the charts in IMAGE… show: titles, axes, series, values.

    A folder stands for the images in it. Values that were measured rather than printed in the chart
    stand behind ~. Several images are read at once, and printed in their order. The exit status is
    4 if nothing could be read in any image.
    """
    from revise_captions.pipelines.chart_reading.run import print_readings

    return print_readings(images, form)


def main(arguments: list[str] | None = None) -> None:
    """Entry point."""
    run_command(read_chart, "read-chart", arguments)


if __name__ == "__main__":
    main()
