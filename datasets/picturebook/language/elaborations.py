"""Sentences about things already introduced: attributes, clothes, relations, groups, the other one.

A maker writes one sentence of its family, or returns None if the paragraph gives no occasion.
"""

from __future__ import annotations

from dataclasses import replace

from revise_captions.picturebook.language.writer import (
    STANDING_KINDS,
    Writer,
    place_of,
    subject_of,
)
from revise_captions.picturebook.semantics.claims import (
    ANY,
    NP,
    Constraint,
    Has,
    Holds,
    Not,
    Placed,
    SentenceForm,
    Size,
    Statement,
    main_slot,
)
from revise_captions.picturebook.semantics.discourse import by_id, resolve
from revise_captions.picturebook.semantics.facts import (
    COLOR_PARTS,
    clearly_placed,
    facts,
    may_say,
    place_facts,
    refer,
    same_slot,
    stands,
)
from revise_captions.picturebook.semantics.lexicon import ANIMALS, PEOPLE
from revise_captions.picturebook.world.scene import NONE, Scene, Thing


def clothes(writer: Writer, _rich: float) -> SentenceForm | None:
    """ "The girl is wearing a red hat and a blue shirt.", "He is holding a green balloon." """
    people = [t for t in writer.known() if t.kind in PEOPLE]
    if not people:
        return None
    thing = people[0]
    rng, slots = writer.rng, thing.slots
    subject = subject_of(writer, thing, plain=True)
    if subject is None:
        return None
    options: list[tuple[Constraint, ...]] = []
    form = rng.randrange(2)
    shirt, hat = Has("shirt", slots["shirt"], form), Has("hat", slots["hat"], form)
    options.append((shirt,))
    if slots["hat"] != NONE:
        options += [(hat,), (shirt, hat), (hat, shirt)]
    elif rng.random() < 0.3:
        options.append((Not(Has("hat", ANY)),))
    if slots["holding"] != NONE:
        held = Holds(slots["holding"], slots["held"], rng.randrange(2))
        options += [(held,), (held,), (replace(held, color=""),), (hat, held)]
        if slots["hat"] == NONE:
            options.pop()
    style = writer.pick("", "", "wears", "has", "holds")
    return SentenceForm("{c0}.", (Statement(subject, rng.choice(options), style=style),))


def attribute(writer: Writer, _rich: float) -> SentenceForm | None:
    """ "It has a green roof.", "The roof of the house is red.", "The car is red." """
    return _attribute_of(writer, writer.known())


def follow_up(writer: Writer, rich: float) -> SentenceForm | None:
    """A sentence about what "it", "he" or "she" currently means."""
    meant = [(p, thing) for p in ("it", "he", "she") if (thing := writer.meant_by(p))]
    if not meant:
        return None
    pronoun, thing = writer.rng.choice(meant)
    roll = writer.rng.random()
    if roll < 0.4:
        return _relation_of(writer, thing, NP(pronoun))
    if roll < 0.55 and "pose" in thing.slots:
        pose = Has("pose", thing.slots["pose"], writer.rng.randrange(2))
        return SentenceForm("{c0}.", (Statement(NP(pronoun), (pose,)),))
    if pronoun != "it":
        return clothes(writer, rich)
    return _attribute_of(writer, [thing])


def _attribute_of(writer: Writer, things: list[Thing]) -> SentenceForm | None:
    rng = writer.rng
    for thing in things[:2]:
        if thing.kind in PEOPLE:
            continue
        options = [f for f in facts(writer.scene, thing) if not isinstance(f, Holds)]
        options = [f for f in options if not (isinstance(f, Has) and f.slot in ("colour", "word"))]
        subject = subject_of(writer, thing)
        if not options or subject is None:
            continue
        fact = rng.choice(options)
        if isinstance(fact, Has):
            fact = replace(fact, form=rng.randrange(2))
        preds: tuple[Constraint, ...] = (fact,)
        style = ""
        if isinstance(fact, Has) and fact.slot in COLOR_PARTS:
            others = [f for f in options if isinstance(f, Has) and f.slot in COLOR_PARTS
                      and f.slot != fact.slot]  # fmt: skip
            if others and subject.det == "it" and writer.chance(0.4):
                both = tuple(Statement(subject, (f,), style="part") for f in (fact, others[0]))
                return SentenceForm(writer.pick("{c0} and {c1}.", "{c0}, and {c1}."), both)
            style = writer.pick("", "part of", "part", "part of")
            if style == "part" and subject.constraints:
                style = "part of"
            if not style:
                named = (*COLOR_PARTS, "windows")
                more = [f for f in options if isinstance(f, Has) and f.slot in named
                        and f.slot != fact.slot]  # fmt: skip
                if more and writer.chance(0.6):
                    preds = (fact, rng.choice(more))
        elif writer.chance(0.25):
            place = place_of(writer, thing, pronouns=False)
            if place is not None and isinstance(fact, Has) and fact.slot == "pose":
                preds = (fact, place)
        if isinstance(fact, Has) and fact.slot == "windows":
            preds = (fact,)
        return SentenceForm("{c0}.", (Statement(subject, preds, style=style),))
    return None


def relation(writer: Writer, _rich: float) -> SentenceForm | None:
    """ "The dog is to the left of the house." """
    for thing in writer.known()[:2]:
        subject = subject_of(writer, thing)
        if subject is not None:
            return _relation_of(writer, thing, subject)
    return None


def _relation_of(writer: Writer, thing: Thing, subject: NP) -> SentenceForm | None:
    found = stands(writer.scene, thing, writer.rng)
    if found is None:
        places = place_facts(thing)
        if not places:
            return None
        return SentenceForm("{c0}.", (Statement(subject, (writer.rng.choice(places),)),))
    pred: Constraint = found[0]
    other = found[1]
    rest = writer.rng.random()
    if subject.det == "the" and rest < 0.2 and writer.meant_by("it") is other:
        pred = replace(found[0], other=NP("it"))
    if thing.kind in STANDING_KINDS and rest > 0.75:
        standing = Has("pose", "standing")
        return SentenceForm("{c0}.", (Statement(subject, (standing, pred), style="verb"),))
    return SentenceForm("{c0}.", (Statement(subject, (pred,)),))


def group(writer: Writer, _rich: float) -> SentenceForm | None:
    """ "Both are sleeping.", "All of them are red.", "One of them is brown." """
    scene, rng = writer.scene, writer.rng
    found = resolve(NP("they"), scene, writer.state)
    if not found.ok or len(found.ids) < 2:
        return None
    latest = [m for m in writer.state.mentions if m.sentence == writer.state.sentence - 1]
    if not latest:
        return None
    things = by_id(scene, found.ids)
    named = any(m.plural and set(m.ids) == set(found.ids) for m in latest)
    if not named and not _alike(things):
        return None
    shared = _shared(scene, things)
    if shared and writer.chance(0.6):
        dets = ["they", "all"] if len(things) > 2 else ["they", "both"]
        det = rng.choice(dets)
        count = {"they": 1, "both": 2, "all": 0}[det]
        return SentenceForm("{c0}.", (Statement(NP(det, count=count), (rng.choice(shared),),
                                            style=writer.pick("", "wears", "holds")),))  # fmt: skip
    if not named:
        return None
    thing = rng.choice(things)
    own = [f for f in facts(scene, thing) if _telling(f, thing)]
    fitting = [f for f in own if sum(_same(f, scene, t) for t in things) == 1]
    if not fitting:
        return None
    fact = rng.choice(fitting)
    if len(things) == 2 and writer.chance(0.4):
        other = next(t for t in things if t.id != thing.id)
        contrast = [f for f in facts(scene, other) if same_slot(f, fact, other.kind)]
        if contrast and other.kind == thing.kind:
            return SentenceForm(
                writer.pick("{c0}, and {c1}.", "{c0}, while {c1}.", "{c0} and {c1}."),
                (
                    Statement(NP("one of"), (fact,)),
                    Statement(NP("other"), (contrast[0],)),
                ),
            )
    return SentenceForm("{c0}.", (Statement(NP("one of"), (fact,)),))


def _alike(things: list[Thing]) -> bool:
    """Whether a reader would put two singly named things together as "they"."""
    kinds = {thing.kind for thing in things}
    return len(kinds) == 1 or kinds <= set(PEOPLE) or kinds <= set(ANIMALS)


def _telling(fact: Constraint, thing: Thing) -> bool:
    """Whether "one of them" may be distinguished by this fact."""
    if isinstance(fact, Has):
        if thing.kind in PEOPLE:
            return fact.slot in ("shirt", "hat", "pose")
        return fact.slot in ("", "pose", "pattern", "light", "collar")
    return True


def _same(fact: Constraint, scene: Scene, thing: Thing) -> bool:
    return fact in facts(scene, thing)


def _shared(scene: Scene, things: list[Thing]) -> list[Constraint]:
    """Facts that hold for all of a group."""
    first, *rest = [facts(scene, t) for t in things]
    same = [f for f in first if all(f in other for other in rest) and not isinstance(f, Size)]
    named = ("", "pose", "shirt", "hat", "light")
    made: list[Constraint] = [
        f for f in same if isinstance(f, Holds) or (isinstance(f, Has) and f.slot in named)
    ]
    if all(t.slots.get("hat", NONE) != NONE for t in things):
        made += [Has("hat", ANY)] * 2
    if all(t.slots.get("holding", NONE) != NONE for t in things):
        items = {t.slots["holding"] for t in things}
        if len(items) == 1:
            made += [Holds(items.pop())]
    for place in ("left", "right"):
        if all(clearly_placed(place, t) for t in things):
            made.append(Placed(place))
    return made


def the_other(writer: Writer, _rich: float) -> SentenceForm | None:
    """ "The other one is sleeping.", "Another dog is brown." """
    scene, rng = writer.scene, writer.rng
    last = next((m for m in reversed(writer.state.mentions) if not m.plural and m.subject), None)
    if last is None or len(last.ids) != 1 or last.sentence < writer.state.sentence - 2:
        return None
    kind = by_id(scene, last.ids)[0].kind
    total = len(scene.of_kind(kind))
    if total < 2:
        return None
    kinds = (kind,) if writer.chance(0.6) else ()
    np = NP("other", kinds) if total == 2 else NP("another", kinds)
    found = resolve(np, scene, writer.state)
    if not found.ok or (total == 2 and len(found.ids) != 1):
        return None
    thing = rng.choice(by_id(scene, found.ids))
    own = [f for f in facts(scene, thing) if _telling(f, thing)]
    spot = stands(scene, thing, rng)
    if spot:
        own += [spot[0]] * 2
    own += place_facts(thing)
    if not own:
        return None
    fact = rng.choice(own)
    return SentenceForm("{c0}.", (Statement(np, (fact,)),))


def pair(writer: Writer, _rich: float) -> SentenceForm | None:
    """ "The ball is red, and the car is blue.", "The girl is waving, while the boy is sitting." """
    made = []
    if writer.chance(0.5):
        posed = [t for t in writer.known() if "pose" in t.slots][:3]
        for thing in posed:
            subject = refer(writer.scene, thing, writer.rng, plain=True)
            if subject is not None:
                made.append(Statement(subject, (Has("pose", thing.slots["pose"]),)))
        made = made if len(made) > 1 else []
    for thing in writer.known() if len(made) < 2 else ():
        main = main_slot(thing.kind)
        if not main or not may_say(writer.scene, thing.kind, main, thing.slots[main]):
            continue
        subject = refer(writer.scene, thing, writer.rng, plain=True)
        if subject is None or Has("", thing.slots[main]) in subject.constraints:
            continue
        made.append(Statement(subject, (Has("", thing.slots[main]),)))
    if len(made) < 2:
        return None
    joint = writer.pick("{c0}, and {c1}.", "{c0}, while {c1}.", "{c0} and {c1}.", "{c0}, but {c1}.")
    return SentenceForm(joint, tuple(made[:2]))
