"""Line charts as newspapers draw them: names at curves, panels, marks of the axis, markers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

pytest.importorskip("rapidocr")

from revise_captions.charts import Chart
from revise_captions.charts.canvas import Canvas, prepare
from revise_captions.charts.lines.ticks import on_ticks
from revise_captions.charts.numerals import is_date
from revise_captions.charts.ocr import TextLine, TextWord
from revise_captions.charts.read import read_lines
from revise_captions.charts.scales import value_scales
from tests.support.drawn_charts import table

YEARS = (2010, 2011, 2012, 2013, 2014)
VIENNA, BERLIN = (60, 66, 62, 70, 75), (30, 24, 28, 21, 12)
RED, BLUE = "#b03020", "#3060a0"


class Sheet:
    """An image, and the text that is drawn in it as it would be recognized."""

    def __init__(self, width: int = 640, height: int = 480) -> None:
        self.image = Image.new("RGB", (width, height), "white")
        self.draw = ImageDraw.Draw(self.image)
        self.lines: list[TextLine] = []

    def text(self, text: str, left: int, middle: int, ink: str = "black") -> None:
        """Writes a line of 20 pixels' height and remembers it."""
        font = ImageFont.load_default(18)
        self.draw.text((left, middle), text, fill=ink, font=font, anchor="lm")
        parts = []
        for word in text.split():
            start = left + int(font.getlength(text[: text.index(word)]))
            end = start + int(font.getlength(word))
            parts.append(TextWord(word, (start, middle - 10, end, middle + 10)))
        box = (left, middle - 10, parts[-1].box[2], middle + 10)
        self.lines.append(TextLine(text, box, 0.99, 0.0, 20.0, tuple(parts)))

    def curve(self, values: Sequence[float], ink: str, left: int = 100, foot: int = 400) -> None:
        """Draws values at steps of 90 pixels, three pixels a unit."""
        points = [(left + 90 * k, foot - 3 * value) for k, value in enumerate(values)]
        self.draw.line(points, fill=ink, width=5)

    def years(self, row: int, left: int = 100) -> None:
        """Writes the years below an axis."""
        for k, year in enumerate(YEARS):
            self.text(str(year), left + 90 * k - 20, row)

    def charts(self) -> tuple[Chart, ...]:
        return read_lines(np.asarray(self.image), self.lines)


def ends(sheet: Sheet, values: Sequence[int], foot: int = 400) -> None:
    """Prints the first and the last value beside a curve."""
    sheet.text(str(values[0]), 70, foot - 3 * values[0])
    sheet.text(str(values[-1]), 475, foot - 3 * values[-1])


def test_names_in_the_curves_colors_are_told_from_titles_and_values():
    sheet = Sheet()
    sheet.text("Red is what Vienna votes", 20, 20, RED)
    for values, ink in ((VIENNA, RED), (BERLIN, BLUE)):
        sheet.curve(values, ink)
    for k in range(0, 101, 20):
        sheet.text(str(k), 20, 400 - 3 * k)
    sheet.text("75", 475, 175, RED)
    sheet.text("Vienna", 505, 175, RED)
    sheet.text("Berlin", 300, 295, BLUE)
    sheet.years(430)
    (chart,) = sheet.charts()
    assert {one.name for one in chart.series} == {"Vienna", "Berlin"}
    assert table(chart)["Vienna"]["2014"] == pytest.approx(75, abs=1.5)
    assert table(chart)["Berlin"]["2014"] == pytest.approx(12, abs=1.5)


def test_black_names_at_the_ends_go_to_the_curves_at_their_height():
    sheet = Sheet()
    for name, values, ink in (("Vienna", VIENNA, RED), ("Berlin", BERLIN, BLUE)):
        sheet.curve(values, ink)
        sheet.text(str(values[0]), 70, 400 - 3 * values[0])
        sheet.text(f"{values[-1]} {name}", 475, 400 - 3 * values[-1])
    sheet.years(430)
    (chart,) = sheet.charts()
    found = table(chart)
    assert {name: (row["2010"], row["2014"]) for name, row in found.items()} == {
        "Vienna": (60, 75),
        "Berlin": (30, 12),
    }


@pytest.mark.parametrize(("last", "names"), [
    (VIENNA[-1], ["Foreign born", "Born here"]),
    # two names right below each other are no name of two lines
    (23, ["Foreign", "born"]),
])  # fmt: skip
def test_black_names_of_two_lines_behind_the_curves_are_joined(last, names):
    sheet = Sheet()
    for values, ink in (((*VIENNA[:-1], last), RED), ((*BERLIN[:-1], 15), BLUE)):
        sheet.curve(values, ink)
        for k in (0, 3):
            sheet.text(str(values[k]), 80 + 90 * k, 380 - 3 * values[k])
    sheet.text("Foreign", 475, 390 - 3 * last)
    sheet.text("born", 475, 412 - 3 * last)
    if last == VIENNA[-1]:
        sheet.text("Born here", 475, 355)
    for k in range(0, 101, 20):
        sheet.text(str(k), 20, 400 - 3 * k)
    sheet.years(430)
    (chart,) = sheet.charts()
    assert sorted(one.name for one in chart.series) == sorted(names)


def test_two_curves_of_one_color_are_two_series():
    sheet = Sheet()
    for name, values in (("High estimate", VIENNA), ("Low estimate", BERLIN)):
        sheet.curve(values, BLUE)
        for k, value in enumerate(values):
            sheet.draw.ellipse(
                (94 + 90 * k, 394 - 3 * value, 106 + 90 * k, 406 - 3 * value), fill="white"
            )
            sheet.text(str(value), 90 + 90 * k, 370 - 3 * value)
        sheet.text(name, 475, 400 - 3 * values[-1], BLUE)
    sheet.years(430)
    (chart,) = sheet.charts()
    years = [str(year) for year in YEARS]
    assert table(chart) == {
        "High estimate": dict(zip(years, VIENNA, strict=True)),
        "Low estimate": dict(zip(years, BERLIN, strict=True)),
    }


def test_panels_above_each_other_are_charts_of_their_own():
    sheet = Sheet(640, 700)
    for k, (name, values) in enumerate((("Exports", VIENNA), ("Imports", BERLIN))):
        foot = 320 + 320 * k
        sheet.text(f"{name} of goods", 20, foot - 270)
        sheet.curve(values, RED, foot=foot)
        ends(sheet, values, foot)
        sheet.years(foot + 25)
    upper, lower = sheet.charts()
    assert (upper.title, lower.title) == ("Exports of goods", "Imports of goods")
    assert [table(chart)[""]["2014"] for chart in (upper, lower)] == [75, 12]
    box = lower.series[0].marks[0].box
    assert box is not None
    assert abs((box[1] + box[3]) / 2 - (640 - 3 * 30)) <= 3


def test_panels_side_by_side_are_parted_where_years_begin_anew():
    sheet = Sheet(1100, 480)
    sheet.text("Trade of goods and services over the last years in euro of 2010", 200, 20)
    for k, values in enumerate((VIENNA, BERLIN)):
        left = 100 + 540 * k
        sheet.curve(values, RED, left=left)
        sheet.text(str(values[0]), left - 30, 400 - 3 * values[0])
        sheet.text(str(values[-1]), left + 375, 400 - 3 * values[-1])
        sheet.years(430, left)
    charts = sheet.charts()
    assert [table(chart)[""]["2010"] for chart in charts] == [60, 30]
    assert charts[1].series[0].marks[-1].value == 12


@pytest.mark.parametrize("marks", [True, False])
def test_labels_stand_at_the_marks_of_their_axis(marks):
    sheet = Sheet()
    labels = []
    for k, year in enumerate(YEARS):
        x = 100 + 90 * k
        if marks:
            sheet.draw.rectangle((x, 400, x + 1, 406), fill="#888888")
        shift = 24 if k == 0 else 0
        box = (x - 24 + shift, 412, x + 24 + shift, 432)
        labels.append((TextWord(str(year), box), float(x + shift + 3 * marks)))
    sheet.draw.rectangle((60, 399, 500, 400), fill="#888888")
    drawn = prepare_canvas(sheet)
    places = [x for _, x in on_ticks(drawn, labels, (60, 20, 640, 402))]
    assert places == pytest.approx([100 + 90 * k for k in range(5)], abs=1)


def prepare_canvas(sheet: Sheet) -> Canvas:
    return prepare(np.asarray(sheet.image), sheet.lines)


def test_values_in_the_colors_of_curves_are_no_axis():
    sheet = Sheet()
    for value, ink in ((60, RED), (40, BLUE), (20, "#208040")):
        sheet.text(str(value), 60, 400 - 3 * value, ink)
    drawn = prepare_canvas(sheet)
    assert value_scales(drawn, True) == []


def test_months_are_dates():
    assert [is_date(text) for text in ("Jan", "Sept. 2019", "'94", "May", "Men")] == [
        True,
        True,
        True,
        True,
        False,
    ]


def test_the_level_parts_of_lines_are_no_bars_and_subtitles_no_names():
    sheet = Sheet()
    sheet.text("How many people of Vienna say that they", 60, 40, RED)
    sheet.text("would vote for the city of Vienna once more now", 60, 60, RED)
    sheet.text("In Vienna", 270, 135, RED)
    for values, ink, side in (((60, 60, 70, 70, 82), RED, -20), ((20, 30, 30, 12, 12), BLUE, 24)):
        sheet.curve(values, ink)
        for k, value in enumerate(values):
            sheet.text(str(value), 90 + 90 * k, 400 - 3 * value + side, ink)
    sheet.text("In Berlin", 200, 350, BLUE)
    sheet.years(430)
    (chart,) = sheet.charts()
    assert chart.kind == "line"
    assert {one.name: one.marks[0].value for one in chart.series} == {
        "In Vienna": 60,
        "In Berlin": 20,
    }


def test_a_band_of_uncertainty_gives_way_to_its_line():
    sheet = Sheet()
    points = [(100 + 90 * k, 400 - 3 * value) for k, value in enumerate(VIENNA)]
    band = [(x, y - 6) for x, y in points] + [(x, y + 6) for x, y in reversed(points)]
    sheet.draw.polygon(band, fill="#dcd8c7")
    sheet.curve(VIENNA, RED)
    for k in range(0, 101, 20):
        sheet.text(str(k), 20, 400 - 3 * k)
    sheet.years(430)
    (chart,) = sheet.charts()
    assert [one.color for one in chart.series] == [RED]


def test_stacked_areas_are_said_and_not_guessed():
    sheet = Sheet()
    xs = [100 + 90 * k for k in range(5)]
    lower = [(x, 400 - 3 * value) for x, value in zip(xs, BERLIN, strict=True)]
    upper = [(x, 400 - 3 * value) for x, value in zip(xs, VIENNA, strict=True)]
    sheet.draw.polygon([*upper, *reversed(lower)], fill=RED)
    sheet.draw.polygon([*lower, (xs[-1], 399), (xs[0], 399)], fill=BLUE)
    for k in range(0, 101, 20):
        sheet.text(str(k), 20, 400 - 3 * k)
    sheet.years(430)
    (chart,) = sheet.charts()
    assert (chart.kind, chart.unread, chart.series) == ("unknown", ("stacked areas",), ())


def test_a_value_printed_at_close_curves_goes_where_it_fits_and_makes_no_axis():
    sheet = Sheet(640, 420)
    truth = {RED: (9500, 9100, 9300, 9234, 8210), BLUE: (7740, 7752, 7661, 7512, 7528)}
    xs = [60 + 125 * k for k in range(5)]
    for year, x in zip(YEARS, xs, strict=True):
        sheet.text(str(year), x - 18, 380)
    for color, values in truth.items():
        heights = [round(360 - (value - 6000) / 50) for value in values]
        sheet.draw.line(list(zip(xs, heights, strict=True)), fill=color, width=3)
        for x, y, value in zip(xs, heights, values, strict=True):
            sheet.text(f"{value:,}", x - 22, y - 8)
    (chart,) = sheet.charts()
    read = {tuple(mark.value for mark in one.marks) for one in chart.series}
    assert read == {*truth.values()}
    assert chart.y.scale is None
