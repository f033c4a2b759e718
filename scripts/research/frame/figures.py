"""A figure with what it must be read beside: its interval, its floor, published peers, a target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from revise_captions.stats.bootstrap import Estimate, ratio_interval
from revise_captions.stats.exact import exact_interval
from revise_captions.stats.paired_tests import Floats, measured_sums


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
        """Whether the target was reached; "" without one."""
        if self.target is None:
            return ""
        reached = self.value <= self.target if self.at_most else self.value >= self.target
        return "reached" if reached else "missed"


def share_of(
    name: str,
    values: Sequence[float],
    images: Sequence[str] | None = None,
    *,
    floor: Sequence[float] | None = None,
    **more: Any,
) -> ReportedFigure:
    """The mean of values with its 95 % interval over images, by default one of each value.

    NaN is a text without anything to ask, and in no mean.
    """
    places = images or [str(k) for k in range(len(values))]
    rows = [(v, 1.0) for v in values if not np.isnan(v)]
    known = [image for image, v in zip(places, values, strict=True) if not np.isnan(v)]
    found = measured_sums(_mean, rows, known)
    if found.value is None:
        raise ValueError(f"{name}: none of {len(values)} values is a number")
    low, high = found.low, found.high
    if found.value in (0.0, 1.0) and set(values) <= {0, 1}:  # all agree: the exact bounds
        of = len(set(known))
        low, high = exact_interval(round(found.value * of), of)
    base = None if floor is None else float(np.nanmean(floor))
    return ReportedFigure(name, found.value, low, high, found.rows, floor=base, **more)


def _mean(sums: Floats) -> float:
    return float(sums[0] / sums[1]) if sums[1] else float("nan")


def share_of_hits(hits: Sequence[bool], images: Sequence[str]) -> Estimate:
    """The share of hits with its interval over images; exact bounds where all images agree."""
    counts: dict[str, list[int]] = {}
    for hit, image in zip(hits, images, strict=True):
        found = counts.setdefault(image, [0, 0])
        found[0] += hit
        found[1] += 1
    return ratio_interval(*zip(*counts.values(), strict=True))


def spread(low: float | None, high: float | None, digits: int = 3) -> str:
    """An interval in brackets after a figure, as pages print it; "" where there is none."""
    return "" if low is None or high is None else f" ({low:.{digits}f}–{high:.{digits}f})"


def counted_share(count: int, of: int) -> str:
    """A share with its exact interval (Clopper and Pearson 1934), as pages print it; "–" of
    nothing."""
    if not of:
        return "–"
    low, high = exact_interval(count, of)
    return f"{count} of {of}: {count / of:.3f}{spread(low, high)}"


def as_table(figures: Iterable[ReportedFigure]) -> str:
    """Markdown: one row a figure."""
    rows = [["figure", "value", "floor", "published", "target"]]
    for item in figures:
        value = f"{item.value:.{item.digits}f}{spread(item.low, item.high, item.digits)}"
        floor = ""
        if item.floor is not None:
            floor = f"{item.floor:.{item.digits}f} ({item.floor_name})"
        target = ""
        if item.target is not None:
            target = f"{'≤' if item.at_most else '≥'} {item.target:g}: {item.verdict}"
        name = f"{item.name}{f' [{item.note}]' if item.note else ''}"
        rows.append([name, value, floor, item.peers, target])
    return rows_as_table(rows)


def rows_as_table(rows: Sequence[Sequence[str]]) -> str:
    """Markdown: the first row is the head."""
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
