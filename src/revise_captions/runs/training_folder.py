"""The folder that a training writes to: new, empty, or one of ours by its content.

A run marks its folder before it writes anything else into it, so that no name of a file has to
stand for whose it is: `training/` may be anybody's.
"""

from __future__ import annotations

import json
from pathlib import Path

from revise_captions.errors import UserError
from revise_captions.io.writing import check_new_folder, head_of, write_json

#: The mark, and what is in it beside the name of the command.
MARK = "training/run.json"
FORMAT = "revise-captions training"


def check_run_folder(out: Path, command: str, *, go_on: bool) -> None:
    """Decides whether a training may write into a folder.

    Args:
        out: The folder, which need not exist.
        command: The name of the command that trains.
        go_on: Whether a run of this command may be continued or replaced: --resume, --force.

    Raises:
        UserError: It holds anything but a run of this command, or one and not `go_on`.
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
    """Makes the folder, and says in it whose it is."""
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
