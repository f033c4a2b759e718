"""What the report shows of a chart, and of the places in an image that fixes go by."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from judged_chart import BARS, CAPTION, FIX, READING, SENTENCE, TWICE
from PIL import Image

from revise_captions.critic.charts.rationale import rationale_of
from revise_captions.io.decoding import full_size, reduced
from revise_captions.pages.evidence import boxes_of, outlined
from revise_captions.pipelines.output.outcomes import Outcome
from revise_captions.pipelines.output.schema import to_json
from revise_captions.pipelines.report.cards import has_boxes, render_cards, shown_picture
from revise_captions.pipelines.report.chart_view import ChartView, of_charts
from revise_captions.pipelines.report.page import templates
from revise_captions.pipelines.report.sample import ReportRow
from revise_captions.records import Revision, Sentence, Span, Verdict

BOX = BARS[1].box


def row(image: Image.Image | None, **changes: object) -> ReportRow:
    revision = {"signature": "s", "threshold": 0.13, "rounds": 0, "sentences": [SENTENCE]}
    return ReportRow(
        "in", 1, Outcome.FLAGGED, CAPTION, "", CAPTION, revision | changes, image=image,
        chart=ChartView(READING),
    )  # fmt: skip


def changed(drawn: Image.Image) -> tuple[int, int, int, int]:
    """Where a white image is no longer white."""
    found = Image.eval(drawn.convert("L"), lambda value: 255 - value).getbbox()
    assert found is not None
    return found


def white(width: int, height: int) -> Image.Image:
    return Image.new("RGB", (width, height), "white")


def test_the_boxes_of_a_sentence_are_those_of_its_fixes_each_once():
    more = {**FIX, "evidence": [{"box": [1, 2, 3, 4], "label": ""}, *FIX["evidence"]]}
    bare = {**FIX, "evidence": []}
    assert boxes_of({"fixes": [bare, FIX, more]}) == [BOX, (1, 2, 3, 4)]
    assert boxes_of({"fixes": [bare]}) == boxes_of({"fixes": []}) == []
    assert has_boxes(row(None))
    assert not has_boxes(row(None, sentences=[{**SENTENCE, "fixes": []}]))


def test_boxes_are_outlined_where_they_are_in_an_image_of_any_size():
    """A box at (1000, 800) to (1400, 1800) of 2000 × 2000, in half the pixels and in fewer."""
    box = (1000, 800, 1400, 1800)
    small = reduced(white(2000, 2000), 1_000_000)
    assert (small.size, full_size(small)) == ((1000, 1000), (2000, 2000))
    for image, scale in ((white(2000, 2000), 1), (small, 2)):
        found = changed(outlined(image, [(1, [box])]))
        assert all(abs(scale * a - b) <= 16 for a, b in zip(found, box, strict=True))
    assert outlined(small, []) is small


def test_the_picture_of_a_record_is_outlined():
    """200 × 200 as the critic saw it; the notes are about what stands at (100, 80)."""
    picture = shown_picture(row(white(200, 200)))
    assert picture is not None
    assert all(abs(a - b) <= 8 for a, b in zip(changed(picture), BOX, strict=True))
    assert picture.getpixel((40, 100)) == (255, 255, 255)
    plain = white(200, 200)
    assert shown_picture(row(plain, sentences=[{**SENTENCE, "fixes": []}])) is plain
    assert shown_picture(row(None)) is None


def test_a_sentence_with_two_false_claims_has_two_boxes():
    """From the critic's fixes through the row to the outlined picture."""
    reading = replace(READING, lines=("Cases in Norway", "2013", "2014"))
    rationale = rationale_of(TWICE, reading.charts, reading.lines)
    flagged = Sentence(Span(0, len(TWICE)), Verdict(0.1), Verdict(0.1), rationale)
    stored = json.loads(json.dumps(to_json(Revision(TWICE, TWICE, (flagged,), threshold=0.5))))
    (sentence,) = stored["revision"]["sentences"]
    assert [fix["right"] for fix in sentence["fixes"]] == ["about 380", "254"]
    assert boxes_of(sentence) == [mark.box for mark in BARS]
    picture = shown_picture(row(white(200, 200), sentences=[sentence]))
    assert picture is not None
    assert all(picture.getpixel((left - 3, 130))[1] < 90 for left in (20, 100))


@pytest.mark.parametrize("size", [(1200, 900), (3000, 2000)])
def test_boxes_stay_where_they_are_in_the_reports_thumbnails(tmp_path, size):
    """Images that decoding has reduced, and images that it has not."""
    from revise_captions.io.images import load_image, parse_image
    from revise_captions.io.readers import open_source
    from revise_captions.pipelines.report.results import with_pictures
    from revise_captions.pipelines.report.sample import Sampler

    white(*size).save(tmp_path / "a.png")
    (tmp_path / "in.jsonl").write_text(f'{{"image": "a.png", "caption": "{CAPTION}"}}\n')
    box = [size[0] // 2, size[1] // 2, size[0] // 2 + 200, size[1] // 2 + 200]
    fix = {**FIX, "evidence": [{"box": box, "label": "b"}]}
    sampler = Sampler()
    sampler.add(
        ReportRow("in.jsonl", 1, Outcome.FLAGGED, CAPTION, revised_caption=CAPTION, revision={
            "signature": "s", "threshold": 0.5, "rounds": 0,
            "sentences": [{**SENTENCE, "fixes": [fix]}],
        })
    )  # fmt: skip

    def load(record):
        return load_image(parse_image("a.png"), root=tmp_path, folder=tmp_path, keep=reduced)

    (shown,) = with_pictures(sampler, open_source(str(tmp_path / "in.jsonl")), load)
    picture = shown_picture(shown)
    assert picture is not None
    assert max(picture.size) == 640
    found = changed(picture)
    scale = size[0] / picture.width
    assert all(abs(scale * a - b) <= 10 * scale for a, b in zip(found, box, strict=True))


def test_an_image_cannot_say_itself_how_large_it_was():
    """A PNG's text keys stand beside what decoding notes of an image."""
    import io

    from PIL.PngImagePlugin import PngInfo

    from revise_captions.io import decoding

    info = PngInfo()
    info.add_text(decoding._FULL_SIZE, "(9, 9)")
    data = io.BytesIO()
    white(20, 10).save(data, "PNG", pnginfo=info)
    image = decoding.decode(data.getvalue(), decoding.LIMITS, reduced)
    assert full_size(image) == (20, 10)
    assert full_size(reduced(image, 50)) == (20, 10)


def test_whose_rows_are_of_charts_is_in_the_signature():
    alone, panel = "critic:x|reads:charts", "critic:x+y|experts:a,b|a.critic:x|b.reads:charts"
    assert of_charts({"signature": alone})
    assert not of_charts({"signature": "critic:x"})
    assert of_charts({"signature": panel, "expert": "b"})
    assert not of_charts({"signature": panel, "expert": "a"})
    assert not of_charts({"signature": panel})


def test_the_table_is_folded_and_escaped():
    (cards, _) = render_cards(templates(), [row(white(200, 200))])
    html = str(cards[0].html)
    assert "<summary>What was read in the chart</summary>" in html
    assert "Cases in &lt;b&gt;Norway&lt;/b&gt;" in html
    assert "<b>Norway" not in html
    assert "~380" in html
    assert ">254<" in html


def test_fixes_are_shown_as_edits_and_what_is_uncertain_says_so():
    hostile = {**FIX, "right": "<b>254</b>", "certain": False, "basis": "<i>guess</i>"}
    for fix in (FIX, hostile):
        (cards, _) = render_cards(
            templates(), [row(None, sentences=[{**SENTENCE, "fixes": [fix]}])]
        )
        html = str(cards[0].html)
        assert "202" in html
        assert "254" in html
        assert "<b>254" not in html
        assert "<i>guess" not in html


@pytest.mark.parametrize(
    ("kind", "status"), [("clause", "Wrong clause"), ("doubted clause", "Doubtful clause")]
)
def test_a_wrong_clause_is_named_and_neither_struck_out_nor_left_to_a_person(kind, status):
    one = {**FIX, "right": "", "kind": kind, "certain": False, "basis": "It is 254."}
    for said, shown in (("It is 254.", f"{status}."), ("Two things.", f"{status}: It is 254.")):
        sentence = {**SENTENCE, "rationale": said, "fixes": [one]}
        html = str(render_cards(templates(), [row(None, sentences=[sentence])])[0][0].html)
        shown_fixes = html.partition('<ul class="fixes">')[2].partition("</ul>")[0]
        assert f'<span class="why">{shown}</span>' in shown_fixes
        assert "202" in shown_fixes
        assert "<del>" not in shown_fixes
