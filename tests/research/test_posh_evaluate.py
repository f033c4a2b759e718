"""The evaluation's own arithmetic, and `captions posh` end to end with a scripted judge."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from revise_captions.errors import EngineDead, UserError
from revise_captions.graphs.grading.components import components
from revise_captions.graphs.grading.judge import Grade
from revise_captions.graphs.graph import Graph, Object
from revise_captions.posh import score_file
from revise_captions.posh.options import PoshOptions
from revise_captions.records import Span
from scripts.research.dcscore import evaluate as dcscore
from scripts.research.frame import people
from scripts.research.frame.figures import ReportedFigure, as_table, share_of
from scripts.research.frame.report import with_rows


def test_shares_skip_texts_with_nothing_to_ask():
    found = share_of("x", [1.0, 0.0, float("nan")], floor=[0.5, 0.5, float("nan")])
    assert (found.value, found.n, found.floor) == (0.5, 2, 0.5)


def test_the_table_says_what_was_missed():
    table = as_table([ReportedFigure("a", 0.5, floor=0.25, floor_name="nouns", target=0.6)])
    assert "| a | 0.500 | 0.250 (nouns) |  | ≥ 0.6: missed |" in table


def test_a_ceiling_is_a_target_too():
    row = ReportedFigure("memory", 410, target=400, at_most=True, digits=0)
    assert row.verdict == "missed"
    assert "≤ 400: missed" in as_table([row])


def test_intervals_draw_images_whole():
    """Ten copies of every item on the same images are no narrower."""
    values = [float(k % 3 == 0) for k in range(60)]
    images = [str(k) for k in range(60)]
    one, ten = share_of("x", values, images), share_of("x", values * 10, images * 10)
    assert (one.low, one.high) == pytest.approx((ten.low, ten.high))
    assert (one.n, ten.n) == (60, 600)


def test_every_other_image_is_reported():
    items = [people.Rated(name, "t", ("r",), (1.0,)) for name in ("b", "a", "d", "c", "a")]
    assert [item.image for item in people.reporting(items)] == ["b", "d"]


def test_better_captions_of_an_image_win_and_ties_count_half():
    """Two images: one pair that is rated alike, one in the right order, one tied in the score."""
    rows = (("a", 1.0), ("a", 3.0), ("b", 2.0), ("b", 2.0), ("b", 4.0))
    items = [people.Rated(image, "t", ("r",), (value,)) for image, value in rows]
    found = list(people.pairs(items, np.array([0, 1, 1, 1, 1.0]), np.zeros(5), "x"))
    apart = next(one for one in found if one.name == "x: pairs rated apart")
    assert apart.value == pytest.approx((1 + 0.5 + 0.5) / 3)
    assert apart.floor == 0.5
    assert apart.note == "3 pairs"


def test_rows_of_what_was_not_measured_stay():
    first = [ReportedFigure("a", 0.5), ReportedFigure("b: by", 0.1, note="p = 0.004")]
    second = [ReportedFigure("b: by", 0.3, note="p = 0.010"), ReportedFigure("d", 0.4)]
    rows = with_rows(as_table(first), as_table(second)).splitlines()[2:]
    assert [row.split(" |")[0] for row in rows] == ["| a", "| b: by [p = 0.010]", "| d"]
    assert "0.300" in rows[1]


def test_the_matcher_of_units():
    """More than half of the content words; "there is" and articles are none."""
    unit = dcscore.content("The image shows a red hat_0.")
    assert unit == {"red", "hat"}
    assert dcscore.covers(unit, frozenset(("red", "hat", "man")))
    assert not dcscore.covers(unit, frozenset(("hat",)))
    assert not dcscore.covers(frozenset(), frozenset(("hat",)))


def words_as_objects(texts, pipeline="", **_):
    """A parser for tests: every word an object."""
    for text in texts:
        at, objects = 0, []
        for word in text.rstrip(".").split():
            at = text.index(word, at)
            objects.append(Object(word, word, Span(at, at + len(word)), ()))
        yield Graph(text, tuple(objects))


class WordJudge:
    """5 for what the other text has, 1 for what it has not."""

    def __init__(self):
        self.settings = {"judge": "words"}

    def grade(self, tasks):
        return [
            tuple(
                Grade(5.0 if part.phrase(t.source) in " ".join(g.text for g in t.targets) else 1.0)
                for part in components(t.source)
            )
            for t in tasks
        ]


@pytest.fixture
def job(tmp_path, monkeypatch):
    monkeypatch.setattr("revise_captions.posh.scoring.parse", words_as_objects)
    monkeypatch.setattr(
        "revise_captions.posh.scoring.settings", lambda pipeline: {"parser": "words"}
    )
    rows = [
        {"generation": "red hat.", "reference": "blue hat."},
        {"generation": "hat.", "reference": ["red hat.", "hat."]},
        {"generation": "hat."},
    ]
    source = tmp_path / "in.jsonl"
    source.write_text("\n".join(json.dumps(row) for row in rows) + "\nnot json\n")
    out, html = tmp_path / "out.jsonl", tmp_path / "out.html"
    return PoshOptions(str(source), out, html=html)


def test_the_command_scores_a_file(job):
    written = score_file.run(job, WordJudge())
    out = Path(job.file.out)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["line"] for line in lines] == [1, 2]
    assert lines[0]["mistakes"] == pytest.approx((1 + 5) / 2 / 5)
    assert lines[0]["generation"][0] == {
        "part": "object", "component": "red", "span": [0, 3], "grade": 1.0,
    }  # fmt: skip
    # omissions over both references: red is missing, hat is there twice
    assert lines[1]["omissions"] == pytest.approx((1 + 5 + 5) / 3 / 5)
    bad = [json.loads(line) for line in Path(written.quarantine).read_text().splitlines()]
    assert [(row["line"], row["reason"]) for row in bad] == [
        (3, "bad_reference"),
        (4, "malformed_json"),
    ]
    assert bad[0]["detail"] == "no text in the field 'reference'"
    assert (written.rows, written.quarantined) == (2, 2)
    assert '<mark class="wrong"' in job.file.html.read_text()
    assert not list(out.parent.glob("*.part"))


def test_nothing_is_overwritten(job):
    out = Path(job.file.out)
    out.write_text("mine")
    with pytest.raises(UserError, match="exists"):
        score_file.run(job, WordJudge())
    assert out.read_text() == "mine"


def test_a_dead_judge_leaves_a_run_that_goes_on(job):
    class Dead(WordJudge):
        def grade(self, tasks):
            raise RuntimeError("gone")

    with pytest.raises(EngineDead, match="RuntimeError: gone"):
        score_file.run(job, Dead())
    assert not Path(job.file.out).exists()
    resumed = replace(job, resume=True)
    assert score_file.run(resumed, WordJudge()).rows == 2


def test_the_commands_help():
    from revise_captions.posh.cli import score_posh

    found = CliRunner().invoke(score_posh, ["--help"])
    assert found.exit_code == 0
    assert "--unreadable-is-absent" in found.output
