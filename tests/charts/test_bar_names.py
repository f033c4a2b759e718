"""What series of bars are called by the text around them, as designers set it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from PIL import Image, ImageDraw

pytest.importorskip("rapidocr")

from revise_captions.charts import Chart
from revise_captions.charts.ocr import TextLine
from revise_captions.charts.read import read_lines
from tests.support.drawn_charts import table, words

DARK, PALE, GREEN = "#1f4e79", "#e0a030", "#208060"
INKS = (DARK, PALE, GREEN)


def as_one(*parts: TextLine) -> TextLine:
    """Texts that the OCR took for one line."""
    box = (*parts[0].box[:2], *parts[-1].box[2:])
    every = tuple(word for part in parts for word in part.words)
    return TextLine(" ".join(part.text for part in parts), box, 0.99, 0.0, 20.0, every)


def read_drawn(
    rows: Sequence[tuple[int, str, Sequence[int]]],
    lines: list[TextLine],
    starts: Sequence[int],
    inks: Sequence[str] = INKS,
) -> tuple[Chart, ...]:
    """Rows of bars that begin in columns, with their values in them."""
    image = Image.new("RGB", (720, 520), "white")
    draw = ImageDraw.Draw(image)
    for y, name, values in rows:
        lines.append(words(name, 150 - 10 * len(name), y + 16))
        for start, value, ink in zip(starts, values, inks, strict=True):
            draw.rectangle((start, y, start + 2 * value, y + 32), fill=ink)
            lines.append(words(str(value), start + 6, y + 16))
    return read_lines(np.asarray(image), lines)


ROWS = [(130, "Rome", (40, 31, 22)), (190, "Oslo", (35, 44, 20)), (250, "Bern", (51, 24, 33))]


def test_wrapped_headings_are_parted_where_all_of_their_lines_are():
    heads = [
        as_one(words("Staying", 180, 88), words("Going up", 292, 88), words("Don't", 386, 88)),
        as_one(words("about even", 180, 110), words("faster", 292, 110), words("know", 386, 110)),
    ]
    (chart,) = read_drawn(ROWS, heads, (200, 300, 390))
    assert list(table(chart)) == ["Staying about even", "Going up faster", "Don't know"]


def test_headings_of_one_line_are_parted_at_their_widest_gaps():
    heads = [as_one(words("Very good", 195, 110), words("Fair", 305, 110), words("Bad", 395, 110))]
    (chart,) = read_drawn(ROWS, heads, (200, 300, 390))
    assert list(table(chart)) == ["Very good", "Fair", "Bad"]


@pytest.mark.parametrize("inks", [INKS, (DARK, DARK, DARK)])
def test_columns_without_headings_of_their_own_have_those_of_the_section_above(inks):
    heads = [words("Early", 200, 110), words("Later", 310, 110), words("Never", 400, 110)]
    heads.append(words("Among those who live in a city", 120, 330))
    below = [(360, "Men", (50, 21, 30)), (420, "Women", (20, 44, 45))]
    first, second = read_drawn(ROWS + below, heads, (200, 310, 400), inks)
    assert table(first)["Later"] == {"Rome": 31, "Oslo": 44, "Bern": 24}
    assert table(second) == {
        "Early": {"Men": 50, "Women": 20},
        "Later": {"Men": 21, "Women": 44},
        "Never": {"Men": 30, "Women": 45},
    }
    assert second.title == "Among those who live in a city"


def test_names_that_stand_in_bars_are_those_of_their_series():
    image = Image.new("RGB", (720, 400), "white")
    draw = ImageDraw.Draw(image)
    lines = []
    truth = {"Parties of old": (131, 161), "Others": (146, 176)}
    for k, (group, values) in enumerate(truth.items()):
        lines.append(words(group, 20, 130 + 110 * k))
        for j, (name, value) in enumerate(zip(("MEN", "WOMEN"), values, strict=True)):
            y = 100 + 110 * k + 34 * j
            draw.rectangle((190, y, 190 + 2 * value, y + 28), fill=INKS[j])
            lines.append(words(str(value), 200 + 2 * value, y + 14))
            if not k:  # a word nearly as high as its bar hides none
                lines.append(words(name, 194, y + 15, 30))
    (chart,) = read_lines(np.asarray(image), lines)
    assert table(chart) == {
        name: {group: values[j] for group, values in truth.items()}
        for j, name in enumerate(("MEN", "WOMEN"))
    }


def test_text_beside_the_last_stack_names_the_segments_that_it_is_level_with():
    image = Image.new("RGB", (720, 480), "white")
    draw = ImageDraw.Draw(image)
    lines = [words("Online", 380, 300), words("shoppers", 380, 322), words("All users", 380, 180)]
    for k, (year, low, high) in enumerate((("2011", 60, 90), ("2012", 70, 100), ("2013", 80, 95))):
        x = 80 + 100 * k
        draw.rectangle((x, 420 - 2 * low, x + 60, 419), fill=DARK)
        draw.rectangle((x, 420 - 2 * (low + high), x + 60, 419 - 2 * low), fill=PALE)
        lines += [words(str(low), x + 20, 400 - low), words(year, x + 10, 440)]
        lines.append(words(str(high), x + 20, 420 - 2 * low - high))
    (chart,) = read_lines(np.asarray(image), lines)
    assert table(chart) == {
        "Online shoppers": {"2011": 60, "2012": 70, "2013": 80},
        "All users": {"2011": 90, "2012": 100, "2013": 95},
    }


def test_letters_in_the_colors_of_bars_are_no_legend():
    image = Image.new("RGB", (720, 400), "white")
    draw = ImageDraw.Draw(image)
    names, starts = ("Biden", "Warren", "Harris"), (190, 300, 400)
    lines = []
    for name, start, ink in zip(names, starts, INKS, strict=True):
        line = words(name, start, 110)
        draw.rectangle((start + 1, 104, start + 9, 116), fill=ink)  # the first letter, in bold
        lines.append(line)
    for y, category, values in ROWS:
        lines.append(words(category, 100, y + 16))
        for start, value, ink in zip(starts, values, INKS, strict=True):
            draw.rectangle((start, y, start + 2 * value, y + 32), fill=ink)
            lines.append(words(str(value), start + 6, y + 16))
    (chart,) = read_lines(np.asarray(image), lines)
    assert list(table(chart)) == list(names)


def test_labels_of_two_lines_beside_groups_are_those_of_the_groups():
    image = Image.new("RGB", (720, 480), "white")
    draw = ImageDraw.Draw(image)
    groups = {("Are in touch", "with us"): (61, 67), ("Cover the", "area well"): (49, 54)}
    lines = [words("Cities", 300, 60), words("Villages", 420, 60)]
    for x, ink in ((275, DARK), (395, PALE)):
        draw.rectangle((x, 52, x + 15, 67), fill=ink)
    for k, (label, values) in enumerate(groups.items()):
        y = 110 + 120 * k
        lines += [words(text, 40, y + 14 + 24 * j) for j, text in enumerate(label)]
        for j, (value, ink) in enumerate(zip(values, INKS, strict=False)):
            draw.rectangle((200, y + 32 * j, 200 + 4 * value, y + 26 + 32 * j), fill=ink)
            lines.append(words(str(value), 206 + 4 * value, y + 13 + 32 * j))
    (chart,) = read_lines(np.asarray(image), lines)
    assert table(chart) == {
        name: {" ".join(label): values[j] for label, values in groups.items()}
        for j, name in enumerate(("Cities", "Villages"))
    }


def test_the_blurred_end_of_a_bar_is_no_bar():
    image = Image.new("RGB", (720, 400), "white")
    draw = ImageDraw.Draw(image)
    lines = []
    for k, (name, value) in enumerate((("Rome", 60), ("Oslo", 90), ("Bern", 70))):
        y = 100 + 80 * k
        draw.rectangle((200, y, 199 + 2 * value, y + 40), fill=DARK)
        lines += [words(name, 100, y + 20), words(str(value), 212 + 2 * value, y + 20)]
    draw.rectangle((320, 100, 321, 140), fill="#9fb6cc")
    (chart,) = read_lines(np.asarray(image), lines)
    assert table(chart) == {"": {"Rome": 60, "Oslo": 90, "Bern": 70}}
