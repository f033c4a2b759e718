"""How much of a scene a caption tells: an exact recall over the scene's facts.

The facts of a scene are its setting, time, weather (outdoors) and wall (indoors), and of each
thing: that it is there, where it is, every slot with a value, what it holds, and its size where
that is unusual. A caption tells a fact where a true sentence of it states one about that very
thing. Denials tell nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from revise_captions.picturebook.oracle.parse import parse
from revise_captions.picturebook.oracle.truth import Truth, judge, split_sentences
from revise_captions.picturebook.semantics.claims import (
    Clause,
    Constraint,
    Has,
    Holds,
    IsA,
    Not,
    Placed,
    SceneClaim,
    Size,
    Stands,
    main_slot,
)
from revise_captions.picturebook.semantics.discourse import State, evaluate
from revise_captions.picturebook.world.scene import KINDS, NONE, Scene, size_word

#: What is told, and of which thing by id; None: of the scene.
SceneFact = tuple[str, int | None]


def facts_of(scene: Scene) -> frozenset[SceneFact]:
    """Everything that a caption may tell of a scene."""
    facts: set[SceneFact] = {("setting", None), ("time", None)}
    facts.add(("weather" if scene.setting != "room" else "wall", None))
    for thing in scene.things:
        facts |= {("exists", thing.id), ("where", thing.id)}
        facts |= {
            (slot, thing.id)
            for slot in KINDS[thing.kind].slots
            if slot != "held" and thing.slots.get(slot, NONE) != NONE
        }
        if size_word(thing):
            facts.add(("size", thing.id))
    return frozenset(facts)


def told(scene: Scene, caption: str) -> frozenset[SceneFact]:
    """The facts that a caption's true sentences tell."""
    state, facts = State(), set[SceneFact]()
    for sentence in split_sentences(caption):
        clauses = parse(sentence)
        if clauses is None:
            state = state.next()
            continue
        truth, after = judge(scene, state, clauses)
        if truth is Truth.TRUE:
            for clause in clauses:
                outcome = evaluate(scene, state, clause)
                facts |= set(_told_by(scene, clause, outcome.best))
                state = outcome.state
        state = after
    return frozenset(facts) & facts_of(scene)


def coverage(scene: Scene, caption: str) -> float:
    """The share of the scene's facts that a caption tells, in [0, 1]."""
    return len(told(scene, caption)) / len(facts_of(scene))


def _told_by(scene: Scene, clause: Clause, ids: tuple[int, ...]) -> Iterator[SceneFact]:
    """`ids`: the things that a true clause speaks of."""
    if isinstance(clause, SceneClaim):
        if not clause.negated:
            yield clause.what, None
        return
    if clause.negated or clause.subject.det == "no":
        return
    kinds = {thing.id: thing.kind for thing in scene.things}
    for id_ in ids:
        yield "exists", id_
        for constraint in (*clause.subject.constraints, *clause.preds):
            yield from ((name, id_) for name in _named(constraint, kinds[id_]))


def _named(constraint: Constraint, kind: str) -> Iterator[str]:
    match constraint:
        case Has(slot, _):
            yield slot or main_slot(kind)
        case Holds():
            yield "holding"
        case Size():
            yield "size"
        case Placed() | Stands():
            yield "where"
        case IsA(what):
            for inner in what.constraints:
                yield from _named(inner, kind)
        case Not():
            return
