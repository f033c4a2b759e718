"""Images that are no readable chart: each is unscored, and none is guessed."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from revise_captions.charts import Chart, ChartMark, ChartSeries
from revise_captions.charts.damage import damage, is_dithered, without_guesses
from revise_captions.critic.charts.critic import ChartCritic
from revise_captions.critic.protocol import JudgeRequest
from revise_captions.records import Unscored, Verdict
from revise_captions.text.sentences import split

CAPTION = "In 2014, sales stood at 254. Sales fell from 2010 to 2014."


def drawn(draw, size=(5.0, 3.2)) -> Image.Image:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=100)
    draw(figure)
    stream = io.BytesIO()
    figure.savefig(stream, format="png")
    return Image.open(stream).convert("RGB")


def log_axis(figure) -> None:
    axes = figure.subplots()
    axes.bar(["2010", "2011", "2012", "2013"], [3, 40, 500, 9000], color="#4477aa")
    axes.set_yscale("log")


def two_axes(figure) -> None:
    left = figure.subplots()
    right = left.twinx()
    left.plot(range(2010, 2016), [3, 4, 6, 5, 7, 9], color="#4477aa")
    right.plot(range(2010, 2016), [900, 700, 650, 500, 480, 300], color="#cc3311")


def pie_in_depth(figure) -> None:
    figure.subplots().pie(
        [40, 35, 25], labels=["Men", "Women", "Other"], shadow=True, explode=(0, 0.1, 0)
    )


def other_script(figure) -> None:
    axes = figure.subplots()
    axes.bar(["Москва", "Казань", "Пермь", "Тула"], [3, 4, 6, 5], color="#4477aa")
    axes.set_title("Население городов по данным переписи")


def screenshot() -> Image.Image:
    image = Image.new("RGB", (640, 360), "#f4f4f4")
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(16)
    pen.rectangle((0, 0, 640, 30), fill="#3b4a6b")
    for k, text in enumerate(["File Edit View Help", "Inbox (12)", "Invoice 2014-03", "Sent 254"]):
        pen.text((20, 6 + 60 * k), text, fill="#202020", font=font)
    return image


def cut() -> Image.Image:
    """The middle of a bar chart: bars without labels or axes."""

    def bars(figure) -> None:
        figure.subplots().bar(["2010", "2011", "2012", "2013"], [30, 42, 18, 25])

    return drawn(bars).crop((120, 60, 400, 240))


SALES = dict(zip(("2010", "2011", "2012", "2013", "2014"), (380, 310, 250, 202, 150), strict=True))


def sales() -> Image.Image:
    """A bar chart with an axis and grid lines, its values to be measured."""
    image = Image.new("RGB", (520, 360), "white")
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(15)
    pen.text((60, 10), "Sales of boats in Norway", "black", ImageFont.load_default(20))
    pen.text((22, 36), "thousand boats sold", "#444444", font)
    for value in range(0, 401, 100):
        pen.line((60, 310 - value * 0.6, 500, 310 - value * 0.6), "#d0d0d0")
        pen.text((22, 302 - value * 0.6), str(value), "black", font)
    for k, (year, value) in enumerate(SALES.items()):
        pen.rectangle((80 + 84 * k, 310 - value * 0.6, 130 + 84 * k, 310), "#3b6ea5")
        pen.text((88 + 84 * k, 316), year, "black", font)
    pen.line((60, 310, 500, 310), "black")
    return image


def photographed() -> Image.Image:
    """A screen taken aslant, in uneven light, with little noise."""
    image, (width, height) = sales(), (520, 360)
    corners = (-30, -20, -60, height + 30, width + 40, height - 10, width - 10, 30)
    way = Image.Transform.QUAD, corners, Image.Resampling.BICUBIC
    turned = np.asarray(image.transform(image.size, *way, fillcolor="#786e64"), dtype=float)
    down, across = np.mgrid[0:height, 0:width]
    light = 0.75 + 0.25 * across / width + 0.1 * np.sin(down / 50)
    noise = np.random.default_rng(0).normal(0, 2, turned.shape)
    stream = io.BytesIO()
    taken = (turned * light[..., None] + noise).clip(0, 255).astype(np.uint8)
    Image.fromarray(taken).save(stream, "JPEG", quality=75)
    return Image.open(stream).convert("RGB")


def nearby() -> Image.Image:
    """A screen taken hardly aslant, in even light, that fills the picture."""
    image = sales()
    corners = (2, 0, 6, 352, 516, 358, 510, 6)
    way = Image.Transform.QUAD, corners, Image.Resampling.BICUBIC
    return image.transform(image.size, *way)


#: Of `sales`: what is done to the chart, and what a reader says of it.
DAMAGED = {
    "photograph": (photographed, "photograph"),
    "photograph from nearby": (nearby, "its lines run aslant"),
    "left half": (lambda: sales().crop((0, 0, 260, 360)), "cut off"),
    "dithered": (lambda: sales().convert("1").convert("RGB"), "dithered"),
    "dithered, gray": (lambda: sales().convert("L").point(lambda v: v * 0.8 + 30).convert("1"), ""),
    "right half": (lambda: sales().crop((260, 0, 520, 360)), ""),
    "top half": (lambda: sales().crop((0, 0, 520, 180)), ""),
    "bottom half": (lambda: sales().crop((0, 180, 520, 360)), ""),
}
HOSTILE = {
    "log axis": lambda: drawn(log_axis),
    "two value axes": lambda: drawn(two_axes),
    "pie in depth": lambda: drawn(pie_in_depth),
    "other script": lambda: drawn(other_script),
    "screenshot": screenshot,
    "cut chart": cut,
    "empty": lambda: Image.new("RGB", (400, 300), "white"),
    "one pixel": lambda: Image.new("RGB", (1, 1), "white"),
    "one row": lambda: Image.new("RGB", (3000, 1), "white"),
    "huge and thin": lambda: Image.new("RGB", (12_000, 60), "white"),
    "huge": lambda: Image.fromarray(np.full((1500, 2000, 3), 250, dtype=np.uint8)),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow) if n == "huge" else n for n in HOSTILE],
)
def test_what_cannot_be_read_is_unscored(name):
    request = JudgeRequest(HOSTILE[name](), CAPTION, tuple(split(CAPTION)))
    (verdicts,) = ChartCritic().judge([request])
    assert verdicts == [Verdict(None, Unscored.UNREADABLE_CHART)] * 2


@pytest.mark.parametrize("name", DAMAGED)
def test_of_a_damaged_chart_nothing_is_guessed_and_the_damage_is_told(name):
    make, told = DAMAGED[name]
    image = make().convert("RGB")
    critic = ChartCritic()
    (verdicts,) = critic.judge([JudgeRequest(image, CAPTION, tuple(split(CAPTION)))])
    assert verdicts == [Verdict(None, Unscored.UNREADABLE_CHART)] * 2
    said = [reason for chart in critic.reading(image).charts for reason in chart.unread]
    assert told in " ".join(said)


def test_the_whole_chart_is_read():
    (chart,) = ChartCritic().reading(sales()).charts
    values = {mark.category: mark.value for one in chart.series for mark in one.marks}
    assert values == pytest.approx(SALES, abs=2)


@pytest.mark.parametrize(("box", "gone"), [((40, 30, 100, 60), True), ((40, 30, 99, 59), False)])
def test_marks_at_the_images_edge_are_not_measured(box, gone):
    pixels = np.full((60, 100, 3), 255, dtype=np.uint8)
    mark = ChartMark("2010", 380.0, False, box=box)
    (chart,) = without_guesses(pixels, [Chart("bar", series=(ChartSeries("", "", (mark,)),))])
    assert chart.readable is not gone
    assert ("cut off" in " ".join(chart.unread)) is gone
    (kept,) = without_guesses(
        pixels, [Chart("bar", series=(ChartSeries("", "", (replace(mark, printed=True),)),))]
    )
    assert kept.readable  # as far as it is seen, its number is


def test_printed_values_are_read_in_a_dithered_chart():
    dots = np.full((60, 60, 3), 255, dtype=np.uint8)
    dots[::2, ::2] = 0
    marks = ChartMark("2010", 380.0, True), ChartMark("2011", 310.0, True)
    printed = Chart("bar", series=(ChartSeries("", "", marks),))
    guessed = Chart("bar", series=(ChartSeries("", "", (ChartMark("2010", 380.0, False),)),))
    kept, gone = without_guesses(dots, [printed, guessed])
    assert kept == printed
    assert not gone.readable
    assert without_guesses(dots * 0, [guessed]) == (guessed,)


def ruled(*sides: slice) -> np.ndarray:
    """A page with five grid lines, two pixels each of 300, over parts of its width."""
    pixels = np.full((300, 400, 3), 255, dtype=np.uint8)
    for row in range(40, 290, 50):
        for part in sides:
            pixels[row : row + 2, part] = 120
    return pixels


def test_grid_lines_that_run_into_one_edge_are_cut_and_bars_from_edge_to_edge_are_not():
    assert "cut off" in damage(ruled(slice(60, None)))
    assert "cut off" in damage(ruled(slice(60, None)).transpose(1, 0, 2))
    for whole in (slice(60, 380), slice(None)):
        assert damage(ruled(whole)) == ""
    # as text that is set flush
    assert damage(ruled(slice(0, 300))) == ""


@pytest.mark.parametrize(
    ("slopes", "told"),
    [((5, 5, 6, 5), True), ((0, 0, 0, 5), False), ((5, 30, -20, -8), False), ((5, 5), False)],
)
def test_a_photographs_lines_are_all_off_alike_and_a_curve_may_be_nearly_level(slopes, told):
    large = Image.new("RGB", (1600, 1200), "white")
    for k, slope in enumerate(slopes):
        ends = 240, 240 + 200 * k, 1440, 240 + 200 * k + 4 * slope
        ImageDraw.Draw(large).line(ends, "#555555", 8)
    image = large.reduce(4)  # lines without steps
    for turned in (image, image.transpose(Image.Transpose.TRANSPOSE)):
        assert ("aslant" in damage(np.asarray(turned))) is told


def in_eight_colors(image: Image.Image) -> Image.Image:
    palette = Image.new("P", (1, 1))
    colors = [255 * (k >> part & 1) for k in range(8) for part in range(3)]
    palette.putpalette(colors + [0] * (768 - len(colors)))
    return image.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG)


def test_shades_that_dots_or_two_colors_stand_for_are_seen():
    def told(image: Image.Image) -> bool:
        return is_dithered(np.asarray(image.convert("RGB")))

    assert told(in_eight_colors(sales()))
    assert told(sales().convert("1"))
    assert told(sales().convert("L").point(lambda value: 255 * (value > 127)))
    assert not told(sales())
    assert not told(sales().quantize(8, dither=Image.Dither.NONE))
    assert not told(photographed())
    assert not told(Image.new("RGB", (60, 40), "white"))
