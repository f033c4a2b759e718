"""What captions have and treebanks lack: signs with words, rows of qualities, places put first.

Hand-made parses, some of them wrong in the way that small parsers are wrong about captions.
"""

from __future__ import annotations

import pytest

spacy = pytest.importorskip("spacy")

from hand_parses import graph, told  # noqa: E402

from revise_captions.graphs.graph import AttributeKind  # noqa: E402
from revise_captions.graphs.rules.quotes import quoted  # noqa: E402
from revise_captions.graphs.triples import convention  # noqa: E402


def test_what_is_written_on_things_is_said_of_them():
    """ "The sign reads “NO CARS” and “STOP”": no cars are there; the sign has the words."""
    found = graph(
        "the/DET/det/2 sign/NOUN/nsubj/3 reads|read/VERB/ROOT/0 “+/PUNCT/punct/6 NO/DET/det/6 "
        "CARS|car+/NOUN/obj/3 ”/PUNCT/punct/6 and/CCONJ/cc/10 “+/PUNCT/punct/10 "
        "STOP+/NOUN/conj/6 ”/PUNCT/punct/10"
    )
    assert [item.name for item in found.objects] == ["sign"]
    values = {item.value for item in found.attributes}
    assert {"no cars", "stop"} <= values
    (written,) = (item for item in found.attributes if item.value == "no cars")
    assert written.span.of(found.text) == "NO CARS"


def test_words_after_and_before_what_bears_them():
    after = 'the/DET/det/2 word/NOUN/ROOT/0 "+/PUNCT/punct/4 LOVE+/PROPN/appos/2 "/PUNCT/punct/4'
    assert told(after) == {("word", "is", "love")}
    before = (
        'the/DET/det/5 "+/PUNCT/punct/3 EXIT+/PROPN/compound/5 "/PUNCT/punct/3 sign/NOUN/ROOT/0'
    )
    assert ("sign", "is", "exit") in {
        (subject.split()[-1], name, value) for subject, name, value in told(before)
    }


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a sign that says “NO CARS” and 'stop'.", ["NO CARS", "stop"]),
        ("the dog's toy and the cats' bed", []),
        ("it's 5\" wide", []),
        ('an empty "" one, and " "', []),
        ('letters "A", "B"', ["A", "B"]),
    ],
)
def test_quotation_marks_and_apostrophes(text, found):
    assert [span.of(text) for span in quoted(text)] == found


def test_all_qualities_of_a_row_are_the_nouns():
    """ "Thick, white and grey cumulus clouds", parsed as qualities of "cumulus" and each other."""
    found = told(
        "thick/ADJ/amod/6 ,/PUNCT/punct/3 white/ADJ/conj/1 and/CCONJ/cc/5 grey/ADJ/conj/1 "
        "cumulus/NOUN/compound/7 clouds|cloud/NOUN/ROOT~Number=Plur/0"
    )
    values = {value for _, name, value in found if name == "is"}
    assert {"thick", "white", "grey"} <= values


def test_a_row_ends_where_another_noun_begins():
    """ "A red hat and black boots": the hat is not black, the boots are not red."""
    found = told(
        "a/DET/det/3 red/ADJ/amod/3 hat/NOUN/ROOT/0 and/CCONJ/cc/6 black/ADJ/amod/6 "
        "boots|boot/NOUN/conj~Number=Plur/3"
    )
    assert found == {("hat", "is", "red"), ("boots", "is", "black")}


def test_a_noun_before_a_noun_as_its_quality_is_no_thing():
    """ "Light green grass", with "light" tagged a noun."""
    found = graph("light/NOUN/amod/3 green/ADJ/amod/3 grass/NOUN/ROOT/0")
    assert [item.name for item in found.objects] == ["grass"]
    assert [item.value for item in found.attributes] == ["light green"]


def test_a_place_put_first():
    """ "To the right of the horse are houses": nothing is a house, houses are there."""
    found = told(
        "to/ADP/case/3 the/DET/det/3 right/NOUN/obl/8 of/ADP/case/6 the/DET/det/6 "
        "horse/NOUN/nmod/3 are|be/AUX/cop/8 houses|house/NOUN/ROOT~Number=Plur/0"
    )
    assert found == {("houses", "to right of", "horse")}


def test_a_second_preposition_of_its_own():
    """ "Hangs above a wall and behind a bench"."""
    found = told(
        "the/DET/det/2 banner/NOUN/nsubj/3 hangs|hang/VERB/ROOT/0 above/ADP/case/6 a/DET/det/6 "
        "wall/NOUN/obl/3 and/CCONJ/cc/10 behind/ADP/case/10 a/DET/det/10 bench/NOUN/conj/6"
    )
    assert found == {("banner", "hang above", "wall"), ("banner", "hang behind", "bench")}


def test_sides_are_named_once():
    """ "On the right side of the road", with "the right" parsed as a part of the preposition."""
    found = told(
        "a/DET/det/2 car/NOUN/nsubj:pass/4 is|be/AUX/aux:pass/4 parked|park/VERB/ROOT/0/VBN "
        "on/ADP/case/8 the/DET/case/8 right/ADP/case/8 side/NOUN/obl/4 of/ADP/case/11 "
        "the/DET/det/11 road/NOUN/nmod/8"
    )
    assert found == {("car", "park on right side of", "road")}


def test_of_a_shot_only_what_kind_it_is():
    """ "A low shot shows a tree": a claim about the picture; "a shot shows a tree" makes none."""
    low = told(
        "a/DET/det/3 low/ADJ/amod/3 shot/NOUN/nsubj/4 shows|show/VERB/ROOT/0 "
        "a/DET/det/6 tree/NOUN/obj/4"
    )
    assert low == {("shot", "is", "low"), ("shot", "show", "tree")}
    plain = graph(
        "a/DET/det/2 shot/NOUN/nsubj/3 shows|show/VERB/ROOT/0 a/DET/det/5 tree/NOUN/obj/3"
    )
    assert [item.name for item in plain.objects] == ["tree"]


def test_where_somebody_looks_is_no_object():
    found = graph(
        "a/DET/det/2 man/NOUN/nsubj/4 is|be/AUX/aux/4 looking|look/VERB/ROOT/0/VBG at/ADP/case/7 "
        "the/DET/det/7 viewer/NOUN/obl/4"
    )
    assert [item.name for item in found.objects] == ["man"]
    # "look" only links; another verb keeps what follows
    assert not found.attributes
    facing = graph(
        "a/DET/det/2 man/NOUN/nsubj/3 smiles|smile/VERB/ROOT/0 at/ADP/case/6 "
        "the/DET/det/6 viewer/NOUN/obl/3"
    )
    (said,) = facing.attributes
    assert (said.value, said.kind) == ("smiling at the viewer", AttributeKind.PLACE)
    assert said.span.of(facing.text) == "smiles at the viewer"


def test_what_stands_tall_is_tall():
    found = told("trees|tree/NOUN/nsubj~Number=Plur/2 stand/VERB/ROOT/0 tall/ADV/advmod/2")
    assert ("trees", "is", "tall") in found


def test_the_blue_of_the_sky():
    found = told(
        "the/DET/det/2 blue/NOUN/nsubj/6 of/ADP/case/5 the/DET/det/5 sky/NOUN/nmod/2 "
        "fades|fade/VERB/ROOT/0"
    )
    assert ("sky", "is", "blue") in found


def test_comparisons_keep_their_adjective():
    """ "Wheels taller than the barrel"."""
    found = told(
        "the/DET/det/2 wheels|wheel/NOUN/nsubj~Number=Plur/4 are|be/AUX/cop/4 taller/ADJ/ROOT/0 "
        "than/ADP/case/7 the/DET/det/7 barrel/NOUN/obl/4"
    )
    assert ("wheels", "taller than", "barrel") in found


def test_what_owns_a_part_owns_the_next():
    """ "The belly of the bird is white, and its beak is red": the bird's beak, not the belly's."""
    found = told(
        "the/DET/det/2 belly/NOUN/nsubj/7 of/ADP/case/5 the/DET/det/5 bird/NOUN/nmod/2 "
        "is|be/AUX/cop/7 white/ADJ/ROOT/0 and/CCONJ/cc/12 its/PRON/nmod:poss/10 "
        "beak/NOUN/nsubj/12 is|be/AUX/cop/12 red/ADJ/conj/7"
    )
    assert ("bird", "have", "beak") in found
    assert ("belly", "have", "beak") not in found


def test_annotators_write_no_metal():
    """Seen, so in the graph; but not in the annotators' notation."""
    found = graph("a/DET/det/2 symbol/NOUN/ROOT/0 on/ADP/case/5 a/DET/det/5 wall/NOUN/nmod/2")
    assert ("symbol", "on", "wall") in found.triples()
    assert convention(found) == [("wall",)]
