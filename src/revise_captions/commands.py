"""How every command ends: a user's mistake is one line, never a traceback."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

import click


def run_command(
    command: click.Command,
    name: str,
    arguments: Sequence[str] | None = None,
    *,
    go_on: Callable[[], str] = str,
    interrupted: str = "interrupted",
) -> NoReturn:
    """Runs `command` and exits: 0, or the number it returned; 2 where something in the command
    line or the input is to be mended; 3 where a model stopped answering; 130 after Ctrl-C.

    `go_on` makes the line below the last two that says how to go on. None of them has a traceback,
    and whoever stops reading the output ends it in silence.
    """
    from revise_captions.errors import EngineDead, UserError

    try:
        status = command.main(arguments, name, standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except UserError as error:
        click.echo(f"{name}: {error}", err=True)
        sys.exit(2)
    except EngineDead as error:
        click.echo(f"{name}: {error}{_indented(go_on())}", err=True)
        sys.exit(3)
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo(f"{name}: {interrupted}{_indented(go_on())}", err=True)
        sys.exit(130)
    sys.exit(status if isinstance(status, int) else 0)


def _indented(line: str) -> str:
    return f"\n  {line}" if line else ""
