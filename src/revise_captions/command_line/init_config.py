"""`captions init-config`: the options of a command as a commented TOML file for `--config`."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from revise_captions.command_line.command import SECTIONS, command
from revise_captions.command_line.options import argument, option
from revise_captions.command_line.printing import echo
from revise_captions.command_line.shared import OUT_FILE, shared_option
from revise_captions.errors import UserError

#: Options that make no sense in a file.
_NOT_STORED = frozenset({"config", "help", "version", "verbose", "resume", "force", "dry_run"})


@dataclass(frozen=True, slots=True)
class ConfigOptions:
    """Of which command, and where to."""

    out: Path | None = argument("[FILE]", default=None, type=OUT_FILE)
    command: str = option("revise", "A command that takes `--config`.", name="for")
    force: bool = shared_option("--force", help="Overwrite FILE.")


@command(ConfigOptions, heading="Settings and shell")
def init_config(options: ConfigOptions) -> None:
    """Write a command's options as a commented TOML file.

    Each option is commented out and has its default; without FILE they go to standard output.
    Remove the `#` before what you set, and pass the file as `--config FILE`; options on the command
    line take precedence.
    """
    from revise_captions.command_line.captions import load_command
    from revise_captions.io.writing import check_writable, replacing

    found = load_command(options.command)
    if not any(parameter.name == "config" for parameter in found.params):
        raise UserError(f"captions {options.command} takes no --config")
    text = "\n".join(lines(found, f"captions {options.command} … --config FILE"))
    if options.out is None:
        echo(text)
        return
    check_writable(options.out, (), force=options.force)
    with replacing(options.out) as file:
        file.write(f"{text}\n".encode())
    echo(f"{options.out}: pass it with --config {options.out}")


def lines(command: click.Command, usage: str) -> Iterator[str]:
    """The file, section by section as in the command's help."""
    options = {p.opts[-1]: p for p in command.params if isinstance(p, click.Option)}
    yield f"# {usage}"
    rest = [name for name in options if not any(name in names for names in SECTIONS.values())]
    for title, names in {**SECTIONS, "Other options": rest}.items():
        chosen = [options[n] for n in names if n in options and options[n].name not in _NOT_STORED]
        if chosen:
            yield f"\n# --- {title} ---"
        for shown in chosen:
            yield ""
            yield from (f"# {line}" for line in textwrap.wrap(shown.help or "", 94))
            yield f"#{max(shown.opts, key=len).removeprefix('--')} = {_value(shown)}"


def _value(option: click.Option) -> str:
    """The default as TOML, or something of the option's type where there is none."""
    default = option.default
    if option.is_flag:
        return "true" if default is True else "false"
    if isinstance(default, int | float | str):
        return json.dumps(default, ensure_ascii=False)
    if isinstance(option.type, click.types.FloatParamType):
        return "0.5"
    return "1" if isinstance(option.type, click.types.IntParamType) else '""'
