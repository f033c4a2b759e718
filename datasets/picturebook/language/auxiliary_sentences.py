"""Auxiliary sentences: short true or false sentences about a picture, for training.

A caption says where a thing is once or twice, and is mostly right. A critic's weak points need
more: for one picture, several single facts, each true or with one error, drawn so that the
frequency of relations, actions, attributes and words follows their difficulty, not their frequency
in captions. Every truth is the oracle's verdict on the text, as for captions. Facts that can be
guessed without the picture (what stands on the ground is below the clouds) are left out.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

from revise_captions.picturebook.language.captions import corrupt
from revise_captions.picturebook.language.realize import Unsayable, realize
from revise_captions.picturebook.language.writer import TrueSentence
from revise_captions.picturebook.oracle.truth import Truth, read
from revise_captions.picturebook.semantics.claims import (
    NP,
    Constraint,
    Has,
    Placed,
    SentenceForm,
    Size,
    Stands,
    Statement,
    placed,
)
from revise_captions.picturebook.semantics.discourse import State
from revise_captions.picturebook.semantics.facts import (
    COLOR_PARTS,
    facts,
    features,
    landmarks,
    place_facts,
    place_form,
    refer,
    relation_form,
)
from revise_captions.picturebook.world.scene import Scene, Thing

#: How often each kind of fact is drawn.
WEIGHTS = {
    "relation": 4.0, "place": 1.0, "fact": 3.0, "several": 2.0, "count": 1.0, "presence": 2.0,
}  # fmt: skip
#: Errors that may be inserted into each kind of fact, in any order.
ERRORS = {
    "relation": ("relation", "binding", "attribute"),
    "place": ("relation",),
    "fact": ("attribute", "action", "text", "binding"),
    "several": ("binding", "attribute", "action"),
    "count": ("count",),
    "presence": ("kind", "object", "attribute"),
}
WRONG_SHARE = 0.6
LIGHTS = ("sun", "moon", "cloud")


@dataclass(frozen=True, slots=True)
class AuxiliarySentence:
    """`rewrite`: the true sentence that a wrong one was made from, "" if `factual` or unknown.

    `after`: how many sentences of the row's caption precede it.
    """

    text: str
    factual: bool
    rewrite: str = ""
    after: int = 0


def auxiliary_sentences(
    scene: Scene, rng: random.Random, count: int, weights: Mapping[str, float] = WEIGHTS
) -> list[AuxiliarySentence]:
    """Draws at most `count` auxiliary sentences without repetition, determined by `rng`.

    `weights`: for kinds of facts, with some of `WEIGHTS`' keys.
    """
    made: list[AuxiliarySentence] = []
    known: set[str] = set()
    for _ in range(3 * count):
        if len(made) == count:
            break
        one = _auxiliary_sentence(scene, rng, weights)
        if one is not None and not known & {one.text, one.rewrite}:
            known |= {one.text, one.rewrite} - {""}
            made.append(one)
    return made


def _auxiliary_sentence(
    scene: Scene, rng: random.Random, weights: Mapping[str, float]
) -> AuxiliarySentence | None:
    kind = rng.choices(list(weights), list(weights.values()))[0]
    form = _true(scene, rng, kind)
    if form is None:
        return None
    try:
        text = realize(form)
    except Unsayable:
        return None
    if read(scene, State(), text)[0] is not Truth.TRUE:
        return None
    if rng.random() >= WRONG_SHARE:
        return AuxiliarySentence(text, True)
    sentence = TrueSentence(text, form, False)
    for error in rng.sample(ERRORS[kind], len(ERRORS[kind])):
        wrong = corrupt(scene, "", sentence, rng, error)
        if wrong is not None:
            return AuxiliarySentence(wrong.text, False, text)
    return AuxiliarySentence(text, True)


def _true(scene: Scene, rng: random.Random, kind: str) -> SentenceForm | None:
    """A sentence with a fact of that kind, about a random thing."""
    thing = rng.choice(scene.things)
    if kind == "count":
        return _counted(scene, rng, thing)
    if kind == "presence":
        return SentenceForm("there is {s0}.", (Statement(_introduced(scene, thing, rng, 0.3)),))
    fact = _relation(scene, thing, rng) if kind == "relation" else _fact(scene, thing, rng, kind)
    if fact is None:
        return None
    if kind == "several":
        np = _introduced(scene, thing, rng, 1.0)
        return SentenceForm("{c0}.", (Statement(np, (fact,)),))
    subject = refer(scene, thing, rng, plain=rng.random() < 0.6, without=fact)
    if subject is None:
        return None
    style = ""
    if isinstance(fact, Has) and fact.slot in COLOR_PARTS and not subject.constraints:
        style = rng.choice(("", "part", "part of"))
    return SentenceForm("{c0}.", (Statement(subject, (fact,), style=style),))


def _introduced(scene: Scene, thing: Thing, rng: random.Random, richness: float) -> NP:
    """ "a small red car", "the sun"."""
    told = [f for f in features(scene, thing, rng, richness) if not _guessable(f, thing)]
    return NP("the" if thing.kind in ("sun", "moon") else "a", (thing.kind,), tuple(told))


def _relation(scene: Scene, thing: Thing, rng: random.Random) -> Constraint | None:
    for relation, other in landmarks(scene, thing, rng)[:6]:
        if placed(thing, "sky") != placed(other, "sky"):
            continue
        np = refer(scene, other, rng, plain=rng.random() < 0.5)
        if np is not None:
            return Stands(relation, np, relation_form(relation, rng))
    return None


def _fact(scene: Scene, thing: Thing, rng: random.Random, kind: str) -> Constraint | None:
    if kind == "place":
        options = _places(thing, rng)
    else:
        options = [f for f in facts(scene, thing) if not (isinstance(f, Has) and f.slot == "rest")]
        options = [f for f in options if not _guessable(f, thing)]
    if kind == "several":  # "a red car with … is parked" says a pose or a place at its end
        options = [f for f in options if isinstance(f, Has) and f.slot == "pose"]
        options += _places(thing, rng)
    if not options:
        return None
    fact = rng.choice(options)
    if isinstance(fact, Has) and fact.slot in COLOR_PARTS:
        fact = replace(fact, form=rng.randrange(2))
    return fact


def _guessable(fact: Constraint, thing: Thing) -> bool:
    """Only small lights, and only striped balls, are mentioned: the other word is always wrong."""
    if isinstance(fact, Size):
        return thing.kind in LIGHTS
    return isinstance(fact, Has) and fact.slot == "pattern"


def _places(thing: Thing, rng: random.Random) -> list[Constraint]:
    """Where a thing is, in any wording that a wrong place could have."""
    places = [place for place in place_facts(thing) if isinstance(place, Placed)]
    return [replace(place, form=place_form(place.place, rng)) for place in places]


def _counted(scene: Scene, rng: random.Random, thing: Thing) -> SentenceForm | None:
    """ "There are two red balls.": all of a kind, or all that share what one of them is."""
    group = list(scene.of_kind(thing.kind))
    shared = [f for f in facts(scene, thing) if isinstance(f, Has) and f.slot == ""]
    constraints = tuple(shared[:1]) if rng.random() < 0.5 else ()
    if constraints:
        group = [t for t in group if constraints[0] in facts(scene, t)]
    if len(group) == 1 and rng.random() >= 0.3:
        return None
    subject = NP("number", (thing.kind,), constraints, len(group))
    return SentenceForm("there {be0} {s0}.", (Statement(subject),))
