"""`captions completion SHELL`."""

from __future__ import annotations

from collections.abc import Sequence

import click
from click.shell_completion import get_completion_class

from revise_captions.cli_options import SETTINGS
from revise_captions.commands import echo, run_command

#: `_NAME_COMPLETE` is where click looks for a command `NAME`.
VARIABLE = "_{}_COMPLETE"


@click.command(context_settings=SETTINGS)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the lines that make SHELL complete options and names: `eval "$(captions completion
    bash)"`.
    """
    from revise_captions.umbrella import COMMANDS, NAME

    kind = get_completion_class(shell)
    assert kind is not None
    for name in (NAME, *(command.script for command in COMMANDS if command.script)):
        variable = VARIABLE.format(name.replace("-", "_").upper())
        echo(kind(completion, {}, name, variable).source())


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point."""
    run_command(completion, "captions completion", arguments)
