"""One benchmark: what it is, where to get it, and what must have been read from it.

Nothing here reads a file, imports a reader or touches the network: a reader is named as
`module:function` and imported when its benchmark is opened.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from revise_captions.benchmarks.types import Item
from revise_captions.errors import UserError

Reader = Callable[[Path], Iterator[Item]]
PACKAGE = "revise_captions.benchmarks"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One data set.

    `files`: patterns below the folder, each of which must match (`a|b`: either). `expected`: counts
    by the name of a subset of the data (“published”, “shared part”, …), as `checks.count` names
    them; only what the source states or what was counted, so seldom all of them. `published`:
    figures that others report on it, by system. `note`: traps.
    """

    name: str
    title: str
    citation: str
    licence: str
    source: str
    files: tuple[str, ...]
    reader: str
    labels: str
    expected: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    published: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    def read(self, folder: Path) -> Iterator[Item]:
        """Its captions and preferences, one after another. Raises `UserError`."""
        self.require(folder)
        module, _, function = self.reader.partition(":")
        reader: Reader = getattr(importlib.import_module(f"{PACKAGE}.{module}"), function)
        return reader(folder)

    def require(self, folder: Path) -> None:
        """Raises `UserError` that names the first file that is missing, and how to get it."""
        for pattern in self.files:
            if not any(any(folder.glob(name)) for name in pattern.split("|")):
                names = " or ".join(pattern.split("|"))
                raise UserError(
                    f"{self.name}: there is no {names} in {folder}",
                    hint=f"get it from {self.source} ({self.licence}); nothing is fetched for you",
                )
