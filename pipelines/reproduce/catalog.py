"""All tables that can be reproduced, by `PAPER:TABLE`; each paper's module lists its own."""

from __future__ import annotations

from importlib import import_module

from revise_captions.errors import UserError
from revise_captions.pipelines.reproduce.table import PaperTable
from revise_captions.registry import did_you_mean

#: The modules, in the order of docs/papers.md.
PAPERS = ("vnli_critique", "posh", "dcscore")


def tables() -> dict[str, PaperTable]:
    """All tables by name; nothing heavy is imported."""
    modules = (import_module(f"revise_captions.pipelines.reproduce.{name}") for name in PAPERS)
    return {table.id: table for module in modules for table in module.TABLES}


def table(name: str) -> PaperTable:
    """A table by name. Raises `UserError` where there is none."""
    known = tables()
    if name not in known:
        raise UserError(
            f"no table {name!r} can be reproduced{did_you_mean(name, known)}",
            hint="`captions reproduce --list` names all; docs/papers.md says why others cannot be",
        )
    return known[name]
