"""What a reproducible table is, what it is asked with, and what it finds.

A table is an entry in its paper's module (`catalog`): what it needs, what it costs, what the paper
prints, and a function that computes the rows of whoever is asked about. Where paper and released
code differ, each is a protocol of its own, and its name stands beside every figure.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from revise_captions.engines.model_spec import HERE, Placement
from revise_captions.errors import UserError

#: As the paper's text says it, as the authors' released code does it, and, where neither can be
#: followed, a way of our own.
PAPER, RELEASED, OURS = "paper", "released", "ours"
Figures = Sequence[float | None]
PUBLISHED = Path(__file__).parent / "published"


def published(name: str) -> dict[str, Figures]:
    """The rows of a printed table, from a file in `published`: the first column names the row."""
    with (PUBLISHED / name).open(newline="", encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    return {who: tuple(float(cell) if cell else None for cell in cells) for who, *cells in rows}


@dataclass(frozen=True, slots=True)
class TableModel:
    """A model that a table takes.

    Attributes:
        name: As in `--model NAME=MODEL`.
        default: What is used where none is given; runs offline.
        paper: The paper's model; "" where it was not released.
        note: What else is to be said of it.
        protocol: The only protocol that takes it; "": all.
    """

    name: str
    default: str
    paper: str
    note: str = ""
    protocol: str = ""

    def why_other(self, given: str) -> str:
        """Why figures with this model are not the paper's; "" where it is the paper's."""
        if not self.paper:
            return f"{self.name} is {given}; the paper's was not released"
        if self.paper.lower() in given.lower():
            return ""
        return f"{self.name} is {given}; the paper's is {self.paper}"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a table is computed from.

    Attributes:
        data: The folder of the data.
        models: Models by role.
        files: Further rows: `[NAME=]FILE`, or scores as `captions evaluate-metric` takes them.
        protocol: `paper`, `released` or `ours`.
        prompts: The user's copy of the authors' prompts.
        placement: What computes the models.
        limit: So many rows of the data only.
    """

    data: Path
    models: Mapping[str, str]
    files: tuple[str, ...] = ()
    protocol: str = PAPER
    prompts: Path | None = None
    placement: Placement = HERE
    limit: int | None = None

    def folder(self, name: str) -> Path:
        """Where a benchmark's files are: a sub-folder of its name, if there is one."""
        own = self.data / name
        return own if own.is_dir() else self.data


@dataclass(frozen=True, slots=True)
class TableRows:
    """What was computed.

    Attributes:
        rows: Figures by row, in the table's columns; None: none.
        settings: What decides them, by name: the signature.
        notes: What is to be known of them: counts, what was left out.
        differs: Why they are not the paper's, besides the models.
        further: Headings of figures after the table's columns, which the paper does not have.
    """

    rows: Mapping[str, Figures]
    settings: Mapping[str, str]
    notes: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()
    further: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table of a paper, or a part of one.

    Attributes:
        id: `PAPER:TABLE`.
        title: What it shows.
        source: Where it is printed.
        benchmarks: The benchmarks that it takes, by their names in the catalog.
        cost: What it takes to compute, in words.
        columns: Headings of the figures.
        published: The paper's rows; None: a dash there.
        roles: The models it takes, the main one first.
        run: Computes the rows.
        sample: The folder of the shipped sample in `samples`.
        files: What FILE may be; "": none is taken.
        sample_files: FILEs of the sample, relative to its folder.
        protocols: By name, the default first.
        differs: By protocol, what differs from the paper even with its models and data.
        digits: Decimals of the figures, by column; the last is for all that follow.
    """

    id: str
    title: str
    source: str
    benchmarks: tuple[str, ...]
    cost: str
    columns: tuple[str, ...]
    published: Mapping[str, Figures]
    roles: tuple[TableModel, ...]
    run: Callable[[Asked], TableRows]
    sample: str
    files: str = ""
    sample_files: tuple[str, ...] = ()
    protocols: tuple[str, ...] = (PAPER,)
    differs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    digits: tuple[int, ...] = (3,)

    def models_of(self, given: Sequence[str]) -> dict[str, str]:
        """Models by role, from `[ROLE=]NAME`; without a role it is the main one's.

        Raises:
            UserError: Two are given for one role, or the table takes none.
        """
        known = [role.name for role in self.roles]
        found: dict[str, str] = {}
        for one in given:
            name, equals, model = one.partition("=")
            if not (equals and name in known):
                name, model = known[0] if known else "", one
            if not name or name in found:
                raise UserError(
                    f"--model {one}: {self.id} takes {'one ' + name if name else 'no model'}",
                    hint=f"its models are: {', '.join(f'{r}=…' for r in known) or 'none'}",
                )
            found[name] = model
        return {role.name: role.default for role in self.roles} | found

    def why_not_comparable(self, asked: Asked, found: TableRows) -> list[str]:
        """Why the figures are not to be held against the published rows."""
        roles = [role for role in self.roles if role.protocol in ("", asked.protocol)]
        reasons = [role.why_other(asked.models[role.name]) for role in roles]
        reasons += [*self.differs.get(asked.protocol, ()), *found.differs]
        if asked.limit is not None:
            reasons.append(f"only the first {asked.limit} rows of the data")
        return list(filter(None, reasons))
