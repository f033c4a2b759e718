"""What the reference pages take from the code: tables between `<!-- made: NAME -->` and its end.

python -m scripts.reference           # which pages differ from the code; status 1 where some do
python -m scripts.reference --write   # put the tables of the present code into the pages
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import click

from revise_captions import registry
from revise_captions.command_line.captions import load_command
from revise_captions.command_line.command import Command
from revise_captions.command_line.running import STATUSES
from revise_captions.errors import Reason
from revise_captions.io.writing import write_text
from revise_captions.picturebook import generate
from revise_captions.pipelines.output.schema import MEANINGS
from revise_captions.pipelines.report.headline import remedy
from revise_captions.pipelines.select.columns import COLUMNS
from revise_captions.records import Label, UnknownWord, Unscored, Why
from scripts.research.frame.blocks import page_with, with_block

ROOT = Path(__file__).parents[1]


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of Markdown."""
    lines = [list(head)]
    lines += [["---"] * len(lines[0]), *map(list, rows)]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    # brackets of click's that would be a reference, and its "RANGE"
    one = re.sub(r"\[([^\[\]]*)\]$", r"(\1)", text.replace("] [", "; ")).replace(" RANGE`", "`")
    return one.replace("|", "\\|").replace("<", "&lt;")


def options(name: str, load: Callable[[str], click.Command] = load_command) -> Callable[[], str]:
    """A command's options as its help tells them, a table under each of its headings."""

    def made() -> str:
        command = load(name)
        assert isinstance(command, Command)
        context = click.Context(command, info_name=name, **command.context_settings)
        return "\n\n".join(
            table(
                (title, "meaning"), ((f"`{flags}`", " ".join(text.split())) for flags, text in rows)
            )
            for title, rows in command.help_sections(context).items()
        )

    return made


def row_keys() -> str:
    """A table for each object of `revision`."""
    return "\n\n".join(
        table((f"key of `{place}`", "meaning"), ((f"`{key}`", said) for key, said in keys.items()))
        for place, keys in MEANINGS.items()
    )


def values(of: type[StrEnum]) -> Callable[[], str]:
    """A list of an enumeration's values."""
    return lambda: "\n".join(f"- `{member}`" for member in of)


def remedies() -> str:
    reasons = [(str(reason), remedy(reason)) for reason in Unscored]
    reasons.append((UnknownWord.KIND, remedy(UnknownWord.KIND)))
    return table(("reason", "what to do"), reasons)


def reasons() -> str:
    return table(("reason", "meaning"), ((f"`{reason}`", reason.meaning) for reason in Reason))


def statuses() -> str:
    rows = ((status, *told) for status, told in STATUSES.items())
    return table(("status", "meaning", "commands"), rows)


def columns() -> str:
    rows = ((f"`{column.name}`", column.kind.lower(), column.about) for column in COLUMNS)
    return table(("column", "type", "meaning"), rows)


def layouts() -> str:
    """What is recognized by name, and what an output is."""
    rows = (
        (
            f"`{name}`",
            layout.title,
            ", ".join(f"`{suffix}`" for suffix in layout.suffixes) or "a folder",
            "only from the same" if layout.only_its_own else "from any",
        )
        for name, layout in _ours(registry.LAYOUTS)
    )
    return table(("layout", "what it is", "by name", "written"), rows)


def metrics() -> str:
    return _named(registry.METRICS)


def names() -> str:
    """A table for each group of entry points that ours stand in."""
    return "\n\n".join(f"## {kind.group}\n\n{_named(kind)}" for kind in registry.KINDS)


def _named(kind: registry.Kind) -> str:
    rows = ((f"`{name}`", _said(thing)) for name, thing in _ours(kind))
    return table((kind.noun, "what it is"), rows)


def _ours(kind: registry.Kind) -> Iterator[tuple[str, Any]]:
    for name, entry in registry.entries(kind).items():
        if registry.package(entry) == registry.OURS:
            yield name, registry.load(kind, name)


def _said(thing: object) -> str:
    """What something calls itself: its title, or the first line of its help."""
    told = getattr(thing, "title", None) or getattr(thing, "help", None) or thing.__doc__ or ""
    return told.strip().partition("\n")[0]


MADE: Mapping[str, Callable[[], str]] = {
    "options of captions revise": options("revise"),
    "options of captions finetune": options("finetune"),
    "options of captions train-vela": options("train-vela"),
    "options of picturebook.generate": options("picturebook.generate", lambda _: generate.main),
    "keys of a row": row_keys,
    "labels": values(Label),
    "reasons and remedies": remedies,
    "why": values(Why),
    "reasons of the quarantine": reasons,
    "exit statuses": statuses,
    "columns": columns,
    "layouts": layouts,
    "metrics": metrics,
    "names": names,
}


def differing() -> dict[Path, str]:
    """The pages that are not as the code has them, and how they should be."""
    pages: dict[Path, str] = {}
    for name, made in MADE.items():
        page = page_with(ROOT, f"made: {name}")
        text = pages.get(page) or page.read_text(encoding="utf-8")
        pages[page] = with_block(text, made(), f"made: {name}")
    return {page: text for page, text in pages.items() if page.read_text("utf-8") != text}


def main() -> int:
    found = differing()
    for page, text in found.items():
        print(page.relative_to(ROOT))
        if "--write" in sys.argv[1:]:
            write_text(page, text)
    return int(bool(found) and "--write" not in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
