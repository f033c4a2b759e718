"""Pies and donuts drawn here are read back; what is no flat pie with names is not."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

pytest.importorskip("rapidocr")

from revise_captions.charts import Chart, read
from revise_captions.charts.canvas import prepare
from revise_captions.charts.ocr import TextLine, TextWord
from revise_captions.charts.pies.discs import Disc, find_discs, has_blob
from revise_captions.charts.read import read_lines
from revise_captions.critic.charts.critic import read_image

SHARES = {"Bus": ("#1f77b4", 45), "Train": ("#ff7f0e", 30), "Bicycle": ("#2ca02c", 22),
          "Ferry": ("#9467bd", 3)}  # fmt: skip


def line(text: str, x: float, y: float, size: int = 18) -> TextLine:
    """A line of text around a point."""
    half = 0.28 * size * len(text)
    box = (round(x - half), round(y - size / 2), round(x + half), round(y + size / 2))
    left, words = float(box[0]), []
    for part in text.split():
        right = left + 0.56 * size * len(part)
        words.append(TextWord(part, (round(left), box[1], round(right), box[3])))
        left = right + 0.56 * size
    return TextLine(text, box, 0.99, 0.0, float(size), tuple(words))


def pie(hole: float = 0.0, x: int = 300, radius: int = 120) -> tuple[Image.Image, list[float]]:
    """A pie in an image of 600 × 480 pixels, and the bisectors of its slices, from the top."""
    image = Image.new("RGB", (600, 480), "white")
    pen, at, middles = ImageDraw.Draw(image), 0.0, []
    for color, share in SHARES.values():
        box = (x - radius, 250 - radius, x + radius, 250 + radius)
        pen.pieslice(box, at - 90, at - 90 + 3.6 * share, fill=color)
        middles.append(at + 1.8 * share)
        at += 3.6 * share
    inner = hole * radius
    pen.ellipse((x - inner, 250 - inner, x + inner, 250 + inner), fill="white")
    return image, middles


def place(angle: float, away: float, x: int = 300) -> tuple[float, float]:
    radians = math.radians(angle)
    return x + away * math.sin(radians), 250 - away * math.cos(radians)


def values(chart: Chart) -> dict[str, float | None]:
    return {mark.category: mark.value for mark in chart.series[0].marks}


@pytest.mark.parametrize("hole", [0.0, 0.55])
def test_numbers_in_slices_and_names_beside_them_are_read_by_angle(hole):
    image, middles = pie(hole)
    lines = [line("How people get to work", 300, 30, 24)]
    lines += [line("4,000 people", 300, 250)] if hole else []
    for (name, (_, share)), angle in zip(SHARES.items(), middles, strict=True):
        if share > 10:
            lines += [line(f"{share}%", *place(angle, 95)), line(name, *place(angle, 165))]
        else:
            lines.append(line(f"{name} {share}%", *place(angle, 140)))
    (chart,) = read_lines(np.asarray(image), lines)
    assert (chart.kind, chart.title) == ("pie", "How people get to work")
    assert values(chart) == {name: share for name, (_, share) in SHARES.items()}
    assert all(mark.printed and mark.box is not None for mark in chart.series[0].marks)


def test_slices_without_numbers_are_measured_and_named_by_the_legend():
    image, _ = pie(x=200)
    pen, lines = ImageDraw.Draw(image), [line("How people get to work", 300, 30, 24)]
    for k, (name, (color, _)) in enumerate(SHARES.items()):
        pen.rectangle((400, 200 + 30 * k, 413, 213 + 30 * k), fill=color)
        lines.append(line(name, 425 + 5 * len(name), 207 + 30 * k))
    (chart,) = read_lines(np.asarray(image), lines)
    assert values(chart) == pytest.approx({n: share for n, (_, share) in SHARES.items()}, abs=0.6)
    assert not any(mark.printed for mark in chart.series[0].marks)
    assert all(0 < mark.tolerance < 0.5 for mark in chart.series[0].marks)


def test_a_percent_sign_that_was_read_as_a_digit_is_one_again():
    image, middles = pie()
    texts = [("Bus", "45%"), ("Train", "309"), ("Bicycle", "22%"), ("Ferry", "3%")]
    lines = []
    for (name, number), angle in zip(texts, middles, strict=True):
        x, y = place(angle, 150 if name == "Ferry" else 70)
        lines += [line(name, x, y - 10), line(number, x, y + 10)]
    (chart,) = read_lines(np.asarray(image), lines)
    assert values(chart)["Train"] == 30


def test_text_and_places_of_a_real_rendering_are_read():
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3), dpi=100)
    for axes, shares in zip(figure.subplots(1, 2), ([62, 38], [25, 75]), strict=True):
        axes.pie(shares, labels=["Yes", "No"], autopct="%d%%")
        axes.set_title("2010" if shares[0] == 62 else "2020")
    stream = io.BytesIO()
    figure.savefig(stream, format="png")
    charts = read(np.asarray(Image.open(stream).convert("RGB")))
    assert {chart.series[0].name: values(chart) for chart in charts} == {
        "2010": {"Yes": 62, "No": 38},
        "2020": {"Yes": 25, "No": 75},
    }


def test_pies_without_names_in_depth_or_in_pieces_are_unread():
    reason = "a pie in depth, in pieces, or without names"
    nameless, _ = pie()
    lines = [line("How people get to work", 300, 30, 24), line("45%", 350, 230)]
    (chart,) = read_lines(np.asarray(nameless), lines)
    assert (chart.kind, chart.unread) == ("unknown", (reason,))
    image = Image.new("RGB", (600, 480), "white")
    pen = ImageDraw.Draw(image)
    for depth in range(30, -1, -1):
        for (color, share), at in zip(SHARES.values(), (0, 162, 270, 349.2), strict=True):
            pen.pieslice((150, 180 + depth, 450, 330 + depth), at, at + 3.6 * share, fill=color)
    named = [*lines, *(line(name, 60, 100 + 60 * k) for k, name in enumerate(SHARES))]
    (chart,) = read_lines(np.asarray(image), named)
    assert (chart.kind, chart.unread, chart.series) == ("unknown", (reason,), ())


def test_rings_of_one_color_and_plain_rectangles_are_no_pies():
    image = Image.new("RGB", (600, 480), "white")
    pen = ImageDraw.Draw(image)
    pen.ellipse((100, 100, 300, 300), fill="#1f77b4", outline="black")
    pen.rectangle((350, 100, 550, 300), fill="#ff7f0e")
    pen.rectangle((350, 300, 550, 400), fill="#2ca02c")
    canvas = prepare(np.asarray(image), [line("A disc", 200, 60)])
    assert find_discs(canvas) == []
    assert not has_blob(canvas)


def test_angles_run_clockwise_from_the_top():
    disc = Disc(100.0, 100.0, 50.0, 0.0, ())
    assert disc.polar(150, 100) == pytest.approx((90, 1))
    assert disc.polar(100, 125) == pytest.approx((180, 0.5))
    assert disc.point(270, 1.0) == pytest.approx((50, 100))


def test_letters_drawn_over_slices_do_not_cut_them():
    image, middles = pie()
    pen = ImageDraw.Draw(image)
    x, y = place(middles[0], 90)
    font = ImageFont.load_default(30)
    pen.text((x, y), "WWW", font=font, fill="white", anchor="mm")
    box = tuple(round(one) for one in pen.textbbox((x, y), "WWW", font=font, anchor="mm"))
    text = TextLine("WWW", box, 0.99, 0.0, 30.0, (TextWord("WWW", box),))
    (disc,) = find_discs(prepare(np.asarray(image), [text]))
    assert [one.sweep / 3.6 for one in disc.slices] == pytest.approx([45, 30, 22, 3], abs=0.5)


def test_a_pie_without_numbers_is_a_chart_and_its_legend_alone_is_not():
    image, _ = pie(x=220)
    pen = ImageDraw.Draw(image)
    pen.text((20, 20), "How people come to work", fill="black", font=ImageFont.load_default(24))
    for k, (name, (color, _)) in enumerate(SHARES.items()):
        pen.rectangle((400, 180 + 40 * k, 420, 200 + 40 * k), fill=color)
        pen.text((430, 178 + 40 * k), name, fill="black", font=ImageFont.load_default(20))
    reading = read_image(image)
    assert reading.is_chart
    values = {mark.category: mark.value for one in reading.charts for mark in one.series[0].marks}
    assert values == pytest.approx({name: share for name, (_, share) in SHARES.items()}, abs=1.5)
    pen.rectangle((60, 90, 380, 400), fill="white")
    assert not read_image(image).is_chart
    assert not read_image(image).charts
