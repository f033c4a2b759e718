"""What a paragraph's makers share: what was said so far, and how to refer to a thing now.

The discourse state decides what a pronoun would mean, by the same rules as the oracle.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from revise_captions.picturebook.semantics.claims import (
    NP,
    Constraint,
    Has,
    Holds,
    Not,
    Placed,
    SentenceForm,
    Stands,
    Statement,
    main_slot,
)
from revise_captions.picturebook.semantics.discourse import State, by_id, resolve
from revise_captions.picturebook.semantics.facts import (
    features,
    landmarks,
    may_relate,
    may_say,
    place_facts,
    place_form,
    refer,
    relation_form,
    stands,
)
from revise_captions.picturebook.semantics.lexicon import PEOPLE
from revise_captions.picturebook.world.scene import Scene, Thing

STANDING_KINDS = ("house", "tree", "table", "chair", "lamp", "sign", "fence")


@dataclass(frozen=True, slots=True)
class TrueSentence:
    """A true sentence of a paragraph. `form` is None exactly where it makes no claim."""

    text: str
    form: SentenceForm | None
    needs_context: bool

    @property
    def assessable(self) -> bool:
        return self.form is not None


@dataclass
class Writer:
    """The paragraph so far: what was mentioned and what was told."""

    scene: Scene
    rng: random.Random
    state: State = field(default_factory=State)
    told: set[object] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    introduced: set[int] = field(default_factory=set)
    noun: str = "picture"

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def fresh(self, *kinds: str) -> list[Thing]:
        """Things not spoken of yet, the larger ones likelier first."""
        things = [
            t for t in self.scene.things
            if t.id not in self.introduced and (not kinds or t.kind in kinds)
        ]  # fmt: skip
        things.sort(key=lambda t: -_salience(t) * self.rng.random())
        return things

    def meant_by(self, pronoun: str) -> Thing | None:
        """The one thing that a pronoun would mean to a reader here, if that is clear."""
        found = resolve(NP(pronoun), self.scene, self.state)
        if not found.ok or len(found.ids) != 1:
            return None
        reach = 1 if pronoun == "it" else 2
        near = [m for m in self.state.mentions if m.sentence >= self.state.sentence - reach]
        if not near:
            return None
        last = [m for m in near if m.sentence == near[-1].sentence and not m.plural]
        people = {"he": ("boy",), "she": ("girl",)}.get(pronoun)
        rivals = {
            m.ids
            for m in (near if people else last)
            if (any(k in people for k in m.kinds) if people else not set(m.kinds) & set(PEOPLE))
        }
        subjects = {m.ids for m in last if m.subject and m.ids in rivals}
        if found.ids not in rivals or len(rivals) > 2:
            return None
        if len(rivals) > 1 and subjects != {found.ids}:
            return None
        return by_id(self.scene, found.ids)[0]

    def known(self) -> list[Thing]:
        things = [t for t in self.scene.things if t.id in self.introduced]
        self.rng.shuffle(things)
        return things


def _salience(thing: Thing) -> float:
    """How salient a thing is: its width, with less for things in the sky."""
    width = thing.box[2] - thing.box[0]
    return width * (0.35 if thing.kind in ("cloud", "sun", "moon") else 1.0)


def introduce(writer: Writer, thing: Thing, rich: float) -> NP:
    """ "a small red car", "the sun"."""
    if thing.kind in ("sun", "moon"):
        return NP("the", (thing.kind,))
    constraints = tuple(features(writer.scene, thing, writer.rng, rich))
    noun = "sailboat" if thing.kind == "boat" and writer.chance(0.3) else ""
    return NP("a", (thing.kind,), constraints, noun=noun)


def place_of(writer: Writer, thing: Thing, *, pronouns: bool) -> Constraint | None:
    """Where a thing is: relative to something known, or in the picture."""
    rng, scene = writer.rng, writer.scene
    roll = rng.random()
    if pronouns and roll < 0.22:
        pronoun = writer.pick("it", "it", "he", "she")
        target = writer.meant_by(pronoun)
        if target is not None and target.id != thing.id:
            for relation, other in landmarks(scene, thing, rng):
                if other.id == target.id:
                    return Stands(relation, NP(pronoun), relation_form(relation, rng))
    if roll < 0.6:
        found = stands(scene, thing, rng)
        if found:
            return found[0]
    if roll < 0.85:
        places = place_facts(thing)
        if places:
            place = rng.choice(places)
            if isinstance(place, Placed):
                return replace(place, form=place_form(place.place, rng))
    return None


def subject_of(writer: Writer, thing: Thing, plain: bool = False) -> NP | None:
    """A pronoun if it means this thing, else a definite description."""
    pronoun = {"girl": "she", "boy": "he"}.get(thing.kind, "it")
    if writer.meant_by(pronoun) is thing and writer.chance(0.7):
        return NP(pronoun)
    if len(writer.scene.of_kind(thing.kind)) > 1 and writer.chance(0.4):
        np = NP("the", (thing.kind,))
        if resolve(np, writer.scene, writer.state).ids == (thing.id,):
            return np
    return refer(writer.scene, thing, writer.rng, plain=plain)


def clause_sayable(scene: Scene, state: State, clause: Statement) -> bool:
    kinds = clause.subject.kinds
    if not kinds:
        found = resolve(clause.subject, scene, state)
        kinds = tuple({t.kind for t in by_id(scene, found.ids)}) or found.kinds
    return all(
        _constraint_sayable(scene, state, constraint, kinds)
        for constraint in (*clause.subject.constraints, *clause.preds)
    )


def _constraint_sayable(
    scene: Scene, state: State, constraint: Constraint, kinds: tuple[str, ...]
) -> bool:
    match constraint:
        case Not(claim):
            return _constraint_sayable(scene, state, claim, kinds)
        case Has(slot, value):
            return all(may_say(scene, kind, slot or main_slot(kind), value) for kind in kinds)
        case Holds(_, color):
            return not color or all(may_say(scene, kind, "held", color) for kind in kinds)
        case Stands(relation, other):
            found = resolve(other, scene, state)
            others = other.kinds or found.kinds
            return all(may_relate(scene, a, relation, b) for a in kinds for b in others) and all(
                _constraint_sayable(scene, state, c, others) for c in other.constraints
            )
    return True
