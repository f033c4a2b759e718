"""Things that a text says are not there."""

from __future__ import annotations

import re
from itertools import takewhile

from revise_captions.text.content_words import FUNCTION_WORDS, content, words

#: A denial, and the clause it opens; "not" needs an article, as "not red" does not deny a thing.
_DENIAL = re.compile(r"\b(?:no|(?:not|\w+n't)\s+(?:an?|any))\s+(?=([^.,;:!?\n]*))", re.IGNORECASE)


def denied(text: str) -> dict[str, str]:
    """What `text` says is absent: content words by key, up to a function word or punctuation."""
    found: dict[str, str] = {}
    for denial in _DENIAL.finditer(text.replace("’", "'")):
        thing = takewhile(lambda word: word not in FUNCTION_WORDS, words(denial[1]))
        found |= content(" ".join(thing))
    return found
