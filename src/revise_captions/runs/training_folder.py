"""The folder that a training run writes to: new, empty, or marked as ours.

A run marks its folder before writing anything else into it, since a file's name cannot show whose
it is: `training/` may be anybody's.
"""

from __future__ import annotations

import json
from pathlib import Path

from revise_captions.errors import UserError
from revise_captions.io.writing import check_new_folder, head_of, write_json

#: The mark; its content holds the name of the command.
MARK = "training/run.json"
FORMAT = "revise-captions training"


def check_run_folder(out: Path, command: str, *, go_on: bool) -> None:
    """Decides whether a training run may write into a folder.

    Args:
        out: The folder, which need not exist.
        command: The name of the command that trains.
        go_on: Whether a run of this command may be continued or replaced: --resume, --force.

    Raises:
        UserError: It holds anything but a run of this command, or such a run without `go_on`.
    """
    command_there = _command_of(out)
    if command_there is None:
        check_new_folder(out)
    elif command_there != command:
        raise UserError(f"{out} holds a run of {command_there}", hint="choose a new folder")
    elif not go_on:
        hint = "add --resume to continue it, or name another --out"
        raise UserError(f"{out} holds a training run", hint=hint)


def mark_run_folder(out: Path, command: str) -> None:
    """Makes the folder, and marks it with the command."""
    (out / MARK).parent.mkdir(parents=True, exist_ok=True)
    write_json(out / MARK, {"format": FORMAT, "command": command})


def _command_of(out: Path) -> str | None:
    """The command whose run a folder holds; None if it holds none."""
    try:
        found = json.loads(head_of(out / MARK) or b"null")
    except (ValueError, RecursionError):
        return None
    ours = isinstance(found, dict) and found.get("format") == FORMAT
    return str(found.get("command")) if ours else None
