"""What is wrong in other words than the sentence: by another name, by its kind, by what stands
beside it, only by what is true, as a reason, a question or a comparison. Put together from parts.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from revise_captions.graphs.grading import senses
from revise_captions.text.content_words import FUNCTION_WORDS
from scripts.research.edits.sets import PersonEdit
from scripts.research.frame.data import beside
from scripts.research.smollm2_reviser.slips import BOUNDS, NUMBER, TIMES
from scripts.research.smollm2_reviser.words import OF_WORD

OTHERWISE = beside(__file__, "otherwise.toml")
_SPOKEN = beside(__file__, "spoken.toml")
_KIND_OF = {word: kind for kind, words in OTHERWISE["kinds"].items() for word in words.split()}
_TIMES = {word for words in TIMES for word in words}
_CLOCK = re.compile(r"\d?\d[:.]\d\d(?: ?[ap]\.?m\.?)?|\d?\d ?[ap]\.?m\.?", re.IGNORECASE)
_BOUNDED = re.compile(rf"(?:{'|'.join(BOUNDS)}) .*\d?.*", re.IGNORECASE)
_AMOUNT = re.compile(rf"(?:(?:{'|'.join(BOUNDS)}) )?{NUMBER}(?:[ -][a-z]+)?", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:an?|the|his|her|its|their) ", re.IGNORECASE)
_NEGATION = re.compile(r"\b(?:not|no|without)\b")
#: Words beside the right ones that a fragment has at most.
_BESIDE = 5


@dataclass(frozen=True, slots=True)
class Place:
    """A change in the right sentence: its words, and what stands before and after them."""

    wrong: str
    right: str
    before: str
    after: str


@cache
def names() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Other names of words: those written by hand, and WordNet's names and kinds of nouns."""
    written: dict[str, list[str]] = defaultdict(list)
    for table in (_SPOKEN["names"], OTHERWISE["names"]):
        for word, others in table.items():
            written[word] += others
    file = Path(senses.__file__).with_name("senses.json")
    table = json.loads(file.read_text(encoding="utf-8"))
    of_sense: dict[int, list[str]] = defaultdict(list)
    for word, own in table["senses"].items():
        of_sense[own[0]].append(word)
    plain = {word: own for word, own in table["senses"].items() if len(word) > 2}
    found: dict[str, list[str]] = {}
    for word, own in plain.items():
        parents = table["above"][own[0]]
        near = [own[0], *parents, *(up for parent in parents for up in table["above"][parent])]
        others = [other for sense in near for other in of_sense[sense] if other != word]
        if others:
            found[word] = others
    return written, found


def renamed(text: str, rng: random.Random, share: float = 0.7) -> str:
    """Some of the words by other names."""
    written, listed = names()

    def other(match: re.Match[str]) -> str:
        word = match[0].lower()
        pool = written.get(word) if rng.random() < 0.9 else listed.get(word)
        return rng.choice(pool) if pool and rng.random() < share else match[0]

    return re.sub(r"[A-Za-z]+", other, text)


def said_otherwise(place: Place, rng: random.Random) -> str:
    """A rationale without its head and tail."""
    if rng.random() < 0.4:
        return rng.choice(OTHERWISE["cores"]["part"]).format(s=fragment(place, rng))
    slots = _slots(place, rng)
    pool = OTHERWISE["cores"][_family(place, slots, rng)]
    fitting = [one for one in pool if all(slots[name] for name in re.findall(r"{(\w)}", one))]
    if not fitting:
        return fragment(place, rng)
    text: str = rng.choice(fitting).format(**slots)
    if rng.random() < 0.1:
        reason = rng.choice(OTHERWISE["reasons"])
        text = rng.choice(OTHERWISE["because"]).format(s=text, y=reason)
    return text


def fragment(place: Place, rng: random.Random) -> str:
    """The right words with some of what surrounds them, cut anywhere."""
    before, after = place.before, place.after
    if rng.random() < 0.75:
        before, after = renamed(before, rng), renamed(after, rng)
    first, last = rng.randint(0, _BESIDE), rng.randint(0, _BESIDE)
    left, right = before.split()[::-1][:first][::-1], after.split()[: max(last, 2 - first)]
    joined = " ".join([*left, place.right, *right]).strip(" ,;.")
    return re.sub(r" (?=[,.;:'’](?:\s|$|s\b))", "", joined)


def _slots(place: Place, rng: random.Random) -> dict[str, str]:
    wrong, right = place.wrong, place.right
    alias = renamed(wrong, rng, 0.9)
    before, after = place.before.split(), place.after.split()
    if rng.random() < 0.5:
        before, after = (renamed(" ".join(some), rng).split() for some in (before, after))
    beside = " ".join(after[: rng.randint(1, 3)]).strip(" ,.;")
    prior = " ".join(before[-rng.randint(1, 3) :]).strip(" ,.;")
    content = [w for w in re.findall(r"[\w-]+", place.after) if w.lower() not in FUNCTION_WORDS]
    thing = right.split()[-1] if _is_thing(right, wrong) else (content or [""])[0]
    return {
        "r": right, "w": wrong, "a": _ARTICLE.sub("", alias) if rng.random() < 0.6 else alias,
        "n": beside, "p": prior, "t": renamed(thing, rng, 0.6), "x": _difference(place, rng),
        "k": _kind(wrong, right),
    }  # fmt: skip


def _is_thing(right: str, wrong: str) -> bool:
    """Whether both end with the same word, which is then what the others describe."""
    return right.split()[-1:] == wrong.split()[-1:] and right.split()[-1] not in FUNCTION_WORDS


def _difference(place: Place, rng: random.Random) -> str:
    """Words that are in one of the two only; of a negation, what it denies."""
    one, other = place.wrong.split(), place.right.split()
    if {"with", "without", "no"} & {*one, *other}:
        shared = [w for w in other if w not in ("with", "without", "no", "has", "have", "a", "an")]
        follow = place.after.split()[: rng.choice((0, 0, 1, 2))]
        return " ".join([*shared, *(follow or place.after.split()[: not shared])]).strip(" .,;")
    longer, shorter = (other, one) if len(other) > len(one) else (one, other)
    return " ".join(word for word in longer if word not in shorter).strip(" ,")


def _kind(wrong: str, right: str) -> str:
    """What both are: a color, an animal."""
    one, other = (_ARTICLE.sub("", text).split()[-1:] for text in (wrong, right))
    if not one or not other:
        return ""
    mine, theirs = (OF_WORD.get(w[0], _KIND_OF.get(w[0], "")) for w in (one, other))
    return mine if mine == theirs else ""


def _family(place: Place, slots: dict[str, str], rng: random.Random) -> str:
    wrong, right = place.wrong.lower(), place.right.lower()
    if any(one in _TIMES or _CLOCK.fullmatch(one) for one in (wrong, right)):
        return "time"
    if _AMOUNT.fullmatch(wrong) and _AMOUNT.fullmatch(right):
        plain = all(re.fullmatch(NUMBER, one) for one in (wrong, right))
        return "number" if plain else "bound"
    if re.search(r"\b(?:with|without|has|have)\b", right) and _NEGATION.search(f"{wrong} {right}"):
        return "absent" if _NEGATION.search(right) else "present"
    if slots["k"] == "color" and rng.random() < 0.7:
        return "color"
    if set(wrong.split()) < set(right.split()):
        return "added"
    if set(right.split()) < set(wrong.split()):
        return "gone"
    return "kind" if slots["k"] and rng.random() < 0.4 else "other"


def otherwise(edit: PersonEdit, start: int, end: int, rng: random.Random) -> str:
    """A rationale in other words for an edit whose right words stand at [start, end)."""
    (wrong, right), *_ = edit.changes
    place = Place(wrong, right, edit.right[:start], edit.right[end:])
    return said_otherwise(place, rng)
