"""What the explorer shows of a chart: read when asked for, and outlined as in the report."""

from __future__ import annotations

import io
import json

import pytest
from browser import Browser, needs_browser
from explored import ask, serving
from judged_chart import BARS, CAPTION, FIX, READING, SENTENCE
from PIL import Image

from revise_captions.pipelines.explore import session
from revise_captions.pipelines.report import chart_view


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A caption that the critic of charts judged, then one that it did not."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(chart_view, "read_image", lambda image: READING)
    Image.new("RGB", (200, 200), "white").save(tmp_path / "chart.png")
    signature = (
        "critic:own@0+charts@0|experts:own,charts|own.critic:own@0|own.threshold:0.1300"
        "|charts.critic:charts@0|charts.reads:charts|charts.threshold:0.4500"
    )
    plain = {**SENTENCE, "fixes": []}
    rows = [
        {
            "image": "chart.png", "caption": CAPTION, "revised_caption": CAPTION,
            "revision": {"signature": signature, "expert": expert, "threshold": threshold,
                         "rounds": 0, "sentences": [sentence]},
        }
        for expert, threshold, sentence in (("charts", 0.45, SENTENCE), ("own", 0.13, plain))
    ]  # fmt: skip
    path = tmp_path / "out.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def picture(server, place):
    status, _, body = ask(server, f"/{server.token}/{place}")
    assert status == 200, place
    return Image.open(io.BytesIO(body)).convert("RGB")


def test_the_table_and_the_outlined_image_of_a_chart_alone(run):
    with serving(run) as server:
        status, _, body = ask(server, f"/{server.token}/tables/0")
        assert status == 200
        assert b"Cases in &lt;b&gt;Norway&lt;/b&gt;" in body
        assert b'<td class="n">254</td>' in body
        plain, marked = picture(server, "image/0"), picture(server, "image/0/large/marked")
        assert min(plain.getpixel((100, 130))) > 240
        red, green, _ = marked.getpixel((97, 130))
        assert red - green > 60
        for place in ("tables/1", "image/1/marked", "tables/7", "tables/../0", "tables/"):
            assert ask(server, f"/{server.token}/{place}")[0] == 404, place
        page = ask(server, f"/{server.token}/")[2].decode()
        assert page.count("data-reading=") == 1


def test_two_fixes_of_a_sentence_have_their_outlines_both(run):
    first, second = (json.loads(line) for line in run.read_text().splitlines())
    fix = {**FIX, "span": [3, 7], "evidence": [{"box": list(BARS[0].box), "label": "2013"}]}
    first["revision"]["sentences"][0]["fixes"] = [fix, FIX]
    run.write_text("".join(f"{json.dumps(row)}\n" for row in (first, second)))
    with serving(run) as server:
        marked = picture(server, "image/0/large/marked")
    for left in (BARS[0].box[0], BARS[1].box[0]):
        red, green, _ = marked.getpixel((left - 3, 130))
        assert red - green > 60


def test_without_what_reads_charts_none_is_offered(run, monkeypatch):
    monkeypatch.setattr(session, "find_spec", lambda name: None)
    with serving(run) as server:
        assert b"data-reading" not in ask(server, f"/{server.token}/")[2]
        assert ask(server, f"/{server.token}/tables/0")[0] == 404


@needs_browser
def test_outlines_are_there_at_once_and_opening_the_reading_puts_the_table_in_place(run, tmp_path):
    with serving(run) as server, Browser(tmp_path) as browser:
        browser.open(server.url)
        assert browser.value("document.querySelector('.enlarge img').src").endswith(
            "image/0/marked"
        )
        browser.value("document.querySelector('[data-reading] summary').click()")
        browser.wait("document.querySelector('details.read[open] td')?.textContent === '~380'")
        browser.value("document.querySelector('details.read summary').click()")
        assert browser.value("document.querySelector('details.read').open") is False
        assert browser.said == []


@needs_browser
def test_a_chart_that_is_gone_is_said(run, tmp_path):
    with serving(run) as server, Browser(tmp_path) as browser:
        browser.open(server.url)
        shown = browser.value("document.querySelector('.enlarge img').src")
        (run.parent / "chart.png").unlink()
        browser.value("document.querySelector('[data-reading] summary').click()")
        assert browser.wait(
            "document.querySelector('[data-reading]').textContent.includes('Not read')"
        )
        assert shown.endswith("image/0/marked")
        assert browser.value("document.querySelector('.enlarge img').src") == shown


def test_of_an_image_that_is_gone_nothing_is_found(run):
    with serving(run) as server:
        (run.parent / "chart.png").unlink()
        for place in ("image/0", "image/0/marked", "image/0/large/marked", "tables/0"):
            assert ask(server, f"/{server.token}/{place}")[0] == 404, place
