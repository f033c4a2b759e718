"""Words for directions, there and back, in every form."""

from __future__ import annotations

import pytest

from revise_captions.charts.claims.directions import directions_in
from revise_captions.charts.claims.edits import with_fixes
from revise_captions.charts.claims.vocabulary import VERBS, WAYS, turned
from revise_captions.records import Fix, Span

FRAMES = {
    "past": "Sales {} in 2010.",
    "participle": "Sales have steadily {} since.",
    "third": "The rate {} in May.",
    "gerund": "Sales are {} now.",
    "base": "Sales continue to {} now.",
    "noun": "There was a slow {} in sales.",
}
PAIRS = [pair for one, other in VERBS for pair in ((one, other), (other, one))]


def opposed(sentence: str, word: str) -> str:
    """The sentence with a word turned, as a fix does it."""
    start = sentence.index(word)
    return with_fixes(sentence, [Fix(Span(start, start + len(word)), turned(word))])


@pytest.mark.parametrize(("verb", "opposite"), PAIRS, ids=[verb.base for verb, _ in PAIRS])
def test_every_verb_goes_there_and_back(verb, opposite):
    for name, frame in FRAMES.items():
        word, other = getattr(verb, name), getattr(opposite, name)
        assert bool(word) == bool(other), name
        if word:
            said, instead = frame.format(word), frame.format(other)
            assert opposed(said, word) == instead
            assert opposed(instead, other) == said


@pytest.mark.parametrize("pair", WAYS)
def test_other_words_go_there_and_back(pair):
    one, other = pair
    assert (turned(one), turned(other)) == (other, one)


@pytest.mark.parametrize(("verb", "opposite"), VERBS, ids=[verb.base for verb, _ in VERBS])
def test_what_rises_and_what_falls_is_told_apart(verb, opposite):
    for word, up in ((verb.past, True), (opposite.past, False)):
        assert [way.up for way in directions_in(f"Sales {word} in May.", ())] == [up]


@pytest.mark.parametrize(
    "sentence",
    [
        "The average annual growth is 3.",
        "The growth rate is 3.",
        "The only decrease was seen then.",
        "After an initial decrease it is back.",
        "There was no decline.",
    ],
)
def test_what_is_measured_or_denied_is_no_direction(sentence):
    assert directions_in(sentence, ()) == []


def test_recent_years_are_not_the_whole_series():
    (way,) = directions_in("Cases have risen in recent years.", ())
    assert not way.known
