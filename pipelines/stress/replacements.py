"""Descriptions with other names and dates, and with frequent alignment errors.

Rules for English. A proper name is a run of capitalized words; the first word of a sentence belongs
to it if it is no English word, or is capitalized inside a sentence, too. A date is a year, a month
or a weekday. An
alignment error is another color, garment, age or count (van Miltenburg & Elliott 2017).
"""

from __future__ import annotations

import random
import re

from revise_captions.text.sentences import split

_PLACES = ("Lisbon", "Nairobi", "Quebec", "Kyoto", "Bergen", "Lima", "Adelaide", "Krakow")
_PEOPLE = ("Harriet Lindqvist", "Tomas Okafor", "Maria Castellanos", "Edwin Parrish")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August",
           "September", "October", "November", "December")  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NAME = re.compile(r"\b[A-Z][\w’'.-]*\w(?:\s+(?:(?:of|the|de|la|van|von)\s+)?[A-Z][\w’'-]*\w)*")
_YEAR = re.compile(r"\b(1[5-9]|20)(\d\d)\b")
_NO_NAMES = frozenset("I I'm I'd The A An In On At It Its He She They".split())  # noqa: SIM905

#: Words of a kind; each is replaced by another of its line.
_LINES = (
    "red blue green yellow purple orange",
    "black white pink brown gray grey",
    "golden silver turquoise",
    "shirt coat sweater jacket dress",
    "shirts coats sweaters jackets dresses",
    "hat cap helmet scarf",
    "hats caps helmets scarves",
    "jeans shorts trousers skirt",
    "suit uniform bathrobe",
    "suits uniforms bathrobes",
    "shoes boots sandals",
    "young elderly middle-aged",
    "child adult teenager",
    "children adults teenagers",
    "boy man",
    "boys men",
    "girl woman",
    "girls women",
    "baby grandmother",
    "two three five seven",
    "four six eight nine",
    "dozen hundred",
)
_KINDS: dict[str, list[str]] = {}
for _line in _LINES:
    for _word in _line.split():
        _KINDS[_word] = [other for other in _line.split() if other != _word]
_KINDS["gray"].remove("grey")
_KINDS["grey"].remove("gray")
_ERRORS = re.compile(rf"\b({'|'.join(sorted(_KINDS, key=len, reverse=True))})\b", re.IGNORECASE)


def with_other_names(text: str, rng: random.Random) -> str:
    """Every proper name and date replaced by another; the same name everywhere by the same."""
    chosen: dict[str, str] = {}
    starts = {span.start for span in split(text)}
    inside = {
        word
        for found in _NAME.finditer(text)
        if found.start() not in starts
        for word in found[0].split()
    }

    def name(found: re.Match[str]) -> str:
        words = found[0].split()
        first = found.start() in starts and words[0] not in inside and _is_word(words[0])
        kept = f"{words.pop(0)} " if first or words[0] in _NO_NAMES else ""
        if not words or all(word in _NO_NAMES for word in words):
            return found[0]
        said = " ".join(words)
        if said not in chosen:
            chosen[said] = _other_name(said, rng)
        return kept + chosen[said]

    return _YEAR.sub(lambda found: _other_year(found, rng), _NAME.sub(name, text))


def _is_word(text: str) -> bool:
    """Whether a capitalized word at a sentence's start may be one that is no name."""
    from simplemma import is_known

    return text not in _MONTHS and text not in _DAYS and is_known(text.lower(), lang="en")


def _other_name(said: str, rng: random.Random) -> str:
    names = _PEOPLE if " " in said else _PLACES
    kind = _MONTHS if said in _MONTHS else _DAYS if said in _DAYS else names
    return rng.choice([other for other in kind if other != said])


def _other_year(found: re.Match[str], rng: random.Random) -> str:
    return found[1] + f"{(int(found[2]) + rng.randint(3, 60)) % 100:02d}"


def with_errors(text: str, rng: random.Random) -> str:
    """Every color, garment, age and count that the lists have, replaced by another."""
    chosen: dict[str, str] = {}

    def other(found: re.Match[str]) -> str:
        word = found[0].lower()
        if word not in chosen:
            chosen[word] = rng.choice(_KINDS[word])
        new = chosen[word]
        return new.capitalize() if found[0][0].isupper() else new

    return _with_articles(_ERRORS.sub(other, text))


def _with_articles(text: str) -> str:
    """“a orange” becomes “an orange”, and “an red” “a red”."""
    text = re.sub(r"\b([Aa]) (?=(?:orange|elderly|adult|eight)\b)", r"\1n ", text)
    return re.sub(
        r"\b([Aa])n (?=(?!orange|elderly|adult|eight)(?:{})\b)".format("|".join(_KINDS)),
        r"\1 ",
        text,
    )
