"""Preservation and edit scope on graphs made by hand, where every answer can be read off."""

from __future__ import annotations

import pytest
from graph_notes import graph

from revise_captions.graphs.graph import Graph
from revise_captions.pipelines.verify.claims import (
    Change,
    Slot,
    TextCheck,
    change_of,
    check,
)
from revise_captions.records import Attempt, Rationale, Revision, Sentence, Span, Verdict, Why
from revise_captions.text.sentences import split


def change(before: str, edits: dict[int, tuple[str, str]]) -> Change:
    """`edits`: by sentence, what stands there now ("": nothing) and what was said against it."""
    after, slots = "", []
    for k, span in enumerate(split(before)):
        text, rationale = edits.get(k, (span.of(before), ""))
        start = len(after) + bool(after and text)
        if text:
            after = f"{after} {text}" if after else text
        place = Span(start, start + len(text)) if text else None
        slots.append(Slot(span, place, k in edits, rationale))
    return Change(before, after, tuple(slots))


def phrases(claims) -> list[str]:
    return [claim.phrase for claim in claims]


def shown(found: TextCheck) -> tuple:
    return (
        (found.kept, found.free, phrases(found.lost)),
        (found.named, found.changed, phrases(found.removed), phrases(found.added)),
    )


DOG = "A brown dog sits by a red ball. The house is pink."
DOG_GRAPH = graph(
    DOG,
    {"dog": ["dog"], "ball": ["ball"], "house": ["house"]},
    [("dog", "brown"), ("ball", "red"), ("house", "pink")],
    [("dog", "sit by", "ball")],
)
IT_IS_BLACK = graph("The dog is black.", {"dog": ["dog"]}, [("dog", "black")])


def checked(edits: dict[int, tuple[str, str]], after: Graph, *said: Graph) -> TextCheck:
    made = change(DOG, edits)
    assert made.after == after.text
    return check(made, DOG_GRAPH, after, {item.text: item for item in said})


def test_the_named_change_is_in_scope():
    """Another colour came for the one that went: both are what the rationale speaks of."""
    text = "A black dog sits by a red ball. The house is pink."
    after = graph(
        text,
        {"dog": ["dog"], "ball": ["ball"], "house": ["house"]},
        [("dog", "black"), ("ball", "red"), ("house", "pink")],
        [("dog", "sit by", "ball")],
    )
    found = checked({0: ("A black dog sits by a red ball.", IT_IS_BLACK.text)}, after, IT_IS_BLACK)
    assert shown(found) == ((2, 2, []), (2, 2, [], []))


def test_a_sentence_that_goes_takes_more_than_was_named():
    """The rationale speaks of the dog's colour; that the dog is there, it says itself."""
    after = graph("The house is pink.", {"house": ["house"]}, [("house", "pink")])
    found = checked({0: ("", IT_IS_BLACK.text)}, after, IT_IS_BLACK)
    assert shown(found) == (
        (2, 2, []),
        (1, 5, ["dog", "ball", "red ball", "dog sit by ball"], []),
    )


def test_what_was_put_in_for_nothing_is_beyond():
    text = "A black dog sits by a red ball and a kite. The house is pink."
    after = graph(
        text,
        {"dog": ["dog"], "ball": ["ball"], "kite": ["kite"], "house": ["house"]},
        [("dog", "black"), ("ball", "red"), ("house", "pink")],
        [("dog", "sit by", "ball")],
    )
    edited = "A black dog sits by a red ball and a kite."
    found = checked({0: (edited, IT_IS_BLACK.text)}, after, IT_IS_BLACK)
    assert shown(found)[1] == (2, 3, [], ["kite"])


def test_nothing_changed_nothing_to_be_in_scope():
    found = check(change(DOG, {}), DOG_GRAPH, DOG_GRAPH, {})
    assert shown(found) == ((7, 7, []), (0, 0, [], []))


def test_deleting_everything_keeps_nothing():
    found = checked({0: ("", ""), 1: ("", "")}, Graph(""))
    assert (found.kept, found.free, found.changed, found.named) == (0, 0, 7, 0)
    unflagged = Change(DOG, "", tuple(Slot(s, None, False) for s in split(DOG)))
    found = check(unflagged, DOG_GRAPH, Graph(""), {})
    assert (found.kept, found.free, found.changed, found.named) == (0, 7, 7, 0)


IT = "There is a dog. It is white."
IT_GRAPH = graph(IT, {"dog": ["dog", "It"]}, [("dog", "white")])
NO_DOG = graph("There is no dog; it is a cat.", {"no dog": ["dog"], "cat": ["cat"]})


def test_what_is_said_of_a_renamed_thing_is_still_said():
    made = change(IT, {0: ("There is a cat.", NO_DOG.text)})
    after = graph(made.after, {"cat": ["cat", "It"]}, [("cat", "white")])
    found = check(made, IT_GRAPH, after, {NO_DOG.text: NO_DOG})
    assert shown(found) == ((1, 1, []), (2, 2, [], []))


def test_a_thing_may_be_renamed_to_one_that_is_there_already():
    """What the girl did, the boy does now; the rationale gives both names."""
    before = "There is a boy. The girl holds a small flower."
    things = {"boy": ["boy"], "girl": ["girl"], "flower": ["flower"]}
    old = graph(before, things, [("flower", "small")], [("girl", "hold", "flower")])
    text = "There is no girl; a boy can be seen instead."
    said = graph(text, {"no girl": ["girl"], "boy": ["boy"]})
    made = change(before, {1: ("The boy holds a flower.", text)})
    after = graph(
        made.after, {"boy": ["boy", "boy"], "flower": ["flower"]}, (), [("boy", "hold", "flower")]
    )
    found = check(made, old, after, {text: said})
    assert shown(found) == ((1, 1, []), (1, 2, ["small flower"], []))


def test_a_pronoun_that_lost_its_noun_lost_its_claim():
    """The sentence is there to the letter, and speaks of the house now."""
    before = "The house is big. There is a dog. It is white."
    old = graph(
        before, {"house": ["house"], "dog": ["dog", "It"]}, [("house", "big"), ("dog", "white")]
    )
    made = change(before, {1: ("", "There is no dog.")})
    after = graph(made.after, {"house": ["house", "It"]}, [("house", "big"), ("house", "white")])
    no = graph("There is no dog.", {"no dog": ["dog"]})
    found = check(made, old, after, {no.text: no})
    assert shown(found)[0] == (2, 3, ["white dog"])
    assert phrases(found.added) == ["white house"]


def test_an_unflagged_sentence_that_keeps_the_old_name_keeps_the_thing():
    before = "There is a dog. The dog is white."
    old = graph(before, {"dog": ["dog", "dog"]}, [("dog", "white")])
    made = change(before, {0: ("There is a cat.", NO_DOG.text)})
    after = graph(made.after, {"cat": ["cat"], "dog": ["dog"]}, [("dog", "white")])
    found = check(made, old, after, {NO_DOG.text: NO_DOG})
    assert shown(found) == ((2, 2, []), (1, 1, [], []))


def test_a_denied_thing_takes_along_what_was_said_of_it():
    before = "A girl with a red hat holds a balloon."
    old = graph(
        before,
        {"girl": ["girl"], "hat": ["hat"], "balloon": ["balloon"]},
        [("hat", "red")],
        [("girl", "with", "hat"), ("girl", "hold", "balloon")],
    )
    no = graph("The girl has no hat.", {"girl": ["girl"], "no hat": ["hat"]})
    made = change(before, {0: ("A girl holds a balloon.", no.text)})
    after = graph(
        made.after, {"girl": ["girl"], "balloon": ["balloon"]}, (), [("girl", "hold", "balloon")]
    )
    assert shown(check(made, old, after, {no.text: no}))[1] == (3, 3, [], [])


@pytest.mark.parametrize(
    ("relation", "rewritten", "changed", "named"),
    [("on left of", "on the left of", 0, 0), ("to right of", "to the right of", 2, 2)],
)
def test_relations_go_by_what_they_say(relation, rewritten, changed, named):
    before = "The boat is to the left of the house."
    things = {"boat": ["boat"], "house": ["house"]}
    old = graph(before, things, (), [("boat", "to left of", "house")])
    made = change(before, {0: (f"The boat is {rewritten} the house.", "It is on the right.")})
    after = graph(made.after, things, (), [("boat", relation, "house")])
    found = check(made, old, after, {})
    assert (found.changed, found.named) == (changed, named)


def test_a_count_that_went_is_named_by_another_count():
    before = "There are two dogs."
    old = graph(before, {"dogs": ["dogs"]}, [("dogs", "2")])
    only = graph("There is only one dog.", {"dog": ["dog"]})
    made = change(before, {0: ("There is one dog.", only.text)})
    after = graph(made.after, {"dog": ["dog"]})
    assert shown(check(made, old, after, {only.text: only})) == ((0, 0, []), (1, 1, [], []))


def test_a_turned_denial_is_a_change():
    before = "There are no dogs."
    old = graph(before, {"no dogs": ["dogs"]})
    there = graph("There are three dogs.", {"dogs": ["dogs"]}, [("dogs", "3")])
    made = change(before, {0: (there.text, there.text)})
    found = check(made, old, there, {there.text: there})
    assert (found.named, found.changed, phrases(found.added)) == (3, 3, [])


# --- From a revision ----------------------------------------------------------------------------

GOOD, BAD = Verdict(0.9), Verdict(0.1)


def revision(*sentences: Sentence, revised: str) -> Revision:
    return Revision(IT, revised, sentences)


def test_slots_of_a_revision():
    rewrite = Attempt("There is a cat.", True, Why.BETTER, 1, 0.1, 0.9)
    first = Sentence(Span(0, 15), BAD, GOOD, Rationale(NO_DOG.text), (rewrite,))
    second = Sentence(Span(16, 28), GOOD, GOOD)
    made = change_of(revision(first, second, revised="There is a cat. It is white."))
    assert made is not None
    assert made.slots == (
        Slot(Span(0, 15), Span(0, 15), True, NO_DOG.text),
        Slot(Span(16, 28), Span(16, 28), False, ""),
    )


def test_a_rewrite_that_no_critic_has_judged_does_not_stand():
    waiting = Attempt("There is a cat.", None, Why.AWAITING_CRITIC, 1, 0.1)
    first = Sentence(Span(0, 15), BAD, BAD, Rationale(NO_DOG.text), (waiting,))
    made = change_of(revision(first, Sentence(Span(16, 28), GOOD, GOOD), revised=IT))
    assert made is not None
    assert (made.after, made.slots[0].flagged) == (IT, True)


def test_a_caption_that_somebody_else_changed_is_not_guessed_at():
    sentences = (Sentence(Span(0, 15), GOOD, GOOD), Sentence(Span(16, 28), GOOD, GOOD))
    assert change_of(revision(*sentences, revised="There is a horse.")) is None
