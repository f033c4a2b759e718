"""The marks of all charts of an image, looked up by category and series."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from revise_captions.charts.chart import Chart, ChartMark, number
from revise_captions.charts.claims.check import Cell, extent_of
from revise_captions.charts.claims.mentions import NamedLabel, fold

_YEAR = re.compile(r"(?<!\d)(1[6-9]\d\d|20\d\d|2100)(?!\d)")


@dataclass(frozen=True, slots=True)
class FoundMark:
    """A mark that was read, and where it stands.

    Attributes:
        cell: Its indexes.
        mark: As read; its value is not None.
        value: The value.
        series: Name of its series.
        extent: Range of its chart's values.
    """

    cell: Cell
    mark: ChartMark
    value: float
    series: str
    extent: float

    @property
    def name(self) -> str:
        """How a rationale calls it: "2014", "Men (Favor)"."""
        return f"{self.mark.category} ({self.series})" if self.series else self.mark.category

    @property
    def said(self) -> str:
        """Its value as a rationale states it, with "about" where it was measured."""
        return said(self.value, self.mark.tolerance, self.mark.printed)


def said(value: float, tolerance: float, printed: bool) -> str:
    """A value as a rationale states it: with "about" unless it is printed."""
    # digits that the measurement does not warrant would look exact
    step = 1.0 if printed else 10.0 ** math.floor(math.log10(max(2 * tolerance, 1.0)))
    text = number(round(value / step) * step if step > 1 else value, tolerance)
    grouped = text
    if float(text) >= 10_000 or _YEAR.fullmatch(text):  # "1,986" is no year
        grouped = f"{float(text):,.{len(text.partition('.')[2])}f}"
    return grouped if printed else f"about {grouped}"


def marks_of(charts: Sequence[Chart]) -> list[FoundMark]:
    """Every mark with a value."""
    return [
        FoundMark((c, s, k), mark, mark.value, one.name, extent)
        for c, chart in enumerate(charts)
        for extent in [extent_of(chart)]
        for s, one in enumerate(chart.series)
        for k, mark in enumerate(one.marks)
        if mark.value is not None
    ]


def year_of(category: str) -> int | None:
    """The year that a category names."""
    match = _YEAR.search(category)
    return int(match[1]) if match else None


def in_time(run: Sequence[FoundMark]) -> list[tuple[int, FoundMark]]:
    """The dated marks of a series with their years, from the first to the last: some charts have
    the last one on top."""
    dated = [(year, one) for one in run if (year := year_of(one.mark.category)) is not None]
    return sorted(dated, key=lambda pair: pair[0])


def is_temporal(marks: Sequence[FoundMark]) -> bool:
    """Whether most categories are years."""
    years = sum(year_of(found.mark.category) is not None for found in marks)
    return years > 0.6 * len(marks) if marks else False


def at_label(marks: Sequence[FoundMark], label: NamedLabel) -> list[FoundMark]:
    """The marks of a category, year or series."""
    key = fold(label.name)
    if label.series:
        return [found for found in marks if fold(found.series) == key]
    same = [found for found in marks if fold(found.mark.category) == key]
    if same or not label.name.isdigit():
        return same
    return [found for found in marks if year_of(found.mark.category) == int(label.name)]


def narrowed(marks: Sequence[FoundMark], labels: Sequence[NamedLabel]) -> list[FoundMark]:
    """The marks of the series that the labels name; all where they name none."""
    names = {fold(label.name) for label in labels if label.series}
    chosen = [found for found in marks if fold(found.series) in names]
    return chosen or list(marks)


def runs_of(marks: Sequence[FoundMark]) -> list[list[FoundMark]]:
    """The marks by series, in order."""
    runs: dict[tuple[int, int], list[FoundMark]] = {}
    for found in marks:
        runs.setdefault(found.cell[:2], []).append(found)
    return list(runs.values())
