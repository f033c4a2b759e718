"""Synthetic edits that teach the reviser to copy.

Templates are filled with ordinary words and pseudowords. One slot of the sentence is wrong, the
rationale says so in one of many wordings, and the rewrite is the same template with the right word.
Nothing can be memorized, so the model learns the operation.
"""

# ruff: noqa: SIM905  (word lists read better as text)

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from revise_captions.reviser.protocol import RewriteRequest

ADJECTIVES = (
    "red orange yellow green blue purple pink brown white black gray golden silver dark bright "
    "wooden metal striped round square tall short old new wet broken open closed empty shiny "
    "beige teal maroon turquoise spotted plastic leather glass checkered"
).split()
NOUNS = (
    "house tree flower girl boy dog cat bird car boat table chair lamp ball kite balloon sign "
    "fence cloud horse cow sheep duck bicycle bus truck train bench bottle cup plate book clock "
    "hat shirt jacket scarf umbrella flag door window roof tower bridge statue bowl basket vase "
    "sofa pillow laptop phone guitar ladder bucket rock mushroom apple banana pumpkin cake candle"
).split()
ACTIONS = (
    "standing sitting sleeping jumping waving running lying walking flying resting eating playing "
    "reading leaning floating dancing looking waiting swimming climbing"
).split()
RELATIONS = (
    "to the left of|to the right of|above|below|next to|in front of|behind|on|under|inside|"
    "on top of|across from|near|far from|between the poles and"
).split("|")
PLACES = (
    "meadow beach street room kitchen park forest garden station market field harbor desert "
    "courtyard library museum playground farm bedroom office"
).split()
COUNTS = "one two three four five six seven eight nine ten".split()

_ONSETS = "b bl br c ch d dr f fl g gr h j k l m n p pl qu r s sh sk sn st t tr v w y z".split()
_VOWELS = "a e i o u ee oo ai ou".split()
_CODAS = ["", "", "b", "ck", "d", "g", "l", "m", "n", "nd", "p", "r", "sk", "t", "x", "sh"]

#: Slots: a c adjectives, n m o nouns, v action, r relation, p place, k count, w sign text.
_FRAMES = (
    "A {a} {n} is {v} {r} the {m}.",
    "The {n} is {a}.",
    "The {n} is {a} and {c}.",
    "There is a {a} {n} {r} the {m}.",
    "There is a {n} {r} a {c} {m}.",
    "The {n} is {r} the {m}.",
    "It is {r} the {m}.",
    "It is {a}.",
    "It is {v} {r} a {m}.",
    "{k} {n}s are {v} {r} the {m}.",
    "There are {k} {a} {n}s.",
    "The picture shows {k} {n}s in a {p}.",
    "In the {p}, a {a} {n} is {v}.",
    "The scene is a {p} with a {n} and a {m}.",
    "The {n} has a {a} {m}.",
    "A {a} {n} and a {c} {m} are {r} the {o}.",
    "Both {n}s are {a}.",
    'The sign says "{w}".',
    'A {a} {n} bears the word "{w}" in {c} letters.',
    "A {n} with a {a} {m} is {v} in the {p}.",
    "Nearby, a {a} {n} can be seen {v} {r} a {c} {m}, with a {o} in the background.",
    "The {n} that is {v} {r} the {m} wears a {a} {o}.",
    "She is holding a {a} {n}.",
    "He wears a {a} {n} and is {v}.",
    # Several candidates for one change: which of them it is, only the rationale tells.
    "There is a {n}, a {m}, and a {o}.",
    "We can see a {a} {n}, a {o} and a {c} {m}.",
    "A {n} and a {m} can be seen.",
    "A {a} {n} and a {m} can be seen as well.",
    "The image shows a {n} and a {c} {m}.",
    "We can see a {n}, a {a} {m}, a {o}, and the {p}.",
    "The {a} {n} is {r} the {c} {m}.",
    "The {n} is {a}, while the {m} is {c}.",
    "{r} the {a} {n}, there is a {c} {m}.",
    "The {p} shows {k} {n}s and a {m}.",
)
_INTROS = (
    "",
    "",
    "",
    "In the image, ",
    "The sentence is wrong: ",
    "This is inaccurate because ",
    "The text is incorrect: ",
    "Actually, ",
)
#: By slot: `old` and `new` are fillers, `n` the noun that an adjective is about.
_RATIONALES = {
    "adjective": (
        "the {n} is {new}, not {old}.",
        "the {n} is {new}.",
        "the {n} is actually {new}.",
        "the {n} is not {old}; it is {new}.",
        "the {n} is {new} rather than {old}.",
        "the text says {old}, but the {n} is {new}.",
        "it is {new}, not {old}.",
        "there is no {old} {n}, but a {new} one.",
        "{new}, not {old}.",
        "the color is {new} instead of {old}.",
        "a {new} {n} is shown.",
    ),
    "noun": (
        "it is a {new}, not a {old}.",
        "there is no {old}; it is a {new}.",
        "the {old} is actually a {new}.",
        "what is shown is a {new} instead of a {old}.",
        "there is a {new}, not a {old}.",
        "there is no {old} in the picture, but there is a {new}.",
        "there is no {old} in the picture. A {new} can be seen instead.",
        "there is a {new} instead of a {old}.",
        "the {new} was taken for a {old}.",
    ),
    "action": (
        "the {n} is {new}, not {old}.",
        "it is {new}.",
        "the {n} is not {old} but {new}.",
        "the {n} is {new} instead.",
    ),
    "relation": (
        "it is {new} the {m} rather than {old}.",
        "the {n} is {new} the {m}, not {old} it.",
        "it is {new} the {m}.",
        "the {n} is not {old} the {m}; it is {new} it.",
        "the {n} is actually {new} the {m}.",
        "it is {new} the {m} rather than {old} it.",
    ),
    "place": (
        "the scene is a {new}, not a {old}.",
        "this is a {new}.",
        "the setting is a {new} rather than a {old}.",
    ),
    "count": (
        "there are {new} {n}s, not {old}.",
        "there are only {new} {n}s.",
        "the number of {n}s is {new}, not {old}.",
        "{new} {n}s can be seen instead of {old}.",
    ),
    "sign": (
        'the sign says "{new}", not "{old}".',
        'the word is "{new}".',
        'it reads "{new}" instead of "{old}".',
        "the text on it is {new}, not {old}.",
    ),
}
_GONE = (
    "there is no {n} in the image.",
    "there is no {n}.",
    "no {n} can be seen.",
    "the {n} does not exist.",
    "there is no {a} {n} anywhere.",
    "a {n} is not present in the picture.",
)
_PAIRS = (
    ("There is a {a} {n} and a {c} {m}.", "There is a {a} {n}.", "There is a {c} {m}."),
    ("In the {p} are a {a} {n} and a {m}.", "In the {p} is a {a} {n}.", "In the {p} is a {m}."),
    ("She wears a {a} {n} and a {c} {m}.", "She wears a {a} {n}.", "She wears a {c} {m}."),
)
_KINDS = {"a": "adjective", "c": "adjective", "n": "noun", "m": "noun", "o": "noun"} | {
    "v": "action", "r": "relation", "p": "place", "k": "count", "w": "sign",
}  # fmt: skip
_ABOUT = {"a": "n", "c": "m", "v": "n", "k": "n", "r": "n"}


@dataclass(frozen=True, slots=True)
class RewriteExample:
    """A request and what the reviser should answer ("" deletes)."""

    request: RewriteRequest
    rewrite: str


def pseudoword(rng: random.Random) -> str:
    """A random word of one or two syllables."""
    return "".join(
        rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_CODAS)
        for _ in range(rng.choice((1, 1, 2)))
    )


def articles(text: str) -> str:
    """Corrects "a" and "an" by the next letter, and capitalizes the first letter."""
    text = re.sub(r"\b([Aa])n? (?=[aeiou])", r"\1n ", text)
    text = re.sub(r"\b([Aa])n (?=[^aeiouAEIOU\s])", r"\1 ", text)
    return text[:1].upper() + text[1:]


def filler(kind: str, rng: random.Random, odd: float) -> str:
    """A word for a slot, with probability `odd` a pseudoword."""
    if kind == "sign":
        word = pseudoword(rng).upper() if rng.random() < 0.7 else rng.choice(NOUNS).upper()
        return word if rng.random() < 0.8 else f"{word} {pseudoword(rng).upper()}"
    if kind == "relation":
        return rng.choice(RELATIONS)
    if kind == "count":
        return rng.choice(COUNTS) if rng.random() < 0.8 else str(rng.randint(2, 99))
    if rng.random() < odd:
        return pseudoword(rng) + ("ing" if kind == "action" else "")
    pool = {"adjective": ADJECTIVES, "noun": NOUNS, "action": ACTIONS, "place": PLACES}[kind]
    return rng.choice(pool)


def edit(rng: random.Random) -> RewriteExample:
    """One random example; about 1 in 8 is a deletion, about 1 in 4 has failed attempts."""
    odd = rng.choice((0.0, 0.3, 0.7))
    slots: dict[str, str] = {}
    for slot, kind in _KINDS.items():
        word = filler(kind, rng, odd)
        while word in slots.values():
            word = filler(kind, rng, odd)
        slots[slot] = word
    chance = rng.random()
    if chance < 0.1:
        return _deletion(slots, rng)
    if chance < 0.2:
        return _partial_deletion(slots, rng)
    return _substitution(slots, rng, odd)


def _deletion(slots: dict[str, str], rng: random.Random) -> RewriteExample:
    frame = rng.choice([f for f in _FRAMES if "{n}" in f and "{n}s" not in f])
    why = _rationale(rng.choice(_GONE), slots, rng)
    failed: tuple[str, ...] = ()
    if rng.random() < 0.3:
        failed = (articles(frame.format(**{**slots, "n": filler("noun", rng, 0.5)})),)
    return RewriteExample(
        RewriteRequest(_context(slots, rng), articles(frame.format(**slots)), why, failed), ""
    )


def _partial_deletion(slots: dict[str, str], rng: random.Random) -> RewriteExample:
    """One of two things does not exist; the rewrite keeps the other."""
    frame, without_m, without_n = rng.choice(_PAIRS)
    gone, rest = rng.choice((("m", without_m), ("n", without_n)))
    why = rng.choice(_GONE).format(**{**slots, "n": slots[gone], "a": "such"})
    why = articles(rng.choice(_INTROS) + why)
    request = RewriteRequest(_context(slots, rng), articles(frame.format(**slots)), why)
    return RewriteExample(request, articles(rest.format(**slots)))


def _substitution(slots: dict[str, str], rng: random.Random, odd: float) -> RewriteExample:
    frame = rng.choice(_FRAMES)
    slot = rng.choice(re.findall(r"{(\w)}", frame))
    kind = _KINDS[slot]
    new = filler(kind, rng, odd)
    while new in slots.values():
        new = filler(kind, rng, odd)
    about = slots[_ABOUT.get(slot, "n")]
    if f"{{{_ABOUT.get(slot, 'n')}}}" not in frame:
        about = "thing"
    names = {**slots, "n": about, "old": slots[slot], "new": new}
    why = _rationale(rng.choice(_RATIONALES[kind]), names, rng)
    right = articles(frame.format(**{**slots, slot: new}))
    failed: list[str] = []
    while rng.random() < 0.2 and len(failed) < 3:
        other = filler(kind, rng, odd)
        if other not in (new, *failed):
            failed.append(articles(frame.format(**{**slots, slot: other})))
    if slot in "ac" and rng.random() < 0.08 and re.search(rf"{{{slot}}} {{\w}}", frame):
        # The correction was tried and refused: leave the detail out.
        failed = [*failed[:2], right]
        right = articles(frame.replace(f"{{{slot}}} ", "").format(**slots))
    request = RewriteRequest(
        _context(slots, rng), articles(frame.format(**slots)), why, tuple(failed)
    )
    return RewriteExample(request, right)


def _rationale(template: str, names: dict[str, str], rng: random.Random) -> str:
    text = rng.choice(_INTROS) + template.format(**names)
    if rng.random() < 0.15:
        text = text.rstrip(".")
    return articles(text)


def _context(slots: dict[str, str], rng: random.Random) -> str:
    """Zero to two preceding sentences, some about the same things, with trailing white space."""
    said = []
    for _ in range(rng.choice((0, 1, 1, 2))):
        frame = rng.choice(_FRAMES)
        other = {slot: filler(kind, rng, 0.2) for slot, kind in _KINDS.items()}
        mixed = {s: slots[s] if rng.random() < 0.4 else other[s] for s in slots}
        said.append(articles(frame.format(**mixed)))
    return "".join(f"{sentence} " for sentence in said)
