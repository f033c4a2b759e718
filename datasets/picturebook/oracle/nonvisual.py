"""Sentences that say nothing about the picture: there is nothing to assess in them."""

from __future__ import annotations

import random
from itertools import product

_SUBJECTS = (
    "the scene", "the image", "the picture", "the illustration", "the overall scene",
    "the whole scene", "the atmosphere", "the mood", "the overall mood", "everything",
    "the composition",
)  # fmt: skip
_VERBS = ("feels", "is", "seems")
_ADJECTIVES = (
    "calm", "peaceful", "cheerful", "playful", "charming", "inviting", "joyful", "whimsical",
    "relaxed", "friendly", "pleasant", "tranquil", "warm", "lively", "cosy", "simple",
)  # fmt: skip
_FEELINGS = (
    "joy", "calm", "wonder", "peace", "happiness", "nostalgia", "simplicity", "harmony",
    "innocence", "curiosity", "warmth",
)  # fmt: skip
_FIXED = (
    "It looks like a page from a picture book.",
    "The style is simple and friendly.",
    "The drawing style is simple and childlike.",
    "The overall mood is one of quiet happiness.",
    "It is the kind of scene that invites a story.",
    "The viewer is invited to imagine what happens next.",
    "One can almost imagine the story behind it.",
    "The picture tells a small story.",
    "It could be an illustration for a children's story.",
    "Overall, it makes a pleasant impression.",
    "The composition is balanced and easy to take in.",
    "Nothing seems to be in a hurry.",
    "It is a moment to remember.",
    "There is a sense of stillness about it.",
    "It brings back childhood memories.",
    "The artist clearly enjoyed making it.",
    "It is easy to feel at home here.",
    "Such scenes never grow old.",
)


def _patterned() -> set[str]:
    made = set()
    for subject, verb, one, two in product(_SUBJECTS, _VERBS, _ADJECTIVES, _ADJECTIVES):
        if one != two:
            made.add(f"{subject} {verb} {one} and {two}")
    for subject, verb, one in product(_SUBJECTS, _VERBS, _ADJECTIVES):
        made.add(f"{subject} {verb} {one}")
    for subject, feeling, other in product(_SUBJECTS, _FEELINGS, _FEELINGS):
        made.add(f"{subject} conveys a sense of {feeling}")
        if feeling != other:
            made.add(f"{subject} evokes a feeling of {feeling} and {other}")
    for subject, one in product(_SUBJECTS, _ADJECTIVES):
        made.add(f"{subject} has a {one} feel")
        made.add(f"{subject} has a {one} quality to it")
    made.update(fixed[:-1].lower() for fixed in _FIXED)
    return made


_KNOWN = frozenset(_patterned())


def says_nothing(sentence: str) -> bool:
    """Whether a sentence is one of this module's (whatever its case and final stop)."""
    text = sentence.strip().rstrip(".!").lower()
    return text.removeprefix("overall, ") in _KNOWN or text in _KNOWN


def write_nothing(rng: random.Random) -> str:
    """A sentence without a claim."""
    if rng.random() < 0.35:
        return rng.choice(_FIXED)
    subject = rng.choice(_SUBJECTS)
    one, two = rng.sample(_ADJECTIVES, 2)
    feeling, other = rng.sample(_FEELINGS, 2)
    text = rng.choice(
        (
            f"{subject} {rng.choice(_VERBS)} {one} and {two}",
            f"{subject} {rng.choice(_VERBS)} {one} and {two}",
            f"{subject} {rng.choice(_VERBS)} {one}",
            f"{subject} conveys a sense of {feeling}",
            f"{subject} evokes a feeling of {feeling} and {other}",
            f"{subject} has a {one} feel",
            f"{subject} has a {one} quality to it",
        )
    )
    if rng.random() < 0.2 and "overall" not in text:
        text = f"overall, {text}"
    return f"{text[0].upper()}{text[1:]}."
