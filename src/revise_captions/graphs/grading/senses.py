"""Which noun is a kind of which, after WordNet.

`senses.json` has nouns with up to two senses that a picture can show, and what is above each
(WordNet 3.0, Princeton University; its license is in `senses.license`).
`scripts/research/parser/make_senses.py` makes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path

from revise_captions.graphs import words
from revise_captions.graphs.triples import lemmas

_FILE = Path(__file__).with_name("senses.json")
_ANYTHING = words.listed("something thing object item stuff")
#: What WordNet files elsewhere, or under another word first.
_SAME = {
    "people": "person", "guy": "man", "dude": "man", "fellow": "man", "gentleman": "man",
    "lady": "woman", "gal": "woman", "kid": "child", "youngster": "child", "bike": "bicycle",
    "motorbike": "motorcycle", "hiker": "person", "crowd": "person", "couple": "person",
    "photo": "picture", "photograph": "picture", "pavement": "sidewalk", "tv": "television",
    "plane": "airplane", "aeroplane": "airplane", "fridge": "refrigerator", "doggy": "dog",
    "sea": "ocean", "sand": "beach", "audience": "person", "individual": "person",
    "human": "person", "rock": "stone", "boulder": "stone", "pup": "puppy", "racquet": "racket",
    "pants": "trousers", "t-shirt": "tee shirt", "tshirt": "tee shirt", "woods": "forest",
    "team": "player",
}  # fmt: skip
#: Kinds that WordNet does not have.
_KINDS = {
    "boy": ("child", "male"), "girl": ("child", "female"), "toddler": ("child",),
    "baby": ("child",), "infant": ("child",), "tee shirt": ("shirt",),
}  # fmt: skip


class Kin(StrEnum):
    """What the second of two names is beside the first."""

    SAME = "same"
    KIND = "a kind of it"
    WIDER = "wider"
    OTHER = "something else"
    UNKNOWN = "unknown"


@lru_cache(maxsize=200_000)
def kin(first: str, second: str) -> Kin:
    """Compares two names, such as "man" and "bearded skier", by their nouns' senses.

    What stands before the noun makes of a thing a kind of it, unless both have another there.
    """
    one, other = lemmas(first), lemmas(second)
    if one == other or one in _ANYTHING:
        return Kin.SAME if one == other else Kin.KIND
    head, its = _head(one), _head(other)
    found = _heads(head, its)
    extra, theirs = _before(one, head), _before(other, its)
    if found not in (Kin.SAME, Kin.KIND, Kin.WIDER) or not (extra or theirs):
        return found
    if extra == theirs:
        return found
    if not extra:
        return Kin.KIND if found is Kin.SAME else found
    if not theirs:
        return Kin.WIDER if found is Kin.SAME else found
    return Kin.UNKNOWN


def _head(name: str) -> str:
    """The last two words where these are a noun of their own ("hot dog"), else the last."""
    parts = name.rsplit(" ", 2)
    pair = " ".join(parts[-2:])
    return pair if len(parts) > 1 and pair in _table()[0] else parts[-1]


def _before(name: str, head: str) -> str:
    return name[: -len(head)].strip()


@lru_cache(maxsize=200_000)
def _heads(one: str, other: str) -> Kin:
    one, other = _SAME.get(one, one), _SAME.get(other, other)
    if one == other:
        return Kin.SAME
    if one in _listed_above(other):
        return Kin.KIND
    if other in _listed_above(one):
        return Kin.WIDER
    senses = _table()[0]
    mine, theirs = senses.get(one), senses.get(other)
    if mine is None or theirs is None:
        return Kin.UNKNOWN
    if mine[0] in theirs or theirs[0] in mine:
        return Kin.SAME
    if _above(theirs[0]).intersection(mine):
        return Kin.KIND
    return Kin.WIDER if _above(mine[0]).intersection(theirs) else Kin.OTHER


@cache
def _listed_above(word: str) -> frozenset[str]:
    """What a word is a kind of by the lists of this module and of `graphs.words`."""
    people = {wide for wide, narrow in words.WIDER.items() if word in narrow}
    return frozenset(people.union(_KINDS.get(word, ()))) - {word}


@cache
def _above(sense: int) -> frozenset[int]:
    """Everything that a sense is a kind of."""
    parents = _table()[1][sense]
    return frozenset(parents).union(*(_above(parent) for parent in parents))


@cache
def _table() -> tuple[Mapping[str, Sequence[int]], Sequence[Sequence[int]]]:
    found = json.loads(_FILE.read_text(encoding="utf-8"))
    return found["senses"], found["above"]
