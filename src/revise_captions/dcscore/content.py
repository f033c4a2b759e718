"""What a unit says, as a set of words: lemmas without those that say nothing by themselves."""

from __future__ import annotations

import re
from functools import lru_cache

from revise_captions.graphs.triples import lemmas
from revise_captions.graphs.words import listed

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
