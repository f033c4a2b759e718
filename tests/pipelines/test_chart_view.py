"""What the report shows of a chart."""

from __future__ import annotations

from judged_chart import CAPTION, READING, SENTENCE
from PIL import Image

from revise_captions.pipelines.output.outcomes import Outcome
from revise_captions.pipelines.report.cards import render_cards
from revise_captions.pipelines.report.chart_view import ChartView
from revise_captions.pipelines.report.page import templates
from revise_captions.pipelines.report.sample import ReportRow


def row(image: Image.Image) -> ReportRow:
    revision = {"signature": "s", "rounds": 0, "critic": "charts", "sentences": [SENTENCE]}
    view = ChartView(READING, (200, 200))
    return ReportRow(
        "in", 1, Outcome.FLAGGED, CAPTION, "", CAPTION, revision, image=image, chart=view
    )


def test_the_marks_behind_a_rationale_are_outlined_where_they_are():
    view = ChartView(READING, (200, 200))
    assert view.boxes(CAPTION, SENTENCE) == [(100, 80, 140, 180)]
    assert view.boxes(CAPTION, {**SENTENCE, "rationale": "something else"}) == []
    drawn = view.outlined(Image.new("RGB", (100, 100), "white"), [(1, [(100, 80, 140, 180)])])
    changed = Image.eval(drawn.convert("L"), lambda value: 255 - value).getbbox()
    assert changed is not None
    assert abs(changed[0] - 50) <= 8
    assert abs(changed[3] - 90) <= 8
    assert drawn.getpixel((20, 50)) == (255, 255, 255)


def test_the_table_is_folded_and_escaped():
    (cards, _) = render_cards(templates(), [row(Image.new("RGB", (200, 200), "white"))], 0.13)
    html = str(cards[0].html)
    assert "<summary>What was read in the chart</summary>" in html
    assert "Cases in &lt;b&gt;Norway&lt;/b&gt;" in html
    assert "<b>Norway" not in html
    assert "~380" in html
    assert ">254<" in html
