"""Charts drawn here, with the values that went into them, are read back."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from commands import program
from PIL import Image, ImageDraw, ImageFont

pytest.importorskip("rapidocr")

from revise_captions.charts import read
from revise_captions.pipelines.chart_reading.cli import read_chart

main = program(read_chart)

BARS = {"2016": 120.0, "2017": 180.0, "2018": 90.0, "2019": 240.0}


def bar_chart(path: Path | None = None) -> np.ndarray:
    """Upright bars on an axis from 0 to 300, without printed values."""
    image = Image.new("RGB", (640, 480), "white")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(20)
    draw.text((120, 12), "Visitors of the museum", fill="black", font=ImageFont.load_default(26))
    for tick in (0, 100, 200, 300):
        y = 400 - tick
        draw.line((80, y, 600, y), fill="#dddddd")
        draw.text((70, y), str(tick), fill="black", font=font, anchor="rm")
    for k, (year, value) in enumerate(BARS.items()):
        x = 110 + 125 * k
        draw.rectangle((x, 400 - value, x + 80, 399), fill="#4c78a8")
        draw.text((x + 40, 408), year, fill="black", font=font, anchor="mt")
    if path is not None:
        image.save(path)
    return np.asarray(image)


def test_bars_are_measured_on_their_axis():
    (chart,) = read(bar_chart())
    assert (chart.kind, chart.horizontal, chart.title) == ("bar", False, "Visitors of the museum")
    (series,) = chart.series
    assert [mark.category for mark in series.marks] == list(BARS)
    for mark, true in zip(series.marks, BARS.values(), strict=True):
        assert mark.value == pytest.approx(true, abs=3)
        assert not mark.printed
        assert mark.box is not None


def test_an_image_without_text_says_so():
    (chart,) = read(np.full((200, 300, 3), 255, dtype=np.uint8))
    assert (chart.kind, chart.unread) == ("unknown", ("there is no text",))
    (chart,) = read(np.zeros((10, 300, 3), dtype=np.uint8))
    assert chart.unread == ("the image is too small",)


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    shown = capsys.readouterr()
    return int(ended.value.code or 0), shown.out, shown.err


def test_the_command_prints_each_format_and_names_broken_files(tmp_path, capsys):
    bar_chart(tmp_path / "a.png")
    (tmp_path / "b.png").write_bytes(b"no image")
    status, out, err = run([str(tmp_path), "--format", "jsonl"], capsys)
    assert status == 0
    assert [json.loads(line)["image"] for line in out.splitlines()] == [str(tmp_path / "a.png")]
    assert "b.png: not a known image format" in err
    status, out, _ = run([str(tmp_path / "a.png"), "--format", "json"], capsys)
    assert list(json.loads(out)) == [str(tmp_path / "a.png")]
    _, out, _ = run([str(tmp_path / "a.png"), "--format", "csv"], capsys)
    assert [row.split(",")[4] for row in out.splitlines()[1:]] == list(BARS)
    _, out, _ = run([str(tmp_path / "a.png")], capsys)
    assert "Visitors of the museum" in out
    assert "~120" in out


def test_what_cannot_be_read_has_its_own_status(tmp_path, capsys):
    Image.new("RGB", (200, 200), "white").save(tmp_path / "empty.png")
    status, out, _ = run([str(tmp_path / "empty.png")], capsys)
    assert status == 4
    assert "not read: there is no text" in out
    status, _, err = run([str(tmp_path / "none.png")], capsys)
    assert status == 2
    assert "does not exist" in err


def test_files_of_one_name_in_two_folders_are_two_in_the_order_given(tmp_path, capsys):
    places = [tmp_path / folder / "a.png" for folder in ("z", "b", "k")]
    for place in places:
        place.parent.mkdir()
        Image.new("RGB", (200, 200), "white").save(place)
    _, out, _ = run([*map(str, places), "--format", "json"], capsys)
    assert list(json.loads(out)) == [str(place) for place in places]


def test_an_image_of_too_many_pixels_is_named_without_a_warning(tmp_path, capsys):
    Image.new("1", (12_000, 9_000)).save(tmp_path / "huge.png")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        status, _, err = run([str(tmp_path / "huge.png")], capsys)
    assert status == 4
    assert "12,000 × 9,000 pixels; the limit is" in err
    assert warned == []
