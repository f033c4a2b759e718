"""A figure with what it must be read beside: its interval, its floor, published peers, a target.

A value of NaN stands for what could not be measured, as the data is not here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class ReportedFigure:
    """`low` and `high` bound 95 % where there is an interval; `n` counts what was measured.
    `at_most`: the target is a ceiling.
    """

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
    at_most: bool = False

    @property
    def verdict(self) -> str:
        if self.target is None or math.isnan(self.value):
            return ""
        reached = self.value <= self.target if self.at_most else self.value >= self.target
        return "reached" if reached else "missed"

    def as_json(self) -> dict[str, Any]:
        found = {key: value for key, value in asdict(self).items() if value not in (None, "")}
        return found | ({"value": None} if math.isnan(self.value) else {})


def share_of(
    name: str, values: Sequence[float], *, floor: Sequence[float] | None = None, **more: Any
) -> ReportedFigure:
    """The mean over texts with its 95 % bootstrap interval. NaN: a text without anything to ask."""
    known = np.array([v for v in values if not math.isnan(v)])
    rng = np.random.default_rng(0)
    drawn = known[rng.integers(0, len(known), (1000, len(known)))].mean(1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    base = None if floor is None else float(np.nanmean(floor))
    return ReportedFigure(
        name, float(known.mean()), float(low), float(high), len(known), floor=base, **more
    )


def interval(values: Sequence[float], images: Sequence[str]) -> tuple[float, float]:
    """95 % bootstrap interval of a mean, with images drawn whole."""
    names = {image: k for k, image in enumerate(dict.fromkeys(images))}
    group = np.array([names[image] for image in images])
    sums = np.bincount(group, weights=values)
    counts = np.bincount(group)
    drawn = np.random.default_rng(0).integers(0, len(names), (1000, len(names)))
    means = sums[drawn].sum(1) / counts[drawn].sum(1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def as_table(figures: Iterable[ReportedFigure]) -> str:
    """Markdown: one row a figure."""
    lines = ["| figure | value | floor | published | target |", "| --- | --- | --- | --- | --- |"]
    for item in figures:
        value = "not here" if math.isnan(item.value) else f"{item.value:.{item.digits}f}"
        if item.low is not None and item.high is not None:
            value += f" ({item.low:.{item.digits}f}–{item.high:.{item.digits}f})"
        floor = ""
        if item.floor is not None:
            floor = f"{item.floor:.{item.digits}f} ({item.floor_name})"
        target = ""
        if item.target is not None:
            sign = "≤" if item.at_most else "≥"
            target = f"{sign} {item.target:g}: {item.verdict}".removesuffix(": ")
        name = f"{item.name}{f' [{item.note}]' if item.note else ''}"
        lines.append(f"| {name} | {value} | {floor} | {item.peers} | {target} |")
    return "\n".join(lines)
