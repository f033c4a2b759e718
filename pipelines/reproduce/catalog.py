"""All tables that can be reproduced, by `PAPER:TABLE`; each paper's module lists its own."""

from __future__ import annotations

import csv
from importlib import import_module

from revise_captions.errors import UserError
from revise_captions.pipelines.reproduce.table import PUBLISHED, PaperTable
from revise_captions.registry import did_you_mean

#: The modules, in the order of docs/papers.md.
PAPERS = ("vnli_critique", "posh", "dcscore", "vela", "contextref")


def tables() -> dict[str, PaperTable]:
    """All tables by name; nothing heavy is imported."""
    modules = (import_module(f"revise_captions.pipelines.reproduce.{name}") for name in PAPERS)
    return {table.id: table for module in modules for table in module.TABLES}


def not_taken() -> dict[str, str]:
    """Why each other table of the five papers is not computed."""
    with (PUBLISHED / "not_taken.csv").open(newline="", encoding="utf-8") as file:
        return {row["table"]: row["why"] for row in csv.DictReader(file)}


def table(name: str) -> PaperTable:
    """A table by name. Raises `UserError` where there is none, or none is computed."""
    known, others = tables(), not_taken()
    if name in others:
        raise UserError(f"{name} cannot be reproduced: {others[name]}")
    if name not in known:
        raise UserError(
            f"no table {name!r} can be reproduced{did_you_mean(name, known)}",
            hint="`captions reproduce --list` lists all",
        )
    return known[name]
