"""`captions init-config`: the options of a command as a commented TOML file for `--config`."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from revise_captions.cli_options import OUT_FILE, SECTIONS, SETTINGS, NamedChoice, shared
from revise_captions.commands import echo, run_command

#: Commands that take `--config`.
CONFIGURABLE = ("revise", "rate", "verify")
#: Options that make no sense in a file.
_NOT_STORED = frozenset({"config", "help", "version", "verbose", "resume", "force", "dry_run"})


@click.command(context_settings=SETTINGS)
@click.argument("out", metavar="[FILE]", required=False, type=OUT_FILE)
@click.option(
    "--for", "name", type=NamedChoice(CONFIGURABLE), default="revise", help="The command."
)
@shared("--force", help="Overwrite FILE.")
def init_config(out: Path | None, name: str, force: bool) -> None:
    """Write all options of a command, commented out with their defaults, to FILE (TOML).

    Without FILE it goes to standard output. Remove the `#` before what you set, and pass the file
    as `--config FILE`; options on the command line take precedence.
    """
    from revise_captions.io.writing import check_writable, replacing
    from revise_captions.umbrella import command_of, find

    entry = find(name)
    assert entry is not None
    text = "\n".join(lines(command_of(entry), f"captions {name} … --config FILE"))
    if out is None:
        echo(text)
        return
    check_writable(out, (), force=force)
    with replacing(out) as file:
        file.write(f"{text}\n".encode())
    echo(f"{out}: pass it as --config {out}")


def lines(command: click.Command, usage: str) -> Iterator[str]:
    """The file, section by section as in the command's help."""
    options = {p.opts[-1]: p for p in command.params if isinstance(p, click.Option)}
    yield f"# {usage}"
    rest = [name for name in options if not any(name in names for names in SECTIONS.values())]
    for title, names in {**SECTIONS, "Other options": rest}.items():
        chosen = [options[n] for n in names if n in options and options[n].name not in _NOT_STORED]
        if chosen:
            yield f"\n# --- {title} ---"
        for option in chosen:
            yield ""
            yield from (f"# {line}" for line in textwrap.wrap(option.help or "", 94))
            yield f"#{max(option.opts, key=len).removeprefix('--')} = {_value(option)}"


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


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point."""
    run_command(init_config, "captions init-config", arguments)
