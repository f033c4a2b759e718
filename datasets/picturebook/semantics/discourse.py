"""What "it" refers to, and whether what is said about it holds: evaluates claims in a context.

Rules of reference (deterministic, so that every sentence has one reading):

- `it`: the subject of the latest sentence that has a singular thing (no person) as its subject or,
  failing that, mentions one; with several, the last one. `he`/`she`: likewise a boy/girl.
- `they`, `both`: the latest plural subject or, if that sentence names exactly two single things
  and no plural, those two.
- `the dog`: the only dog; of several, the one mentioned last; `the dog on the left`: the leftmost.
- `the other one`, `the other dog`: those of the group (else of the kind) that is not the one
  mentioned last. `another dog`: one that has not been mentioned singly or in the latest group.
- A reference may stay open between several things ("a dog", where there are three). What is then
  said of "it" is true if it is true of one of them, and narrows the choice.
- A reference brought in by a false description goes to those things of the kind which fit the
  description best ("a red car", where there is a blue one). If there is no thing of the kind, it
  goes to nothing, and every claim about nothing is false.
- A definite description that nothing fits makes its sentence false. A pronoun with nothing to
  refer to has no truth (None).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

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
    has,
    holds_item,
    placed,
    scene_claim,
    sized,
)
from revise_captions.picturebook.semantics.lexicon import PEOPLE
from revise_captions.picturebook.world.scene import Scene, Thing, center, holds

Check = Callable[[Thing], bool]


@dataclass(frozen=True, slots=True)
class Mention:
    """Things that a sentence mentioned. `ids`: the group if `plural`, else the candidates."""

    ids: tuple[int, ...]
    kinds: tuple[str, ...]
    plural: bool
    subject: bool
    sentence: int
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """What has been mentioned, in order, and the number of the current sentence."""

    mentions: tuple[Mention, ...] = ()
    sentence: int = 0

    def next(self) -> State:
        return State(self.mentions, self.sentence + 1)


@dataclass(frozen=True, slots=True)
class Found:
    """What a noun phrase refers to. `ok` False: nothing fits; None: nothing to refer to."""

    ids: tuple[int, ...]
    kinds: tuple[str, ...]
    plural: bool
    ok: bool | None
    checks: tuple[Check, ...] = ()


NOBODY = Found((), (), False, None)


def by_id(scene: Scene, ids: Iterable[int]) -> list[Thing]:
    wanted = set(ids)
    return [thing for thing in scene.things if thing.id in wanted]


def of_kinds(scene: Scene, kinds: tuple[str, ...]) -> list[Thing]:
    return [t for t in scene.things if t.kind in kinds] if kinds else list(scene.things)


def check_of(constraint: Constraint, scene: Scene, state: State) -> Check | None:
    """A test of one thing; None if the constraint refers to nothing known."""
    match constraint:
        case Has(slot, value):
            return lambda thing: has(thing, slot, value)
        case Holds(item, color):
            return lambda thing: holds_item(thing, item, color)
        case Size(word):
            return lambda thing: sized(thing, word)
        case Placed(place):
            return lambda thing: placed(thing, place)
        case Stands(relation, other):
            return _stands_check(relation, resolve(other, scene, state), scene)
        case IsA(what):
            checks = checks_of(what.constraints, scene, state)
            if checks is None:
                return None
            kinds = what.kinds
            return lambda t: (not kinds or t.kind in kinds) and all(c(t) for c in checks)
        case Not(claim):
            inner = check_of(claim, scene, state)
            return None if inner is None else (lambda thing: not inner(thing))


def _stands_check(relation: str, found: Found, scene: Scene) -> Check | None:
    if found.ok is None:
        return None
    if not found.ok:
        return lambda _: False
    others = by_id(scene, found.ids)
    if found.plural:
        return lambda thing: all(holds(relation, thing, other) for other in others)
    return lambda thing: any(holds(relation, thing, other) for other in others)


def checks_of(
    constraints: Iterable[Constraint], scene: Scene, state: State
) -> tuple[Check, ...] | None:
    checks = []
    for constraint in constraints:
        check = check_of(constraint, scene, state)
        if check is None:
            return None
        checks.append(check)
    return tuple(checks)


def best_fitting(things: list[Thing], checks: Iterable[Check]) -> list[Thing]:
    """Those that pass the most checks (all of them, if none passes any)."""
    if not things:
        return []
    checks = tuple(checks)
    scores = [sum(check(thing) for check in checks) for thing in things]
    best = max(scores)
    return [thing for thing, score in zip(things, scores, strict=True) if score == best]


def _ids(things: Iterable[Thing]) -> tuple[int, ...]:
    return tuple(thing.id for thing in things)


def resolve(np: NP, scene: Scene, state: State) -> Found:
    """What a noun phrase refers to, as `the …`, a pronoun, or (as a landmark) any fitting thing."""
    if np.det in ("it", "he", "she"):
        return _pronoun(np.det, state)
    if np.det in ("they", "both of them") or (np.det in ("both", "all", "each") and not np.kinds):
        return _group(np, state)
    checks = checks_of(np.constraints, scene, state)
    if checks is None:
        return NOBODY
    if np.det == "other":
        return _other(np, checks, scene, state)
    if np.det == "another":
        pool = _unmentioned(np, scene, state)
    elif np.det == "one of":
        group = _group(np, state)
        if group.ok is None:
            return NOBODY
        pool = by_id(scene, group.ids)
    else:
        pool = of_kinds(scene, np.kinds)
    fitting = [thing for thing in pool if all(check(thing) for check in checks)]
    if np.det in ("the", "both", "all", "each"):
        return _definite(np, pool, fitting, checks, scene, state)
    plural = np.count != 1
    ok = len(fitting) == np.count if np.det == "number" else len(fitting) >= (2 if plural else 1)
    chosen = fitting or best_fitting(pool, checks)
    return Found(_ids(chosen), np.kinds, plural, ok, checks)


def _pronoun(word: str, state: State) -> Found:
    wanted = {"he": ("boy",), "she": ("girl",)}.get(word)
    later: list[Mention] = []
    for mention in reversed(state.mentions):
        if mention.plural:
            continue
        person = any(kind in PEOPLE for kind in mention.kinds)
        fits = (not person) if wanted is None else any(kind in wanted for kind in mention.kinds)
        if not fits:
            continue
        if later and later[0].sentence != mention.sentence:
            break
        if mention.subject:
            return Found(mention.ids, mention.kinds, False, bool(mention.ids), mention.checks)
        later.append(mention)
    if not later:
        return NOBODY
    return Found(later[0].ids, later[0].kinds, False, bool(later[0].ids), later[0].checks)


def _group(np: NP, state: State) -> Found:
    """The group that "they", "both", "all of them" or "one of them" means."""
    latest = state.mentions[-1].sentence if state.mentions else -1
    for number in sorted({m.sentence for m in state.mentions}, reverse=True):
        spoken = [m for m in state.mentions if m.sentence == number]
        groups = [m for m in spoken if m.plural and m.subject] or [m for m in spoken if m.plural]
        if groups:
            ids, kinds = groups[-1].ids, groups[-1].kinds
            ok = len(ids) > 1 and (np.det not in ("both", "both of them") or len(ids) == 2)
            if np.det == "all" and np.count > 1:
                ok = len(ids) == np.count
            return Found(ids, kinds, True, ok)
        singles = {m.ids: m for m in spoken if len(m.ids) == 1}
        if number == latest and len(singles) == 2:
            pair = tuple(ids[0] for ids in singles)
            kinds = tuple(dict.fromkeys(k for m in singles.values() for k in m.kinds))
            return Found(pair, kinds, True, True)
        if number == latest and any(not m.ids for m in spoken) and len(spoken) == 2:
            return Found((), (), True, False)
    return NOBODY


def _definite(
    np: NP,
    pool: list[Thing],
    fitting: list[Thing],
    checks: tuple[Check, ...],
    scene: Scene,
    state: State,
) -> Found:
    side = next((c.place for c in np.constraints if isinstance(c, Placed)), "")
    if np.count == 1 and np.det == "the":
        if side in ("left", "right"):
            rest = checks_of((c for c in np.constraints if c != Placed(side)), scene, state) or ()
            others = [thing for thing in pool if all(check(thing) for check in rest)]
            if len(others) > 1:
                xs = [center(thing.box)[0] for thing in others]
                fitting = [others[xs.index(min(xs) if side == "left" else max(xs))]]
        if len(fitting) > 1:
            fitting = _latest(fitting, state)
        chosen = fitting or best_fitting(pool, checks)
        return Found(_ids(chosen), np.kinds, False, bool(fitting), checks)
    ids = {thing.id for thing in fitting}
    for mention in reversed(state.mentions):
        if mention.plural and len(mention.ids) > 1 and ids.issuperset(mention.ids):
            ids = set(mention.ids)
            break
    wanted = 2 if np.det == "both" else np.count
    ok = len(ids) == wanted if wanted > 1 else len(ids) > 1
    chosen = by_id(scene, ids) if ids else best_fitting(pool, checks)
    return Found(_ids(chosen), np.kinds, True, ok, checks)


def _latest(things: list[Thing], state: State) -> list[Thing]:
    """Of several things, those mentioned last (singly), else all."""
    for mention in reversed(state.mentions):
        if not mention.plural:
            spoken = [thing for thing in things if thing.id in mention.ids]
            if spoken:
                return spoken
    return things


def _other(np: NP, checks: tuple[Check, ...], scene: Scene, state: State) -> Found:
    last = next(
        (
            m
            for m in reversed(state.mentions)
            if not m.plural and (not np.kinds or set(np.kinds) & set(m.kinds))
        ),
        None,
    )
    if last is None:
        return NOBODY
    group = next(
        (m for m in reversed(state.mentions) if m.plural and set(last.ids) <= set(m.ids)), None
    )
    pool = by_id(scene, group.ids) if group else of_kinds(scene, np.kinds or last.kinds)
    if np.kinds:
        pool = [thing for thing in pool if thing.kind in np.kinds]
    if len(last.ids) == 1:
        pool = [thing for thing in pool if thing.id not in last.ids]
    fitting = [thing for thing in pool if all(check(thing) for check in checks)]
    plural = np.count != 1
    ok = bool(fitting)
    if plural:
        ok = len(fitting) == np.count if np.count else len(fitting) > 1
    chosen = fitting or best_fitting(pool, checks)
    return Found(_ids(chosen), np.kinds or last.kinds, plural, ok, checks)


def _unmentioned(np: NP, scene: Scene, state: State) -> list[Thing]:
    kinds = np.kinds
    if not kinds:
        last = next((m for m in reversed(state.mentions) if m.subject), None)
        kinds = last.kinds if last else ()
    known = {m.ids[0] for m in state.mentions if not m.plural and len(m.ids) == 1}
    last_group = next((m for m in reversed(state.mentions) if m.plural), None)
    if last_group:
        known.update(last_group.ids)
    return [thing for thing in of_kinds(scene, kinds) if thing.id not in known]


@dataclass(frozen=True, slots=True)
class ClaimTruth:
    """`truth` None: a reference has nothing to refer to. `best`: what the subject meant."""

    truth: bool | None
    state: State
    best: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()


def evaluate(scene: Scene, state: State, clause: Clause) -> ClaimTruth:
    """The truth of one clause after `state`, and the state after it."""
    if isinstance(clause, SceneClaim):
        return ClaimTruth(scene_claim(scene, clause.what, clause.value) != clause.negated, state)
    return _evaluate_statement(scene, state, clause)


def _evaluate_statement(scene: Scene, state: State, statement: Statement) -> ClaimTruth:
    np = statement.subject
    checks = checks_of(statement.preds, scene, state)
    found = resolve(np, scene, state)
    if checks is None or found.ok is None:
        return ClaimTruth(None, state)
    landmarks = _landmarks(scene, state, (*np.constraints, *statement.preds))
    things = by_id(scene, found.ids)
    if np.det in ("a", "another", "one of", "number", "plural", "some", "no"):
        every = (*found.checks, *checks)
        fitting = [t for t in things if all(check(t) for check in every)]
        plural = np.count != 1
        truth = _counted(np, len(fitting))
        if np.det == "no":
            after = _grown(state, landmarks)
            return ClaimTruth(truth != statement.negated, after, found.ids, np.kinds)
        pool = of_kinds(scene, np.kinds) if np.det not in ("another", "one of") else things
        chosen = fitting or best_fitting(pool, every)
    else:
        plural = found.plural
        fitting = [t for t in things if all(c(t) for c in checks)]
        fits_all = len(fitting) == len(things) if plural else bool(fitting)
        truth = bool(found.ok) and bool(things) and fits_all
        chosen = things if plural or not fitting else fitting
        if not things and (renamed := _renamed(statement, scene, checks, found)):
            truth, chosen = True, renamed
    kinds = np.kinds or found.kinds
    mention = Mention(_ids(chosen), kinds, plural, True, state.sentence, (*found.checks, *checks))
    after = _grown(state, (mention, *landmarks))
    return ClaimTruth(truth != statement.negated, after, mention.ids, kinds)


def _counted(np: NP, number: int) -> bool:
    if np.det == "no":
        return number == 0
    if np.det == "number":
        return number == np.count
    if np.det == "some":
        return number >= np.count
    return number >= (2 if np.det == "plural" else 1)


def _renamed(
    statement: Statement, scene: Scene, checks: tuple[Check, ...], found: Found
) -> list[Thing]:
    """What is there instead of a thing that is not: the cat of "There is no dog; it is a cat.".

    It has to fit at least half of what was said about the other ("a dog next to the tree").
    """
    if found.plural or not any(isinstance(pred, IsA) for pred in statement.preds):
        return []
    right = [thing for thing in scene.things if all(check(thing) for check in checks)]
    said = found.checks
    return [t for t in right if 2 * sum(check(t) for check in said) >= len(said)]


def _landmarks(scene: Scene, state: State, said: Iterable[Constraint]) -> list[Mention]:
    made = []
    for constraint in said:
        inner = constraint.claim if isinstance(constraint, Not) else constraint
        if isinstance(inner, Stands):
            found = resolve(inner.other, scene, state)
            made.append(Mention(found.ids, found.kinds, found.plural, False, state.sentence))
    return made


def _grown(state: State, mentions: Iterable[Mention]) -> State:
    return State((*state.mentions, *mentions), state.sentence)
