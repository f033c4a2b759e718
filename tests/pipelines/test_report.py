"""The report: hostile captions stay text, the page needs nothing, same rows make the same bytes."""

import base64
import html
import io
import json
import random
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from markupsafe import Markup
from PIL import Image
from report_pages import HOSTILE, hostile_row, write_book

from revise_captions.errors import UserError
from revise_captions.pipelines.output.outcomes import Outcome
from revise_captions.pipelines.report import charts
from revise_captions.pipelines.report.cards import RECORDS_LIMIT, THUMBNAIL, thumbnail
from revise_captions.pipelines.report.page import figures_path, write_report
from revise_captions.pipelines.report.sample import QUOTA, ReportRow, Sampler
from revise_captions.pipelines.report.summary import Tally
from revise_captions.records import CLAUSE, DOUBTED_CLAUSE, Why
from revise_captions.text.html import difference, visible

# Text and differences


def test_visible_spells_out_what_would_steer_the_page():
    assert visible("<b>\u202eé") == Markup('&lt;b&gt;<span class="ctl">U+202E</span>é')
    assert visible("a\r\nb\tc") == Markup("a\nb\tc")
    assert visible("👩‍👩‍👧 \u200f") == Markup("👩‍👩‍👧 \u200f")


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("A blue hat.", "A red hat.", "A <del>blue</del><ins>red</ins> hat."),
        ("A hat.", "A red hat.", "A<ins> red</ins> hat."),
        (
            "Two big dogs run.",
            "A small dog runs.",
            "<del>Two big dogs run</del><ins>A small dog runs</ins>.",
        ),
        ("It <is>.", "It <was>.", "It &lt;<del>is</del><ins>was</ins>&gt;."),
        ("Gone.", "", "<del>Gone.</del>"),
        ("Same.", "Same.", "Same."),
    ],
)
def test_difference(before, after, shown):
    assert difference(before, after) == Markup(shown)


def test_difference_loses_no_word_of_either_side():
    rng = random.Random(4)
    words = ["a", "the", "red", "blue", "hat", ",", ".", "<b>", "é"]
    for _ in range(300):
        before, after = (" ".join(rng.choices(words, k=rng.randint(1, 9))) for _ in range(2))
        shown = difference(before, after)
        old = re.sub(r"<ins>.*?</ins>", "", shown)
        new = re.sub(r"<del>.*?</del>", "", shown)
        assert html.unescape(re.sub(r"</?del>", "", old)) == before
        assert html.unescape(re.sub(r"</?ins>", "", new)) == after


def test_a_huge_sentence_is_compared_in_no_time():
    text = "word " * 20_000
    assert difference(text, text + "x").startswith("<del>word")


# Sample


def offer(rows):
    sampler = Sampler()
    for row in rows:
        sampler.add(row)
    return sampler


def plain_rows(count, outcome=Outcome.KEPT, start=0):
    return [ReportRow("f", start + n, outcome, "A.") for n in range(count)]


def names(rows):
    return [(row.line, row.outcome) for row in rows]


def test_sample_is_bounded_the_same_in_any_order_and_has_the_rare():
    rows = plain_rows(3000) + plain_rows(3, Outcome.DROPPED, 5000)
    rows += plain_rows(40, Outcome.REVISED, 6000)
    first = offer(rows).rows(lambda row: None)
    random.Random(1).shuffle(rows)
    again = offer(rows).rows(lambda row: None)
    assert names(first) == names(again)
    assert len(first) == 60
    outcomes = [row.outcome for row in first]
    assert outcomes.count(Outcome.DROPPED) == 3
    assert outcomes.count(Outcome.REVISED) >= QUOTA[Outcome.REVISED]
    assert outcomes == sorted(outcomes, key=list(QUOTA).index)


def test_sample_is_not_the_beginning_of_the_file():
    lines = [row.line for row in offer(plain_rows(6000)).rows(lambda row: None)]
    assert 2000 < sum(lines) / len(lines) < 4000


def test_a_small_run_is_shown_whole_and_images_are_loaded_once():
    loaded = []

    def load(row):
        loaded.append(row.line)
        return Image.new("RGB", (4, 4))

    rows = offer(plain_rows(25)).rows(load)
    assert [row.line for row in rows] == list(range(25)) == loaded
    assert all(row.image is not None for row in rows)


# Charts


def test_flow_conserves_sentences_and_ribbons_fill_their_nodes():
    items = [
        {"step": "rewrite accepted", "end": "judged factual", "sentences": 70},
        {"step": "rewrite accepted", "end": "still flagged", "sentences": 5},
        {"step": "still judged nonfactual", "end": "removed", "sentences": 20},
        {"step": "no rewrite asked for", "end": "still flagged", "sentences": 1},
    ]
    flow = charts.flow(items)
    by_x = {}
    for node in flow.nodes:
        by_x.setdefault(node.x, []).append(node)
        assert 0 <= node.y <= node.y + node.height <= flow.height + 0.2
    assert [sum(n.count for n in column) for column in by_x.values()] == [96, 96, 96]
    assert sum(r.count for r in flow.ribbons) == 2 * 96
    for column in by_x.values():
        for above, below in pairwise(column):
            assert above.y + above.height < below.y
    assert charts.flow([]) is None


def test_every_reason_of_a_refusal_stands_whole_in_the_flow():
    items = [{"step": str(why), "end": "still flagged", "sentences": 1} for why in Why]
    nodes = charts.flow(items).nodes
    told = {" ".join(node.lines) for node in nodes}
    assert {charts.step_label(str(why)) for why in Why} <= told
    lines = [(n.label_y - 8, n.label_y + 17 * len(n.lines) - 8) for n in nodes[1:-1]]
    assert all(above[1] <= below[0] for above, below in pairwise(lines))


def test_histogram_bars_are_on_their_side_of_the_threshold():
    bars = charts.histogram([4] * 19 + [16], 16, 0.3)
    assert [bar.flagged for bar in bars] == [True] * 6 + [False] * 14
    assert bars[0].height == pytest.approx(bars[-1].height / 2, abs=0.1)


# The page


def test_nothing_is_loaded_from_anywhere(page):
    text = page.read_text(encoding="utf-8")
    targets = re.findall(r"""(?:src|href|action|srcset|data)=["']([^"']*)""", text)
    assert targets
    assert all(target.startswith(("#", "data:image/jpeg;base64,")) for target in targets)
    assert not re.search(r"@import|url\(|<link|<iframe|<object|<base", text)
    assert "default-src &#39;none&#39;; img-src data:;" in text
    assert not re.search(r'<[^>]+\sstyle="', text.split("<body>")[1].split("<script")[0])


def test_the_page_and_the_json_hold_the_same_figures(page):
    text = page.read_text(encoding="utf-8")
    beside = json.loads(figures_path(page).read_text(encoding="utf-8"))
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', text, re.S)
    assert json.loads(found[1]) == beside
    summary = beside["summary"]
    body = html.unescape(text)
    for share in ("before", "after"):
        value = summary["factuality"]["all"][share]["value"]
        assert f"{100 * value:.1f} %" in body
    for count in (summary["sentences"]["total"], summary["sentences"]["accepted"]):
        assert f"<dd>{count:,}</dd>" in body


def test_same_rows_same_bytes(page, tmp_path):
    again = write_book(tmp_path / "report.html")
    assert again.read_bytes() == page.read_bytes()
    assert figures_path(again).read_bytes() == figures_path(page).read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["report.html", "report.json"]


def test_hostile_text_is_never_markup(hostile_page):
    text = hostile_page.read_text(encoding="utf-8")
    assert text.count("<script") == 2
    assert "<img src=x" not in text
    assert "<svg/onload" not in text
    assert not re.search("[\u2028\u2029\u202a-\u202e\u2066-\u2069\x00\x07\x1b]", text)
    assert "{{ 7*7 }}" in text


def test_hostile_figures_survive_the_round_trip(hostile_page):
    figures = json.loads(figures_path(hostile_page).read_text(encoding="utf-8"))
    assert figures["title"] == " ".join(HOSTILE)
    assert [g["name"] for g in figures["summary"]["groups"]["rows"]] == HOSTILE


def test_the_page_stays_small(tmp_path):
    noise = Image.effect_noise((400, 400), 90).convert("RGB")
    rows = []
    for line in range(45):
        _, row = hostile_row("\u202e<" * 3000 + "x" * 100_000, line)
        rows.append(
            ReportRow(
                "f",
                line,
                Outcome.REVISED,
                row.caption,
                revision=row.revision,
                revised_caption=row.revised_caption,
                image=noise,
            )
        )
    tally = Tally()
    tally.add(hostile_row("A.")[0], line=1)
    path = tmp_path / "report.html"
    write_report(path, summary=tally.to_json(), rows=rows, title="big")
    assert path.stat().st_size < RECORDS_LIMIT + 1_000_000
    assert "to keep this page small" in path.read_text(encoding="utf-8")


def test_unscored_sentences_share_a_note_for_each_reason(tmp_path):
    _, row = hostile_row("A. B. C.")
    reasons = ["outside the model's domain", "longer than the critic's context"]
    sentences = [
        row.revision["sentences"][0]
        | {
            "span": [3 * n, 3 * n + 2],
            "label": "unscored",
            "reason": reasons[n == 1],
            "p_factual": None,
            "p_after": None,
            "accepted": None,
            "rewrite": None,
            "rationale": None,
            "fixes": [],
            "why": None,
            "attempts": [],
        }
        for n in range(3)
    ]
    shown = ReportRow(
        "f",
        1,
        Outcome.UNSCORED,
        "A. B. C.",
        revised_caption="A. B. C.",
        revision={"threshold": 0.5, "sentences": sentences},
    )
    path = tmp_path / "report.html"
    write_report(path, summary=Tally().to_json(), rows=[shown], title="t")
    text = html.unescape(path.read_text(encoding="utf-8"))
    assert re.findall(r'href="#n1-(\d)"', text) == ["1", "2", "1"]
    assert [text.count(f"<p>{reason.capitalize()}.</p>") for reason in reasons] == [1, 1]
    assert "Read the revised caption" not in text


def test_an_empty_run_has_a_report(tmp_path):
    path = tmp_path / "report.html"
    write_report(path, summary=Tally().to_json(), rows=[], title="none")
    assert "There were no records to read." in path.read_text(encoding="utf-8")


def test_mostly_unscored_is_what_the_page_begins_with(tmp_path):
    sentence = hostile_row("A.")[0]["revision"]["sentences"][0] | {
        "label": "unscored",
        "reason": "outside the model's domain",
        "p_factual": None,
        "p_after": None,
        "accepted": None,
        "rewrite": None,
        "attempts": [],
    }
    tally = Tally()
    revision = {"threshold": 0.5, "sentences": [sentence]}
    tally.add({"revised_caption": "A.", "revision": revision}, line=1)
    path = tmp_path / "report.html"
    write_report(path, summary=tally.to_json(), rows=[], title="t")
    body = html.unescape(path.read_text(encoding="utf-8"))
    assert '<div class="headline unscored">' in body
    assert body.index("--critic FOLDER") < body.index('class="tiles"')
    main = body[body.index("<main") :]
    assert "How confident the critic was" not in main  # no plot of nothing
    assert "Factuality, before and after" not in main
    assert "1 outside the model's domain" in main


def test_a_json_file_that_is_no_report_is_not_overwritten(tmp_path):
    (tmp_path / "data.json").write_text('[{"image": "a.png"}]')
    with pytest.raises(UserError, match=r"data\.json"):
        write_report(tmp_path / "data.html", summary={}, rows=[], title="t")
    assert not (tmp_path / "data.html").exists()


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "LA", "P", "CMYK", "1", "I;16"])
def test_thumbnails_of_every_kind_of_image(mode):
    made = thumbnail(Image.new(mode, (900, 300)))
    assert (made["width"], made["height"]) == (THUMBNAIL, 107)
    data = base64.b64decode(made["uri"].removeprefix("data:image/jpeg;base64,"))
    assert Image.open(io.BytesIO(data)).mode == "RGB"


def test_a_transparent_image_lies_on_white():
    made = thumbnail(Image.new("RGBA", (8, 8), (255, 0, 0, 0)))
    data = base64.b64decode(made["uri"].removeprefix("data:image/jpeg;base64,"))
    assert Image.open(io.BytesIO(data)).getpixel((4, 4)) == (255, 255, 255)


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("side", [0, 1], ids=["light", "dark"])
def test_contrast_is_aa_for_all_text(page, side):
    """WCAG 2.2, 1.4.3: at least 4.5 : 1."""
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"--([a-z-]+): light-dark\((#\w{6}), (#\w{6})\);", text)
    colours = {name: pair[side] for name, *pair in found}
    pairs = [
        (ink, ground)
        for ink in ("ink", "muted", "good", "bad", "unsure", "link")
        for ground in ("paper", "card")
    ]
    pairs += [(tone, f"{tone}-soft") for tone in ("good", "bad", "unsure", "gone")]
    pairs += [("ink", f"{tone}-soft") for tone in ("bad", "unsure")]
    pairs += [("card", tone) for tone in ("good", "bad", "unsure", "gone")]
    for one, other in pairs:
        a, b = sorted([luminance(colours[one]), luminance(colours[other])])
        assert (b + 0.05) / (a + 0.05) >= 4.5, (one, other)


@pytest.mark.parametrize(
    ("kind", "certain", "status"),
    [
        (CLAUSE, False, "Wrong clause"),
        (DOUBTED_CLAUSE, False, "Doubtful clause"),
        ("value", False, "Left to a person"),
        ("value", True, "Certain"),
    ],
)
def test_a_fix_says_who_applies_it(tmp_path, kind, certain, status):
    """A clause is rewritten or removed without a person, though that is not certain."""
    _, row = hostile_row("A.")
    fix = {"span": [0, 1], "right": "", "kind": kind, "certain": certain, "basis": "<b>b</b>"}
    (sentence,) = row.revision["sentences"]
    sentence = sentence | {"fixes": [fix | {"evidence": []}]}
    path = tmp_path / "report.html"
    shown = replace(row, revision=row.revision | {"sentences": [sentence]})
    write_report(path, summary=Tally().to_json(), rows=[shown], title="t")
    text = path.read_text(encoding="utf-8")
    assert f'<span class="why">{status}: &lt;b&gt;b&lt;/b&gt;.</span>' in text
