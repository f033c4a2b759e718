"""Bars as designers draw them: headings, stacks on an axis, numbers over ends, gray fields."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

pytest.importorskip("rapidocr")

from revise_captions.charts import Chart, read
from revise_captions.charts.bars.rectangles import filled_rectangles
from revise_captions.charts.canvas import prepare
from revise_captions.charts.labels import label_band
from revise_captions.charts.ocr import TextLine, TextWord
from revise_captions.charts.read import read_lines
from tests.support.drawn_charts import table, words

DARK, PALE = "#1f4e79", "#e0a030"


def canvas(width: int = 640, height: int = 480) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    image = Image.new("RGB", (width, height), "white")
    return image, ImageDraw.Draw(image)


ROWS = {"Hungary": (62, 31), "Greece": (44, 52), "Sweden": (71, 6)}


def stack(heads: list[TextLine]) -> Chart:
    """Rows of two segments with their values, and headings above the first one."""
    image, draw = canvas()
    lines = [*heads]
    for k, (name, (first, second)) in enumerate(ROWS.items()):
        y, split = 130 + 70 * k, 180 + 4 * first
        draw.rectangle((180, y, split - 1, y + 36), fill=DARK)
        draw.rectangle((split, y, split + 4 * second, y + 36), fill=PALE)
        lines += [words(name, 60, y + 18), words(str(first), 200, y + 18)]
        lines.append(words(str(second), split + 2, y + 18))
    (chart,) = read_lines(np.asarray(image), lines)
    return chart


def test_a_title_above_the_headings_is_no_part_of_them():
    title = [words("Do you think that", 120, 50), words("is good for us?", 340, 50)]
    heads = [words("Rather", 240, 88), words("agree", 245, 110), words("Disagree", 430, 110)]
    chart = stack([*title, *heads])
    assert [one.name for one in chart.series] == ["Rather agree", "Disagree"]


def test_headings_that_ocr_joined_are_cut_where_the_bars_meet():
    joined = words("Agree", 370, 110), words("Disagree", 432, 110)
    box = (joined[0].box[0], *joined[0].box[1:2], *joined[1].box[2:])
    line = TextLine("Agree Disagree", box, 0.99, 0.0, 20.0, (*joined[0].words, *joined[1].words))
    assert [one.name for one in stack([line]).series] == ["Agree", "Disagree"]


def test_a_value_beside_a_label_is_no_part_of_it():
    heads = [words("Agree", 240, 110), words("Disagree", 430, 110)]
    chart = stack([*heads, words("33", 145, 148)])
    assert [mark.category for mark in chart.series[0].marks] == list(ROWS)


def test_numbers_over_a_bar_and_its_end_do_not_hide_it():
    image, draw = canvas()
    font = ImageFont.load_default(24)
    lines = []
    for k, (name, value) in enumerate({"Bern": 6, "Rome": 40, "Oslo": 62}.items()):
        y = 100 + 70 * k
        draw.rectangle((180, y, 180 + 4 * value, y + 36), fill=DARK)
        draw.text((184, y + 4), str(value), fill="white" if value > 9 else "black", font=font)
        lines += [words(name, 60, y + 18), words(str(value), 184, y + 18, 26)]
    (chart,) = read_lines(np.asarray(image), lines)
    assert table(chart) == {"": {"Bern": 6, "Rome": 40, "Oslo": 62}}


def test_a_label_right_below_a_bar_does_not_lengthen_it():
    image, draw = canvas(200, 200)
    draw.rectangle((50, 20, 120, 99), fill=DARK)
    drawn = prepare(np.asarray(image), [words("2016", 60, 110, 24)])
    (bar,) = filled_rectangles(drawn, [1], (0, 0, 200, 103))
    assert bar.box == (50, 20, 121, 100)


@pytest.mark.parametrize("seed", range(4))
def test_bars_are_found_alike_wherever_they_stand(seed):
    """Grid lines over them, numbers at their ends, and specks of their color, in a corner of the
    image and in the middle of a large one."""
    rng = np.random.default_rng(seed)
    rows = [(int(60 + rng.integers(150)), int(rng.integers(6, 18))) for _ in range(6)]
    specks = rng.integers(10, 240, (30, 2)).tolist()

    def found(x: int, y: int, width: int, height: int) -> list[tuple[int, ...]]:
        image, draw = canvas(width, height)
        lines = []
        for k, (end, thick) in enumerate(rows):
            top = y + 20 + 36 * k
            draw.rectangle((x + 40, top, x + end, top + thick), fill=DARK)
            lines.append(words(str(end), x + end - 18, top + thick // 2, 14))
            draw.text((x + end - 18, top - 4), str(end), fill="white")
        for line in (70, 110, 150):
            draw.rectangle((x + line, y + 10, x + line + 1, y + 236), fill="#b0b0b0")
        for left, top in specks:
            draw.point((x + left, y + top), fill=DARK)
        drawn = prepare(np.asarray(image), lines)
        dark = [drawn.hex(k) for k in range(len(drawn.palette))].index(DARK)
        boxes = (bar.box for bar in filled_rectangles(drawn, [dark], (0, 0, width, height)))
        return [(box[0] - x, box[1] - y, box[2] - x, box[3] - y) for box in boxes]

    corner = found(0, 0, 250, 250)
    assert len(corner) >= 4
    assert found(900, 500, 1300, 900) == corner


def test_stacks_on_an_axis_are_measured_though_a_rule_joins_their_feet():
    image, draw = canvas()
    lines = [words(str(tick), 30, 400 - 3 * tick) for tick in (0, 25, 50, 75, 100)]
    truth = {"2014": (56, 41), "2015": (71, 23), "2016": (69, 19)}
    for k, (year, (first, second)) in enumerate(truth.items()):
        x = 120 + 150 * k
        draw.rectangle((x, 400 - 3 * first, x + 60, 399), fill="#c6def0")
        draw.rectangle((x, 400 - 3 * (first + second), x + 60, 397 - 3 * first), fill=DARK)
        lines.append(words(year, x + 10, 425))
    draw.rectangle((70, 400, 620, 401), fill="#cbd5ed")
    (chart,) = read_lines(np.asarray(image), lines)
    assert chart.kind == "stacked bar"
    found = [[mark.value for mark in one.marks] for one in chart.series]
    assert found[0] == pytest.approx([first for first, _ in truth.values()], abs=1.5)
    assert found[1] == pytest.approx([second for _, second in truth.values()], abs=1.5)


def bars_on_axis(off: int, field: str | None = None) -> Chart:
    """Bars of 30, 60 and 45 on an axis whose labels are off by some pixels."""
    image, draw = canvas()
    if field:
        draw.rectangle((80, 60, 600, 400), fill=field)
        for tick in (25, 50, 75, 100):
            draw.rectangle((80, 400 - 3 * tick, 600, 402 - 3 * tick), fill="white")
        for x in (200, 350, 500):
            draw.rectangle((x, 60, x + 2, 400), fill="white")
    draw.rectangle((80, 400, 600, 401), fill="black")
    lines = [words(str(tick), 30, 400 + off - 3 * tick) for tick in (0, 25, 50, 75, 100)]
    for k, (name, value) in enumerate({"Bern": 30, "Rome": 60, "Oslo": 45}.items()):
        draw.rectangle((120 + 150 * k, 400 - 3 * value, 180 + 150 * k, 399), fill="#a0522d")
        lines.append(words(name, 130 + 150 * k, 430))
    (chart,) = read_lines(np.asarray(image), lines)
    return chart


@pytest.mark.parametrize(("off", "field"), [(12, None), (0, "#e5e5e5")])
def test_bars_stand_on_zero_and_a_gray_field_behind_them_is_no_mark(off, field):
    chart = bars_on_axis(off, field)
    assert chart.kind == "bar"
    assert table(chart)[""] == pytest.approx({"Bern": 30, "Rome": 60, "Oslo": 45}, abs=1)


def test_dashes_and_letters_are_no_bars():
    image, draw = canvas()
    lines = [words(str(1990 + k), 60 + 130 * k, 425) for k in range(4)]
    for k in range(4):
        draw.rectangle((60 + 130 * k, 400, 150 + 130 * k, 402), fill="#888888")
    lines.append(words("LILI", 100, 60, 40))
    for x in (104, 144):
        draw.rectangle((x, 48, x + 16, 72), fill="black")
    (chart,) = read_lines(np.asarray(image), lines)
    assert chart.series == ()


def test_zero_beside_the_first_label_is_the_axis_s():
    image = Image.new("RGB", (640, 400), "white")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(18)
    for tick in (0, 20, 40, 60, 80, 100):
        draw.text((60, 340 - 3 * tick), str(tick), fill="black", font=font, anchor="rm")
    truth = {"1993": 90.0, "1998": 81.0, "2003": 74.0, "2008": 68.0}
    for k, (year, value) in enumerate(truth.items()):
        x = 80 + 130 * k
        draw.rectangle((x, 340 - 3 * value, x + 90, 339), fill="#4c78a8")
        top = 336 - 3 * value
        draw.text((x + 45, top), f"{value:.0f}", fill="black", font=font, anchor="mb")
        draw.text((x + 45, 345), year, fill="black", font=font, anchor="mt")
    (chart,) = read(np.asarray(image))
    assert {mark.category: mark.value for mark in chart.series[0].marks} == truth


def upright(groups: list[list[tuple[str, int]]], lines: list[TextLine]) -> Chart:
    """Groups of bars in two colors with their values above them, and a label below each."""
    image, draw = canvas()
    for k, group in enumerate(groups):
        for j, (label, value) in enumerate(group):
            x = 80 + 260 * k + 70 * j
            ink = (DARK, PALE)[j]
            draw.rectangle((x, 400 - 2 * value, x + 59, 399), fill=ink)
            lines.append(words(str(value), x + 18, 386 - 2 * value))
            if label:
                lines.append(words(label, x + 2, 420))
    (chart,) = read_lines(np.asarray(image), lines)
    return chart


def test_groups_that_repeat_their_labels_are_named_by_their_headings():
    heads = [words("Births", 110, 200), words("Migration", 350, 200)]
    groups = [[("Asian", 39), ("Latin", 78)], [("Asian", 61), ("Latin", 22)]]
    assert table(upright(groups, heads)) == {
        "Births": {"Asian": 39, "Latin": 78},
        "Migration": {"Asian": 61, "Latin": 22},
    }


def test_a_label_of_two_lines_below_a_group_is_each_bars():
    below = [words("Before the", 90, 420), words("law", 130, 442), words("After", 380, 420)]
    chart = upright([[("", 62), ("", 27)], [("", 44), ("", 48)]], below)
    for one in chart.series:
        assert [mark.category for mark in one.marks] == ["Before the law", "After"]


def test_the_headings_of_a_single_stack_are_no_label_of_its_row():
    image, draw = canvas()
    lines = []
    for name, value, x, ink in (("Never", 40, 60, DARK), ("Often", 60, 220, PALE)):
        draw.rectangle((x, 200, x + 4 * value - 1, 240), fill=ink)
        lines += [words(name, x + 40, 180), words(str(value), x + 60, 220)]
    (chart,) = read_lines(np.asarray(image), lines)
    assert table(chart) == {"Never": {"": 40}, "Often": {"": 60}}


def test_numbers_that_ocr_joined_are_parted_where_segments_meet():
    image, draw = canvas()
    lines = [words("Low", 190, 80), words("Mid", 230, 80), words("High", 320, 80)]
    rows = {"Rome": ("12", "10", "70"), "Oslo": ("9", "10", "71"), "Bern": ("11", "14", "60")}
    for k, (name, values) in enumerate(rows.items()):
        y, x = 100 + 70 * k, 180
        lines.append(words(name, 100, y + 18))
        for j, value in enumerate(values):
            end = x + 4 * int(value)
            draw.rectangle((x, y, end - 1, y + 36), fill=(DARK, PALE, "#208060")[j])
            if name != "Oslo" or j == 2:
                lines.append(words(value, x + 8, y + 18))
            x = end
    lines.append(words("910", 201, 188))
    (chart,) = read_lines(np.asarray(image), lines)
    assert {name: row["Oslo"] for name, row in table(chart).items()} == {
        "Low": 9,
        "Mid": 10,
        "High": 71,
    }


def test_samples_of_a_legend_are_no_bars_and_end_before_the_next_text():
    image, draw = canvas()
    lines = [words("Support", 220, 60), words("Oppose", 360, 60), words("Diff", 445, 60)]
    for x, ink in ((195, DARK), (335, PALE)):
        draw.rectangle((x, 52, x + 15, 67), fill=ink)
    for k, (name, (first, second)) in enumerate(ROWS.items()):
        y = 100 + 80 * k
        lines.append(words(name, 80, y + 20))
        for j, (value, ink) in enumerate(((first, DARK), (second, PALE))):
            draw.rectangle((180, y + 20 * j, 180 + 3 * value, y + 15 + 20 * j), fill=ink)
            lines.append(words(str(value), 190 + 3 * value, y + 8 + 20 * j, 14))
    (chart,) = read_lines(np.asarray(image), lines)
    assert table(chart) == {
        "Support": {name: pair[0] for name, pair in ROWS.items()},
        "Oppose": {name: pair[1] for name, pair in ROWS.items()},
    }


def test_a_lone_turned_text_below_bars_is_their_band():
    turned = (TextWord("2019", (10, 10, 30, 60)), 85.0)
    assert label_band([turned], 20.0) == [turned]
    assert label_band([], 20.0) == []


def test_a_legend_of_years_names_the_bars():
    image, draw = canvas()
    lines = [words(str(value), 60, 400 - 3 * value) for value in (0, 50, 100)]
    for k, (name, color) in enumerate((("2019", DARK), ("2020", PALE))):
        draw.rectangle((200 + 100 * k, 40, 211 + 100 * k, 51), fill=color)
        lines.append(words(name, 218 + 100 * k, 46))
    for k, category in enumerate(("Oslo", "Rome", "Bern")):
        lines.append(words(category, 140 + 150 * k, 425))
        for j, color in enumerate((DARK, PALE)):
            x = 130 + 150 * k + 40 * j
            draw.rectangle((x, 400 - 3 * (30 + 20 * k + 10 * j), x + 36, 399), fill=color)
    (chart,) = read_lines(np.asarray(image), lines)
    assert [one.name for one in chart.series] == ["2019", "2020"]


def test_squares_without_any_name_are_no_bars():
    image, draw = canvas()
    lines = [words(str(value), 60, 400 - 3 * value) for value in (0, 50, 100)]
    for k in range(3):
        draw.rectangle((150 + 60 * k, 400 - 250, 190 + 60 * k, 399), fill=DARK)
    (chart,) = read_lines(np.asarray(image), lines)
    assert chart.kind == "unknown"


def test_the_frame_of_a_window_is_no_bar_though_it_is_larger_than_all_bars():
    """Its sides go on above the axis and below it."""
    image, draw = canvas()
    for k, shade in enumerate(("#b0b0b0", "#8c8c8c", "#6a6a6a")):
        draw.rectangle((540 + 30 * k, 20, 569 + 30 * k, 460), fill=shade)
    truth = {"Bern": 30, "Rome": 60, "Oslo": 45, "Riga": 80}
    lines = [words(str(tick), 30, 400 - 3 * tick) for tick in (0, 25, 50, 75, 100)]
    draw.rectangle((80, 400, 520, 400), fill="black")
    for k, (name, value) in enumerate(truth.items()):
        x = 110 + 110 * k
        draw.rectangle((x + 18, 400 - 3 * value, x + 25, 399), fill="#a0522d")
        lines.append(words(name, x, 430))
    (chart,) = read_lines(np.asarray(image), lines)
    assert table(chart)[""] == pytest.approx(truth, abs=1)
