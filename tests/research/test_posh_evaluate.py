"""The evaluation's own arithmetic, and `score-posh` end to end with a scripted judge."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import ttest_rel
from sklearn.metrics import roc_auc_score

from revise_captions.errors import EngineDead, UserError
from revise_captions.graphs.graph import Graph, Object
from revise_captions.posh import score_file
from revise_captions.posh.components import components
from revise_captions.posh.judge import Grade
from revise_captions.records import Span
from scripts.research.posh import evaluate, graphs, people
from scripts.research.posh.figures import ReportedFigure, as_table, share_of
from scripts.research.posh.people import Rated, paired


def test_the_matcher_of_units():
    """More than half of the content words; "there is" and articles are none."""
    unit = graphs.content("The image shows a red hat.")
    assert unit == {"red", "hat"}
    assert graphs._covers(unit, frozenset(("red", "hat", "man")))
    assert not graphs._covers(unit, frozenset(("hat",)))
    assert not graphs._covers(frozenset(), frozenset(("hat",)))


def test_shares_skip_texts_with_nothing_to_ask():
    found = share_of("x", [1.0, 0.0, float("nan")], floor=[0.5, 0.5, float("nan")])
    assert (found.value, found.n, found.floor) == (0.5, 2, 0.5)


def test_the_table_says_what_was_missed():
    table = as_table([ReportedFigure("a", 0.5, floor=0.25, floor_name="nouns", target=0.6)])
    assert "| a | 0.500 | 0.250 (nouns) |  | ≥ 0.6: missed |" in table


def rated(images: int) -> list[Rated]:
    rng = np.random.default_rng(0)
    return [
        Rated(str(i), "t", ("r",), (float(v),))
        for i in range(images)
        for v in rng.integers(0, 2, 4)
    ]


def test_a_better_metric_is_found_better_and_noise_is_not():
    items = rated(60)
    truth = np.array([item.values[0] for item in items])
    noise = np.random.default_rng(1).random(len(items))
    other = np.random.default_rng(2).random(len(items))
    better = paired(items, truth + noise, noise, people.auc, replicates=200)
    assert better.low > 0
    assert better.p <= 0.02
    same = paired(items, noise, other, people.auc, replicates=200)
    assert same.low < 0 < same.high
    assert same.p > 0.05


def mean(scores, values):
    return float(np.mean(scores))


def test_intervals_resample_images():
    """Five more texts of an image that say the same tell nothing more of other images."""
    scores = np.random.default_rng(3).random(40)
    single = [Rated(str(i), "t", ("r",), (float(i % 2),)) for i in range(40)]
    one, six = (
        people.figure("x", single * times, np.tile(scores, times), mean) for times in (1, 6)
    )
    assert (six.value, six.low, six.high) == pytest.approx((one.value, one.low, one.high))
    assert six.n == 240
    alone, repeated = (
        paired(single * times, np.tile(scores, times), np.full(40 * times, 0.45), mean)
        for times in (1, 6)
    )
    assert (repeated.low, repeated.high, repeated.p) == pytest.approx(
        (alone.low, alone.high, alone.p)
    )


def test_the_paired_p_is_two_sided():
    """Beside Student's t of the same differences; the same whichever of the two is better."""
    rng = np.random.default_rng(6)
    items = [Rated(str(i), "t", ("r",), (float(i % 2),)) for i in range(200)]
    floor = rng.random(200)
    gap = rng.normal(0, 1, 200)
    scores = floor + (gap - gap.mean()) / gap.std(ddof=1) + 1.4 / np.sqrt(200)
    student = ttest_rel(scores, floor).pvalue  # of t = 1.4: .163
    better = paired(items, scores, floor, mean, replicates=4000)
    worse = paired(items, floor, scores, mean, replicates=4000)
    assert better.p == pytest.approx(student, abs=0.03)
    assert worse.p == pytest.approx(student, abs=0.03)


def test_discosg_is_measured_on_what_nothing_was_tuned_on(tmp_path, monkeypatch):
    """300 texts, of which a parser that knows the tuned half only gets the other half wrong."""
    path = tmp_path / "discosg.json"
    rows = [{"caption": f"dog {k}", "scene_graph": "( dog , is , black )"} for k in range(300)]
    path.write_text(json.dumps(rows))
    read = []

    def parse(texts, pipeline):
        read.extend(texts)
        return [Graph(text, ()) for text in texts]

    monkeypatch.setattr(graphs, "parse", parse)
    found = list(graphs.discosg(path, ""))
    assert read == [f"dog {k}" for k in range(150, 300)]
    assert {figure.n for figure in found} == {150}


def test_the_area_is_sklearns():
    rng = np.random.default_rng(4)
    values, scores = (rng.random(500) < 0.3) * 1.0, rng.integers(0, 20, 500) * 1.0
    assert people.auc(scores, values) == pytest.approx(roc_auc_score(values, scores))


def test_figures_are_put_between_marks(tmp_path):
    path = tmp_path / "README.md"
    path.write_text(
        "a\n<!-- posh -->\nold\n<!-- /posh -->\nb\n<!-- posh-targets -->\n<!-- /posh-targets -->\n"
    )
    evaluate.put(path, [ReportedFigure("aimed", 0.5, target=0.4), ReportedFigure("other", 0.1)])
    first, second = path.read_text().split("\nb\n")
    assert first.startswith("a\n<!-- posh -->\n| figure |")
    assert "old" not in first
    assert "| other | 0.100 |" in first
    assert "| aimed | 0.500 |  |  | ≥ 0.4: reached |" in second
    assert "other" not in second


def test_rows_of_what_was_not_measured_stay(tmp_path):
    path = tmp_path / "README.md"
    path.write_text("<!-- posh -->\n<!-- /posh -->\n")
    first = [
        ReportedFigure("a", 0.5),
        ReportedFigure("b: by", 0.1, note="p = 0.004"),
        ReportedFigure("c", 0.2),
    ]
    evaluate.put(path, first)
    evaluate.put(
        path, [ReportedFigure("b: by", 0.3, note="p = 0.010"), ReportedFigure("d", 0.4)], only=True
    )
    rows = path.read_text().splitlines()[3:-1]
    assert [row.split(" |")[0] for row in rows] == ["| a", "| b: by [p = 0.010]", "| c", "| d"]
    assert "0.300" in rows[1]


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
    return score_file.PoshOptions(source, tmp_path / "out.jsonl", html=tmp_path / "out.html")


def test_the_command_scores_a_file(job):
    outcome = score_file.run(job, WordJudge())
    lines = [json.loads(line) for line in job.out.read_text().splitlines()]
    assert [line["line"] for line in lines] == [1, 2, 3, 4]
    assert lines[0]["mistakes"] == pytest.approx((1 + 5) / 2 / 5)
    assert lines[0]["generation"][0] == {
        "part": "object", "component": "red", "span": [0, 3], "grade": 1.0,
    }  # fmt: skip
    # omissions over both references: red is missing, hat is there twice
    assert lines[1]["omissions"] == pytest.approx((1 + 5 + 5) / 3 / 5)
    assert lines[2]["error"] == "no text in the field 'reference'"
    assert lines[3]["error"] == "not JSON"
    assert outcome.failed == 2
    assert '<mark class="wrong"' in job.html.read_text()
    assert not list(job.out.parent.glob("*.part"))


def test_nothing_is_overwritten(job):
    job.out.write_text("mine")
    with pytest.raises(UserError, match="exists"):
        score_file.run(job, WordJudge())
    assert job.out.read_text() == "mine"


def test_a_dead_judge_leaves_no_file(job):
    class Dead(WordJudge):
        def grade(self, tasks):
            raise RuntimeError("gone")

    with pytest.raises(EngineDead, match="RuntimeError: gone"):
        score_file.run(job, Dead())
    assert sorted(path.name for path in job.out.parent.iterdir()) == ["in.jsonl"]


def test_the_commands_help():
    from revise_captions.posh.cli import score_posh

    found = CliRunner().invoke(score_posh, ["--help"])
    assert found.exit_code == 0
    assert "--unreadable-is-absent" in found.output
