"""Small faults that any sentence can have: a digit, a bound, an attribute too few or too many, a
preposition, a negation, a time. Each goes both ways, so the changed sentence may be the right one.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from scripts.research.edits.sets import PersonEdit
from scripts.research.smollm2_reviser.faults import articled
from scripts.research.smollm2_reviser.words import CLASSES

NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve",
           "fifteen", "twenty", "thirty", "fifty")  # fmt: skip
BOUNDS = ("only", "just", "at least", "at most", "up to", "about", "around", "almost", "nearly",
          "exactly", "roughly", "approximately", "over", "under", "more than", "less than",
          "fewer than", "as many as", "no more than", "close to", "some", "merely")  # fmt: skip
TIMES = (
    ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    ("january", "february", "march", "april", "june", "july", "august", "september", "october",
     "november", "december"),
    ("spring", "summer", "autumn", "fall", "winter"),
    ("morning", "noon", "afternoon", "evening", "night", "dusk", "dawn", "sunset", "sunrise",
     "midnight", "midday"),
)  # fmt: skip
_PLACES = ("on", "in", "under", "behind", "above", "beside", "near", "inside", "outside", "below",
           "next to", "in front of", "on top of", "across", "along", "against", "around",
           "between", "over", "at", "by")  # fmt: skip
_DETERMINER = r"(?:an?|the|his|her|its|their|two|three|some|this)"
_ADJECTIVES = [w for name in ("color", "material", "size", "shape", "pattern", "state", "age")
               for w in CLASSES[name]]  # fmt: skip
NUMBER = rf"(?:(?<![\w.,:/$#-])\$?\d+(?:[.,]\d+)*%?(?![\w:/]|[.,-]\d)|\b(?:{'|'.join(NUMBERS)})\b)"
_BOUNDED = re.compile(rf"(?:\b(?P<bound>{'|'.join(BOUNDS)}) )?(?P<number>{NUMBER})", re.IGNORECASE)
_MODIFIED = re.compile(rf"\b({_DETERMINER}) ({'|'.join(_ADJECTIVES)}) (?=[a-z]{{3,}})")
_LISTED = re.compile(rf"\b(?:{'|'.join(CLASSES['color'])})\b")
_PLACED = re.compile(rf"\b(?:{'|'.join(_PLACES)})\b(?= (?:{_DETERMINER}|[a-z]{{3,}})\b)")
_DENIED = re.compile(
    r"\b(?P<verb>is|are|was|were|will|can|has|have|does)(?P<not> not)? (?=[a-z]+)"
    r"|\b(?P<joint>with|without) (?=[a-z]+)|\b(?P<has>has|have) (?P<how>no|an?) (?=[a-z]+)"
)
#: Where, and what stands there in the other of the two sentences.
Change = tuple[int, int, str]


def _digit(text: str, rng: random.Random) -> Change | None:
    found = list(re.finditer(NUMBER, text))
    if not found:
        return None
    one = rng.choice(found)
    if one[0] in NUMBERS:
        return (*one.span(), rng.choice([w for w in NUMBERS if w != one[0]]))
    digits = [k for k, mark in enumerate(one[0]) if mark.isdigit()]
    at = rng.choice(digits)
    other = rng.choice([d for d in "123456789" if d != one[0][at]])
    return (*one.span(), f"{one[0][:at]}{other}{one[0][at + 1 :]}")


def _bound(text: str, rng: random.Random) -> Change | None:
    found = list(_BOUNDED.finditer(text))
    if not found:
        return None
    one = rng.choice(found)
    free = [bound for bound in BOUNDS if bound != one["bound"]]
    other = rng.choice((one["number"], f"{rng.choice(free)} {one['number']}"))
    return (*one.span(), other if one["bound"] else f"{rng.choice(BOUNDS)} {one['number']}")


def _modifier(text: str, rng: random.Random) -> Change | None:
    """An attribute lost, with the word before it, the word after it, or alone."""
    found = list(_MODIFIED.finditer(text))
    if not found:
        return None
    one = rng.choice(found)
    after = re.match(r"[\w-]+", text[one.end() :])
    assert after is not None, text
    if rng.random() < 0.5:
        return one.start(), one.end() + after.end(), f"{one[1]} {after[0]}"
    return one.start(2), one.end() + after.end(), after[0]


def _colors(text: str, rng: random.Random) -> Change | None:
    """A color that becomes a list."""
    found = list(_LISTED.finditer(text))
    if not found:
        return None
    one = rng.choice(found)
    more = rng.sample([c for c in CLASSES["color"][:12] if c != one[0]], 2)
    listed = [
        f"{one[0]} and {more[0]}",
        f"{more[0]} and {one[0]}",
        f"{one[0]}, {more[0]} and {more[1]}",
    ]
    return (*one.span(), rng.choice(listed))


def _place(text: str, rng: random.Random) -> Change | None:
    found = list(_PLACED.finditer(text))
    if not found:
        return None
    one = rng.choice(found)
    return (*one.span(), rng.choice([place for place in _PLACES if place != one[0]]))


def _negation(text: str, rng: random.Random) -> Change | None:
    found = list(_DENIED.finditer(text))
    if not found:
        return None
    one = rng.choice(found)
    rest = re.match(r"[\w’'-]+", text[one.end() :])
    assert rest is not None, text
    if one["joint"]:
        other = "without" if one["joint"] == "with" else "with"
    elif one["has"]:
        other = f"{one['has']} {'a' if one['how'] == 'no' else 'no'}"
    else:
        other = f"{one['verb']}{'' if one['not'] else ' not'}"
    if one["joint"] and rng.random() < 0.3:
        return one.start(), one.end() - 1, other
    return one.start(), one.end() + rest.end(), f"{other} {rest[0]}"


def _time(text: str, rng: random.Random) -> Change | None:
    pattern = rf"\b(?:{'|'.join(word for words in TIMES for word in words)})\b"
    found = [m for m in re.finditer(pattern, text, re.IGNORECASE) if m[0].lower() != "march"]
    if not found:
        return None
    one = rng.choice(found)
    pool = next(words for words in TIMES if one[0].lower() in words)
    other = rng.choice([word for word in pool if word != one[0].lower()])
    return (*one.span(), other.title() if one[0].istitle() else other)


SLIPS: dict[str, Callable[[str, random.Random], Change | None]] = {
    "digit": _digit, "bound": _bound, "modifier": _modifier, "colors": _colors, "place": _place,
    "negation": _negation, "time": _time,
}  # fmt: skip


def slip(source: str, text: str, kind: str, rng: random.Random) -> PersonEdit | None:
    """One fault of a kind, in one direction or the other; None where the sentence has no place."""
    made = SLIPS[kind](text, rng)
    if made is None:
        return None
    start, end, other = made
    changed = f"{text[:start]}{other}{text[end:]}"
    said = text[start:end]
    if changed == text or articled(changed) != changed or articled(text) != text:
        return None
    if start == 0:
        changed = f"{changed[:1].upper()}{changed[1:]}" if text[:1].isupper() else changed
        said, other = (f"{one[:1].lower()}{one[1:]}" for one in (said, other))
    if rng.random() < 0.5:
        return PersonEdit(source, f"slip: {kind}", changed, text, ((other, said),))
    return PersonEdit(source, f"slip: {kind}", text, changed, ((said, other),))
