"""Regular and common irregular forms of English verbs: to write captions, and to read them."""

from __future__ import annotations

from collections.abc import Iterable

_PARTICIPLES = {
    "wear": "worn", "hold": "held", "sit": "sat", "stand": "stood", "eat": "eaten",
    "ride": "ridden",
    "hang": "hung", "swing": "swung", "hit": "hit", "fly": "flown", "throw": "thrown",
    "catch": "caught", "cut": "cut", "make": "made", "have": "had", "lay": "laid", "lie": "lain",
    "drive": "driven", "run": "run", "swim": "swum", "write": "written", "grow": "grown",
    "build": "built", "stick": "stuck", "put": "put", "set": "set", "tie": "tied", "take": "taken",
    "give": "given", "see": "seen", "go": "gone", "come": "come", "fall": "fallen", "feed": "fed",
    "break": "broken", "drink": "drunk", "bend": "bent", "bind": "bound", "leave": "left",
    "lead": "led", "shine": "shone", "light": "lit", "do": "done", "be": "been", "say": "said",
    "read": "read", "spread": "spread", "draw": "drawn", "keep": "kept", "sleep": "slept",
    "lean": "leaned", "bite": "bitten", "blow": "blown", "wind": "wound", "tear": "torn",
}  # fmt: skip
_PAST = {
    "wear": "wore", "eat": "ate", "ride": "rode", "fly": "flew", "throw": "threw", "lie": "lay",
    "drive": "drove", "run": "ran", "swim": "swam", "write": "wrote", "grow": "grew",
    "take": "took", "give": "gave", "see": "saw", "go": "went", "come": "came", "fall": "fell",
    "break": "broke", "drink": "drank", "draw": "drew", "bite": "bit", "blow": "blew",
}  # fmt: skip
_VOWELS = frozenset("aeiou")


def _doubled(verb: str) -> str:
    """ "sit" to "sitt": a single vowel and consonant at the end of a short word."""
    short = len(verb) <= 4 or verb in ("scrub", "strap", "strip", "split", "shrug")
    ends = len(verb) > 2 and verb[-1] not in "aeiouwxy" and verb[-2] in _VOWELS
    return verb + verb[-1] if short and ends and verb[-3] not in _VOWELS else verb


def gerund(verb: str) -> str:
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        return verb[:-1] + "ing"
    return _doubled(verb) + "ing"


def _regular_past(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2:-1] not in _VOWELS:
        return verb[:-1] + "ied"
    return _doubled(verb) + "ed"


def participle(verb: str) -> str:
    """The past participle."""
    return _PARTICIPLES.get(verb) or _regular_past(verb)


def third(verb: str) -> str:
    """Third person singular, present."""
    if verb == "have":
        return "has"
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in _VOWELS:
        return verb[:-1] + "ies"
    return verb + "s"


def forms(verbs: Iterable[str]) -> dict[str, str]:
    """Every form of the verbs to its lemma; a form that is a verb itself is its own."""
    own = list(verbs)
    found: dict[str, str] = {}
    for verb in own:
        for form in (gerund(verb), participle(verb), third(verb), _PAST.get(verb, "")):
            if form:
                found.setdefault(form, verb)
    return found | {verb: verb for verb in own}
