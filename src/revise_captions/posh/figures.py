"""A figure with what it must be read beside: its interval, its floor, published peers, a target."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Figure:
    """`low` and `high` bound 95 % where there is an interval; `n` counts what was measured."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None
    floor: float | None = None
    floor_name: str = ""
    peers: str = ""
    target: float | None = None
    digits: int = 3
    note: str = ""

    @property
    def verdict(self) -> str:
        if self.target is None:
            return ""
        return "reached" if self.value >= self.target else "missed"

    def as_json(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if value not in (None, "")}


def share_of(
    name: str, values: Sequence[float], *, floor: Sequence[float] | None = None, **more: Any
) -> Figure:
    """The mean over texts with its 95 % bootstrap interval. NaN: a text without anything to ask."""
    known = np.array([v for v in values if not math.isnan(v)])
    rng = np.random.default_rng(0)
    drawn = known[rng.integers(0, len(known), (1000, len(known)))].mean(1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    base = None if floor is None else float(np.nanmean(floor))
    return Figure(
        name, float(known.mean()), float(low), float(high), len(known), floor=base, **more
    )


def as_table(figures: Iterable[Figure]) -> str:
    """Markdown: one row a figure."""
    lines = ["| figure | value | floor | published | target |", "| --- | --- | --- | --- | --- |"]
    for item in figures:
        value = f"{item.value:.{item.digits}f}"
        if item.low is not None and item.high is not None:
            value += f" ({item.low:.{item.digits}f}–{item.high:.{item.digits}f})"
        floor = ""
        if item.floor is not None:
            floor = f"{item.floor:.{item.digits}f} ({item.floor_name})"
        target = "" if item.target is None else f"≥ {item.target:g}: {item.verdict}"
        name = f"{item.name}{f' [{item.note}]' if item.note else ''}"
        lines.append(f"| {name} | {value} | {floor} | {item.peers} | {target} |")
    return "\n".join(lines)
