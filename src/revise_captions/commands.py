"""How commands run and end: a user's mistake is one line, never a traceback."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import ClassVar, NoReturn

import click

from revise_captions.outside_text import masked, plain

#: What this process was called as, if not by the command's own name: `captions rate`.
_PROGRAM: ContextVar[str] = ContextVar("program", default="")


@contextlib.contextmanager
def program(name: str) -> Iterator[None]:
    """Has the command that runs here name itself so, in its help and its messages."""
    token = _PROGRAM.set(name)
    try:
        yield
    finally:
        _PROGRAM.reset(token)


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
    # An error that cannot be said (standard error is full, too) must not become a traceback.
    with contextlib.suppress(*((OSError,) if err else ())):
        click.echo(plain(text), err=err)


class Terminated(BaseException):
    """SIGTERM or SIGHUP, which end a command as Ctrl-C does: what it holds is put away first."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = number


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Has the signals raise `Terminated` here, but not in processes that are forked off.

    A signal that is ignored stays ignored, as under nohup. A second one ends the process at once.
    """
    process = os.getpid()

    def handle(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        if os.getpid() != process:
            os.kill(os.getpid(), number)
        else:
            raise Terminated(number)

    numbers = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) == signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread():
        numbers = []  # only the main thread may ask for signals
    for number in numbers:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


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
    input, and for a file or standard output that cannot be read or written; 3 if a model stopped
    answering or memory ran out; 4 if nothing can be judged; 130 after Ctrl-C, 143 after SIGTERM,
    129 after SIGHUP. A closed output pipe ends in silence.

    Args:
        command: The command.
        name: Its name in messages, unless `program` gives it another.
        arguments: The command line, `sys.argv[1:]` by default.
        go_on: Makes the line that says how to continue, after status 3 and those of signals.
        interrupted: What to say after Ctrl-C and other signals.
    """
    from revise_captions.errors import EngineDead, UserError
    from revise_captions.extras import missing

    _occupy_closed_streams()
    # Pillow's limit of pixels; ours is in the record's reason.
    warnings.filterwarnings("ignore", "Image size .* exceeds limit")
    name = _PROGRAM.get() or name
    try:
        with terminable():
            status = command.main(arguments, name, standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()  # now, while what goes wrong can be said
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        echo(masked(shown.getvalue().rstrip()), err=True)
        sys.exit(error.exit_code)
    except UserError as error:
        echo(f"{name}: {error}", err=True)
        sys.exit(error.status)
    except ModuleNotFoundError as error:
        lacking = missing(error)
        if lacking is None:
            raise
        echo(f"{name}: {lacking}", err=True)
        sys.exit(lacking.status)
    except EngineDead as error:
        echo(f"{name}: {error}{_indented(go_on())}", err=True)
        sys.exit(3)
    except MemoryError:
        echo(f"{name}: out of memory{_indented(go_on())}", err=True)
        sys.exit(3)
    except OSError as error:
        _forget_output()
        if not isinstance(error, BrokenPipeError):
            echo(f"{name}: {error.filename or 'standard output'}: {error.strerror}", err=True)
        sys.exit(1 if isinstance(error, BrokenPipeError) else 2)
    except (click.exceptions.Abort, KeyboardInterrupt):
        echo(f"{name}: {interrupted}{_indented(go_on())}", err=True)
        sys.exit(130)
    except Terminated as error:
        echo(f"{name}: {interrupted}{_indented(go_on())}", err=True)
        sys.exit(128 + error.signal)
    sys.exit(status if isinstance(status, int) else 0)


def _occupy_closed_streams() -> None:
    """Keeps the numbers of closed standard streams from the files that a command opens.

    What would be read from or written to these streams is somebody's data: `sys.stdin` and
    `sys.stdout` stay None. Messages to a closed standard error are lost, as was asked for.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  # for the rest of the process


def _forget_output() -> None:
    """Keeps Python from failing once more to write what is left, when it ends."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())


def _indented(line: str) -> str:
    return f"\n  {line}" if line else ""
