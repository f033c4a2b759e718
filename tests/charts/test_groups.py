"""Bars in groups: labels of groups, and names of series in their colors."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw

pytest.importorskip("rapidocr")

from revise_captions.charts.bars.bar_chart import BarRow, Frame, groups_of
from revise_captions.charts.bars.rectangles import ChartBar
from revise_captions.charts.ocr import TextLine, TextWord
from revise_captions.charts.read import read_lines

COLORS = {"Good": "#2e7d6b", "Fair": "#e69138", "Bad": "#1b6ca8"}
GROUPS = {"Republican/Lean Rep": (40, 25, 35), "Democrat/Lean Dem": (55, 15, 30)}


def line(text: str, left: int, top: int) -> TextLine:
    words, x = [], left
    for part in text.split():
        words.append(TextWord(part, (x, top, x + 7 * len(part), top + 16)))
        x += 7 * len(part) + 5
    return TextLine(text, (left, top, x - 5, top + 16), 0.99, 0.0, 16.0, tuple(words))


def inked(pen: ImageDraw.ImageDraw, one: TextLine, color: str) -> TextLine:
    """The line, drawn as strokes in a color."""
    for k in range(one.box[0] + 2, one.box[2] - 2, 6):
        pen.line((k, one.box[1] + 3, k, one.box[3] - 3), fill=color, width=2)
    return one


@pytest.mark.parametrize("upright", [True, False])
def test_a_groups_label_is_each_bars_and_names_are_found_by_their_color(upright):
    image = Image.new("RGB", (520, 420), "white")
    pen = ImageDraw.Draw(image)
    lines = [line("How the economy does", 20, 10)]
    lines.append(inked(pen, line("% who say it is good, fair or bad", 20, 40), "#2f6f62"))
    for k, (name, color) in enumerate(COLORS.items()):
        lines.append(inked(pen, line(name, 40 + 90 * k, 75), color))
    for g, (group, shares) in enumerate(GROUPS.items()):
        for k, (share, color) in enumerate(zip(shares, COLORS.values(), strict=True)):
            if upright:
                x = 90 + 210 * g + 46 * k
                pen.rectangle((x, 360 - 4 * share, x + 43, 359), fill=color)
                lines.append(line(str(share), x + 14, 340 - 4 * share))
            else:
                y = 130 + 120 * g + 26 * k
                pen.rectangle((180, y, 180 + 4 * share, y + 22), fill=color)
                lines.append(line(str(share), 188 + 4 * share, y + 3))
        lines.append(line(group, 90 + 210 * g, 370) if upright else line(group, 30, 133 + 120 * g))
    (chart,) = read_lines(np.asarray(image), lines)
    assert chart.horizontal is not upright
    assert {one.name: {m.category: m.value for m in one.marks} for one in chart.series} == {
        name: {group: shares[k] for group, shares in GROUPS.items()}
        for k, name in enumerate(COLORS)
    }


def rows(tops: list[int], colors: list[int]) -> list[BarRow]:
    return [
        BarRow((ChartBar((0, top, 100, top + 20), color),), top + 10)
        for top, color in zip(tops, colors, strict=True)
    ]


def test_groups_are_parted_by_wider_gaps_and_have_a_bar_of_each_color():
    frame = Frame(True)
    assert groups_of(frame, rows([0, 22, 60, 82], [1, 2, 1, 2])) == [[0, 1], [2, 3]]
    assert groups_of(frame, rows([0, 22, 60, 82, 120], [1, 2, 1, 2, 2]))[-1] == [4]
    alone = [[0], [1], [2], [3]]
    assert groups_of(frame, rows([0, 22, 60, 82], [1, 1, 1, 1])) == alone
    assert groups_of(frame, rows([0, 30, 60, 90], [1, 2, 1, 2])) == alone


def test_tracks_behind_bars_are_no_values():
    image = Image.new("RGB", (520, 420), "white")
    pen = ImageDraw.Draw(image)
    lines, truth = [line("Where people shop", 20, 10)], {"Market": 40, "Kiosk": 15, "Mall": 60}
    for k, (name, share) in enumerate(truth.items()):
        y = 90 + 90 * k
        pen.rectangle((120, y, 420, y + 18), fill="#e3e3e3")
        pen.rectangle((120, y, 120 + 5 * share, y + 18), fill="#bf3927")
        lines += [line(name, 40, y + 1), line(str(share), 428, y + 1)]
    (chart,) = read_lines(np.asarray(image), lines)
    assert (chart.kind, len(chart.series)) == ("bar", 1)
    assert {m.category: m.value for m in chart.series[0].marks} == truth


def test_labels_above_their_bars_part_no_chart():
    image = Image.new("RGB", (520, 420), "white")
    pen = ImageDraw.Draw(image)
    lines, truth = [line("Where people shop", 20, 10)], {}
    for k, name in enumerate(("Market halls", "Kiosks in town", "Shopping malls", "Online shops")):
        y, share = 100 + 70 * k, 15 + 20 * k
        pen.rectangle((20, y, 20 + 5 * share, y + 18), fill="#bf3927")
        lines += [line(name, 22, y - 20), line(str(share), 28 + 5 * share, y + 1)]
        truth[name] = share
    (chart,) = read_lines(np.asarray(image), lines)
    assert {m.category: m.value for m in chart.series[0].marks} == truth
