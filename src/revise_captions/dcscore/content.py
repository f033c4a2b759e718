"""A unit's content as a set of words: lemmas, except of words that say nothing by themselves."""

from __future__ import annotations

import re
from functools import lru_cache

from revise_captions.graphs.triples import lemmas
from revise_captions.graphs.words import listed
from revise_captions.records import Span

_EMPTY = listed(
    "the a an there is are be been being am was were it its their his her of and or to with that "
    "which this these those has have had image picture photo show shows feature features in on at "
    "by for from as not no very some also"
)
_WORD = re.compile(r"[^\W_]+")


@lru_cache(maxsize=1 << 16)
def content_words(text: str) -> frozenset[str]:
    """Lemmas of the content words of a text."""
    return frozenset(
        lemma
        for word in _WORD.findall(text.lower())
        if word not in _EMPTY
        for lemma in lemmas(word).split()
    )


_DENYING = listed("no not n't never without neither nor none nobody nothing cannot")


def denies(text: str) -> bool:
    """Whether a unit says that something is not so."""
    plain = text.lower().replace("’", "'").replace("n't", " not")
    return any(word in _DENYING for word in _WORD.findall(plain))


def place_of(text: str, home: Span, unit: str) -> Span:
    """Where a sentence expresses a unit: from the first to the last of the unit's content words.

    Args:
        text: The caption.
        home: The sentence; returned if it has none of these words.
        unit: The unit's text.
    """
    words = content_words(unit)
    said = [found for found in _WORD.finditer(text, *home) if content_words(found[0]) & words]
    return Span(said[0].start(), said[-1].end()) if said else home
