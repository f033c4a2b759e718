"""The oracle: whether a sentence is true of a scene after its context, whoever wrote it.

    oracle(scene, "A dog sits by the fence.", "It is brown.")  ->  Truth.TRUE

The context's sentences are read in order for what they mention; anything that the oracle cannot
read is skipped in the context, but makes the sentence itself UNPARSED. Rules of reference:
`discourse`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from revise_captions.picturebook.oracle.parse import parse
from revise_captions.picturebook.semantics.claims import (
    NP,
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
    Statement,
    main_slot,
)
from revise_captions.picturebook.semantics.discourse import (
    ClaimTruth,
    Mention,
    State,
    by_id,
    check_of,
    evaluate,
    of_kinds,
    resolve,
)
from revise_captions.picturebook.world.scene import Scene, Thing

_BOUNDARY = re.compile(r"(?<=[.!?])[\"”]?\s+|\n+")


#: What denies, or affirms, the sentence after it.
_DENIED = re.compile(
    r"it(?: is|['’]s) (not true|not the case|false|untrue|true|the case) that ", re.I
)


class Truth(StrEnum):
    """The oracle's verdict on a sentence.

    NOTHING: it makes no claim about the picture. UNPARSED: it was not understood, or refers to
    something that is not there.
    """

    TRUE = "true"
    FALSE = "false"
    NOTHING = "nothing"  # no claim about the picture
    UNPARSED = "unparsed"  # not understood, or a reference without anything to refer to


_OPPOSITE = {Truth.TRUE: Truth.FALSE, Truth.FALSE: Truth.TRUE}


@dataclass(frozen=True, slots=True)
class Failure:
    """A claim that does not hold. `topic`: "exists", "count", "slot:<slot>", "holding", "size",
    "relation", "place" or "scene:<what>"; `kinds` and `ids`: of what.
    """

    topic: str
    kinds: tuple[str, ...] = ()
    ids: tuple[int, ...] = ()


def split_sentences(text: str) -> list[str]:
    """The sentences of a picture-book text (it has no abbreviations, so stops end them)."""
    return [part.strip() for part in _BOUNDARY.split(text) if part.strip()]


def read(scene: Scene, state: State, sentence: str) -> tuple[Truth, State]:
    """The truth of one sentence after `state`, and the state after it."""
    if denied := _DENIED.match(sentence):
        truth, after = read(scene, state, sentence[denied.end() :])
        if denied[1].lower() in ("true", "the case"):
            return truth, after
        return _OPPOSITE.get(truth, Truth.UNPARSED), after
    clauses = parse(sentence)
    if clauses is None:
        return Truth.UNPARSED, state.next()
    return judge(scene, state, clauses)


def judge(scene: Scene, state: State, clauses: tuple[Clause, ...]) -> tuple[Truth, State]:
    """`read` for a sentence that is already parsed."""
    if not clauses:
        return Truth.NOTHING, state.next()
    truth = Truth.TRUE
    for clause in clauses:
        outcome = evaluate(scene, state, clause)
        state = outcome.state
        if outcome.truth is None:
            truth = Truth.UNPARSED
        elif not outcome.truth and truth is Truth.TRUE:
            truth = Truth.FALSE
    return truth, state.next()


def oracle(scene: Scene, context: str, sentence: str) -> Truth:
    """Decides whether a sentence is true of a scene.

    Args:
        scene: What is true.
        context: The text before the sentence; parts that cannot be read are skipped.
        sentence: One sentence, whoever wrote it.

    Returns:
        The sentence's truth.

    Examples:
        >>> scene = sample_scene(3, "test")
        >>> oracle(scene, "", f"It is {scene.time}.")
        <Truth.TRUE: 'true'>
    """
    return read(scene, _after(scene, context), sentence)[0]


def _after(scene: Scene, context: str) -> State:
    state = State()
    for sentence in split_sentences(context):
        state = read(scene, state, sentence)[1]
    return state


def needs_context(scene: Scene, context: str, sentence: str) -> bool:
    """Whether the sentence has a different truth, or none, without its context."""
    return oracle(scene, context, sentence) is not oracle(scene, "", sentence)


def context_decides(scene: Scene, context: str, sentence: str) -> bool:
    """Whether only the context shows if the sentence is true.

    That is so if it needs its context, and naming other things of the picture before it would
    change its truth. "She has a hat" can be judged by the picture alone if there is only one girl;
    "it is on the left" cannot.
    """
    if not needs_context(scene, context, sentence):
        return False
    clauses = parse(sentence)
    if clauses is None:
        return False
    return {Truth.TRUE, Truth.FALSE} <= {judge(scene, s, clauses)[0] for s in _other_states(scene)}


def _other_states(scene: Scene) -> Iterator[State]:
    """Every state after a sentence about one thing, two things, or all things of a kind."""
    groups: list[tuple[Thing, ...]] = [(thing,) for thing in scene.things]
    groups += combinations(scene.things, 2)
    for kind in dict.fromkeys(thing.kind for thing in scene.things):
        alike = tuple(thing for thing in scene.things if thing.kind == kind)
        if len(alike) > 2:
            groups.append(alike)
    for group in groups:
        kinds = tuple(dict.fromkeys(thing.kind for thing in group))
        ids = tuple(thing.id for thing in group)
        yield State((Mention(ids, kinds, len(group) > 1, True, 0),), 1)


def failures(scene: Scene, context: str, sentence: str) -> tuple[Failure, ...]:
    """The claims of `sentence` that do not hold; () if it is not FALSE."""
    state = _after(scene, context)
    clauses = parse(sentence)
    if not clauses or judge(scene, state, clauses)[0] is not Truth.FALSE:
        return ()
    return failures_of(scene, state, clauses)


def failures_of(scene: Scene, state: State, clauses: tuple[Clause, ...]) -> tuple[Failure, ...]:
    """The failing claims of parsed clauses that are false after `state`."""
    failing: list[Failure] = []
    for clause in clauses:
        outcome = evaluate(scene, state, clause)
        if outcome.truth is False:
            failing += _topics(scene, state, clause, outcome, failing_only=True)
        state = outcome.state
    return tuple(dict.fromkeys(failing))


def check_rationale(scene: Scene, context: str, sentence: str, rationale: str) -> bool | None:
    """Decides whether a rationale is right about what is wrong with a sentence.

    Right means that everything it says is true of the picture, and at least one thing it says is
    about a claim of the sentence that fails (its existence, number, color, place, …).

    Args:
        scene: What is true.
        context: The text before the sentence.
        sentence: The sentence; a rationale of one that is not FALSE is never right.
        rationale: One or more sentences.

    Returns:
        None if the sentence or the rationale was not understood.
    """
    state = _after(scene, context)
    clauses = parse(sentence)
    if clauses is None:
        return None
    truth, after = judge(scene, state, clauses)
    if truth is not Truth.FALSE:
        return False
    return check_clauses(scene, failures_of(scene, state, clauses), after, rationale)


def check_clauses(
    scene: Scene, failing: tuple[Failure, ...], state: State, rationale: str
) -> bool | None:
    """`check_rationale` if the sentence's failures and the state after it are already known."""
    said: list[Failure] = []
    for part in split_sentences(rationale):
        clauses = parse(part)
        if clauses is None:
            return None
        for clause in clauses:
            outcome = evaluate(scene, state, clause)
            if outcome.truth is None:
                return None
            if not outcome.truth:
                return False
            said += _topics(scene, state, clause, outcome, failing_only=False)
            if not (isinstance(clause, Statement) and clause.subject.det == "no"):
                state = outcome.state  # "it" in "there is no dog; it is a cat" means that dog
    return any(_about_the_same(one, other) for one in failing for other in said)


def _about_the_same(failure: Failure, said: Failure) -> bool:
    if failure.topic != said.topic:
        return False
    if failure.topic.startswith("scene:"):
        return True
    if failure.ids and said.ids and failure.topic not in ("exists", "count"):
        return bool(set(failure.ids) & set(said.ids))
    return bool(set(failure.kinds) & set(said.kinds) or set(failure.ids) & set(said.ids))


def _topics(
    scene: Scene, state: State, clause: Clause, outcome: ClaimTruth, *, failing_only: bool
) -> list[Failure]:
    if isinstance(clause, SceneClaim):
        return [Failure(f"scene:{clause.what}")]
    np = clause.subject
    kinds, ids = outcome.kinds, outcome.best
    things = by_id(scene, ids)
    constraints = (*np.constraints, *clause.preds)
    if not failing_only and clause.preds:
        constraints = clause.preds
    made: list[Failure] = []
    if np.det in ("no", "a", "number", "plural", "some") or not of_kinds(scene, kinds) or not ids:
        if not failing_only or not of_kinds(scene, kinds) or np.det == "no" or not ids:
            made.append(Failure("exists", kinds, ids))
        counted = np.count != 1 or np.det == "number"
        if counted and not (failing_only and not of_kinds(scene, kinds)):
            made.append(Failure("count", kinds, ids))
    elif np.count != 1:
        found = resolve(np, scene, state)
        if not found.ok or not failing_only:
            made.append(Failure("count", kinds, ids))
    for constraint in constraints:
        made += _topic_of(constraint, scene, state, kinds, ids, things, failing_only)
    return made


def _topic_of(
    constraint: Constraint,
    scene: Scene,
    state: State,
    kinds: tuple[str, ...],
    ids: tuple[int, ...],
    things: list[Thing],
    failing_only: bool,
) -> list[Failure]:
    if failing_only and things:
        check = check_of(constraint, scene, state)
        if check is None or all(check(thing) for thing in things):
            return []
    inner = constraint.claim if isinstance(constraint, Not) else constraint
    match inner:
        case Has(slot, _):
            slot = slot or next((main_slot(kind) for kind in kinds if main_slot(kind)), "")
            return [Failure(f"slot:{slot}", kinds, ids)]
        case Holds():
            return [Failure("holding", kinds, ids)]
        case Size():
            return [Failure("size", kinds, ids)]
        case Placed():
            return [Failure("place", kinds, ids)]
        case Stands(_, other):
            made = [Failure("relation", kinds, ids)]
            if failing_only or other.det in ("a", "the"):
                made += _landmark_topics(other, scene, state, failing_only)
            return made
        case IsA(what):
            made = [Failure("exists", (*what.kinds, *kinds), ids)]
            for claim in what.constraints:
                made += _topic_of(claim, scene, state, what.kinds, ids, things, failing_only)
            return made
    raise TypeError(f"no topic for {inner!r}")


def _landmark_topics(other: NP, scene: Scene, state: State, failing_only: bool) -> list[Failure]:
    if not failing_only:
        return []
    found = resolve(other, scene, state)
    if not of_kinds(scene, other.kinds) and other.kinds:
        return [Failure("exists", other.kinds, ())]
    made: list[Failure] = []
    if not found.ok:
        for claim in other.constraints:
            made += _topic_of(
                claim, scene, state, other.kinds, found.ids, by_id(scene, found.ids), True
            )
    return made
