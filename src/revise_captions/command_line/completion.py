"""`captions completion SHELL`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from click.shell_completion import get_completion_class

from revise_captions.command_line.command import command
from revise_captions.command_line.options import argument
from revise_captions.command_line.printing import echo

#: The console scripts.
PROGRAMS = ("captions", "revise-captions")
#: `_NAME_COMPLETE` is where click looks for a program `NAME`.
VARIABLE = "_{}_COMPLETE"


@dataclass(frozen=True, slots=True)
class CompletionOptions:
    """For which shell."""

    shell: Literal["bash", "zsh", "fish"] = argument("SHELL")


@command(CompletionOptions, heading="Settings and shell")
def completion(options: CompletionOptions) -> None:
    """Print a script for shell completion of these commands.

    SHELL is bash, zsh or fish. In bash: `eval "$(captions completion bash)"`.
    """
    kind = get_completion_class(options.shell)
    assert kind is not None
    for name in PROGRAMS:
        variable = VARIABLE.format(name.replace("-", "_").upper())
        echo(kind(completion, {}, name, variable).source())
