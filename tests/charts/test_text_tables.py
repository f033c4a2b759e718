"""Tables of text are read as rows and columns; charts with numbers in rows are none."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw

pytest.importorskip("rapidocr")

from revise_captions.charts import Chart
from revise_captions.charts.ocr import TextLine, TextWord
from revise_captions.charts.read import read_lines

ROWS = {"Spain": ("12", "31"), "North Macedonia": ("7", "44"), "Ages 30-49": ("19", "8")}


def line(text: str, left: int, top: int, size: int = 16) -> TextLine:
    words, x = [], left
    for part in text.split():
        right = x + 8 * len(part)
        words.append(TextWord(part, (x, top, right, top + size)))
        x = right + 6
    return TextLine(text, (left, top, x - 6, top + size), 0.99, 0.0, float(size), tuple(words))


def page() -> tuple[Image.Image, ImageDraw.ImageDraw]:
    image = Image.new("RGB", (480, 320), "white")
    return image, ImageDraw.Draw(image)


def table(heads: tuple[str, ...], rows: dict[str, tuple[str, ...]]) -> list[TextLine]:
    lines = [line("Trips abroad by country in 2016", 10, 10, 22)]
    lines += [line(head, 20 if k == 0 else 80 + 120 * k, 60) for k, head in enumerate(heads)]
    for k, (name, cells) in enumerate(rows.items()):
        lines += [line(name, 20, 95 + 30 * k)] if name else []
        lines += [line(cell, 200 + 120 * n, 95 + 30 * k) for n, cell in enumerate(cells)]
    return [*lines, line("Source: Office of Statistics", 10, 280)]


def values(chart: Chart) -> dict[str, dict[str, float | None]]:
    return {one.name: {mark.category: mark.value for mark in one.marks} for one in chart.series}


@pytest.mark.parametrize("style", ["bare", "ruled", "striped"])
def test_heads_names_and_numbers_are_read(style):
    image, pen = page()
    for k in range(4):
        if style == "ruled":
            pen.rectangle((10, 85 + 30 * k, 470, 86 + 30 * k), fill="black")
            pen.rectangle((10 + 120 * k, 50, 11 + 120 * k, 175), fill="black")
        elif style == "striped":
            pen.rectangle((10, 55 + 30 * k, 470, 84 + 30 * k), fill="#1f77b4" if k == 0 else
                          "#dddddd" if k % 2 else "white")  # fmt: skip
    (chart,) = read_lines(np.asarray(image), table(("Country", "By plane", "By train"), ROWS))
    assert (chart.kind, chart.title) == ("table", "Trips abroad by country in 2016")
    assert (chart.x.label, chart.source) == ("Country", "Source: Office of Statistics")
    assert values(chart) == {
        head: {name: float(cells[k]) for name, cells in ROWS.items()}
        for k, head in enumerate(("By plane", "By train"))
    }
    assert all(mark.printed and mark.box for one in chart.series for mark in one.marks)


def test_the_head_of_an_only_column_labels_the_axis():
    rows = {name: (f"{cells[0]}%",) for name, cells in ROWS.items()}
    (chart,) = read_lines(np.asarray(page()[0]), table(("Country", "Share by plane"), rows))
    assert (chart.y.label, chart.y.unit) == ("Share by plane", "%")
    assert values(chart) == {"": {name: float(cells[0]) for name, cells in ROWS.items()}}


def test_years_are_heads_above_and_names_beside():
    years = ("2010", "2015")
    (chart,) = read_lines(np.asarray(page()[0]), table(("Country", *years), ROWS))
    assert list(values(chart)) == list(years)
    lines = [line("Trips abroad", 10, 10, 22), line("By plane", 120, 60), line("By train", 240, 60)]
    for k in range(4):
        y = 95 + 30 * k
        lines += [line(str(2010 + k), 20, y), line(str(5 + k), 130, y), line(str(9 - k), 250, y)]
    (chart,) = read_lines(np.asarray(page()[0]), lines)
    assert values(chart)["By train"] == {str(2010 + k): 9.0 - k for k in range(4)}


def test_a_cell_without_a_number_is_left_out():
    rows = {**ROWS, "Malta": ("3",)}
    (chart,) = read_lines(np.asarray(page()[0]), table(("Country", "By plane", "By train"), rows))
    assert [len(one.marks) for one in chart.series] == [4, 3]


def test_numbers_in_rows_beside_anything_drawn_are_no_table():
    image, pen = page()
    pen.line([(150, 240), (260, 110), (330, 200), (460, 90)], fill="#d62728", width=4)
    (chart,) = read_lines(np.asarray(image), table(("Country", "By plane", "By train"), ROWS))
    assert chart.kind != "table"


def test_numbers_without_names_and_two_rows_are_no_table():
    nameless = [one for one in table(("", "By plane", "By train"), ROWS) if one.box[0] >= 190]
    for lines in (nameless, table(("Country", "By plane"), dict(list(ROWS.items())[:2]))):
        (chart,) = read_lines(np.asarray(page()[0]), lines)
        assert (chart.kind, chart.series) == ("unknown", ())
