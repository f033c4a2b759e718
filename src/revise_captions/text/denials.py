"""What a text says is not there."""

from __future__ import annotations

import re
from itertools import takewhile

from revise_captions.text.content_words import FUNCTION_WORDS, content, words

#: A denial, and the clause it opens; with "not" an article follows, as "not red" denies no thing.
_DENIAL = re.compile(r"\b(?:no|(?:not|\w+n't)\s+(?:an?|any))\s+(?=([^.,;:!?\n]*))", re.IGNORECASE)


def denied(text: str) -> dict[str, str]:
    """What `text` says is absent: content words by key, up to the next function word or mark."""
    found: dict[str, str] = {}
    for denial in _DENIAL.finditer(text.replace("’", "'")):
        thing = takewhile(lambda word: word not in FUNCTION_WORDS, words(denial[1]))
        found |= content(" ".join(thing))
    return found
