"""Clauses, counts and places that parsers get wrong in captions, from hand-made wrong parses."""

from __future__ import annotations

import pytest

spacy = pytest.importorskip("spacy")

from hand_parses import graph, told  # noqa: E402

from revise_captions.graphs.graph import AttributeKind  # noqa: E402


@pytest.mark.parametrize(
    ("parse", "expected"),
    [
        pytest.param(
            "two/NUM/nummod/4 wing+/NOUN/obl/4 -+/PUNCT/punct/4 backed/VERB/amod/5 "
            "chairs|chair/NOUN/ROOT~Number=Plur/0",
            {("chairs", "is", "2"), ("chairs", "is", "wing-backed")},
            id="the number of a quality before a noun",
        ),
        pytest.param(
            "four/NUM/nummod/3 animal/NOUN/compound/3 paw/NOUN/compound/4 "
            "prints|print/NOUN/ROOT~Number=Plur/0",
            {("paw prints", "is", "4")},
            id="the number of a noun before a noun",
        ),
        pytest.param(
            "a/DET/det/3 hook/NOUN/compound/3 forms|form/NOUN/ROOT~Number=Plur/0 the/DET/det/5 "
            "ring/NOUN/obj/3",
            {("hook", "form", "ring")},
            id="a noun with an object is a verb",
        ),
        pytest.param(
            "red/ADJ/amod/3 stripes|stripe/NOUN/compound~Number=Plur/3 run/NOUN/ROOT/0 "
            "around/ADP/case/6 the/DET/det/6 door/NOUN/nmod/3",
            {("stripes", "is", "red"), ("stripes", "run around", "door")},
            id="a noun in the singular after a plural is a verb",
        ),
        pytest.param(
            "two/NUM/nummod/2 elands|eland/NOUN/compound~Number=Plur/3 stand/VERB/ROOT/0 "
            "in/ADP/case/6 a/DET/det/6 field/NOUN/obl/3",
            {("elands", "is", "2"), ("elands", "stand in", "field")},
            id="what stands before a verb is its subject",
        ),
        pytest.param(
            "behind/ADP/case/3 the/DET/det/3 dog/NOUN/ROOT/0 ,/PUNCT/punct/3 a/DET/det/6 "
            "bush/NOUN/nsubj/7 grows|grow/VERB/conj/3",
            {("bush", "grow behind", "dog")},
            id="a place before a sentence is not its head",
        ),
        pytest.param(
            "cats|cat/NOUN/nsubj~Number=Plur/2 sit/VERB/ROOT/0 on/ADP/case/5 the/DET/det/5 "
            "roof/NOUN/obl/2 and/CCONJ/cc/8 a/DET/det/8 door/NOUN/conj/5 "
            "appears|appear/VERB/conj/2 below/ADP/case/12 the/DET/det/12 window/NOUN/obl/9",
            {("cats", "sit on", "roof"), ("door", "below", "window")},
            id="the subject of a second clause",
        ),
        pytest.param(
            "a/DET/det/2 scar/NOUN/ROOT/0 ,/PUNCT/punct/4 crosses|cross/VERB/conj/2 the/DET/det/6 "
            "brow/NOUN/obj/4",
            {("scar", "cross", "brow")},
            id="a verb that was joined to its subject",
        ),
        pytest.param(
            "slats|slat/NOUN/nsubj~Number=Plur/2 provide/VERB/ROOT/0 a/DET/det/4 "
            "backdrop/NOUN/obj/2 behind/ADP/case/7 the/DET/det/7 table/NOUN/nmod/4",
            {("slats", "behind", "table")},
            id="behind a backdrop that is no thing",
        ),
        pytest.param(
            "a/DET/det/3 rock/NOUN/compound/3 formation/NOUN/nsubj/7 is|be/AUX/cop/7 "
            "behind/ADP/case/7 a/DET/det/7 zebra/NOUN/ROOT/0",
            {("formation", "is", "rock"), ("formation", "behind", "zebra")},
            id="what is somewhere is a thing",
        ),
        pytest.param(
            "blue/ADJ/ROOT/0 ,/PUNCT/punct/3 green/ADJ/conj/1 ,/PUNCT/punct/7 and/CCONJ/cc/7 "
            "white/ADJ/amod/7 shoes|shoe/NOUN/conj~Number=Plur/1",
            {("shoes", "is", "blue"), ("shoes", "is", "green"), ("shoes", "is", "white")},
            id="qualities in a row with a comma before and",
        ),
        pytest.param(
            "a/DET/det/2 woman/NOUN/ROOT/0 walking|walk/VERB/acl/2/VBG next/ADP/case/7 "
            "to/ADP/case/7 a/DET/det/7 man/NOUN/obl/3 in/ADP/case/10 a/DET/det/10 coat/NOUN/obl/3",
            {("woman", "walk next to", "man"), ("man", "in", "coat")},
            id="clothes are those of who is named right before",
        ),
        pytest.param(
            "a/DET/det/2 woman/NOUN/nsubj/3 sits|sit/VERB/ROOT/0 in/ADP/case/6 a/DET/det/6 "
            "coat/NOUN/obl/3",
            {("woman", "in", "coat")},
            id="who sits in a coat wears it",
        ),
        pytest.param(
            "rice/NOUN/ROOT/0 and/CCONJ/cc/3 broccoli/NOUN/conj/1 on/ADP/case/6 a/DET/det/6 "
            "plate/NOUN/nmod/3",
            {("rice", "on", "plate"), ("broccoli", "on", "plate")},
            id="a row in one place",
        ),
        pytest.param(
            "a/DET/det/2 man/NOUN/ROOT/0 and/CCONJ/cc/5 a/DET/det/5 woman/NOUN/conj/2 "
            "on/ADP/case/8 a/DET/det/8 phone/NOUN/nmod/5",
            {("woman", "on", "phone")},
            id="somebody's place is not that of the row",
        ),
        pytest.param(
            "some/DET/nsubj/5 of/ADP/case/4 the/DET/det/4 broccoli/NOUN/nmod/1 "
            "falls|fall/VERB/ROOT/0 on/ADP/case/8 the/DET/det/8 plate/NOUN/obl/5",
            {("broccoli", "fall on", "plate")},
            id="some of it is it",
        ),
        pytest.param(
            "a/DET/det/4 long/ADJ/amod/4 sleeve/NOUN/compound/4 shirt/NOUN/ROOT/0",
            {("shirt", "is", "long sleeve")},
            id="two words that are one quality",
        ),
        pytest.param(
            "a/DET/det/3 goat/NOUN/compound/3 leg/NOUN/ROOT/0",
            {("goat", "have", "leg")},
            id="a body's part before which the body is named",
        ),
    ],
)
def test_clauses_and_counts_are_mended(parse, expected):
    assert told(parse) == expected


@pytest.mark.parametrize(
    ("parse", "thing", "value"),
    [
        ("the/DET/det/2 skies|sky/NOUN/nsubj~Number=Plur/5 above/ADV/advmod/2 are|be/AUX/cop/5 "
         "gray/ADJ/ROOT/0", "skies", "above"),
        ("a/DET/det/2 boy/NOUN/nsubj/4 is|be/AUX/aux/4 jumping|jump/VERB/ROOT/0/VBG "
         "in/ADP/case/7 the/DET/det/7 air/NOUN/obl/4", "boy", "jumping in the air"),
        ("the/DET/det/2 players|player/NOUN/nsubj~Number=Plur/5 are|be/AUX/cop/5 in/ADP/case/5 "
         "action/NOUN/ROOT/0", "players", "in action"),
    ],
)  # fmt: skip
def test_places_and_states_that_are_no_things_are_said_of_one(parse, thing, value):
    found = graph(parse)
    said = [(found.objects[one.object].name, one.value, one.kind) for one in found.attributes]
    assert (thing, value, AttributeKind.PLACE) in said


def test_nouns_that_look_like_verbs_stay_nouns():
    """ "A sports drink", "a paper cut": no plural before them, or an article in the singular."""
    for first in ("sports|sport/NOUN/compound~Number=Plur/3", "paper/NOUN/compound/3"):
        found = graph(f"a/DET/det/3 {first} drink/NOUN/ROOT/0 on/ADP/case/6 a/DET/det/6 "
                      "table/NOUN/nmod/3")  # fmt: skip
        assert [one.name.split()[-1] for one in found.objects] == ["drink", "table"]


@pytest.mark.parametrize(
    ("parse", "thing", "value"),
    [
        ("a/DET/det/2 number/NOUN/ROOT/0 below/ADP/case/5 the/DET/det/5 previous/ADJ/nmod/2",
         "number", "below"),
        ("the/DET/det/2 statue/NOUN/nsubj/3 set/VERB/ROOT/0 behind/ADP/obl/3 and/CCONJ/cc/6 "
         "above/ADP/conj/4 the/DET/det/8 first/ADJ/obl/3", "statue", "behind"),
        ("word/NOUN/nsubj/2 written/VERB/ROOT/0 to/ADP/case/5 the/DET/case/5 left/ADP/case/7 "
         "of/ADP/case/7 it/PRON/conj/2", "word", "to the left"),
    ],
)  # fmt: skip
def test_a_direction_that_the_parser_lost_is_said_of_the_nearest_thing(parse, thing, value):
    found = graph(parse)
    said = [(found.objects[one.object].name, one.value) for one in found.attributes]
    assert (thing, value) in said


def test_a_direction_is_said_once():
    found = graph(
        "a/DET/det/2 dog/NOUN/nsubj/3 sits|sit/VERB/ROOT/0 behind/ADP/case/6 a/DET/det/6 "
        "cat/NOUN/obl/3"
    )
    assert found.attributes == ()
