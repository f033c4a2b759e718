"""Wordings of what a thing is and what it is not, for every kind of fact."""

from __future__ import annotations

import random
from collections.abc import Iterator

from revise_captions.picturebook.language.realize import (
    complement,
    held_phrase,
    noun_phrase,
    part_phrase,
    word_phrase,
)
from revise_captions.picturebook.semantics.claims import (
    NP,
    Constraint,
    Has,
    Holds,
    Not,
    Placed,
    Size,
    Stands,
    main_slot,
)
from revise_captions.picturebook.semantics.discourse import by_id
from revise_captions.picturebook.semantics.facts import refer
from revise_captions.picturebook.semantics.lexicon import (
    NUMBER_WORDS,
    PART_NOUNS,
    PLURAL_PARTS,
)
from revise_captions.picturebook.world.scene import Scene


class Subject:
    """How a rationale refers to the thing that a sentence was wrong about."""

    def __init__(self, text: str, many: bool, pronoun: str, noun: str, unique: bool, kind: str):
        self.text, self.many, self.noun, self.kind = text, many, noun, kind
        self.pronoun, self.unique = pronoun, unique
        self.be = "are" if many else "is"
        self.pronoun_be = "are" if pronoun == "they" else "is"
        self.does = "do" if many else "does"
        self.has = "have" if many else "has"
        self.its = {"it": "its", "she": "her", "he": "his", "they": "their"}[pronoun]


def references(
    scene: Scene, ids: tuple[int, ...], rng: random.Random, true: Constraint | None = None
) -> list[Subject]:
    """Ways to refer to things, without using the fact (`true`) that was wrong."""
    things = by_id(scene, ids)
    if not things:
        return []
    kind = things[0].kind
    if len(things) > 1:
        kinds = {t.kind for t in things}
        if len(kinds) == 1 and len(things) == len(scene.of_kind(kind)):
            text = noun_phrase(NP("the", (kind,), (), 0))
            return [Subject(text, True, "they", kind, False, kind),
                    Subject("they", True, "they", kind, False, kind)]  # fmt: skip
        return [Subject("they", True, "they", kind, False, kind)]
    pronoun = {"girl": "she", "boy": "he"}.get(kind, "it")
    unique = len(scene.of_kind(kind)) == 1
    made = []
    for plain in (True, False):
        np = refer(scene, things[0], rng, plain=plain, without=true)
        if np is not None:
            made.append(Subject(noun_phrase(np), False, pronoun, kind, unique, kind))
    made.append(Subject(pronoun, False, pronoun, kind, False, kind))
    if not unique:
        made.append(Subject(f"the {kind}", False, pronoun, kind, False, kind))
    return made


def about(subject: Subject, true: Constraint, false: Constraint) -> Iterator[str]:
    match true, false:
        case Stands(), Stands():
            yield from _about_relation(subject, true, false)
        case Holds(), Holds():
            yield from _about_held(subject, true, false)
        case Has("hat", value), Not():
            phrase = part_phrase(Has("hat", value), subject.many)
            yield f"{subject.text} {subject.be} wearing {phrase}."
            yield f"{subject.text} {subject.does} have {phrase}.".replace("does have", "has")
        case Not(), Has("hat", value):
            phrase = part_phrase(Has("hat", value))
            yield f"{subject.text} {subject.be} not wearing a hat."
            yield f"{subject.text} {subject.does} not have {phrase}."
        case Has("word", value), Has("word", wrong):
            yield from _about_word(subject, value, wrong)
        case Has("windows", _), Has("windows", wrong):
            phrase = part_phrase(true)
            number = NUMBER_WORDS[int(wrong)]
            yield f"{subject.text} has {phrase}."
            yield f"{subject.text} has {phrase}, not {number}."
            wrong = part_phrase(false)
            yield f"{subject.text} does not have {wrong}. {subject.pronoun} has {phrase}."
        case Has(slot, _), Has() if slot in PART_NOUNS and slot != main_slot(subject.kind):
            yield from _about_part(subject, true, false)
        case Has(slot, _), Has() if slot in PART_NOUNS:
            yield from _about_part(subject, true, false)
            yield from _plainly(subject, Has("", true.value), Has("", false.value))
        case ((Has() | Size() | Placed()), (Has() | Size() | Placed())):
            yield from _plainly(subject, true, false)
            if subject.unique and isinstance(true, Has) and isinstance(false, Has):
                yield from _no_such(subject.noun, true, false)


def _no_such(noun: str, true: Has, false: Has) -> Iterator[str]:
    if true.slot == "":
        no = f"there is no {false.value} {noun}"
        yield f"{no}; the {noun} is {true.value}."
        yield f"{no} in the picture. the {noun} is {true.value}."


def _plainly(subject: Subject, true: Constraint, false: Constraint) -> Iterator[str]:
    text, be, pronoun = subject.text, subject.be, subject.pronoun
    right, wrong = complement(true, subject.many), complement(false, subject.many)
    yield f"{text} {be} {right}."
    yield f"{text} {be} {right}, not {wrong}."
    yield f"{text} {be} {right} rather than {wrong}."
    yield f"{text} {be} not {wrong}; {pronoun} {subject.pronoun_be} {right}."
    yield f"{text} {be} not {wrong}. in fact, {pronoun} {subject.pronoun_be} {right}."
    yield f"{text} {be} actually {right}, not {wrong}."


def _about_part(subject: Subject, true: Has, false: Has) -> Iterator[str]:
    nouns = PART_NOUNS[true.slot]
    noun = nouns[true.form % len(nouns)]
    if subject.many:
        verb = "are wearing" if true.slot in ("shirt", "hat") else "have"
        yield f"{subject.text} {verb} {part_phrase(true, True)}, not {part_phrase(false, True)}."
        yield f"{subject.text} {verb} {part_phrase(true, True)}."
        return
    be = "are" if noun in PLURAL_PARTS else "is"
    part = (
        f"{subject.its} {noun}"
        if subject.text == subject.pronoun
        else (f"the {noun} of {subject.text}")
    )
    phrase, wrong = part_phrase(true), part_phrase(false)
    yield f"{part} {be} {true.value}, not {false.value}."
    yield f"{part} {be} {true.value}."
    yield f"{part} {be} not {false.value} but {true.value}."
    yield f"{part} {be} {true.value} rather than {false.value}."
    verb = "is wearing" if true.slot in ("shirt", "hat") else "has"
    yield f"{subject.text} {verb} {phrase}, not {wrong}."
    yield f"{subject.text} {verb} {phrase}."
    yield f"{subject.text} does not have {wrong}. {subject.its} {noun} {be} {true.value}."


def _about_word(subject: Subject, true: str, false: str) -> Iterator[str]:
    text, pronoun = subject.text, subject.pronoun
    yield f"{text} says {true}."
    yield f"{text} says {true}, not {false}."
    yield f"{text} reads {true} rather than {false}."
    yield f"{text} does not say {false}; {pronoun} says {true}."
    yield f"{text} does not say {word_phrase(false, 1)}. {pronoun} says {word_phrase(true, 1)}."


def _about_held(subject: Subject, true: Holds, false: Holds) -> Iterator[str]:
    text, be = subject.text, subject.be
    pronoun, its_be = subject.pronoun, subject.pronoun_be
    right, wrong = held_phrase(true, subject.many), held_phrase(false, subject.many)
    yield f"{text} {be} holding {right}."
    yield f"{text} {be} holding {right}, not {wrong}."
    yield f"{text} {be} not holding {wrong}; {pronoun} {its_be} holding {right}."
    yield f"{text} {be} not holding {wrong}. in fact, {text} {be} holding {right}."


def _about_relation(subject: Subject, true: Stands, false: Stands) -> Iterator[str]:
    text, be = subject.text, subject.be
    right, wrong = complement(true, subject.many), complement(false, subject.many)
    yield f"{text} {be} {right}."
    yield f"{text} {be} not {wrong}; {subject.pronoun} {subject.pronoun_be} {right}."
    yield f"{text} {be} not {wrong}. in fact, {subject.pronoun} {subject.pronoun_be} {right}."
    if true.other == false.other:
        bare = {"left of": "to the left", "right of": "to the right", "above": "above",
                "below": "below", "in front of": "in front", "behind": "behind"}.get(
            false.relation, wrong)  # fmt: skip
        if bare != "in front":
            yield f"{text} {be} {right}, not {bare}."
            yield f"{text} {be} {right} rather than {bare}."
    else:
        yield f"{text} {be} {right}, not {wrong}."
