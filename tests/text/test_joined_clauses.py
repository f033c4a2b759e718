"""Sentences of every make, taken apart: what is left without a clause is a sentence."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from revise_captions.text.clauses import clauses, in_place_of, with_clauses

CLAUSES = (
    *("the dog is brown", "Anna is asleep", "it is 1,000 m high", "the cat (left) sits"),
    *("is on the grass", "so is the cat", "making it look like it is day", "the café has a roof"),
    *("it is 5 p.m.", "the *red* ball lies here", "(the ball is red", "it is blue)", "however"),
    *("**the sun shines", "it shines**", "the 😀 is here", "\u200fשלום is here", "a tree"),
    *("<TARGET> is red", "</PREFIX> is red", "although it is late", "because it is day"),
    *("not only is it red", "there are 3 cats...", "x\x07 is y", "'it is red", "NASA is on"),
    *("the other is not", "possibly to sit", "now sits on a mat", "a can", "a\u200bb is on"),
)
#: Clauses are told apart behind these.
PLAIN = (", and ", ", ", " and ", ", but ", " while ", ",\r\nand ", ",\u00a0and ")
ODD = (
    *(", AND ", " & ", "; and ", " — and ", "... and ", "… and ", "; ", ": ", ", or "),
    *(", and, by the way, ", " and then ", ", and\u200b ", ", and and "),
)
ENDS = (".", "!", "?", "...", "…", ":", "", " 😀", ".)", ".**", "?!", "。")


def _joined(said, joints, end, capital):
    text = "".join(joint + clause for joint, clause in zip(["", *joints], said, strict=False))
    return (text[:1].upper() + text[1:] if capital else text) + end


SENTENCES = st.builds(
    _joined,
    st.lists(st.sampled_from((*3 * CLAUSES[:4], *CLAUSES)), min_size=2, max_size=5),
    st.lists(st.sampled_from((*3 * PLAIN, *ODD)), min_size=4, max_size=4),
    st.sampled_from(ENDS),
    st.booleans(),
)
#: What no sentence begins with, contains, or ends with.
_BROKEN = re.compile(
    r"^\W*(?:and|but|or|while|so|is|are|sits|making|although|because|now sits|to)\b"
    r"|[,;]\s*[.,;:!?]|\band[.!?,]|[,;—–-]\s*[.!?]?$|\band [.!?]?$",
    re.IGNORECASE,
)


@settings(max_examples=200, deadline=None)
@given(SENTENCES, st.data())
def test_what_is_left_without_clauses_is_a_sentence(sentence, data):
    parts = clauses(sentence)
    if not parts:
        return
    gone = data.draw(st.sets(st.sampled_from(parts), min_size=1))
    left = with_clauses(sentence, {part.span: "" for part in gone})
    kept = [part.span.of(sentence) for part in parts if part not in gone]
    if not kept:
        assert left == ""
        return
    assert _BROKEN.search(sentence) or not _BROKEN.search(left)
    assert kept[0][1:] in left
    assert all(text in left for text in kept[1:])
    assert left[0] == (kept[0][0] if sentence[0].islower() else kept[0][0].upper())
    assert left.count("(") - left.count(")") == sentence.count("(") - sentence.count(")")
    assert left.count("**") % 2 == sentence.count("**") % 2
    if sentence[-1] in ".!?…":
        assert left[-1] in ".!?…"
    assert in_place_of(sentence, [part.span for part in gone], left) is not None


@settings(max_examples=100, deadline=None)
@given(SENTENCES, st.data())
def test_what_goes_into_one_place_changes_nothing_elsewhere(sentence, data):
    parts = clauses(sentence)
    if not parts:
        return
    place = data.draw(st.sampled_from(parts)).span
    new = with_clauses(sentence, {place: "The sun is red."})
    before, after = sentence[: place.start], sentence[place.end :]
    assert new in (f"{before}the sun is red{after}", f"{before}The sun is red{after}")


@pytest.mark.parametrize(
    ("sentence", "gone", "left"),
    [
        # names and what begins in lower case keep their letters, abbreviations their stop
        ("A dog is on, a cat is red, and Anna is here.", [1], "A dog is on, and Anna is here."),
        ("the dog is brown, and it is red.", [1], "the dog is brown."),
        ("the dog is brown, and it is red.", [0], "it is red."),
        ("It is 5 p.m., a dog is here, and a cat sits.", [1], "It is 5 p.m., and a cat sits."),
        ("It is day, it is 5 p.m., and a cat sits.", [2], "It is day, and it is 5 p.m."),
        ("The dog is brown, and it is red…", [1], "The dog is brown…"),
    ],
)
def test_what_stays_is_as_it_was(sentence, gone, left):
    parts = clauses(sentence)
    assert with_clauses(sentence, {parts[k].span: "" for k in gone}) == left


@pytest.mark.parametrize(
    "sentence",
    [
        "The dog is brown and sits on the mat.",
        "The dog is brown, and is asleep.",
        "The dog is brown, and so is the cat.",
        "The dog is brown, making it look like it is asleep.",
        "There is a table, a can, and a bottle.",
        "Some chairs are here, possibly for people to sit.",
        "Although the dog is brown, it is asleep.",
        "The dog is brown, and the cat, wet and tired, is asleep.",
        "(The dog is brown, and it is asleep).",
        "**The dog is brown, and it is asleep.**",
        "The dog is brown; and it is asleep.",
        "The dog is brown — and it is asleep.",
        "<TARGET>The dog is brown, and it is asleep.",
        "‘The dog is brown, and it is asleep.’",
        "The dog is brown, and, by the way, it is asleep.",
    ],
)
def test_a_part_that_cannot_stand_alone_is_no_clause(sentence):
    assert clauses(sentence) == ()


def test_a_name_keeps_its_capital_where_it_is_put_in():
    sentence = "It is day, and Anna is asleep."
    place = clauses(sentence)[1].span
    assert with_clauses(sentence, {place: "Anna is awake."}) == "It is day, and Anna is awake."
    assert with_clauses(sentence, {place: "The girl is awake."}) == (
        "It is day, and the girl is awake."
    )
