"""Claims of absence: corrects a sentence that denies one thing to say what is there."""

from __future__ import annotations

import re

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


def affirmed(sentence: str, rationale: str) -> str | None:
    """The sentence, with what it denies replaced by what the rationale says is there.

    "There are no dogs in the image." with "There is a dog in the picture, but there are no lamps."
    becomes "There is a dog in the image."

    Returns:
        The sentence that says what is there; None if the original does not deny exactly one thing,
        or the rationale names nothing that is there.
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
