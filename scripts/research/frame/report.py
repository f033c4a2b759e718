"""A command that measures figures in parts and prints one table, or writes it into its page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import click

from scripts.research.frame.blocks import block_of, page_with, write_blocks
from scripts.research.frame.figures import ReportedFigure, as_table
from scripts.research.frame.shipped import ROOT as ROOT

#: What a part needs in the folder of the data, "" for nothing, and the figures that it gives.
Part = tuple[str, Callable[[Path], Iterator[ReportedFigure]]]

write_option = click.option(
    "--write", is_flag=True, help="Put what is printed between its marks in the page that has them."
)


def table_command(mark: str, parts: Mapping[str, Part], about: str) -> click.Command:
    """`DATA [--only PART]… [--write]`, for the table between the marks `mark` of a page in docs.

    DATA is the folder of the public collections. A part whose data is not there is left out and
    said so. With `--only`, `--write` leaves the rows of the other parts as they are.
    """

    @click.command(help=about)
    @click.argument("data", type=click.Path(exists=True, file_okay=False, path_type=Path))
    @click.option("--only", multiple=True, type=click.Choice(list(parts)), help="Only these parts.")
    @write_option
    def main(data: Path, only: tuple[str, ...], write: bool) -> None:
        found: list[ReportedFigure] = []
        for name in only or parts:
            needed, part = parts[name]
            if not (data / needed).exists():
                click.echo(f"{name}: no {needed} in {data}, left out", err=True)
                continue
            click.echo(name, err=True)
            found += part(data)
        table = as_table(found)
        click.echo(table)
        if write:
            page = page_with(ROOT, mark)
            kept = with_rows(block_of(page, mark), table) if only else table
            write_blocks(page, {mark: kept})

    return main


def with_rows(table: str, new: str) -> str:
    """A table with another's rows in place of its own of the same name; new ones at its end.

    What stands in brackets after a name ("p = 0.004") is no part of it.
    """
    rows = {_name(line): line for line in table.splitlines()}
    rows.update((_name(line), line) for line in new.splitlines())
    return "\n".join(rows.values())


def _name(row: str) -> str:
    return row.split("|")[1].partition("[")[0].strip()
