"""How commands run and end: a user's mistake is one line, never a traceback."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import NoReturn

import click

from revise_captions.command_line.command import Command, CommandGroup
from revise_captions.command_line.printing import echo
from revise_captions.outside_text import masked

#: What an exit status means, and which commands have it.
STATUSES: Mapping[str, tuple[str, str]] = {
    "0": ("done; also `--resume` of a run that is already complete", "all"),
    "1": (
        "the two setups differ; or the reader of standard output went away",
        "`captions check-engine`; all",
    ),
    "2": ("the command, the input or a file needs to be corrected; nothing was lost", "all"),
    "3": (
        "a model stopped answering, or memory ran out: continue with `--resume`",
        "all that run models",
    ),
    "4": (
        "nothing can be judged: the first window was unscored for one reason, or the whole run was",
        "`revise-captions`, `captions rate`, `captions doctor`",
    ),
    "5": (
        "no record could be processed, or more than `--max-quarantine` of them could not; the "
        "output is written",
        "`revise-captions`, `captions doctor`, `captions preferences`, `captions dcscore`",
    ),
    "130, 143, 129": (
        "interrupted by Ctrl-C, SIGTERM or SIGHUP: continue with `--resume`",
        "all",
    ),
}


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
    command: click.Command, name: str, arguments: Sequence[str] | None = None
) -> NoReturn:
    """Runs `command` and exits with a status that scripts can act on, without a traceback.

    `STATUSES` says what each means; a number that the command returns is its status. A closed
    output pipe ends in silence. After status 3 and those of signals, a command of ours
    (`command_line.command`) says how to continue.

    Args:
        command: The command.
        name: Its name in messages.
        arguments: The command line, `sys.argv[1:]` by default.
    """
    from revise_captions.command_line.extras import missing
    from revise_captions.errors import EngineDead, UserError

    _occupy_closed_streams()
    # Pillow's limit of pixels; ours is in the record's reason.
    warnings.filterwarnings("ignore", "Image size .* exceeds limit")
    given = sys.argv[1:] if arguments is None else arguments
    try:
        with terminable():
            status = command.main(list(given), name, standalone_mode=False)
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
        echo(f"{name}: {error}{_go_on(command, given)}", err=True)
        sys.exit(3)
    except MemoryError:
        echo(f"{name}: out of memory{_go_on(command, given)}", err=True)
        sys.exit(3)
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            echo(f"{name}: {error.filename or 'standard output'}: {error.strerror}", err=True)
        sys.exit(1 if isinstance(error, BrokenPipeError) else 2)
    except (click.exceptions.Abort, KeyboardInterrupt):
        echo(f"{name}: interrupted{_go_on(command, given)}", err=True)
        sys.exit(130)
    except Terminated as error:
        echo(f"{name}: interrupted{_go_on(command, given)}", err=True)
        sys.exit(128 + error.signal)
    finally:
        _forget_unwritable()
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


def _forget_unwritable() -> None:
    """Keeps Python from failing once more to write what is left, when it ends, with status 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _go_on(command: click.Command, given: Sequence[str]) -> str:
    """A command's own line on how to continue."""
    if not isinstance(command, Command | CommandGroup):
        return ""
    line = command.go_on(given)
    return f"\n  {line}" if line else ""
