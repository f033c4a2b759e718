"""The evaluation's rows for data that is not here, for DOCENT and CapArena, and made contrasts."""

from __future__ import annotations

import json
import math

import pytest

from revise_captions.graphs.graph import Attribute, Graph, Object, Relation
from revise_captions.posh.components import components
from revise_captions.posh.judge import Grade
from revise_captions.posh.scoring import Graded
from revise_captions.records import Span
from scripts.research.docent import figures as evaluate_docent
from scripts.research.posh import contrasts, marks
from scripts.research.posh.figures import ReportedFigure, as_table, interval


def words_as_objects(texts, pipeline="", **_):
    """A parser for tests: every word an object."""
    for text in texts:
        at, objects = 0, []
        for word in text.rstrip(".").split():
            at = text.index(word, at)
            objects.append(Object(word, word, Span(at, at + len(word)), ()))
        yield Graph(text, tuple(objects))


class WordJudge:
    settings = {"judge": "words"}  # noqa: RUF012

    def grade(self, tasks):
        return [
            tuple(
                Grade(5.0 if part.phrase(t.source) in " ".join(g.text for g in t.targets) else 1.0)
                for part in components(t.source)
            )
            for t in tasks
        ]


@pytest.fixture(autouse=True)
def no_parser(monkeypatch):
    monkeypatch.setattr("revise_captions.posh.scoring.parse", words_as_objects)


def test_what_is_not_here_stands_beside_the_papers_rows(tmp_path):
    assert not evaluate_docent.found_in(tmp_path)
    found = list(evaluate_docent.figures(tmp_path, None, ""))
    assert all(math.isnan(row.value) for row in found)
    table = as_table(found)
    assert "| DOCENT granular macro F1: omissions | not here |  | POSH 0.680 |  |" in table
    assert "| DOCENT coarse, overall: accuracy, % | not here |  | POSH 70.7 |  |" in table
    assert "| CapArena: Spearman | not here |  | POSH 0.931 |  |" in table
    assert found[0].as_json()["value"] is None


def test_a_ceiling_is_a_target_too():
    row = ReportedFigure("memory", 410, target=400, at_most=True, digits=0)
    assert row.verdict == "missed"
    assert "≤ 400: missed" in as_table([row])


def test_docent_and_caparena_are_measured(tmp_path):
    """A judge that finds exactly the wrong words agrees with people who marked just these."""
    (tmp_path / "docent").mkdir()
    rows = [
        {
            "uuid": "a", "model": "m", "generation": "red hat on man",
            "reference": "hat on tall man",
            "mistakes": [[0, 3]], "omissions": [{"start": 7, "end": 11}],
        },
        {
            "uuid": "b", "model": "m", "generation": "cat", "reference": "cat asleep",
            "mistakes": [], "omissions": [[4, 10]],
        },
    ]  # fmt: skip
    (tmp_path / "docent" / "granular.json").write_text(json.dumps(rows))
    pair = {
        "uuid": "a", "model1": "m", "model2": "n", "model1_generation": "cat asleep",
        "model2_generation": "dog awake", "reference": "cat asleep", "mistakes": 2,
        "omissions": 2, "overall_quality": 2,
    }  # fmt: skip
    other = {
        **pair, "uuid": "b", "model1_generation": "dog", "model2_generation": "cat", "mistakes": -1,
        "omissions": -1, "overall_quality": -1,
    }  # fmt: skip
    coarse = tmp_path / "docent" / "coarse.jsonl"
    coarse.write_text("\n".join(json.dumps(row) for row in (pair, other)))
    arena = [
        {"img": str(k), "source1": "good", "source2": "bad", "caption1": "cat asleep",
         "caption2": "dog awake", "ref": "cat asleep", "winner": "good", "cluster": 0}
        for k in range(4)
    ]  # fmt: skip
    (tmp_path / "caparena.json").write_text(json.dumps(arena))
    assert evaluate_docent.found_in(tmp_path)
    found = {row.name: row.value for row in evaluate_docent.figures(tmp_path, WordJudge(), "")}
    assert found["DOCENT granular macro F1: mistakes"] == pytest.approx(1)
    assert found["DOCENT granular macro F1: omissions"] == pytest.approx(1)
    assert found["DOCENT coarse, overall: accuracy, %"] == pytest.approx(100)
    assert found["DOCENT coarse, omissions: Spearman"] == pytest.approx(1)
    assert found["CapArena: accuracy, %"] == pytest.approx(100)
    assert found["CapArena: Kendall"] == pytest.approx(1)


def test_contrasts_say_what_the_reference_says_and_what_it_does_not():
    row = [
        ("dog", "is", "black"),
        ("cat", "is", "white"),
        ("dog", "on", "cat"),
        ("hats", "is", "2"),
        ("cup", "is", "glass"),
    ]
    assert list(contrasts.attachment(row[:2])) == [
        (
            "There is a black dog and a white cat.",
            "A {white} cat is next to a {black} dog.",
            "A {black} cat is next to a {white} dog.",
        )
    ]
    assert list(contrasts.direction(row)) == [
        ("There is a dog on a cat.", "A dog is {on} a cat.", "A cat is {on} a dog.")
    ]
    assert list(contrasts.count(row)) == [
        ("A photo of two hats.", "There are {two} hats.", "There are {three} hats.")
    ]
    assert list(contrasts.material(row)) == [
        ("A photo of the glass cup.", "The cup is {glass}.", "The cup is {plastic}.")
    ]
    (denied,) = contrasts.negation(row[:2])
    assert denied == (
        "There is a dog, but there is no cat.",
        "A photo of a {dog}.",
        "A photo of a {cat}.",
    )


def test_a_description_is_changed_in_one_place(tmp_path):
    text = (
        "A red cup stands to the left of the blue jug. Two wooden spoons lie in it. "
        "A man is reading a book."
    )
    path = tmp_path / "IIW.jsonl"
    path.write_text(json.dumps({"IIW": text, "image/key": "a"}))
    found = {one.kind: (one.right, one.wrong) for one in contrasts.of_descriptions(path)}
    first = "A red cup stands to the {left} of the blue jug."
    assert found == {
        "attachment": (
            "A {red} cup stands to the left of the {blue} jug.",
            "A {blue} cup stands to the left of the {red} jug.",
        ),
        "direction": (first, first.replace("left", "right")),
        "negation": ("A man is {reading} a book.", "A man is {not reading} a book."),
    }


def test_marks_are_looked_for_where_the_texts_differ():
    """The least grade of what is said there; a relation is not said where its ends are."""
    text, spans = contrasts.unmarked("a {red} dog on a sofa")
    assert (text, spans) == ("a red dog on a sofa", [(2, 5)])
    names = [Span(6, 9), Span(15, 19)]
    graph = Graph(
        text,
        tuple(Object(text[n.start : n.end], "", n, (n,)) for n in names),
        (Attribute(0, "red", Span(2, 5)),),
        (Relation(0, "on", 1, Span(2, 19)),),
    )
    grades = tuple(Grade(score) for score in (5.0, 4.0, 1.5, 1.2))
    graded = Graded(graph, tuple(components(graph)), grades)
    assert marks.least(graded, spans) == 1.5
    assert marks.least(graded, [(10, 12)]) == 1.2
    assert math.isnan(marks.least(graded, [(0, 1)]))


def test_intervals_draw_images_whole():
    """Ten copies of every item on the same images are no narrower."""
    values = [float(k % 3 == 0) for k in range(60)]
    images = [str(k) for k in range(60)]
    assert interval(values, images) == pytest.approx(interval(values * 10, images * 10))
