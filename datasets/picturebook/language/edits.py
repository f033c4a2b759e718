"""Where a true sentence can be changed, and how: sites of constraints, and edits."""

from __future__ import annotations

from dataclasses import dataclass, replace

from revise_captions.picturebook.semantics.claims import (
    NP,
    Constraint,
    Has,
    SceneClaim,
    SentenceForm,
    Stands,
    Statement,
    main_slot,
)
from revise_captions.picturebook.semantics.discourse import (
    State,
    by_id,
    evaluate,
    resolve,
)
from revise_captions.picturebook.semantics.facts import may_say
from revise_captions.picturebook.world.scene import KINDS, NONE, Scene


@dataclass(frozen=True, slots=True)
class Edit:
    """A wrong version of a sentence. `clause`: which one; `old`/`new`: what was changed there.

    `owner`: ids of the things that the changed constraint is about; `extra`: for a binding error
    between two constraints, the second change.
    """

    error_type: str
    form: SentenceForm
    clause: int
    old: Constraint | NP | SceneClaim
    new: Constraint | NP | SceneClaim
    owner: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()
    extra: tuple[Constraint, Constraint, tuple[int, ...]] | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """Where a constraint stands: index in the subject's or the predicate's, or in a landmark's."""

    constraint: Constraint
    clause: int
    in_subject: bool
    index: int
    inner: int | None  # index among the landmark's own constraints
    owner: tuple[int, ...]
    kinds: tuple[str, ...]


def sites(scene: Scene, state: State, form: SentenceForm) -> list[Site]:
    """All constraints of a true sentence, with the things that they are about."""
    made: list[Site] = []
    for k, clause in enumerate(form.clauses):
        if isinstance(clause, SceneClaim):
            continue
        outcome = evaluate(scene, state, clause)
        kinds = tuple(dict.fromkeys(t.kind for t in by_id(scene, outcome.best))) or outcome.kinds
        for in_subject, constraints in ((True, clause.subject.constraints), (False, clause.preds)):
            for i, constraint in enumerate(constraints):
                made.append(Site(constraint, k, in_subject, i, None, outcome.best, kinds))
                if isinstance(constraint, Stands):
                    other = constraint.other
                    found = resolve(other, scene, state)
                    for j, own in enumerate(other.constraints):
                        made.append(Site(own, k, in_subject, i, j, found.ids, other.kinds))
        state = outcome.state
    return made


def put(form: SentenceForm, site: Site, constraint: Constraint) -> SentenceForm:
    """The sentence with another constraint at a site."""
    clause = form.clauses[site.clause]
    if isinstance(clause, SceneClaim):
        raise ValueError("a scene claim has no constraints")
    row = list(clause.subject.constraints if site.in_subject else clause.preds)
    outer = row[site.index]
    if site.inner is not None and isinstance(outer, Stands):
        own = list(outer.other.constraints)
        own[site.inner] = constraint
        constraint = replace(outer, other=replace(outer.other, constraints=tuple(own)))
    row[site.index] = constraint
    if site.in_subject:
        changed = replace(clause, subject=replace(clause.subject, constraints=tuple(row)))
    else:
        changed = replace(clause, preds=tuple(row))
    return with_clause(form, site.clause, changed)


def with_clause(form: SentenceForm, k: int, clause: Statement | SceneClaim) -> SentenceForm:
    clauses = list(form.clauses)
    clauses[k] = clause
    return replace(form, clauses=tuple(clauses))


def slot_of(site: Site) -> str:
    """The slot that a site's constraint is about, with the main slot named."""
    constraint = site.constraint
    if not isinstance(constraint, Has):
        return ""
    return constraint.slot or (main_slot(site.kinds[0]) if site.kinds else "")


def values_of(scene: Scene, kind: str, slot: str, actual: str) -> list[str]:
    if kind not in KINDS:
        return []
    return [
        value
        for value in KINDS[kind].slots.get(slot, ())
        if value not in (actual, NONE) and may_say(scene, kind, slot, value)
    ]
