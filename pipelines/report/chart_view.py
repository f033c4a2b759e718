"""A chart in report and explorer: the marks that rationales are about, the table that was read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from revise_captions.charts.chart import Box
from revise_captions.charts.claims import check_sentence
from revise_captions.charts.formats import table_rows
from revise_captions.critic.charts.critic import ChartReading, read_image
from revise_captions.io.decoding import reduced

#: Seen beside any color of a mark, on its white rim.
_INK, _RIM = "#c2185b", "white"
#: Rows of a table that are shown.
ROWS = 60


@dataclass(frozen=True, slots=True)
class ChartTable:
    """A chart as a table: a row per category, a column per series."""

    title: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    hidden: int
    unread: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChartView:
    """What was read in an image, and the size in pixels that the image had then."""

    reading: ChartReading
    size: tuple[int, int]

    @classmethod
    def of(cls, image: Image.Image) -> ChartView:
        """What the run read in an image; read again where that is too long ago.

        Raises:
            ModuleNotFoundError: The extra `charts` is not installed.
        """
        seen = reduced(image)
        return cls(read_image(seen), seen.size)

    def tables(self) -> list[ChartTable]:
        """What was read, for people."""
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

    def boxes(self, text: str, sentence: Mapping[str, Any]) -> list[Box]:
        """Where the marks are that a sentence's rationale is about."""
        charts = self.reading.charts
        cells = [
            cell
            for check in check_sentence(text, charts, self.reading.lines)
            if check.rationale and check.rationale == sentence["rationale"]
            for cell in check.cells
        ]
        marks = (charts[c].series[s].marks[k] for c, s, k in dict.fromkeys(cells))
        return [mark.box for mark in marks if mark.box is not None]

    def outlined(
        self, image: Image.Image, notes: Sequence[tuple[int, Sequence[Box]]]
    ) -> Image.Image:
        """A copy of the image with boxes outlined, each with the number of its note."""
        drawn = image.convert("RGB")
        pen = ImageDraw.Draw(drawn)
        scale = drawn.width / self.size[0], drawn.height / self.size[1]
        size = max(11, drawn.height // 28)
        for number, box in ((number, box) for number, boxes in notes for box in boxes):
            left, top, right, bottom = (
                round(side * scale[k % 2]) + (-3 if k < 2 else 3) for k, side in enumerate(box)
            )
            pen.rectangle((left - 1, top - 1, right + 1, bottom + 1), outline=_RIM, width=4)
            pen.rectangle((left, top, right, bottom), outline=_INK, width=2)
            font = ImageFont.load_default(size)
            width = pen.textlength(str(number), font)
            # inside, at the mark's left end: beside it there are its label and its value
            corner = (max(0, left - 2), max(0, min(bottom - size - 4, drawn.height - size - 4)))
            room = (*corner, corner[0] + width + 6, corner[1] + size + 4)
            pen.rectangle(room, fill=_INK, outline=_RIM)
            pen.text((corner[0] + 3, corner[1] + 1), str(number), fill=_RIM, font=font)
        return drawn


def noted(
    view: ChartView, caption: str, notes: Iterator[tuple[int, Mapping[str, Any]]]
) -> list[tuple[int, list[Box]]]:
    """The notes of a caption, by number, with the boxes of the marks that each is about."""
    found = []
    for number, sentence in notes:
        start, end = sentence["span"]
        if boxes := view.boxes(caption[start:end], sentence):
            found.append((number, boxes))
    return found
