"""Rationales: what is wrong with a sentence, and what is there instead, in several phrasings.

Candidates are worded from the edit that made the sentence wrong; `explain` keeps those that are
right according to the oracle and contain every content word that the rewrite needs.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace

from revise_captions.picturebook.language.contrasts import about, references
from revise_captions.picturebook.language.edits import Edit
from revise_captions.picturebook.language.realize import complement, noun_phrase
from revise_captions.picturebook.oracle.tokens import words_of
from revise_captions.picturebook.oracle.truth import check_clauses, failures_of
from revise_captions.picturebook.semantics.claims import (
    NP,
    Constraint,
    Has,
    Placed,
    SceneClaim,
    SentenceForm,
    Stands,
    Statement,
)
from revise_captions.picturebook.semantics.discourse import State, by_id, of_kinds
from revise_captions.picturebook.semantics.facts import refer
from revise_captions.picturebook.semantics.lexicon import (
    FUNCTION_WORDS,
    NOUNS,
    NUMBER_WORDS,
    PEOPLE,
    lemma,
)
from revise_captions.picturebook.world.scene import Scene, Thing

MOST = 5
_START = re.compile(r"(?:^|(?<=\. ))[a-z]")


def content_words(text: str) -> set[str]:
    """The lemmas that carry content: no articles, pronouns, auxiliaries, punctuation."""
    return {
        lemma(word)
        for word in words_of(text).lower
        if word.isalnum() and word not in FUNCTION_WORDS
    }


def explain(
    scene: Scene,
    before: State,
    after: State,
    wrong: SentenceForm,
    edit: Edit,
    true_text: str,
    wrong_text: str,
    rng: random.Random,
) -> tuple[str, ...]:
    """Two to five correct rationales, in random order; fewer if no more wordings fit.

    `before` and `after`: the discourse before and after the wrong sentence.
    """
    needed = content_words(true_text) - content_words(wrong_text)
    failing = failures_of(scene, before, wrong.clauses)
    candidates = list(dict.fromkeys(_candidates(scene, edit, rng)))
    rng.shuffle(candidates)
    kept: list[str] = []
    for text in candidates:
        text = _START.sub(lambda match: match[0].upper(), text)
        if needed <= content_words(text) and check_clauses(scene, failing, after, text):
            kept.append(text)
            if len(kept) == MOST:
                break
    return tuple(kept)


def _candidates(scene: Scene, edit: Edit, rng: random.Random) -> Iterator[str]:
    old, new = edit.old, edit.new
    if isinstance(old, SceneClaim) and isinstance(new, SceneClaim):
        yield from _about_scene(old, new)
        return
    if isinstance(old, NP) and isinstance(new, NP):
        if edit.error_type == "count":
            yield from _about_count(old, new)
        elif old.det == "no":
            yield from _about_denial(scene, old, new, rng)
        else:
            yield from _about_kind(scene, edit, old, new, rng)
        return
    if isinstance(old, NP | SceneClaim) or isinstance(new, NP | SceneClaim):
        return
    if isinstance(old, Stands) and isinstance(new, Stands) and edit.error_type == "object":
        yield from _about_landmark(scene, edit, old, new, rng)
        return
    if edit.extra is not None:
        yield from _about_both(scene, edit, old, new, rng)
        return
    for subject in references(scene, edit.owner, rng, old):
        yield from about(subject, old, new)


def _about_both(
    scene: Scene, edit: Edit, old: Constraint, new: Constraint, rng: random.Random
) -> Iterator[str]:
    """Two swapped values: one sentence about each thing or part."""
    if edit.extra is None:
        return
    old2, new2, owner2 = edit.extra
    for one in references(scene, edit.owner, rng)[:2]:
        for two in references(scene, owner2, rng)[:2]:
            first = list(about(one, old, new))
            second = list(about(two, old2, new2))
            for a, b in zip(first, second, strict=False):
                yield f"{a} {b}"
            if first and second:
                yield f"{first[0][:-1]}, and {second[0]}"
                yield f"{first[0][:-1]} and {second[0]}"


def _about_scene(true: SceneClaim, false: SceneClaim) -> Iterator[str]:
    right, wrong = true.value, false.value
    match true.what:
        case "setting":
            right, wrong = f"a {true.noun or right}", f"a {wrong}"
            yield f"the scene is {right}, not {wrong}."
            yield f"the setting is {right} rather than {wrong}."
            yield f"the setting is {right}."
            yield f"the picture shows {right}, not {wrong}."
            yield f"this is not {wrong} but {right}."
            yield f"it is not {wrong}. the picture shows {right}."
        case "time":
            noun = "daytime" if "daytime" in true.noun else "nighttime" if (
                "nighttime" in true.noun) else right  # fmt: skip
            yield f"it is {noun}."
            yield f"it is {noun}, not {wrong}."
            yield f"it is not {wrong}; it is {noun}."
            yield f"it is {noun} rather than {wrong}."
            yield f"the picture shows a {noun} scene, and it is not {wrong}."
        case "weather":
            yield f"the weather is {right}."
            yield f"the weather is {right}, not {wrong}."
            yield f"it is not {wrong}; it is {right}."
            yield (
                f"it is a {right} {('day', 'day')[0]}."
                if false.noun == "day"
                else (f"the sky is not {wrong}. the weather is {right}.")
            )
            yield f"it is {right} rather than {wrong}."
        case "wall":
            yield f"the walls are {right}."
            yield f"the walls are {right}, not {wrong}."
            yield f"the walls of the room are {right} rather than {wrong}."
            yield f"the walls are not {wrong}. the room has {right} walls."
            yield f"the room has {right} walls, not {wrong}."


def _about_count(true: NP, false: NP) -> Iterator[str]:
    number = NUMBER_WORDS[false.count]
    right = noun_phrase(true)
    be = "are" if true.count > 1 else "is"
    one = "one" if true.count == 1 else right.split()[0]
    right = f"one {right.split(' ', 1)[1]}" if true.count == 1 else right
    yield f"there {be} {right}, not {number}."
    yield f"there {be} {right}."
    yield f"there {be} {right} in the picture, not {number}."
    yield f"there {be} {right} rather than {number}."
    yield f"there are not {noun_phrase(replace(false))}. there {be} {right}."
    yield f"the picture shows {right}, not {number}."
    if true.count == 1:
        yield f"there is only {one} {right.split(' ', 1)[1]}, not {number}."
        yield f"there is only {noun_phrase(replace(true, det='a', count=1))}."


def _about_denial(scene: Scene, true: NP, false: NP, rng: random.Random) -> Iterator[str]:
    """ "There is no cat" if there is one: what there is, and what there is not."""
    kind = next(t.kind for t in scene.things if t.kind in false.kinds)
    absent = noun_phrase(true)
    be = "are" if true.count != 1 else "is"
    things = scene.of_kind(kind)
    if not things:
        return
    here = noun_phrase(
        NP("a", (kind,)) if len(things) == 1 else NP("number", (kind,), (), len(things))
    )
    if kind in ("sun", "moon"):
        here = f"the {kind}"
    are = "are" if len(things) > 1 else "is"
    yield f"there {are} {here} in the picture, but there {be} {absent}."
    yield f"there {are} {here}, but there {be} {absent}."
    yield f"{here} can be seen. there {be} {absent}."
    yield f"the picture shows {here}, but {absent} {be} visible."
    detailed = refer(scene, rng.choice(things), rng)
    if detailed is not None and kind not in ("sun", "moon"):
        text = noun_phrase(replace(detailed, det="a"))
        yield f"there is {text} in the picture. there {be} {absent}."


def _about_kind(scene: Scene, edit: Edit, true: NP, false: NP, rng: random.Random) -> Iterator[str]:
    """Something else was named: what is not there, what is."""
    wrong_kind = false.kinds[0]
    clause = edit.form.clauses[edit.clause]
    things = by_id(scene, edit.owner)
    spots = [c for c in (*true.constraints, *_preds(clause)) if isinstance(c, Stands | Placed)]
    place = f" {complement(spots[0], False)}" if spots else ""
    plain = replace(true, constraints=tuple(
        c for c in true.constraints if not isinstance(c, Stands | Placed)))  # fmt: skip
    if plain.det in ("it", "he", "she", "they"):
        return
    if plain.det == "the" and true.kinds[0] not in ("sun", "moon"):
        plain = replace(plain, det="a") if plain.count == 1 else plain
    right = noun_phrase(plain)
    many = plain.count != 1
    be = "are" if many else "is"
    absent = not of_kinds(scene, false.kinds)
    no = noun_phrase(NP("no", (wrong_kind,), (), 1 if single(wrong_kind) or not many else 0))
    no_be = "are" if many and not single(wrong_kind) else "is"
    wrong = noun_phrase(replace(false, constraints=tuple(
        c for c in false.constraints if not isinstance(c, Stands | Placed))))  # fmt: skip
    if absent:
        yield f"there {no_be} {no} in the picture, but there {be} {right}{place}."
        yield f"there {no_be} {no}; there {be} {right}{place}."
        yield f"there {no_be} {no} in the picture. {right} can be seen{place} instead."
        yield f"there {be} {right}, not {_bare(false)}."
        yield f"there {be} {right} instead of {_bare(false)}."
        yield f"there {no_be} {no}{place}; there {be} {right}."
    else:
        yield f"there {no_be} not {wrong}{place}. there {be} {right}{place}."
        yield f"there {be} {right}{place}, not {wrong}."
        yield f"there {no_be} {no}{place}; there {be} {right}."
    if len(things) == 1 and not many and edit.error_type == "kind":
        yield from _it_is(scene, things[0], right, _bare(false), place)
    if things and _preds(clause) and absent:
        true_text = complement(_preds(clause)[0], many) if _wordable(_preds(clause)[0]) else ""
        if true_text:
            ref = noun_phrase(plain)
            yield f"there {no_be} {no} in the picture. {ref} {be} {true_text}{place}."


def single(kind: str) -> bool:
    return kind in ("sun", "moon")


def _wordable(constraint: Constraint) -> bool:
    return isinstance(constraint, Has) and constraint.slot in ("pose", "rest", "", "light")


def _preds(clause: Statement | SceneClaim) -> tuple[Constraint, ...]:
    return clause.preds if isinstance(clause, Statement) else ()


def _bare(np: NP) -> str:
    """The noun with its article or number and nothing else."""
    det = (
        "a" if np.det == "the" and np.kinds[0] not in ("sun", "moon") and np.count == 1 else np.det
    )
    return noun_phrase(replace(np, det=det, constraints=()))


def _it_is(scene: Scene, thing: Thing, right: str, wrong: str, place: str) -> Iterator[str]:
    yield f"it is {right}, not {wrong}."
    generic = (
        "child"
        if thing.kind in PEOPLE
        else ("animal" if thing.kind in ("dog", "cat", "bird") else "")
    )
    if generic and place:
        yield f"the {generic}{place} is {right}, not {wrong}."
        yield f"the {generic}{place} is {right}."
    elif generic and sum(t.kind in NOUNS[generic] for t in scene.things) == 1:
        yield f"the {generic} is {right}, not {wrong}."


def _about_landmark(
    scene: Scene, edit: Edit, true: Stands, false: Stands, rng: random.Random
) -> Iterator[str]:
    """Something was placed relative to a thing that is not there."""
    right = complement(true, False)
    no = noun_phrase(NP("no", false.other.kinds))
    mark = noun_phrase(replace(true.other, det="a") if true.other.det == "the" else true.other)
    for subject in references(scene, edit.owner, rng):
        yield f"there is {no} in the picture; {subject.text} {subject.be} {right}."
        yield f"there is {no}. {subject.text} {subject.be} {right}."
        yield f"there is {no}; {subject.text} {subject.be} {right} instead."
        yield f"there is {no} in the picture, but {subject.text} {subject.be} {right}."
    if true.other.det in ("a", "the") and true.other.kinds and true.other.kinds[0] not in (
        "sun", "moon",
    ):  # fmt: skip
        yield f"there is {mark}, not {_bare(false.other)}."
