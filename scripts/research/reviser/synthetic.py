"""Synthetic edits that teach the reviser to copy.

Templates are filled with ordinary words and pseudowords. One slot of the sentence is wrong, the
rationale says so in one of many wordings, and the rewrite is the same template with the right word.
Nothing can be memorized, so the model learns the operation.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from revise_captions.reviser.protocol import RewriteRequest
from scripts.research.frame.data import beside

_MADE_OF = beside(__file__, "synthetic.toml")
_WORDS, _FRAMES = _MADE_OF["words"], _MADE_OF["frames"]
#: By slot of a frame.
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
        "".join(rng.choice(_MADE_OF[part]) for part in ("onsets", "vowels", "codas"))
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
        word = pseudoword(rng).upper() if rng.random() < 0.7 else rng.choice(_WORDS["noun"]).upper()
        return word if rng.random() < 0.8 else f"{word} {pseudoword(rng).upper()}"
    if kind == "relation":
        return str(rng.choice(_WORDS["relation"]))
    if kind == "count":
        return str(rng.choice(_WORDS["count"])) if rng.random() < 0.8 else str(rng.randint(2, 99))
    if rng.random() < odd:
        return pseudoword(rng) + ("ing" if kind == "action" else "")
    return str(rng.choice(_WORDS[kind]))


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
    why = _rationale(rng.choice(_MADE_OF["gone"]), slots, rng)
    failed: tuple[str, ...] = ()
    if rng.random() < 0.3:
        failed = (articles(frame.format(**{**slots, "n": filler("noun", rng, 0.5)})),)
    return RewriteExample(
        RewriteRequest(_context(slots, rng), articles(frame.format(**slots)), why, failed), ""
    )


def _partial_deletion(slots: dict[str, str], rng: random.Random) -> RewriteExample:
    """One of two things does not exist; the rewrite keeps the other."""
    frame, without_m, without_n = rng.choice(_MADE_OF["pairs"])
    gone, rest = rng.choice((("m", without_m), ("n", without_n)))
    why = rng.choice(_MADE_OF["gone"]).format(**{**slots, "n": slots[gone], "a": "such"})
    why = articles(rng.choice(_MADE_OF["intros"]) + why)
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
    why = _rationale(rng.choice(_MADE_OF["rationales"][kind]), names, rng)
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
    text = rng.choice(_MADE_OF["intros"]) + template.format(**names)
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
