"""Labels of axes that stand at an angle, which OCR overlooks in a level image."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

pytest.importorskip("rapidocr")

from revise_captions.charts import ocr, read
from revise_captions.charts.canvas import prepare
from revise_captions.charts.ocr import (
    TextLine,
    TextWord,
    _along,
    _level,
    _words_along,
    text_lines,
)
from revise_captions.charts.ocr_boxes import _widened
from revise_captions.charts.scales import anchor, value_scales


def turned_label(image: Image.Image, text: str, end: tuple[int, int], angle: float) -> None:
    """Writes a small text that is turned counterclockwise and ends at a point."""
    font = ImageFont.load_default(17)
    left, top, right, bottom = font.getbbox(text)
    label = Image.new("RGB", (int(right - left) + 6, int(bottom - top) + 6), "white")
    ImageDraw.Draw(label).text((3 - left, 3 - top), text, fill="black", font=font)
    label = label.rotate(angle, expand=True, fillcolor="white", resample=Image.Resampling.BICUBIC)
    image.paste(label, (end[0] - label.width, end[1] - label.height))


def test_turned_labels_of_a_value_axis_are_read():
    image = Image.new("RGB", (520, 480), "white")
    draw = ImageDraw.Draw(image)
    for tick in range(5):
        draw.line((90, 400 - 80 * tick, 500, 400 - 80 * tick), fill="#cccccc")
        turned_label(image, str(10 * tick), (84, 406 - 80 * tick), -60)
    bars = {"Vienna": 12, "Bern": 26, "Prague": 18}
    for k, (name, value) in enumerate(bars.items()):
        x, top = 110 + 130 * k, 400 - 8 * value
        draw.rectangle((x, top, x + 80, 399), fill="#0f9d58")
        draw.text((x + 40, 410), name, fill="black", font=ImageFont.load_default(20), anchor="mt")
    (chart,) = read(np.asarray(image))
    assert chart.kind == "bar"
    found = {mark.category: mark.value for mark in chart.series[0].marks}
    assert found == pytest.approx(bars, abs=1)


def test_only_the_strip_with_slanted_labels_is_turned(monkeypatch):
    """Their names and ends are found; all of the image, turned, has 2.7 million pixels."""
    image = Image.new("RGB", (900, 720), "white")
    draw = ImageDraw.Draw(image)
    draw.text((450, 20), "Visitors by city", fill="black", font=ImageFont.load_default(28))
    names = ("Vienna", "Prague", "Bratislava", "Budapest", "Ljubljana", "Zagreb")
    ends = {name: 150 + 130 * k for k, name in enumerate(names)}
    for k, (name, x) in enumerate(ends.items()):
        draw.rectangle((x - 40, 540 - 60 * k, x + 40, 540), fill="#1f4e79")
        long = ImageFont.load_default(17).getlength(name)
        turned_label(image, name, (x + 8, 565 + round(0.71 * long)), 45)
    sizes, detected = [], ocr.detected
    monkeypatch.setattr(
        ocr, "detected", lambda e, pixels: sizes.append(pixels.shape) or detected(e, pixels)
    )
    found = {one.text: one for one in text_lines(np.asarray(image)) if one.angle > 30}
    _, turned = sizes
    assert turned[0] * turned[1] < 1.3e6
    places = {name: anchor(found[name].box, found[name].angle, found[name].height) for name in ends}
    assert {name: x for name, (x, _) in places.items()} == pytest.approx(ends, abs=6)


@pytest.mark.parametrize("turned", [False, True])
def test_a_narrow_image_is_read_with_a_margin(turned):
    """Its short side alone would be enlarged, to 16 million pixels."""
    image = Image.new("RGB", (1440, 48), "white")
    font = ImageFont.load_default(26)
    places = {"Vienna": 40, "Prague": 700, "1995": 1300}
    for text, x in places.items():
        ImageDraw.Draw(image).text((x, 8), text, fill="black", font=font)
    pixels = np.asarray(image)
    wide = _widened(pixels.transpose(1, 0, 2) if turned else pixels)
    assert wide.shape[:2] == ((1440, 480) if turned else (480, 1440))
    if not turned:
        found = {one.text: one.box[0] for one in text_lines(pixels)}
        assert found == pytest.approx(places, abs=6)


def line(text: str, box: tuple[int, int, int, int], angle: float = 0.0) -> TextLine:
    return TextLine(text, box, 0.99, angle, 20.0, tuple(_words_along(text, box, angle)))


def test_numbers_in_one_rotated_line_are_ticks_of_their_own():
    labels = line("40 30 20 10", (50, 100, 70, 430), -90.0)
    assert [(word.text, word.box[1]) for word in labels.words] == [
        ("40", 100),
        ("30", 190),
        ("20", 280),
        ("10", 370),
    ]
    canvas = prepare(
        np.full((500, 300, 3), 255, dtype=np.uint8),
        [line("40 30 20 10", (50, 100, 70, 430), -90.0)],
    )
    (scale,) = value_scales(canvas, True)
    assert [tick.value for tick in scale.ticks] == [40, 30, 20, 10]
    upward = line("10 20", (50, 100, 70, 200), 90.0).words
    assert upward == (TextWord("10", (50, 160, 70, 200)), TextWord("20", (50, 100, 70, 140)))


def test_fragments_along_a_slanted_label_are_told_from_its_neighbors():
    label = line("Paris, Marne", (100, 100, 200, 200), -45.0)
    assert _along(line("Marne", (150, 150, 190, 190)), label)
    assert not _along(line("Rome", (160, 90, 200, 130)), label)


def test_labels_in_a_row_are_turned_alike():
    row = [
        np.array([[x, 10], [x + 20, 10], [x + 20, 10 + h], [x, 10 + h]])
        for x, h in ((0, 60), (50, 45))
    ]
    assert _level(*row)
    assert not _level(row[0], row[1] + np.array([0, 40]))
