"""Images that are no readable chart: each is unscored, and none is guessed."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

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


@pytest.mark.parametrize("name", HOSTILE)
def test_what_cannot_be_read_is_unscored(name):
    request = JudgeRequest(HOSTILE[name](), CAPTION, tuple(split(CAPTION)))
    (verdicts,) = ChartCritic().judge([request])
    assert verdicts == [Verdict(None, Unscored.UNREADABLE_CHART)] * 2
