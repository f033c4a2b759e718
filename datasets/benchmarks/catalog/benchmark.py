"""One benchmark: what it is, where to get it, and the counts that reading it must give.

Nothing here reads a file or touches the network. A reader is a function, or is named as
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


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One data set.

    Attributes:
        name: As in `captions benchmarks list`.
        title: What it is.
        citation: The publication.
        licence: Of the data.
        source: Where to get it; nothing is fetched.
        files: Patterns below the folder, each of which must match (`a|b`: either).
        reader: A function of the folder, or `module:function`, imported when it is read.
        labels: What people labeled, and how.
        expected: Counts by subset (“published”, …), as far as the source states them.
        published: Figures that others report on it, by system.
        note: Traps.
    """

    name: str
    title: str
    citation: str
    licence: str
    source: str
    files: tuple[str, ...]
    reader: Reader | str
    labels: str
    expected: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    published: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    def read(self, folder: Path) -> Iterator[Item]:
        """Reads the data.

        Args:
            folder: Where the published files are.

        Yields:
            Captions and preferences, one after another.

        Raises:
            UserError: A file is missing, or a row is not as published.
        """
        self.require(folder)
        return self.opened()(folder)

    def opened(self) -> Reader:
        """The reader, imported if it is given by name."""
        if not isinstance(self.reader, str):
            return self.reader
        module, _, function = self.reader.partition(":")
        reader: Reader = getattr(importlib.import_module(module), function)
        return reader

    def require(self, folder: Path) -> None:
        """Checks that the files are there.

        Args:
            folder: Where the published files should be.

        Raises:
            UserError: A file is missing; the message says which, and how to get it.
        """
        for pattern in self.files:
            if not any(any(folder.glob(name)) for name in pattern.split("|")):
                names = " or ".join(pattern.split("|"))
                raise UserError(
                    f"{self.name}: there is no {names} in {folder}",
                    hint=f"get it from {self.source} ({self.licence}); nothing is downloaded for "
                    "you",
                )
