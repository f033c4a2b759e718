"""What a text says is not there."""

from __future__ import annotations

import re

from revise_captions.text.content_words import FUNCTION_WORDS, content, words

#: What opens a denial; with "not" an article follows, as "not red" denies no thing.
_DENIAL = re.compile(r"\b(?:no|(?:not|\w+n't)\s+(?:an?|any))\s+", re.IGNORECASE)
_CLAUSE = re.compile(r"[^.,;:!?\n]*")


def denied(text: str) -> dict[str, str]:
    """What `text` says is absent: content words by key, up to the next function word or mark."""
    found: dict[str, str] = {}
    plain = text.replace("’", "'")
    for opening in _DENIAL.finditer(plain):
        clause = _CLAUSE.match(plain, opening.end())
        thing: list[str] = []
        for word in words(clause[0] if clause else ""):
            if word in FUNCTION_WORDS:
                break
            thing.append(word)
        found |= content(" ".join(thing))
    return found
