"""Claims of absence: what a text says is not there, and the same sentence with what is there."""

from __future__ import annotations

import re

from revise_captions.reviser.content_words import FUNCTION_WORDS, content, words
from revise_captions.text.sentences import split

#: Of the rule in `affirmed`; part of the signature.
VERSION = "affirm/2"
#: What opens a denial; with "not" an article follows, as "not red" denies no thing.
_DENIAL = re.compile(r"\b(?:no|(?:not|\w+n't)\s+(?:an?|any))\s+", re.IGNORECASE)
_CLAUSE = re.compile(r"[^.,;:!?\n]*")
_NO = re.compile(r"\bno\b", re.IGNORECASE)
_NO_THINGS = re.compile(
    r"\bno\s+[^\W\d_]+(?:\s+(?!(?:is|are|and|or|nor|but)\b)[^\W\d_]+)*?"
    r"(?=\s+(?:is|are|can|in|on|at|visible)\b|\s*[.,;!?]|\s*$)",
    re.IGNORECASE,
)
_DETERMINER = r"(?:an?|the|one|two|three|four|five|six|seven|eight|nine|ten|some|several|many)"
#: The ways to say that something is there.
_PRESENT = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\bthere\s+(?:is|are)\s+(?P<thing>{_DETERMINER}\s[^.,;]+?)"
        r"(?=\s+(?:in|on)\s+the\s+(?:picture|image|photo|scene)\b|[.,;]|$)",
        rf"\bthe\s+(?:picture|image|photo)\s+shows\s+(?P<thing>{_DETERMINER}\s[^.,;]+?)(?=[.,;]|$)",
        rf"(?:^|[.;]\s+)(?P<thing>{_DETERMINER}\s[^.,;]+?)(?=\s+can\s+be\s+seen\b)",
    )
)
_ONE = re.compile(r"(?:an?|the|one)\s", re.IGNORECASE)
_BE = re.compile(r"\b(?:is|are)\b", re.IGNORECASE)


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


def affirmed(sentence: str, rationale: str) -> str | None:
    """A sentence that denies one thing, saying instead what the rationale says is there.

    "There are no dogs in the image." with "There is a dog in the picture, but there are no lamps."
    becomes "There is a dog in the image."

    Returns:
        The sentence with the thing in the place of what it denies; None where it does not deny
        exactly one, or the rationale names nothing that is there.
    """
    found = _NO_THINGS.search(sentence)
    present = next((m for p in _PRESENT if (m := p.search(rationale)) is not None), None)
    if found is None or len(_NO.findall(sentence)) > 1 or present is None:
        return None
    thing = " ".join(present["thing"].split())
    thing = thing[0].lower() + thing[1:]
    be = "is" if _ONE.match(thing) else "are"
    before, after = sentence[: found.start()], sentence[found.end() :]
    if not before.strip():
        thing = thing[0].upper() + thing[1:]
        after = _BE.sub(be, after, count=1)
    return _BE.sub(be, before) + thing + after


_BACK = re.compile(
    r"\b(?:he|she|it|they|him|her|hers|them|his|its|their|both|other)\b", re.IGNORECASE
)


def refers_back(after: str) -> bool:
    """Whether the sentence that follows may refer to a thing that the one before it names.

    A thing that is newly said to be there would be taken for its "it". An absent one is not.
    """
    found = split(after)
    return bool(found) and _BACK.search(found[0].of(after)) is not None
