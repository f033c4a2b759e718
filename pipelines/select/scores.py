"""A metric's numbers for the records of a run: what `captions posh OUT …` and the like wrote."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from revise_captions.errors import UserError
from revise_captions.io.checked_json import json_lines

_HINT = "expected what a metric's command wrote for OUT, such as `captions vela OUT SCORES`"


class JoinedScores:
    """The rows of a file of scores, read beside the rows of a run, of which some have none.

    Both are in the order of the run's lines, so that one row at a time is in memory.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._last = path, 0
        self._rows = self._read()
        self._next = next(self._rows, None)

    def of(self, line: int) -> dict[str, Any] | None:
        """The numbers of the run's row at `line`, from 1; None where it was not scored.

        Asked for in the order of lines.

        Raises:
            UserError: The file holds no scores, or not in this order.
        """
        while self._next is not None and self._next[0] < line:
            self._next = next(self._rows, None)
        return self._next[1] if self._next is not None and self._next[0] == line else None

    def _read(self) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, row in json_lines(self._path, "a row of scores", _HINT):
            line = row.pop("line", None)
            if isinstance(line, bool) or not isinstance(line, int) or line <= self._last:
                found = f"{self._path}, line {number}: `line` is {line!r} after {self._last}"
                raise UserError(found, hint=_HINT)
            self._last = line
            yield line, _numbers(row)


def _numbers(found: dict[str, Any]) -> dict[str, Any]:
    """Finite numbers and truth values, also of objects within; texts and lists are left out."""
    within = {name: _numbers(value) for name, value in found.items() if isinstance(value, dict)}
    own = {
        name: value
        for name, value in found.items()
        if isinstance(value, bool | int | float) and math.isfinite(value)
    }
    return own | {name: value for name, value in within.items() if value}
