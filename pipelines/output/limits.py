"""How many records each possible limit on a column of `captions select` would keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from revise_captions.pipelines.output.figures import figures

#: Columns with a lower limit, counted in hundredths.
AT_LEAST = ("factual_before", "factual_after", "worst_before", "worst_after")
#: Columns with an upper limit; the greatest value distinguished, and the step.
AT_MOST = {
    "flagged": (20, 1),
    "still_flagged": (20, 1),
    "unscored": (20, 1),
    "unscored_after": (20, 1),
    "removed": (20, 1),
    "length": (5000, 50),
}
_STEPS = 100


@dataclass(slots=True)
class LimitCounts:
    """Records by column and step, in constant memory; `+=` adds a shard's."""

    records: int = 0
    steps: dict[str, Counter[int]] = field(
        default_factory=lambda: {name: Counter() for name in (*AT_LEAST, *AT_MOST)}
    )

    def add(self, parts: Iterable[tuple[str, str, Mapping[str, Any]]]) -> None:
        """Adds a record, given `captions_of` its row."""
        found = figures(parts)
        self.records += 1
        for name in AT_LEAST:
            if (value := found[name]) is not None:
                self.steps[name][int(value * _STEPS + 1e-9)] += 1
        for name, (greatest, step) in AT_MOST.items():
            self.steps[name][-(-min(found[name], greatest + step) // step)] += 1

    def __iadd__(self, other: LimitCounts) -> LimitCounts:
        self.records += other.records
        for name, counts in other.steps.items():
            self.steps[name].update(counts)
        return self

    def as_json(self) -> dict[str, Any]:
        """`records`, and by column: the `sign` of the limit, and pairs of a limit and how many
        records satisfy it."""
        columns = {name: {"sign": ">=", "kept": self._at_least(name)} for name in AT_LEAST}
        columns |= {name: {"sign": "<=", "kept": self._at_most(name)} for name in AT_MOST}
        return {"records": self.records, "columns": columns}

    def _at_least(self, name: str) -> list[tuple[float, int]]:
        counts, kept, found = self.steps[name], 0, []
        for step in range(_STEPS, -1, -1):
            kept += counts[step]
            found.append((step / _STEPS, kept))
        return found[::-1]

    def _at_most(self, name: str) -> list[tuple[float, int]]:
        greatest, size = AT_MOST[name]
        counts, kept = self.steps[name], 0
        found: list[tuple[float, int]] = []
        for step in range(greatest // size + 1):
            kept += counts[step]
            found.append((step * size, kept))
            if kept == self.records:
                break
        return found
