"""What `captions reproduce` prints: the list of tables, and a table beside the paper's rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

from revise_captions.benchmarks.catalog.table import benchmark
from revise_captions.outside_text import plain
from revise_captions.pipelines.reproduce.table import Asked, Figures, PaperTable, TableRows
from revise_captions.signature import signature


def listed(tables: Iterable[PaperTable], not_taken: Mapping[str, str]) -> str:
    """What each table shows, needs and costs, and which rows stand beside yours; why not others."""
    parts = ["\n".join(_described(table)) for table in tables]
    others = "\n".join(f"{name}  {why}" for name, why in not_taken.items())
    return "\n\n".join([*parts, *([f"Not computed:\n{others}"] if others else [])])


def _described(table: PaperTable) -> Iterator[str]:
    yield f"{table.id}  {table.title} ({table.source})"
    for name in table.benchmarks:
        yield f"  data       {name}: {benchmark(name).source}"
    for role in table.roles:
        theirs = f"the paper's: {role.paper}" if role.paper else "the paper's was not released"
        note = f"; {role.note}" if role.note else ""
        yield f"  model      {role.name}={role.default} by default; {theirs}{note}"
    if table.files:
        yield f"  FILE       {table.files}"
    yield f"  protocol   {' or '.join(table.protocols)}"
    yield f"  cost       {table.cost}"
    yield f"  beside     {', '.join(table.published)}"
    for protocol, reasons in table.differs.items():
        for reason in reasons:
            yield f"  not its    {reason} (protocol {protocol})"


def as_text(table: PaperTable, asked: Asked, found: TableRows, *, sample: bool) -> str:
    """A table: the computed rows, the paper's, and why they may not be comparable."""
    name = max(map(len, [*found.rows, *table.published]), default=0) + 2
    columns = (*table.columns, *found.further)
    widths = [max(len(column), 8) + 2 for column in columns]
    heads = zip(columns, widths, strict=True)
    lines = [f"{table.id}: {table.title} ({table.source}), protocol {asked.protocol}"]
    if sample:
        lines.append(
            "SAMPLE: a few made-up rows in the released format, to try the command; "
            "these figures say nothing"
        )
    digits = [table.digits[min(k, len(table.digits) - 1)] for k in range(len(widths))]
    lines += ["", " " * (name + 2) + "".join(f"{head:>{width}}" for head, width in heads)]
    for title, rows in (("computed", found.rows), ("published", table.published)):
        lines += [f"{title}:", *_rows(rows, name, widths, digits)]
    if notes := [*found.notes]:
        lines += ["", *notes]
    reasons = ["the data are a made-up sample"] if sample else []
    reasons += table.why_not_comparable(asked, found)
    lines += ["", "not comparable with the published rows:" if reasons else "comparable"]
    lines += [f"  - {plain(reason)}" for reason in reasons]
    return "\n".join([*lines, "", signature_of(table, asked, found)])


def signature_of(table: PaperTable, asked: Asked, found: TableRows) -> str:
    """Everything that decides the figures, with the protocol's name."""
    return signature({"table": table.id, "protocol": asked.protocol, **found.settings})


def _rows(
    rows: Mapping[str, Figures], name: int, widths: Sequence[int], digits: Sequence[int]
) -> Iterator[str]:
    for who, figures in rows.items():
        cells = (
            f"{'–' if figure is None else f'{figure:.{places}f}':>{width}}"
            for figure, width, places in zip_longest(figures, widths, digits)
        )
        yield f"  {plain(who):<{name}}" + "".join(cells)
