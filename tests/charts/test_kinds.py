"""Kinds of charts other than upright bars, and charts that say why they cannot be read."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

pytest.importorskip("rapidocr")

from revise_captions.charts import Chart, read
from revise_captions.charts.axis_labels import axis_labels
from revise_captions.charts.bars.rectangles import filled_rectangles
from revise_captions.charts.canvas import prepare
from revise_captions.charts.gate import has_numbers, has_words, may_be_chart
from revise_captions.charts.lines.curve_chart import Station, bends
from revise_captions.charts.numerals import Numeral
from revise_captions.charts.ocr import TextLine, TextWord, _is_noise, text_lines
from revise_captions.charts.read import read_lines
from revise_captions.charts.scales import fit
from revise_captions.charts.shapes import Curve, grid_rows

FONT = ImageFont.load_default(20)


def canvas() -> tuple[Image.Image, ImageDraw.ImageDraw]:
    image = Image.new("RGB", (640, 480), "white")
    return image, ImageDraw.Draw(image)


def values(chart: Chart, series: int = 0) -> dict[str, float | None]:
    return {mark.category: mark.value for mark in chart.series[series].marks}


def test_values_printed_at_the_bars_of_a_stack_are_taken_as_they_are():
    image, draw = canvas()
    draw.text((200, 60), "Agree", fill="black", font=FONT)
    draw.text((400, 60), "Disagree", fill="black", font=FONT)
    truth = {"Hungary": (62, 31), "Greece": (44, 52), "Sweden": (71, 24)}
    for k, (name, (first, second)) in enumerate(truth.items()):
        y, split = 110 + 80 * k, 180 + 4 * first
        draw.text((160, y + 18), name, fill="black", font=FONT, anchor="rm")
        draw.rectangle((180, y, split - 1, y + 36), fill="#1f4e79")
        draw.rectangle((split, y, split + 4 * second, y + 36), fill="#9dc3e6")
        for value, x in ((first, 200), (second, split + 20)):
            draw.text(
                (x, y + 18),
                str(value),
                fill="white" if x == 200 else "black",
                font=FONT,
                anchor="lm",
            )
    (chart,) = read(np.asarray(image))
    assert (chart.kind, chart.horizontal) == ("stacked bar", True)
    assert [one.name for one in chart.series] == ["Agree", "Disagree"]
    for k in (0, 1):
        assert values(chart, k) == {name: pair[k] for name, pair in truth.items()}
    assert all(mark.printed for one in chart.series for mark in one.marks)


def line_chart(labels: tuple[str, ...]) -> np.ndarray:
    """A line over five years, 2010 to 2014; every other year has a label."""
    image, draw = canvas()
    draw.text((120, 12), "Visitors of the museum", fill="black", font=FONT)
    draw.text((340, 450), "Year", fill="black", font=FONT, anchor="mm")
    for k, label in enumerate(labels):
        y = 400 - 100 * k
        draw.line((80, y, 600, y), fill="#dddddd")
        draw.text((70, y), label, fill="black", font=FONT, anchor="rm")
    points = [(100 + 120 * k, 400 - v) for k, v in enumerate((50, 120, 90, 210, 260))]
    draw.line(points, fill="#d62728", width=4)
    for k in (0, 2, 4):
        draw.text((100 + 120 * k, 410), str(2010 + k), fill="black", font=FONT, anchor="mt")
    return np.asarray(image)


def test_a_line_is_read_at_each_year():
    (chart,) = read(line_chart(("0", "100", "200", "300")))
    assert chart.kind == "line"
    truth = {"2010": 50, "2011": 120, "2012": 90, "2013": 210, "2014": 260}
    assert values(chart) == pytest.approx(truth, abs=6)


def test_labels_of_two_years_and_a_source_right_below_them_are_the_axis():
    image, draw = canvas()
    truth = {f"{2010 + k}/{11 + k}": v for k, v in enumerate((50, 120, 90, 210))}
    points = [(100 + 140 * k, 350 - v) for k, v in enumerate(truth.values())]
    draw.line(points, fill="#d62728", width=6)
    lines = [word("Visitors of the museum", 100, 30)]
    for k, (x, y) in enumerate(points):
        lines += [word(f"{350 - y}", x - 10, y - 18), word(f"{2010 + k}/{11 + k}", x - 30, 400)]
    lines.append(word("Source: Office of Statistics", 20, 418))
    (chart,) = read_lines(np.asarray(image), lines)
    assert chart.kind == "line"
    assert values(chart) == truth


def test_a_corner_of_a_thick_line_is_no_point_between_labels():
    xs = np.arange(100, 501)
    ys = np.interp(xs, [100, 200, 300, 400, 500], [300.0, 200.0, 260.0, 120.0, 90.0])
    places = [Station(str(2000 + k), 100 + 20 * k, k % 5 == 0) for k in range(21)]
    labeled = [place for place in places if place.labeled]
    thick = ys.copy()
    thick[abs(xs - 380) <= 3] += 1.7
    assert bends([Curve(xs, thick, 1, False)], places) == labeled
    thick[abs(xs - 380) <= 3] += 2
    assert bends([Curve(xs, thick, 1, False)], places) == places


def test_a_logarithmic_axis_is_said_and_not_guessed():
    (chart,) = read(line_chart(("1", "10", "100", "1000")))
    assert (chart.kind, chart.unread, chart.series) == ("unknown", ("a logarithmic axis",), ())


def test_a_region_without_pixels_has_no_grid():
    plain = prepare(np.full((60, 80, 3), 255, dtype=np.uint8), ())
    assert grid_rows(plain, (80, 0, 80, 60)) == []
    assert grid_rows(plain, (0, 0, 80, 60)) == []


def test_numbers_at_the_edge_are_no_axis():
    blank = np.full((300, 200, 3), 255, dtype=np.uint8)
    column = [
        TextLine(
            text,
            (160, y - 8, 200, y + 8),
            0.99,
            0.0,
            16.0,
            (TextWord(text, (160, y - 8, 200, y + 8)),),
        )
        for text, y in (("30", 20), ("20", 120), ("10", 220))
    ]
    (chart,) = read_lines(blank, column)
    assert (chart.kind, chart.series) == ("unknown", ())


def test_patterns_are_no_text():
    assert [_is_noise(text) for text in ("wwppwppwpwpwppow.w", "", " ")] == [True] * 3
    assert not any(_is_noise(text) for text in ("Mississippi", "2,000,000,000", "0", "Tennessee"))


def numeral(value: float, y: int) -> Numeral:
    return Numeral(value, "", 1.0, str(value), (10, y - 8, 40, y + 8), 0.0, 16.0)


def test_a_scale_is_fitted_to_most_labels_and_to_no_column_of_values():
    ticks = [numeral(v, y) for v, y in ((0, 400), (10, 300), (20, 200), (80, 100), (40, 0))]
    scale = fit(ticks, True, 6)
    assert scale is not None
    assert scale.value(250) == pytest.approx(15)
    assert len(scale.ticks) == 4
    assert fit([numeral(v, y) for v, y in ((47, 0), (12, 40), (33, 80), (5, 120))], True, 6) is None


def test_thin_text_has_the_color_of_its_line_and_no_other():
    image, draw = canvas()
    inks = {"Favor": "#9c5a26", "Oppose": "#959e4a", "Total": "black"}
    for k, (text, color) in enumerate(inks.items()):
        draw.text((20, 20 + 40 * k), text, fill=color, font=ImageFont.load_default(13))
        draw.rectangle((300, 20 + 40 * k, 500, 40 + 40 * k), fill=color)
    drawn = prepare(np.asarray(image), ())
    names = {drawn.hex(k): k for k in range(len(drawn.palette))}
    marks = [names["#9c5a26"], names["#959e4a"]]
    boxes = [(18, 18 + 40 * k, 70, 38 + 40 * k) for k in range(3)]
    assert [drawn.ink_among(box, marks) for box in boxes] == [*marks, -1]
    assert drawn.ink_among((320, 22, 400, 38), marks) == -1


def test_years_without_a_space_are_told_apart():
    word = TextWord("20082010", (100, 0, 180, 20))
    line = TextLine(word.text, word.box, 1.0, 0.0, 20.0, (word,))
    assert axis_labels([line], 20.0) == [
        (TextWord("2008", (100, 0, 140, 20)), 120.0),
        (TextWord("2010", (140, 0, 180, 20)), 160.0),
    ]


def test_other_scripts_are_not_read_as_noise():
    line = TextLine("данные о населении", (10, 10, 200, 30), 0.9, 0.0, 20.0, ())
    (chart,) = read_lines(line_chart(("0", "100")), [line])
    assert chart.unread == ("its text is not in Latin letters",)


def test_the_gate_knows_charts_from_photographs_and_scenes():
    chart = line_chart(("0", "100", "200", "300"))
    assert may_be_chart(chart)
    lines = text_lines(chart)
    assert has_words(lines)
    assert has_numbers(lines)
    assert not has_words(())
    assert not has_numbers(())
    noise = np.random.default_rng(0).integers(0, 256, (300, 400, 3), dtype=np.uint8)
    assert not may_be_chart(noise)
    assert not may_be_chart(np.zeros((1, 1, 3), dtype=np.uint8))


def test_grid_lines_drawn_over_bars_do_not_cut_them():
    image, draw = canvas()
    tops = (100, 160, 220)
    for k, top in enumerate(tops):
        draw.rectangle((100 + 150 * k, top, 199 + 150 * k, 399), fill="#1f77b4")
    for y in (150, 250, 350):
        draw.rectangle((60, y, 600, y + 1), fill="#b0b0b0")
    drawn = prepare(np.asarray(image), ())
    blue = [drawn.hex(k) for k in range(len(drawn.palette))].index("#1f77b4")
    found = filled_rectangles(drawn, [blue], (0, 0, 640, 480))
    assert [bar.box for bar in found] == [
        (100 + 150 * k, top, 200 + 150 * k, 400) for k, top in enumerate(tops)
    ]


def test_bars_side_by_side_with_a_pale_gap_stay_apart():
    image, draw = canvas()
    for k, end in enumerate((500, 300, 400)):
        draw.rectangle((100, 100 + 40 * k, end, 136 + 40 * k), fill="#1f77b4")
        draw.rectangle((100, 137 + 40 * k, end, 139 + 40 * k), fill="#c0d6e8")
    drawn = prepare(np.asarray(image), ())
    blue = [drawn.hex(k) for k in range(len(drawn.palette))].index("#1f77b4")
    assert len(filled_rectangles(drawn, [blue], (0, 0, 640, 480))) == 3


def test_the_background_is_at_the_edges_even_if_marks_fill_the_image():
    image, draw = canvas()
    draw.rectangle((30, 30, 609, 449), fill="#2a9d8f")
    drawn = prepare(np.asarray(image), ())
    assert [drawn.hex(k) for k in (0, 1)] == ["#ffffff", "#2a9d8f"]


def word(text: str, left: int, middle: int) -> TextLine:
    box = (left, middle - 10, left + 10 * len(text), middle + 10)
    return TextLine(text, box, 0.99, 0.0, 20.0, (TextWord(text, box),))


def test_a_legend_of_lines_names_the_curves_and_is_no_part_of_them():
    image, draw = canvas()
    curves = {
        "Vienna": ("#d62728", (300, 260, 320, 240)),
        "Berlin": ("#1f77b4", (380, 350, 340, 290)),
    }
    lines = [word(str(value), 30, 400 - 3 * value) for value in (0, 25, 50, 75, 100)]
    lines += [word(str(2010 + k), 100 + 150 * k, 430) for k in range(4)]
    for k, (name, (color, ys)) in enumerate(curves.items()):
        draw.line([(120 + 150 * j, y) for j, y in enumerate(ys)], fill=color, width=3)
        draw.line((110, 110 + 25 * k, 150, 110 + 25 * k), fill=color, width=3)
        lines.append(word(name, 160, 110 + 25 * k))
    (chart,) = read_lines(np.asarray(image), lines)
    assert chart.kind == "line"
    truth = {name: [(400 - y) / 3 for y in ys] for name, (_, ys) in curves.items()}
    assert {one.name for one in chart.series} == set(truth)
    for one in chart.series:
        read_off = {mark.category: mark.value for mark in one.marks}
        assert read_off == pytest.approx(
            dict(zip(("2010", "2011", "2012", "2013"), truth[one.name], strict=True)), abs=1.5
        )


def test_an_area_without_an_axis_is_read_by_its_printed_values():
    image, draw = canvas()
    truth = {str(2010 + k): v for k, v in enumerate((150, 220, 190, 310))}
    tops = [(100 + 140 * k, 380 - v) for k, v in enumerate(truth.values())]
    draw.polygon([(100, 380), *tops, (520, 380)], fill="#9fc5e8")
    draw.line(tops, fill="#1b6ca8", width=3)
    lines = [word("Visitors of the museum", 100, 20)]
    for (x, y), (year, value) in zip(tops, truth.items(), strict=True):
        lines += [word(str(value), x - 15, y - 16), word(year, x - 20, 400)]
    (chart,) = read_lines(np.asarray(image), lines)
    assert values(chart) == truth
    assert all(mark.printed for mark in chart.series[0].marks)
