"""What is done of a recipe: which step, by what, and what it wrote.

`OUT.steps/steps.json` has for each step the hash of everything that decides its output, and a stamp
of the output, so that a step is reused as long as neither changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from revise_captions.errors import UserError
from revise_captions.io.checked_json import checked_row
from revise_captions.io.writing import write_json


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A step that was begun.

    Attributes:
        key: The hash of what decides its output.
        stamp: Of the output; "" while the step is not done.
        summary: Of the run, what later steps tell of it.
    """

    key: str
    stamp: str = ""
    summary: Mapping[str, Any] | None = None


class Ledger:
    """The steps by name. Written anew, whole, with each change."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "steps.json"
        self.entries: dict[str, LedgerEntry] = {}
        if self.path.exists():
            try:
                found = json.loads(self.path.read_text(encoding="utf-8"))
                steps = dict(found)
            except (ValueError, TypeError) as error:
                raise UserError(f"{self.path} was not written by a recipe: {error}") from None
            wrong = f"{self.path} is not what a recipe wrote"
            self.entries = {n: checked_row(LedgerEntry, step, wrong) for n, step in steps.items()}

    def put(self, name: str, entry: LedgerEntry) -> None:
        self.entries[name] = entry
        self.claim()

    def claim(self) -> None:
        """Writes the ledger, so that its folder is known as a recipe's from the first byte on."""
        write_json(self.path, {name: asdict(entry) for name, entry in self.entries.items()})


def check_folder(folder: Path) -> None:
    """Raises `UserError` where a folder has files, but neither a recipe's steps nor its pilot."""
    ours = any((at / "steps.json").is_file() for at in (folder, folder / "pilot"))
    if not ours and folder.exists() and any(folder.iterdir()):
        raise UserError(
            f"{folder} exists, but was not written by a recipe", hint="choose another out"
        )


def stamp(path: Path | str) -> str:
    """Tells a file, or a folder with all that is in it, from another version; "" of nothing."""
    path = Path(path)
    if path.is_file():
        return _of_file(path)
    if not path.is_dir():
        return ""
    files = sorted(found for found in path.rglob("*") if found.is_file())
    text = "\n".join(f"{file.relative_to(path)} {_of_file(file)}" for file in files)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _of_file(path: Path) -> str:
    about = path.stat()
    return f"{about.st_size}.{about.st_mtime_ns}"
