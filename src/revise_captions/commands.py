"""How commands run and end: a user's mistake is one line, never a traceback."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Sequence
from typing import ClassVar, NoReturn

import click

from revise_captions.outside_text import masked, plain


class RenamedOptions(click.Command):
    """A command that also takes renamed options under their old names, which its help hides."""

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


def echo(text: str, *, err: bool = False) -> None:
    """Prints text that may come from outside: control characters in it are spelled out."""
    click.echo(plain(text), err=err)


def run_command(
    command: click.Command,
    name: str,
    arguments: Sequence[str] | None = None,
    *,
    go_on: Callable[[], str] = str,
    interrupted: str = "interrupted",
) -> NoReturn:
    """Runs `command` and exits with a status that scripts can act on, without a traceback.

    Status: 0, or the number that the command returned; 2 for a mistake in the command line or the
    input; 3 if a model stopped answering; 130 after Ctrl-C. A closed output pipe ends in silence.

    Args:
        command: The command.
        name: Its name in messages.
        arguments: The command line, `sys.argv[1:]` by default.
        go_on: Makes the line that says how to continue, after status 3 and 130.
        interrupted: What to say after Ctrl-C.
    """
    from revise_captions.errors import EngineDead, UserError

    try:
        status = command.main(arguments, name, standalone_mode=False)
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        echo(masked(shown.getvalue().rstrip()), err=True)
        sys.exit(error.exit_code)
    except UserError as error:
        echo(f"{name}: {error}", err=True)
        sys.exit(2)
    except EngineDead as error:
        echo(f"{name}: {error}{_indented(go_on())}", err=True)
        sys.exit(3)
    except (click.exceptions.Abort, KeyboardInterrupt):
        echo(f"{name}: {interrupted}{_indented(go_on())}", err=True)
        sys.exit(130)
    sys.exit(status if isinstance(status, int) else 0)


def _indented(line: str) -> str:
    return f"\n  {line}" if line else ""
