"""`captions`: finds its sub-commands among the entry points, ours and those of other packages.

A sub-command is a click command that an installed package declares in
`revise_captions.command_line.running`. It is imported when it is named. The help reads its line
(the first of the docstring) and its heading out of the source instead.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import NamedTuple

import click

from revise_captions.command_line.command import HEADINGS, OTHERS, SETTINGS
from revise_captions.command_line.printing import echo
from revise_captions.command_line.running import run_command
from revise_captions.command_line.version import version_option
from revise_captions.errors import UserError
from revise_captions.registry import COMMANDS, did_you_mean, entries, load, names, package

NAME = "captions"
#: What click looks for in the environment when a shell asks it to complete a line.
COMPLETE = "_CAPTIONS_COMPLETE"


class HelpLine(NamedTuple):
    """What the help says of a sub-command."""

    heading: str
    line: str


def said_of(entry: EntryPoint) -> HelpLine:
    """What the source of a sub-command says of it; its module is not imported.

    The heading is the literal `heading=` of the function's decorator.
    """
    otherwise = f"of the package {package(entry)}"
    source = _source(entry.module)
    tree = ast.parse(source.read_text(encoding="utf-8")) if source else ast.Module([], [])
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == entry.attr:
            line = (ast.get_docstring(node) or "").partition("\n")[0]
            return HelpLine(next(_headings(node), OTHERS), line or otherwise)
    return HelpLine(OTHERS, otherwise)


def _headings(function: ast.FunctionDef) -> Iterator[str]:
    for decorator in function.decorator_list:
        for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
            if keyword.arg == "heading" and isinstance(keyword.value, ast.Constant):
                yield str(keyword.value.value)


def _source(module: str) -> Path | None:
    """The file of a module, found without importing it or the packages around it."""
    path, spec = None, None
    parts = module.split(".")
    for end in range(1, len(parts) + 1):
        name = ".".join(parts[:end])
        found = (finder.find_spec(name, path) for finder in sys.meta_path)
        spec = next((one for one in found if one is not None), None)
        if spec is None:
            return None
        path = spec.submodule_search_locations
    return Path(spec.origin) if spec and spec.origin and spec.has_location else None


def load_command(name: str) -> click.Command:
    """The command of a name. Raises UserError where it cannot be imported or is no command."""
    found = load(COMMANDS, name)
    if not isinstance(found, click.Command):
        raise UserError(
            f"the command {name!r} is a {type(found).__name__}; expected a click command",
            hint=f"the package {package(entries(COMMANDS)[name])} declares it",
        )
    return found


class Umbrella(click.Group):
    """Sub-commands that are imported when they are used or completed, never for the help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(names(COMMANDS))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return load_command(cmd_name) if cmd_name in names(COMMANDS) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in (known := names(COMMANDS)):
            hint = did_you_mean(args[0], known) or f": see {NAME} --help"
            ctx.fail(f"there is no command {args[0]!r}{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        said = {name: said_of(entry) for name, entry in entries(COMMANDS).items()}
        width = max(map(len, said), default=0)
        for heading in dict.fromkeys([*HEADINGS, *(found.heading for found in said.values())]):
            rows = [(name.ljust(width), s.line) for name, s in said.items() if s.heading == heading]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


EPILOG = """
\b
Start with:
  captions revise captions.jsonl revised.jsonl --report report.html
  captions COMMAND --help
"""

captions: click.Command = Umbrella(
    NAME,
    help="Find and correct what is false in image captions written by vision–language models.",
    epilog=EPILOG,
    context_settings=SETTINGS,
    params=[version_option()],
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: runs the command that is named, under the name `captions …`."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    command, name, rest = captions, NAME, given or ["--help"]
    try:
        if given and COMPLETE not in os.environ and given[0] in names(COMMANDS):
            command, name, rest = load_command(given[0]), f"{NAME} {given[0]}", given[1:]
    except UserError as error:
        echo(f"{NAME}: {error}", err=True)
        sys.exit(error.status)
    except KeyboardInterrupt:  # before the command itself could say it
        echo(f"{NAME}: interrupted", err=True)
        sys.exit(130)
    run_command(command, name, rest)


if __name__ == "__main__":
    main()
