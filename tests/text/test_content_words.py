"""Which forms of a word are one word for the guard: by hand, from the rules of English spelling."""

from __future__ import annotations

import pytest

from revise_captions.text import content_words
from revise_captions.text.content_words import content, content_keys, known_keys, new_content


@pytest.mark.parametrize(
    ("word", "keys"),
    [
        ("hoping", {"hop", "hope"}),
        ("leaving", {"leav", "leave"}),
        ("sitting", {"sitting", "sitt", "sitte", "sit"}),
        ("sing", {"sing"}),
        ("thing", {"thing"}),
        ("knives", {"knife", "knif", "knive"}),
        ("chives", {"chive", "chif", "chife"}),
        ("zorbs", {"zorb"}),
        ("as", set()),
        ("kisses", {"kiss", "kisse"}),
        ("bigger", {"bigger", "bigg", "big"}),
        ("flatter", {"flatter", "flatt", "flat"}),  # a letter more before the two that are alike
        ("thinner", {"thin", "thinn"}),
        ("biggest", {"bigg", "big"}),
        ("mother", {"mother"}),
        ("zaxes", {"zaxes", "zaxe"}),
    ],
)
def test_keys_of_a_word(word, keys):
    (found,) = content_keys(word) or [(word, frozenset())]
    assert found == (word, frozenset(keys))


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("twenty-one dogs", {"21": "twenty-one", "dog": "dogs"}),
        ("twenty dogs", {"20": "twenty", "dog": "dogs"}),
        ("thirty ten", {"30": "thirty", "10": "ten"}),
        ("a dozen, a hundred", {"12": "dozen", "100": "hundred"}),
        ("one single cat", {"1": "one", "cat": "cat"}),
        ("it isn't there", {"not": "not"}),
        ("nothing without a cat's tail", {"not": "nothing", "cat": "cat", "tail": "tail"}),
        ("beneath, underneath, below", {"under": "beneath"}),
        ("over the grey next to it", {"above": "over", "gray": "grey", "beside": "next"}),
        ("3.5 meters, 10:30", {"3.5": "3.5", "meter": "meters", "10:30": "10:30"}),
    ],
)
def test_keys_of_numbers_negations_and_places(text, keys):
    assert content(text) == keys


@pytest.mark.parametrize(("source", "one"), [("an owl", True), ("a cat", True), ("the cat", False)])
def test_an_article_counts_as_one(source, one):
    assert ("1" in known_keys(source)) is one
    assert new_content("one thing", source, "thing") == ([] if one else ["one"])


def test_words_beyond_the_dictionary_are_compared_as_they_are():
    for word in ("a" * 41, "größe", "x2"):
        assert content_words.lemma(word) == word
    assert content_words.lemma("women") == "woman"


def test_the_dictionary_is_read_before_the_first_word():
    content_words.lemma.cache_clear()
    content_words.read_dictionary()
    assert content_words.lemma.cache_info().currsize == 1
    content_words.lemma("word")
    assert content_words.lemma.cache_info().hits == 1
