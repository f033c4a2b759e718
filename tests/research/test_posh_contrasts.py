"""Made contrasts, and where the judge's marks are looked for in them."""

from __future__ import annotations

import json
import math

from revise_captions.graphs.grading.components import components
from revise_captions.graphs.grading.judge import Grade
from revise_captions.graphs.graph import Attribute, Graph, Object, Relation
from revise_captions.posh.scoring import Graded
from revise_captions.records import Span
from scripts.research.posh import contrasts, marks


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
