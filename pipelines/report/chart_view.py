"""A chart in the report and the explorer: the table that was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from PIL import Image

from revise_captions.charts.formats import table_rows
from revise_captions.critic.charts.critic import ChartReading, read_image
from revise_captions.io.decoding import reduced
from revise_captions.signature import of_expert, settings_of

#: Most rows of a table that are shown.
ROWS = 60


@dataclass(frozen=True, slots=True)
class ChartTable:
    """A chart as a table, with a row per category and a column per series."""

    title: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    hidden: int
    unread: tuple[str, ...]


def of_charts(revision: Mapping[str, Any]) -> bool:
    """Whether the critic that judged a caption reads charts, by the `revision` in its row."""
    settings = settings_of(str(revision["signature"]))
    return of_expert(settings, str(revision.get("expert", ""))).get("reads") == "charts"


@dataclass(frozen=True, slots=True)
class ChartView:
    """What was read in an image."""

    reading: ChartReading

    @classmethod
    def of(cls, image: Image.Image) -> ChartView:
        """What the run read in an image; read again if that is no longer cached.

        Raises:
            ModuleNotFoundError: The extra `charts` is not installed.
        """
        return cls(read_image(reduced(image)))

    def tables(self) -> list[ChartTable]:
        """What was read, in readable form."""
        return [
            ChartTable(
                f"{chart.kind}: {chart.title}".rstrip(": "),
                tuple(series.name for series in chart.series),
                tuple(rows[:ROWS]),
                max(0, len(rows) - ROWS),
                chart.unread,
            )
            for chart in self.reading.charts
            for rows in [table_rows(chart)]
        ]
