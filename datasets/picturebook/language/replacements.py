"""Errors that name another thing: of a kind that looks alike, or one that is not there at all."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from revise_captions.picturebook.language.edits import Edit, put, sites, with_clause
from revise_captions.picturebook.semantics.claims import (
    ANY,
    NP,
    Constraint,
    Has,
    Holds,
    Not,
    Placed,
    SceneClaim,
    SentenceForm,
    Stands,
    Statement,
    main_slot,
)
from revise_captions.picturebook.semantics.discourse import State, evaluate
from revise_captions.picturebook.semantics.facts import (
    MENTIONED,
    SHARE,
    absent_kinds,
    draw_kind,
    features,
    may_say,
)
from revise_captions.picturebook.semantics.lexicon import PEOPLE
from revise_captions.picturebook.world.scene import KINDS, NONE, Scene, Thing

#: Groups of kinds that captioners confuse.
CONFUSED = (
    ("dog", "cat", "bird"),
    ("girl", "boy"),
    ("kite", "balloon", "bird", "cloud"),
    ("ball", "balloon", "flower"),
    ("table", "chair", "lamp"),
    ("house", "tree", "fence", "sign"),
    ("car", "boat", "house"),
    ("tree", "flower"),
    ("sun", "moon"),
)


def fits(kind: str, constraint: Constraint) -> bool:
    """Whether a thing of `kind` could be said to satisfy a constraint."""
    slots = KINDS[kind].slots
    match constraint:
        case Has("rest", _):
            return True
        case Has(slot, value):
            slot = slot or main_slot(kind)
            return value in slots.get(slot, ()) or (value == ANY and slot in slots)
        case Holds():
            return kind in PEOPLE
        case Placed("sky"):
            return KINDS[kind].place == "sky"
        case Placed("background" | "foreground"):
            return KINDS[kind].place != "sky"
        case Not(claim):
            return fits(kind, claim)
    return True


def kind_edits(
    scene: Scene, state: State, form: SentenceForm, rng: random.Random
) -> Iterator[Edit]:
    for k, clause in enumerate(form.clauses):
        if isinstance(clause, SceneClaim):
            continue
        np = clause.subject
        if len(np.kinds) != 1 or np.det in ("no", "other", "another"):
            continue
        for kind in _confused_with(np.kinds[0], rng):
            if scene.setting not in KINDS[kind].settings:
                continue
            if np.count > KINDS[kind].most:
                continue
            if all(fits(kind, c) for c in (*np.constraints, *clause.preds)):
                new = replace(np, kinds=(kind,), noun="")
                ids = evaluate(scene, state, clause).best
                yield Edit("kind", with_clause(form, k, replace(clause, subject=new)), k, np, new,
                           ids, np.kinds)  # fmt: skip


def _confused_with(kind: str, rng: random.Random) -> list[str]:
    """Two of the kinds that a kind may be mistaken for, in random order."""
    others = [k for group in CONFUSED if kind in group for k in group if k != kind]
    if not others:
        return []
    weights = [MENTIONED[k] for k in others]
    return list(dict.fromkeys(rng.choices(others, weights, k=2)))


def imagined(scene: Scene, kind: str, rng: random.Random) -> Thing:
    """A thing of a kind that is not there, as it might have looked."""
    slots: dict[str, str] = {}
    for slot, values in KINDS[kind].slots.items():
        allowed = [v for v in values if may_say(scene, kind, slot, v)]
        slots[slot] = rng.choice(allowed)
    if "holding" in slots:
        held = [
            v for v in KINDS[kind].slots["held"] if v != NONE and may_say(scene, kind, "held", v)
        ]
        slots["held"] = NONE if slots["holding"] == NONE else rng.choice(held)
    width, height = KINDS[kind].size
    scale = rng.choices((0.75, 1.0, 1.3), (3, 9, 4))[0]
    return Thing(-1, kind, (0.0, 0.0, width * scale, height * scale), slots)


def object_edits(
    scene: Scene, state: State, form: SentenceForm, rng: random.Random
) -> Iterator[Edit]:
    """A noun phrase replaced by one of a kind that is not there; a denial of what is there."""
    absent = absent_kinds(scene)
    for k, clause in enumerate(form.clauses):
        if isinstance(clause, SceneClaim):
            continue
        np = clause.subject
        if np.det == "no":
            here = sorted({t.kind for t in scene.things})
            if here:
                kinds: tuple[str, ...] = (rng.choices(here, [1 - SHARE[k] for k in here])[0],)
                noun, count = "", np.count if KINDS[kinds[0]].most > 1 else 1
                if rng.random() < 0.12 and kinds[0] in PEOPLE:
                    kinds, noun, count = PEOPLE, "person", 0
                new = replace(np, kinds=kinds, count=count, noun=noun)
                yield Edit("object", with_clause(form, k, replace(clause, subject=new)), k, np,
                           new, (), np.kinds)  # fmt: skip
            continue
        ids = evaluate(scene, state, clause).best
        if np.det in ("a", "number") or (np.det == "the" and not np.constraints):
            for kind in dict.fromkeys(draw_kind(absent, rng) for _ in range(2 if absent else 0)):
                changed = _replaced(scene, clause, kind, rng)
                if changed is not None:
                    yield Edit("object", with_clause(form, k, changed), k, np, changed.subject,
                               ids, np.kinds)  # fmt: skip
    for site in sites(scene, state, form):
        constraint = site.constraint
        if isinstance(constraint, Stands) and constraint.other.det in ("a", "the"):
            if not absent or (constraint.other.kinds[0] == "cloud" and rng.random() < 0.75):
                continue
            kind = draw_kind(absent, rng)
            if constraint.relation not in ("on",):
                other = NP(constraint.other.det, (kind,), tuple(
                    c for c in features(scene, imagined(scene, kind, rng), rng, 0.6)
                    if constraint.other.constraints))  # fmt: skip
                moved = replace(constraint, other=other)
                yield Edit("object", put(form, site, moved), site.clause, constraint, moved,
                           site.owner, site.kinds)  # fmt: skip


def _replaced(scene: Scene, clause: Statement, kind: str, rng: random.Random) -> Statement | None:
    """The statement about an imagined thing of `kind` instead of its subject."""
    np = clause.subject
    if kind not in KINDS or KINDS[kind].most < np.count:
        return None
    kept = [c for c in np.constraints if isinstance(c, Stands | Placed)]
    if not all(fits(kind, c) for c in (*kept, *clause.preds)):
        return None
    if any(isinstance(c, Has) and c.slot not in ("pose", "rest", "") for c in clause.preds):
        return None
    if kind in ("sun", "moon"):
        return (
            None
            if np.constraints or np.det == "number"
            else replace(clause, subject=NP("the", (kind,)))
        )
    own: list[Constraint] = []
    if np.det == "a" and any(c not in kept for c in np.constraints):
        own = features(scene, imagined(scene, kind, rng), rng, 0.9)
    return replace(clause, subject=replace(np, kinds=(kind,), constraints=(*own, *kept), noun=""))
