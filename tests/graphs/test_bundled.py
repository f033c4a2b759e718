"""The bundled parser, whole: captions to graphs, its limits, and what its card says."""

from __future__ import annotations

import doctest
import random
import time
from pathlib import Path

import pytest

pytest.importorskip("spacy")

from revise_captions.errors import UserError
from revise_captions.graphs import parse as parsing
from revise_captions.graphs.parse import load_pipeline, parse, settings
from revise_captions.graphs.triples import convention

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "src/revise_captions/graphs/bundled"
TREEBANK = ROOT.parent / "shared/data/ud_english_ewt/test.conllu"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A red and white flag.", {("flag", "is", "red"), ("flag", "is", "white")}),
        ("The face of the man is pale.", {("man", "have", "face"), ("face", "is", "pale")}),
        ("Three dogs sleep on a sofa.", {("dogs", "is", "3"), ("dogs", "sleep on", "sofa")}),
        ("A dog is chased by a cat.", {("cat", "chase", "dog")}),
        ("A man who wears a hat sits.", {("man", "wear", "hat")}),
        ("A man's red hat lies on the floor.", {("man", "have", "hat"), ("hat", "is", "red")}),
        ("A bird sits on top of a roof.", {("bird", "sit on top of", "roof")}),
        ("A man stands there. He holds a kite.", {("man", "hold", "kite")}),
        ("A group of people stand in snow.", {("people", "stand in", "snow")}),
        ("Two dogs lie here. One is black, the other is white.", {("dog", "is", "white")}),
        ("Above the door hangs a sign.", {("sign", "hang above", "door")}),
        ("A woman with long hair lying on a bed.", {("woman", "lay on", "bed")}),
        ("Two men looking toward the camera holding food.", {("men", "hold", "food")}),
        ("A boy in a red shirt and gray pants on a skateboard.", {("boy", "on", "skateboard")}),
        ("A man in a blue suit with orange hair.", {("man", "with", "hair")}),
        ("The black curtains are on the left of the frame.", {("curtains", "is", "on the left")}),
        (
            "Two wing-backed chairs sit on a rug.",
            {
                ("chairs", "is", "2"),
                ("chairs", "is", "wing-backed"),
                ("chairs", "sit on", "rug"),
            },
        ),
        ("There are thin clouds visible above the towns.", {("clouds", "above", "towns")}),
        ("A store front is behind a zebra.", {("store front", "behind", "zebra")}),
        ("A woman holds a phone to her ear.", {("phone", "to", "ear")}),
        ("A vase with flowers standing on a table.", {("flowers", "stand on", "table")}),
    ],
)
def test_captions_become_graphs(text, expected):
    (graph,) = parse([text])
    assert expected <= set(graph.present().triples())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The bird surges forward, to our left, its head low.", ["bird", "head"]),
        ("The musician smiles at the crowd.", ["musician", "crowd"]),
        ("A dog lunges toward the ball.", ["dog", "ball"]),
        ("A child giggles beside a fountain.", ["child", "fountain"]),
        ("A boat rocks on the lake.", ["boat", "lake"]),
        ("A waiter pours wine.", ["waiter", "wine"]),
        ("A fire burns in the fireplace.", ["fire", "fireplace"]),
        ("A banana lies beside the muffins.", ["banana", "muffins"]),
        ("Two girls dance on a floor.", ["girls", "floor"]),
        ("A man in a white uniform jumps.", ["man", "uniform"]),
        ("A woman wearing a white glove peers over the wall.", ["woman", "glove", "wall"]),
        ("The image features a young boy.", ["boy"]),
        ("The room features a couch.", ["room", "couch"]),
        ("A bird house hangs from a tree.", ["bird house", "tree"]),
        ("Two dog houses stand in the garden.", ["dog houses", "garden"]),
        ("The dog owners in the park.", ["dog owners", "park"]),
        ("The power lines behind the building.", ["power lines", "building"]),
        ("The kitchen counters are white.", ["kitchen counters"]),
        ("Cumulus clouds against a blue sky.", ["cumulus clouds", "sky"]),
    ],
)
def test_a_noun_and_a_verb_are_not_a_name_and_two_nouns_are(text, expected):
    (graph,) = parse([text])
    assert [item.name for item in graph.objects] == expected


def test_what_is_denied_is_not_present():
    (graph,) = parse(["There are no people on the beach, and the sky is not blue."])
    assert [item.name for item in graph.present().objects] == ["beach", "sky"]
    assert graph.present().attributes == ()


@pytest.mark.parametrize("verb", ["is", "was", "'s", "’s"])
def test_to_be_there_says_nothing_more(verb):
    (graph,) = parse([f"There {verb} a dog on a sofa."])
    assert graph.triples() == [("dog", "on", "sofa")]


@pytest.mark.parametrize("text", ["", " ", "\n\n", "???", "🙂 🙂", "e\u0301te\u0301 \x00"])
def test_odd_texts_have_graphs(text):
    (graph,) = parse([text])
    assert graph.text == text


def test_spans_lie_in_the_text():
    text = "  A tall man\n\nrides a brown horse.  The man's hat is red — it’s new.  "
    (graph,) = parse([text])
    for item in graph.objects:
        assert item.name in item.span.of(text).lower()
    for said in graph.attributes:
        assert 0 <= said.span.start < said.span.end <= len(text)
    assert {"man", "horse", "hat"} <= {item.name for item in graph.objects}


def test_graphs_do_not_depend_on_the_batch():
    texts = ["A cat sits on a mat.", "Two men in red shirts carry a table.", "Snow."]
    assert list(parse(texts)) == [next(parse([text])) for text in texts]


def test_the_signature_names_the_weights_and_the_rules():
    found = settings()
    assert found["parser"].startswith("bundled-")
    assert found["coreference"] == "rules"
    assert found["graph"].startswith("rules-")


def test_an_unknown_pipeline_is_a_users_mistake():
    with pytest.raises(UserError, match="no spaCy pipeline"):
        load_pipeline("xx_not_there")


def test_the_weights_are_small_and_licensed():
    sizes = [path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()]
    assert sum(sizes) <= 20_000_000
    assert max(sizes) <= 15_000_000
    assert "CC BY-SA 4.0" in (FOLDER / "README.md").read_text(encoding="utf-8")


@pytest.mark.skipif(not TREEBANK.is_file(), reason="the treebank's test part is not here")
def test_the_cards_figures():
    from scripts.research.posh.graphs import treebank

    found, _ = treebank(TREEBANK, "bundled")
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert found.las_plain > 0.82
    for name, value in (
        ("UAS, without punctuation", found.uas_plain),
        ("LAS, without punctuation", found.las_plain),
        ("parts of speech (UPOS)", found.upos),
        ("lemmas", found.lemma),
    ):
        assert f"| {name} | {100 * value:.1f} |" in card


def test_the_example_in_the_docstring():
    assert doctest.testmod(parsing) == (0, 1)


def test_every_relation_has_a_name():
    """A place without a preposition, after an object that is held or worn, made one of none."""
    captions = ["a skier wearing a black and blue jacet with matching backpack"]
    rng = random.Random(5)
    some = "skier man jacet wearing holding has put black blue matching backpack kite it there "
    some += "a the and with on in of who his is not by left side up , ."
    words = some.split()
    captions += [" ".join(rng.choices(words, k=rng.randint(4, 16))) for _ in range(400)]
    for caption, graph in zip(captions, parse(captions), strict=True):
        assert all(edge.name.strip() for edge in graph.relations), caption
        convention(graph)  # what floor:graph-f1 compares


@pytest.mark.slow
def test_a_sentence_of_thousands_of_words_takes_time_about_linear_in_them():
    """Eight thousand words took twenty seconds more: every noun was compared with every other."""
    words = "dog cat woman one other and the two three bird stands near behind".split()  # noqa: SIM905
    rng = random.Random(1)
    text = " ".join(rng.choices(words, k=8000))
    began = time.process_time()
    next(parse([text]))
    assert time.process_time() - began < 15


def test_a_long_text_read_in_pieces_has_the_vectors_and_graph_of_the_whole(monkeypatch):
    """Fifty thousand words at once took a gigabyte."""
    words = "A dog . The tall woman and two birds holds red near".split()  # noqa: SIM905
    text = " ".join(random.Random(3).choices(words, k=99))
    nlp = load_pipeline()
    whole = nlp.get_pipe("tok2vec")(parsing._document(nlp, text)).tensor
    (expected,) = parse([text])
    monkeypatch.setattr(parsing, "_PIECE", 20)
    doc = parsing._document(nlp, text)
    parsing._set_vectors(nlp, doc)
    assert doc.tensor.shape == whole.shape
    assert abs(doc.tensor - whole).max() < 1e-4
    assert list(parse(["A cat.", text])) == [*parse(["A cat."]), expected]
