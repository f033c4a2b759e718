"""How every command ends: a user's mistake is one line, never a traceback."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import ClassVar, NoReturn

import click


class RenamedOptions(click.Command):
    """A command that still takes the old spellings of options, which its help does not show."""

    #: The present spelling of an option by its old one.
    OLD: ClassVar[dict[str, str]] = {
        "--regime": "--attention-mode",
        "--change-regime": "--change-attention-mode",
        "--no-change-regime": "--no-change-attention-mode",
    }

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [self._present(argument) for argument in args])

    def _present(self, argument: str) -> str:
        name, equals, value = argument.partition("=")
        return f"{self.OLD.get(name, name)}{equals}{value}"


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
