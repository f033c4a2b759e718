"""Scene graphs from hand-made parses, in both label schemes: no parser is involved."""

from __future__ import annotations

import pytest

spacy = pytest.importorskip("spacy")

from hand_parses import document, graph, told  # noqa: E402

from revise_captions.graphs.dependencies.nodes import nodes  # noqa: E402
from revise_captions.graphs.extract import extract  # noqa: E402
from revise_captions.graphs.graph import AttributeKind  # noqa: E402

#: The same sentences in Universal Dependencies and in ClearNLP-style labels.
BOTH = {
    "adjective and place": (
        "a/DET/det/3 red/ADJ/amod/3 cat/NOUN/nsubj/4 sits|sit/VERB/ROOT/0 on/ADP/case/7 "
        "the/DET/det/7 mat/NOUN/obl/4",
        "a/DET/det/3 red/ADJ/amod/3 cat/NOUN/nsubj/4 sits|sit/VERB/ROOT/0 on/ADP/prep/4 "
        "the/DET/det/7 mat/NOUN/pobj/5",
        {("cat", "is", "red"), ("cat", "sit on", "mat")},
    ),
    "copula": (
        "the/DET/det/2 hat/NOUN/nsubj/4 is|be/AUX/cop/4 red/ADJ/ROOT/0 and/CCONJ/cc/6 "
        "white/ADJ/conj/4",
        "the/DET/det/2 hat/NOUN/nsubj/3 is|be/AUX/ROOT/0 red/ADJ/acomp/3 and/CCONJ/cc/4 "
        "white/ADJ/conj/4",
        {("hat", "is", "red"), ("hat", "is", "white")},
    ),
    "copula with a place": (
        "the/DET/det/2 dog/NOUN/nsubj/6 is|be/AUX/cop/6 on/ADP/case/6 the/DET/det/6 "
        "sofa/NOUN/ROOT/0",
        "the/DET/det/2 dog/NOUN/nsubj/3 is|be/AUX/ROOT/0 on/ADP/prep/3 the/DET/det/6 "
        "sofa/NOUN/pobj/4",
        {("dog", "on", "sofa")},
    ),
    "passive with an agent": (
        "the/DET/det/2 hill/NOUN/nsubj:pass/4 is|be/AUX/aux:pass/4 "
        "surrounded|surround/VERB/ROOT/0 by/ADP/case/6 trees|tree/NOUN/obl:agent~Number=Plur/4",
        "the/DET/det/2 hill/NOUN/nsubjpass/4 is|be/AUX/auxpass/4 "
        "surrounded|surround/VERB/ROOT/0/VBN by/ADP/agent/4 trees|tree/NOUN/pobj/5/NNS",
        {("trees", "surround", "hill")},
    ),
    "relative clause": (
        "a/DET/det/2 man/NOUN/ROOT/0 who/PRON/nsubj/4 wears|wear/VERB/acl:relcl/2 a/DET/det/6 "
        "hat/NOUN/obj/4",
        "a/DET/det/2 man/NOUN/ROOT/0 who/PRON/nsubj/4 wears|wear/VERB/relcl/2 a/DET/det/6 "
        "hat/NOUN/dobj/4",
        {("man", "wear", "hat")},
    ),
    "possessive": (
        "the/DET/det/2 man/NOUN/nmod:poss/4 's/PART/case/2 face/NOUN/ROOT/0",
        "the/DET/det/2 man/NOUN/poss/4 's/PART/case/2 face/NOUN/ROOT/0",
        {("man", "have", "face")},
    ),
    "part of a whole": (
        "the/DET/det/2 face/NOUN/ROOT/0 of/ADP/case/5 the/DET/det/5 man/NOUN/nmod/2",
        "the/DET/det/2 face/NOUN/ROOT/0 of/ADP/prep/2 the/DET/det/5 man/NOUN/pobj/3",
        {("man", "have", "face")},
    ),
    "complex preposition": (
        "a/DET/det/2 bird/NOUN/ROOT/0 on/ADP/case/4 top/NOUN/nmod/2 of/ADP/case/7 a/DET/det/7 "
        "roof/NOUN/nmod/4",
        "a/DET/det/2 bird/NOUN/ROOT/0 on/ADP/prep/2 top/NOUN/pobj/3 of/ADP/prep/4 a/DET/det/7 "
        "roof/NOUN/pobj/5",
        {("bird", "on top of", "roof")},
    ),
    "coordinated verbs": (
        "a/DET/det/2 man/NOUN/nsubj/3 holds|hold/VERB/ROOT/0 a/DET/det/5 kite/NOUN/obj/3 "
        "and/CCONJ/cc/7 wears|wear/VERB/conj/3 a/DET/det/9 hat/NOUN/obj/7",
        "a/DET/det/2 man/NOUN/nsubj/3 holds|hold/VERB/ROOT/0 a/DET/det/5 kite/NOUN/dobj/3 "
        "and/CCONJ/cc/3 wears|wear/VERB/conj/3 a/DET/det/9 hat/NOUN/dobj/7",
        {("man", "hold", "kite"), ("man", "wear", "hat")},
    ),
}


@pytest.mark.parametrize("name", BOTH)
def test_both_label_schemes_give_the_same_graph(name):
    universal, clear, expected = BOTH[name]
    assert told(universal) == expected
    assert told(clear) == expected


def test_what_is_denied_is_not_there():
    """ "There are no people": an object that is denied, and so none in the present graph."""
    found = graph(
        "There/PRON/expl/2 are|be/VERB/ROOT/0 no/DET/det/4 people/NOUN/nsubj~Number=Plur/2 "
        "on/ADP/case/7 the/DET/det/7 beach/NOUN/obl/2"
    )
    assert [(item.name, item.denied) for item in found.objects] == [
        ("people", True),
        ("beach", False),
    ]
    assert [item.name for item in found.present().objects] == ["beach"]
    assert found.present().relations == ()


def test_a_denied_quality_is_no_quality():
    found = graph("the/DET/det/2 hat/NOUN/nsubj/5 is|be/AUX/cop/5 not/PART/advmod/5 red/ADJ/ROOT/0")
    assert [item.denied for item in found.attributes] == [True]
    assert found.present().attributes == ()


def test_counts_and_groups():
    found = graph(
        "a/DET/det/2 group/NOUN/nsubj/7 of/ADP/case/6 three/NUM/nummod/6 young/ADJ/amod/6 "
        "men|man/NOUN/nmod~Number=Plur/2 stand/VERB/ROOT/0 in/ADP/case/9 snow/NOUN/obl/7"
    )
    assert [item.name for item in found.objects] == ["men", "snow"]
    assert set(found.triples()) == {
        ("men", "is", "3"),
        ("men", "is", "young"),
        ("men", "is", "group of"),
        ("men", "stand in", "snow"),
    }


def test_qualities_of_coordinated_adjectives():
    expected = {("flag", "is", "red"), ("flag", "is", "white")}
    assert (
        told("a/DET/det/5 red/ADJ/amod/5 and/CCONJ/cc/4 white/ADJ/conj/2 flag/NOUN/ROOT/0")
        == expected
    )


def test_names_of_several_words():
    """A street sign is a kind of sign, a metal pole is a pole of metal, a giraffe has a horn."""
    one = graph("a/DET/det/3 street/NOUN/compound/3 sign/NOUN/ROOT/0")
    assert [item.name for item in one.objects] == ["street sign"]
    assert told("a/DET/det/3 metal/NOUN/compound/3 pole/NOUN/ROOT/0") == {("pole", "is", "metal")}
    owned = told("the/DET/det/3 giraffe/NOUN/compound/3 head/NOUN/ROOT/0")
    assert owned == {("giraffe", "have", "head")}


def test_hyphens_make_one_word():
    found = told(
        "a/DET/det/5 three+/NUM/nummod/4 -+/PUNCT/punct/4 story/NOUN/compound/5 house/NOUN/ROOT/0"
    )
    assert found == {("house", "is", "three-story")}


def test_a_pronoun_keeps_what_is_said_of_it():
    """ "A man walks. He wears a hat." """
    found = graph(
        "a/DET/det/2 man/NOUN/nsubj/3 walks|walk/VERB/ROOT/0 and/CCONJ/cc/6 he/PRON/nsubj/6 "
        "wears|wear/VERB/conj/3 a/DET/det/8 hat/NOUN/obj/6"
    )
    assert [item.name for item in found.objects] == ["man", "hat"]
    assert ("man", "wear", "hat") in found.triples()
    assert [span.of(found.text) for span in found.objects[0].mentions] == ["man", "he"]


def test_spans_lie_in_the_text():
    found = graph(
        "a/DET/det/3 red/ADJ/amod/3 cat/NOUN/nsubj/4 sits|sit/VERB/ROOT/0 on/ADP/case/7 "
        "the/DET/det/7 mat/NOUN/obl/4"
    )
    assert found.objects[0].span.of(found.text) == "cat"
    assert found.attributes[0].span.of(found.text) == "red"
    assert found.relations[0].span.of(found.text) == "cat sits on the mat"


def test_parts_point_to_their_whole():
    found = graph("the/DET/det/2 face/NOUN/ROOT/0 of/ADP/case/5 the/DET/det/5 man/NOUN/nmod/2")
    names = [item.name for item in found.objects]
    assert names[found.objects[names.index("face")].part_of or 0] == "man"
    assert found.objects[names.index("man")].part_of is None


def test_painted_colours_are_qualities():
    found = told(
        "the/DET/det/2 sky/NOUN/nsubj:pass/4 is|be/AUX/aux:pass/4 painted|paint/VERB/ROOT/0 "
        "in/ADP/case/6 hues|hue/NOUN/obl~Number=Plur/4 of/ADP/case/8 orange/NOUN/nmod/6 "
        "and/CCONJ/cc/10 pink/NOUN/conj/8"
    )
    assert {("sky", "is", "orange"), ("sky", "is", "pink")} <= found


def test_what_follows_a_fronted_place_is_there():
    """ "Above the wall is a bank": parsers take the wall for the subject."""
    found = told(
        "above/ADP/case/3 the/DET/det/3 wall/NOUN/nsubj/6 is|be/AUX/cop/6 a/DET/det/6 "
        "bank/NOUN/ROOT/0"
    )
    assert found == {("bank", "above", "wall")}
    lamps = told(
        "flanking|flank/VERB/csubj~VerbForm=Ger/6 the/DET/det/3 door/NOUN/obj/1 are|be/AUX/cop/6 "
        "thin/ADJ/amod/6 lamps|lamp/NOUN/ROOT~Number=Plur/0"
    )
    assert lamps == {("lamps", "is", "thin"), ("lamps", "flank", "door")}
    hung = told(
        "on/ADP/case/3 the/DET/det/3 wall/NOUN/obl/4 hangs|hang/VERB/ROOT/0 a/DET/det/6 "
        "picture/NOUN/obj/4"
    )
    assert hung == {("picture", "hang on", "wall")}


def test_nouns_and_qualities_that_a_tagger_does_not_know():
    """ "With long fronds" as a verb, "verdant field" as two nouns."""
    plant = told(
        "plant/NOUN/ROOT/0 with/ADP/case/4 long/ADJ/amod/4 fronds/VERB/nmod/1 "
        "on/ADP/case/7 verdant/NOUN/compound/7 field/NOUN/nmod/1"
    )
    expected = {("fronds", "is", "long"), ("plant", "with", "fronds")}
    assert plant == expected | {("field", "is", "verdant"), ("plant", "on", "field")}


def test_places_in_the_picture_are_attributes():
    found = graph(
        "on/ADP/case/4 the/DET/det/4 left/ADJ/amod/4 side/NOUN/obl/10 of/ADP/case/7 the/DET/det/7 "
        "image/NOUN/nmod/4 a/DET/det/9 man/NOUN/nsubj/10 stands|stand/VERB/ROOT/0"
    )
    (place,) = (item for item in found.attributes if item.kind is AttributeKind.PLACE)
    assert (found.objects[place.object].name, place.value) == ("man", "on the left side")
    assert place.span.of(found.text) == "on the left side"
    assert [item.name for item in found.objects] == ["man"]


def test_what_something_stands_as_is_no_object():
    found = told(
        "the/DET/det/2 tower/NOUN/nsubj/3 serves|serve/VERB/ROOT/0 as/ADP/case/6 a/DET/det/6 "
        "gate/NOUN/obl/3"
    )
    assert found == set()


DOGS = (
    "two/NUM/nummod/2 dogs|dog/NOUN/nsubj~Number=Plur/3 lie/VERB/ROOT/0 on/ADP/case/6 a/DET/det/6 "
    "rug/NOUN/obl/3 and/CCONJ/cc/10 "
)


def test_members_of_a_group_are_objects_of_their_own():
    """ "Two dogs lie on a rug, and one is black, the other white"."""
    found = graph(
        DOGS + "one/NUM/nsubj/10 is|be/AUX/cop/10 black/ADJ/conj/3 and/CCONJ/cc/15 "
        "the/DET/det/13 other/ADJ/nsubj/15 is|be/AUX/cop/15 white/ADJ/conj/3"
    )
    assert [item.name for item in found.objects] == ["dogs", "rug", "dog", "dog"]
    assert [(item.object, item.value) for item in found.attributes] == [
        (0, "2"), (2, "black"), (3, "white"),
    ]  # fmt: skip


PAIR = (
    "a/DET/det/2 man/NOUN/nsubj/6 and/CCONJ/cc/5 a/DET/det/5 woman/NOUN/conj/2 sit/VERB/ROOT/0 "
    "and/CCONJ/cc/9 "
)


def test_both_and_the_one_and_the_other_of_a_pair():
    both = graph(PAIR + "both/PRON/nsubj/9 wear/VERB/conj/6 hats|hat/NOUN/obj~Number=Plur/9")
    assert {("man", "wear", "hats"), ("woman", "wear", "hats")} <= set(both.triples())
    each = graph(
        PAIR + "one/PRON/nsubj/9 holds|hold/VERB/conj/6 a/DET/det/11 cup/NOUN/obj/9 "
        "the/DET/det/13 other/ADJ/nsubj/14 reads|read/VERB/conj/6 a/DET/det/16 book/NOUN/obj/14"
    )
    assert {("man", "hold", "cup"), ("woman", "read", "book")} <= set(each.triples())


def test_definite_mentions_join_and_other_ones_do_not():
    """ "A tall man sees a short man, and the tall man, the animal …"."""
    found = graph(
        "a/DET/det/3 tall/ADJ/amod/3 man/NOUN/nsubj/4 sees|see/VERB/ROOT/0 a/DET/det/7 "
        "short/ADJ/amod/7 man/NOUN/obj/4 and/CCONJ/cc/12 the/DET/det/11 tall/ADJ/amod/11 "
        "man/NOUN/nsubj/12 wears|wear/VERB/conj/4 a/DET/det/14 hat/NOUN/obj/12"
    )
    assert [item.name for item in found.objects] == ["man", "man", "hat"]
    assert [len(item.mentions) for item in found.objects] == [2, 1, 1]
    (worn,) = (edge for edge in found.relations if edge.name == "wear")
    assert worn.subject == 0
    wide = graph(
        "a/DET/det/2 cat/NOUN/nsubj/3 sleeps|sleep/VERB/ROOT/0 and/CCONJ/cc/8 the/DET/det/6 "
        "animal/NOUN/nsubj/8 is|be/AUX/cop/8 white/ADJ/conj/3"
    )
    assert [item.name for item in wide.objects] == ["cat"]
    assert ("cat", "is", "white") in wide.triples()


def test_another_resolver_goes_before_the_rules():
    """Clusters of Maverick's kind: "a kite … the toy", which no rule would join."""
    import sys
    from types import ModuleType

    from revise_captions.graphs.maverick import Maverick

    text = "a kite flies and the toy is red"

    class Model:
        def __init__(self, hf_name_or_path: str, device: str) -> None:
            pass

        def predict(self, said: str) -> dict[str, object]:
            assert said == text
            return {"clusters_char_offsets": [[(0, 5), (17, 23)]]}  # both ends included

    fake = ModuleType("maverick")
    fake.Maverick = Model
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "maverick", fake)
        resolver = Maverick()
    assert resolver.settings == {"coreference": "sapienzanlp/maverick-mes-ontonotes"}
    links = resolver.clusters(text)
    assert [span.of(text) for span in links[0]] == ["a kite", "the toy"]
    doc = document(
        "a/DET/det/2 kite/NOUN/nsubj/3 flies|fly/VERB/ROOT/0 and/CCONJ/cc/8 the/DET/det/6 "
        "toy/NOUN/nsubj/8 is|be/AUX/cop/8 red/ADJ/conj/3"
    )
    assert len(extract(text, nodes(doc)).objects) == 2
    (kite,) = extract(text, nodes(doc), links).objects
    assert [span.of(text) for span in kite.mentions] == ["kite", "toy"]


def test_without_the_package_the_resolver_says_so():
    from revise_captions.errors import UserError
    from revise_captions.graphs.maverick import Maverick

    with pytest.raises(UserError, match="maverick-coref"):
        Maverick()


@pytest.mark.parametrize(
    ("name", "usual"),
    [
        ("lie down underneath", "lie under"),
        ("to left of", "at left of"),
        ("seat on", "sit on"),
        ("look up", "look up"),
    ],
)
def test_relations_in_the_notation_of_annotators(name, usual):
    from revise_captions.graphs.triples import usual_name

    assert usual_name(name) == usual
