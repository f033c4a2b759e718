"""From grades to scores, corpora, agreement with people, marks in the text, and the command."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from revise_captions.graphs.grading.components import components
from revise_captions.graphs.grading.judge import Grade
from revise_captions.graphs.graph import Attribute, Graph, Object
from revise_captions.posh import display
from revise_captions.posh.corpus import PairStatistics, mean, row_of, row_of_json
from revise_captions.posh.page import PoshPage
from revise_captions.posh.scoring import Graded, Score, Side, harmonic, side
from revise_captions.records import Span
from revise_captions.runs.score_file import FileScores

TEXT = "a <red> hat"
HAT = Graph(
    TEXT,
    (Object("hat", "hat", Span(8, 11), (Span(8, 11),)),),
    (Attribute(0, "<red>", Span(2, 7)),),
)


def graded(*scores: float | None) -> Graded:
    grades = tuple(Grade(s, "" if s is not None else "no answer") for s in scores)
    return Graded(HAT, tuple(components(HAT)), grades)


def test_coarse_scores():
    """Means over all components divided by 5, and their harmonic mean."""
    score = Score(graded(5, 2), (graded(1, 1),))
    assert score.mistakes.score == pytest.approx(3.5 / 5)
    assert score.omissions.score == pytest.approx(0.2)
    assert score.overall == pytest.approx(2 * 0.7 * 0.2 / 0.9)


def test_unscored_components_are_counted_and_not_guessed():
    found = side([graded(5, None)])
    assert (found.score, found.scored, found.unscored) == (1, 1, 1)
    assert side([graded(None, None)]).score is None
    assert harmonic(None, 0.5) is None
    assert Score(graded(5, 5), (graded(None, None),)).overall is None


def rows(values, groups=None) -> list[PairStatistics]:
    groups = groups or [str(i) for i in range(len(values))]
    return [
        PairStatistics(g, Side(5 * v, 1, 0), Side(5 * v, 1, 0))
        for g, v in zip(groups, values, strict=True)
    ]


def test_corpus_scores_are_means_over_pairs():
    found = mean([*rows([0.2, 0.6]), PairStatistics("x", Side(0, 0, 3), Side(1, 1, 0))], "mistakes")
    assert (found.value, found.rows, found.unscored) == (pytest.approx(0.4), 2, 1)
    assert found.low is None  # two groups say nothing about the spread


def test_intervals_match_the_normal_law():
    """The bootstrap of a mean: within a few percent of 1.96 standard errors."""
    values = np.random.default_rng(0).uniform(0.2, 1, 400)
    found = mean(rows(values), "overall")
    half = 1.96 * values.std() / 20
    assert found.high - found.value == pytest.approx(half, rel=0.12)
    assert found.value - found.low == pytest.approx(half, rel=0.12)


def test_pairs_of_one_image_are_drawn_together():
    """Doubling every pair must not make the interval narrower."""
    values = np.random.default_rng(1).uniform(0.2, 1, 60)
    once = mean(rows(values), "mistakes")
    names = [str(i) for i in range(60)] * 2
    twice = mean(rows([*values, *values], names), "mistakes")
    assert (once.low, once.high) == pytest.approx((twice.low, twice.high))


def test_statistics_survive_the_file():
    row = PairStatistics("img", Side(7.25, 3, 1), Side(2, 1, 0))
    assert row_of_json(json.loads(json.dumps(row.as_json()))) == row


def render(pairs, title="scores.jsonl"):
    """The page of scored pairs, by name."""
    page, found = PoshPage(title), FileScores("sig")
    for name, score in pairs:
        page.add(display.view_of(name, score))
        found.kept.append(row_of(score, name).as_json())
    return page.render(found)


def test_marks_in_the_text():
    score = Score(graded(2.5, 1), (graded(5, 5),))
    assert list(display.pieces(score.generation)) == [
        ("", "a "),
        ("wrong", "<red>"),
        ("", " "),
        ("weak", "hat"),
    ]
    shown = display.for_terminal(score, color=False)
    assert "a [<red>] {hat}" in shown
    page = render([("<b>", score)])
    assert '<mark class="wrong" title="not in the other text">&lt;red&gt;</mark>' in page
    assert "<red>" not in page
    assert "<b>" not in page
    assert "script-src &#39;none&#39;" in page


def pairs(*grades):
    """Scored pairs named by their number; None grades nothing."""
    return [
        (f"pair {k}", Score(graded(g, 5), (graded(5, 5),)) if g else Score(graded(None, None), ()))
        for k, g in enumerate(grades)
    ]


def test_the_page_leads_with_means_and_then_the_worst_pair():
    text = render(pairs(5, 1, 3))
    order = [int(found) for found in re.findall(r'<h3 dir="auto">pair (\d)</h3>', text)]
    assert order == [1, 2, 0]
    assert text.index("Means of 3 pairs") < text.index("pair 1")
    overall = [2 * m / (m + 1) for m in (1.0, 0.6, 0.8)]
    assert f"{sum(overall) / 3:.3f}" in text
    bars = re.findall(r'<a href="#(bin-\d+)"', text)
    assert bars == re.findall(r'<h3 id="(bin-\d+)"', text)
    assert len(bars) == 3


def test_a_page_without_scores_has_no_plot_and_says_why():
    text = render(pairs(None, None))
    assert "None of the 2 pairs has a score." in text
    assert "<svg" not in text
    assert "4 no answer" in text
    assert "There were no pairs to score." in render([])


def test_the_page_of_many_pairs_stays_small():
    text = render(pairs(*[3] * 200))
    assert text.count("<article") == 30
    assert "200 pairs, the worst 30 of them" in text


def test_a_text_cannot_steer_the_terminal():
    graph = Graph("a \x1b[2J hat")
    score = Score(Graded(graph, (), ()), ())
    assert "\x1b" not in display.for_terminal(score, color=True)
    assert "U+001B" in display.for_terminal(score, color=False)


def test_the_package_offers_its_own_names_only():
    import revise_captions
    from revise_captions import posh

    for name in posh.__all__:
        assert getattr(posh, name).__module__.startswith(revise_captions.__name__)


def test_one_text_is_scored_in_one_line():
    from revise_captions import posh

    pytest.importorskip("spacy")
    text, reference = "A dog on a red sofa.", "A cat sleeps on a red sofa."
    judge = posh.OfflineJudge(posh.load_encoder())
    (expected,) = posh.score_captions([posh.Pair(text, (reference,))], judge)
    assert posh.score(text, reference).overall == expected.overall
    assert posh.score(text, text).overall > 0.99 > expected.overall
