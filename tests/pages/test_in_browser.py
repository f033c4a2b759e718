"""Leaderboard and POSH page on a phone, in both themes: nothing clipped, whatever the names."""

from __future__ import annotations

import pytest
from browser import Browser, needs_browser

from revise_captions.graphs.grading.components import components
from revise_captions.graphs.grading.judge import Grade
from revise_captions.graphs.graph import Graph, Object
from revise_captions.pipelines.rating.examples import BehindScore, BoardEvidence
from revise_captions.pipelines.rating.page import page
from revise_captions.posh.corpus import row_of
from revise_captions.posh.display import view_of
from revise_captions.posh.page import PoshPage
from revise_captions.posh.scoring import Graded, Score
from revise_captions.records import Span
from revise_captions.runs.score_file import FileScores

pytestmark = needs_browser
LONG = "organization/a-very_long-model.name_with@many+parts:and/no-spaces_at-all-in_it-2026"
NAMES = (LONG, "x" * 90, "كابتشنر", "<script>document.body.dataset.hacked = 1</script>", "b")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


def board():
    rows = [
        {
            "rank": "1–5", "captioner": name, "score": 0.5 + k / 10, "low": 0.4 + k / 10,
            "high": 0.55 + k / 10, "length_controlled": 0.5, "captions": 9, "sentences": 12_345,
            "unscored": 3, "not_assessable": 0, "words_per_caption": 47.0,
        }
        for k, name in enumerate(NAMES)
    ]  # fmt: skip
    square = [[0.5] * len(NAMES)] * len(NAMES)
    criterion = {"heading": "correct sentences", "table": rows, "wins": square, "p_values": square}
    criterion["least_p"] = 0.01
    rater = {"critic": LONG, "threshold": "0.5"}
    criteria = dict.fromkeys(("response", "overall", "per_description"), criterion)
    head = {"rater": rater, "images": 9, "replicates": 1000, "errors": None, "people": None}
    head["few"] = f"9 images: too few to tell {LONG} from others."
    return {**head, "criteria": criteria}


def board_page():
    evidence = BoardEvidence()
    for name in NAMES:
        wrong = BehindScore.of(0.1, LONG, f"One. {name}", 5, 5 + len(name), rationale=name)
        evidence.add(name, [wrong], ())
    return page(board(), evidence)


def posh_page():
    shown, found = PoshPage(LONG), FileScores(LONG)
    for k, name in enumerate(NAMES):
        span = Span(0, len(name))
        graph = Graph(name, (Object(name, name, span, (span,)),))
        parts = tuple(components(graph))
        sides = [Graded(graph, parts, tuple(Grade(1.0 + k) for _ in parts)) for _ in range(2)]
        score = Score(sides[0], (sides[1],))
        shown.add(view_of(name, score))
        found.kept.append(row_of(score, name).as_json())
    return shown.render(found)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("make", [board_page, posh_page])
def test_nothing_is_clipped_on_a_phone(browser, tmp_path, make, dark):
    path = tmp_path / "page.html"
    path.write_text(make(), encoding="utf-8")
    browser.look(390, 800, dark=dark)
    browser.said.clear()
    browser.open(path.as_uri())
    assert browser.value("document.documentElement.scrollWidth") == 390
    assert browser.too_wide() == []
    assert browser.value("document.body.dataset.hacked ?? null") is None
    assert browser.said == []


def test_each_bar_leads_to_its_examples(browser, tmp_path):
    for number, make in enumerate((board_page, posh_page)):
        path = tmp_path / f"{number}.html"
        path.write_text(make(), encoding="utf-8")
        browser.open(path.as_uri())
        missing = browser.value(
            "[...document.querySelectorAll('main a[href^=\"#\"]')]"
            ".filter(a => !document.querySelector(a.getAttribute('href'))).length"
        )
        assert missing == 0
        assert browser.value("document.querySelectorAll('main a[href^=\"#\"]').length") >= 5
