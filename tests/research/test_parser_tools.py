"""Around the extractor: triples and their scores, the treebank, written captions, verb forms."""

from __future__ import annotations

import random

import pytest

from revise_captions.graphs import inflect, lexicon
from revise_captions.graphs.graph import Attribute, Graph, Object, Relation
from revise_captions.graphs.triples import convention, f1, lemmas, read_triples, tuples
from revise_captions.records import Span
from scripts.research.parser import caption_trees
from scripts.research.parser.treebank import sentences

GOLD = "( man , wear , hats ) , ( hats , is , red ) , ( hats , is , 2 ) , ( dog )"


def test_the_notation_is_read():
    assert read_triples(GOLD) == [
        ("man", "wear", "hats"),
        ("hats", "is", "red"),
        ("hats", "is", "2"),
        ("dog",),
    ]


def test_tuples_are_compared_by_lemma():
    found = tuples(read_triples("( man , wear , a hat ) , ( hat , is , red ) , ( hat , is , two )"))
    gold = tuples(read_triples(GOLD))
    assert found.relations == gold.relations
    assert found.attributes == gold.attributes
    assert gold.objects - found.objects == {("dog",)}
    # 2 objects, 2 attributes, 1 relation of theirs against 3, 2 and 1 of ours
    assert f1(found.all, gold.all) == pytest.approx(2 * 5 / (5 + 6))
    assert f1(frozenset(), frozenset()) == 1
    assert lemmas("The Grey cats") == "gray cat"


def test_the_annotators_conventions():
    none = Span(0, 0)
    graph = Graph(
        "",
        (
            Object("guy", "guy", none, (none,)),
            Object("shirt", "shirt", none, (none,)),
            Object("sky", "sky", none, (none,)),
            Object("people", "people", none, (none,), denied=True),
        ),
        (Attribute(1, "red", none),),
        (Relation(0, "in", 1, none), Relation(0, "near", 3, none)),
    )
    assert convention(graph) == [("shirt", "is", "red"), ("person", "wear", "shirt"), ("sky",)]


def test_what_something_holds_is_on_or_in_it():
    """ "A plate of food with a fork on it, number 8": as annotators write it."""
    none, whole = Span(0, 0), Span(0, 13)
    names = ("plate", "food", "fork", "number 8")
    graph = Graph(
        "plate of food",
        tuple(Object(name, name, none, (none,)) for name in names),
        (),
        (Relation(0, "have", 1, whole), Relation(0, "with", 2, none), Relation(2, "on", 0, none)),
    )
    assert convention(graph) == [("food", "on", "plate"), ("fork", "on", "plate"), ("number",)]


def test_a_treebank_is_read(tmp_path):
    """Multiword tokens have no space inside, empty nodes are left out."""
    rows = [
        "1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_",
        "1\tdo\tdo\tAUX\tVBP\t_\t3\taux\t_\t_",
        "2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_",
        "3\tgo\tgo\tVERB\tVB\tVerbForm=Inf\t0\troot\t_\tSpaceAfter=No",
        "3.1\tgo\tgo\tVERB\t_\t_\t_\t_\t_\t_",
        "4\t!\t!\tPUNCT\t.\t_\t3\tpunct\t_\t_",
    ]
    path = tmp_path / "a.conllu"
    path.write_text("# text = x\n" + "\n".join(rows) + "\n\n", encoding="utf-8")
    (found,) = sentences(path)
    assert [(w.form, w.space) for w in found] == [
        ("do", False),
        ("n't", True),
        ("go", False),
        ("!", True),
    ]
    assert [w.head for w in found] == [3, 3, 0, 3]


@pytest.mark.parametrize(
    ("verb", "ing", "done", "does"),
    [
        ("sit", "sitting", "sat", "sits"),
        ("drive", "driving", "driven", "drives"),
        ("lie", "lying", "lain", "lies"),
        ("carry", "carrying", "carried", "carries"),
        ("park", "parking", "parked", "parks"),
        ("stop", "stopping", "stopped", "stops"),
        ("look", "looking", "looked", "looks"),
        ("catch", "catching", "caught", "catches"),
    ],
)
def test_verb_forms(verb, ing, done, does):
    assert (inflect.gerund(verb), inflect.participle(verb), inflect.third(verb)) == (
        ing,
        done,
        does,
    )
    assert {inflect.forms([verb])[form] for form in (ing, done, does, verb)} == {verb}


def test_the_lexicon():
    """Counted from annotated captions: what stays a name, what becomes a quality or an owner."""
    assert lexicon.belongs("street", "sign")
    assert lexicon.belongs("hot", "dog", adjective=True)
    assert not lexicon.belongs("metal", "pole")
    assert not lexicon.belongs("red", "pole", adjective=True)
    assert lexicon.is_part("giraffe", "head")
    assert not lexicon.is_part("street", "sign")
    assert lexicon.is_depictable("giraffe")
    assert not lexicon.is_depictable("tranquility")
    assert lexicon.verb_forms()["sitting"] == "sit"
    assert lexicon.is_depictable("metal")
    assert not lexicon.is_named("metal")


TAGS = {"white": "ADJ", "on": "ADP", "top": "NOUN", "of": "ADP", "sit": "VERB", "ride": "VERB"}


def test_written_captions_are_trees():
    """One root, every head in the sentence, no cycle; and the words that the graph named."""
    writer = caption_trees.TreeWriter(TAGS)
    values = {"horse": ["white", "2"]}
    for triple in (
        ("man", "ride", "horse"),
        ("man", "sit on", "horse"),
        ("bird", "on top of", "horses"),
        ("horse", "have", "tail"),
        ("bird", "on", "horse"),
    ):
        for _ in range(30):
            phrase = writer.sentence(triple, values)
            assert phrase is not None
            words = caption_trees.finished(phrase, random.Random(0))
            forms = " ".join(word.form.lower() for word in words)
            assert triple[0] in forms
            assert triple[2] in forms
            assert sum(word.head == 0 for word in words) == 1
            for start in range(1, len(words) + 1):
                seen, at = set(), start
                while at:
                    assert at not in seen
                    seen.add(at)
                    at = words[at - 1].head
