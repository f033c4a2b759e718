"""Errors as captioners make them: one wrong claim inserted into a true sentence.

An error changes a sentence's claims, not its words directly: the wrong sentence is written by the
same templates from the same vocabulary, so that only the picture distinguishes it from a true one.
The true sentence is the minimal rewrite.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from revise_captions.picturebook.language.edits import (
    Edit,
    Site,
    put,
    sites,
    slot_of,
    values_of,
    with_clause,
)
from revise_captions.picturebook.language.replacements import kind_edits, object_edits
from revise_captions.picturebook.language.writer import clause_sayable
from revise_captions.picturebook.oracle.truth import Truth, judge
from revise_captions.picturebook.semantics.claims import (
    ANY,
    Constraint,
    Has,
    Holds,
    Not,
    Placed,
    SceneClaim,
    SentenceForm,
    Size,
    Stands,
    Statement,
    main_slot,
)
from revise_captions.picturebook.semantics.discourse import (
    State,
    by_id,
    checks_of,
    resolve,
)
from revise_captions.picturebook.semantics.facts import (
    clearly,
    clearly_placed,
    facts,
    may_relate,
    place_form,
    refer,
    relation_form,
)
from revise_captions.picturebook.semantics.lexicon import ITEMS, PEOPLE, SETTING_FORMS
from revise_captions.picturebook.world.scene import (
    COLORS,
    KINDS,
    NONE,
    SETTINGS,
    WALLS,
    WEATHERS,
    WORDS,
    Scene,
)

#: From a true count to wrong ones, so that wrong counts have the same distribution as true ones.
COUNT_WEIGHTS: dict[int, dict[int, float]] = {
    1: {2: 0.9, 3: 0.1},
    2: {1: 0.52, 3: 0.44, 4: 0.04},
    3: {2: 0.9, 1: 0.06, 4: 0.04},
    4: {2: 0.6, 3: 0.4},
}
#: From a true relation to wrong ones, likewise.
RELATION_WEIGHTS: dict[str, dict[str, float]] = {
    "left of": {"right of": 0.8, "next to": 0.15, "behind": 0.03, "in front of": 0.03},
    "right of": {"left of": 0.8, "next to": 0.15, "behind": 0.03, "in front of": 0.03},
    "above": {"below": 0.9, "next to": 0.1},
    "below": {"above": 0.9, "next to": 0.1},
    "next to": {"left of": 0.4, "right of": 0.4, "in front of": 0.1, "behind": 0.1, "on": 0.1},
    "in front of": {"behind": 0.5, "left of": 0.2, "right of": 0.2, "next to": 0.1},
    "behind": {"in front of": 0.5, "left of": 0.2, "right of": 0.2, "next to": 0.1},
    "on": {"next to": 0.4, "below": 0.2, "left of": 0.2, "right of": 0.2},
}


def corrupt_form(
    scene: Scene, state: State, form: SentenceForm, rng: random.Random, error_type: str
) -> Edit | None:
    """A wrong version of a true sentence by the given type of error, or None."""
    makers = {
        "attribute": _attribute, "action": _action, "text": _text, "binding": _binding,
        "relation": _relation, "count": _count, "setting": _setting, "kind": kind_edits,
        "object": object_edits, "context": _context,
    }  # fmt: skip
    edits = list(makers[error_type](scene, state, form, rng))
    rng.shuffle(edits)
    for edit in edits[:6]:
        if judge(scene, state, edit.form.clauses)[0] is Truth.FALSE and _sayable(
            scene, state, edit.form
        ):
            return edit
    return None


def _sayable(scene: Scene, state: State, form: SentenceForm) -> bool:
    return scene.split == "compositional" or all(
        isinstance(clause, SceneClaim) or clause_sayable(scene, state, clause)
        for clause in form.clauses
    )


def _attribute(
    scene: Scene, state: State, form: SentenceForm, rng: random.Random
) -> Iterator[Edit]:
    for site in sites(scene, state, form):
        yield from _attribute_at(scene, form, site, rng)


def _attribute_at(
    scene: Scene, form: SentenceForm, site: Site, rng: random.Random
) -> Iterator[Edit]:
    constraint, kinds = site.constraint, site.kinds
    if not kinds:
        return
    new: Constraint | None = None
    match constraint:
        case Has(slot, value) if slot not in ("pose", "word", "rest") and value not in (ANY, NONE):
            values = values_of(scene, kinds[0], slot_of(site), value)
            present = [t.slots[s] for t in scene.things for s in t.slots if t.slots[s] in values]
            if values:
                pool = present if present and rng.random() < 0.3 else values
                new = replace(constraint, value=rng.choice(pool))
                if slot == "hat" and not site.in_subject and rng.random() < 0.25:
                    new = Not(Has("hat", ANY))
        case Size(word):
            if word == "large" or rng.random() < 0.6:  # small things are the more frequent ones
                new = replace(constraint, word="large" if word == "small" else "small")
        case Holds(item, color):
            items = [i for i in ITEMS if i != item]
            colors = values_of(scene, kinds[0], "held", color) if color else []
            if colors and rng.random() < 0.5:
                new = replace(constraint, color=rng.choice(colors))
            else:
                new = replace(constraint, item=rng.choice(items))
        case Not(Has("hat", _)):
            values = values_of(scene, kinds[0], "hat", NONE)
            if values:
                new = Has("hat", rng.choice(values), rng.randrange(2))
    if new is not None:
        form = put(form, site, new)
        yield Edit("attribute", form, site.clause, constraint, new, site.owner, kinds)


def _action(scene: Scene, state: State, form: SentenceForm, rng: random.Random) -> Iterator[Edit]:
    for site in sites(scene, state, form):
        constraint = site.constraint
        if isinstance(constraint, Has) and constraint.slot == "pose" and site.kinds:
            poses = values_of(scene, site.kinds[0], "pose", constraint.value)
            if poses:
                new = replace(constraint, value=rng.choice(poses))
                changed = put(form, site, new)
                yield Edit("action", changed, site.clause, constraint, new, site.owner, site.kinds)


def _text(scene: Scene, state: State, form: SentenceForm, rng: random.Random) -> Iterator[Edit]:
    for site in sites(scene, state, form):
        constraint = site.constraint
        if isinstance(constraint, Has) and constraint.slot == "word":
            new = replace(constraint, value=rng.choice([w for w in WORDS if w != constraint.value]))
            changed = put(form, site, new)
            yield Edit("text", changed, site.clause, constraint, new, site.owner, site.kinds)


def _colored(site: Site) -> bool:
    return isinstance(site.constraint, Has) and site.constraint.value in COLORS


def _binding(scene: Scene, state: State, form: SentenceForm, rng: random.Random) -> Iterator[Edit]:
    """Two colors of the sentence swapped, or a color taken from another part or thing."""
    colored = [s for s in sites(scene, state, form) if _colored(s) and s.kinds]
    for a in colored:
        for b in colored:
            edit = _swap(scene, form, a, b)
            if edit is not None:
                yield edit
    for site in colored:
        constraint, kind = site.constraint, site.kinds[0]
        if not isinstance(constraint, Has):
            continue
        values = set(values_of(scene, kind, slot_of(site), constraint.value))
        own = {v for t in by_id(scene, site.owner) for v in t.slots.values() if v in values}
        mentioned = {i for m in state.mentions for i in m.ids}
        near = {
            v for t in by_id(scene, mentioned) for v in t.slots.values() if v in values
        }  # fmt: skip
        for value in sorted(own or near):
            new = replace(constraint, value=value)
            changed = put(form, site, new)
            yield Edit("binding", changed, site.clause, constraint, new, site.owner, site.kinds)


def _swap(scene: Scene, form: SentenceForm, a: Site, b: Site) -> Edit | None:
    one, two = a.constraint, b.constraint
    if not isinstance(one, Has) or not isinstance(two, Has):
        return None
    if (a.clause, a.in_subject, a.index, a.inner or -1) >= (
        b.clause, b.in_subject, b.index, b.inner or -1,
    ):  # fmt: skip
        return None
    if two.value not in values_of(scene, a.kinds[0], slot_of(a), one.value):
        return None
    if one.value not in values_of(scene, b.kinds[0], slot_of(b), two.value):
        return None
    first, second = replace(one, value=two.value), replace(two, value=one.value)
    if (
        a.inner is not None
        and b.inner is None
        and (a.in_subject, a.index) == (b.in_subject, b.index)
    ):
        return None
    changed = put(put(form, a, first), b, second)
    return Edit("binding", changed, a.clause, one, first, a.owner, a.kinds, (two, second, b.owner))


def _relation(scene: Scene, state: State, form: SentenceForm, rng: random.Random) -> Iterator[Edit]:
    for site in sites(scene, state, form):
        if site.inner is None:
            yield from _relation_at(scene, state, form, site, rng)


def _relation_at(
    scene: Scene, state: State, form: SentenceForm, site: Site, rng: random.Random
) -> Iterator[Edit]:
    constraint = site.constraint
    things = by_id(scene, site.owner)
    if isinstance(constraint, Placed):
        others = {"left": ("right", "middle"), "right": ("left", "middle"),
                  "middle": ("left", "right"), "background": ("foreground",),
                  "foreground": ("background",)}  # fmt: skip
        for place in others.get(constraint.place, ()):
            if place == "middle" and rng.random() < 0.7:
                continue
            if all(clearly_placed(place, t) is False for t in things):
                new: Constraint = Placed(place, place_form(place, rng))
                changed = put(form, site, new)
                yield Edit("relation", changed, site.clause, constraint, new, site.owner,
                           site.kinds)  # fmt: skip
        return
    if not isinstance(constraint, Stands):
        return
    marks = by_id(scene, resolve(constraint.other, scene, state).ids)
    swaps = RELATION_WEIGHTS[constraint.relation]
    for relation in dict.fromkeys(rng.choices(list(swaps), list(swaps.values()), k=2)):
        if all(clearly(relation, a, b) is False for a in things for b in marks):
            new = replace(constraint, relation=relation, form=relation_form(relation, rng))
            changed = put(form, site, new)
            yield Edit("relation", changed, site.clause, constraint, new, site.owner, site.kinds)
    if constraint.other.det not in ("the", "a"):
        return
    for mark in scene.things:
        if any(mark.id == t.id for t in (*marks, *things)):
            continue
        if not all(clearly(constraint.relation, t, mark) is False for t in things):
            continue
        if rng.random() < 0.5 and all(
            may_relate(scene, t.kind, constraint.relation, mark.kind) for t in things
        ):
            np = refer(scene, mark, rng)
            if np is not None:
                new = replace(constraint, other=np)
                changed = put(form, site, new)
                yield Edit("relation", changed, site.clause, constraint, new, site.owner,
                           site.kinds)  # fmt: skip


def _count(scene: Scene, state: State, form: SentenceForm, rng: random.Random) -> Iterator[Edit]:
    for k, clause in enumerate(form.clauses):
        if isinstance(clause, SceneClaim):
            continue
        np = clause.subject
        single = np.det == "a" and not clause.preds and "stands" not in form.template
        if np.det != "number" and not (single and rng.random() < 0.04):
            continue
        if np.det == "a" and KINDS[np.kinds[0]].most < 2:
            continue
        if any(_one_owns(constraint) for constraint in np.constraints):
            continue
        options = COUNT_WEIGHTS[np.count]
        count = rng.choices(list(options), list(options.values()))[0]
        new = replace(np, det="number", count=count)
        yield Edit("count", with_clause(form, k, replace(clause, subject=new)), k, np, new,
                   (), np.kinds)  # fmt: skip


def _one_owns(constraint: Constraint) -> bool:
    """Whether "two girls …" would not do: clothes, things held and words belong to one."""
    if isinstance(constraint, Has):
        return constraint.slot in ("shirt", "hat", "word")
    return isinstance(constraint, Holds)


def _setting(scene: Scene, state: State, form: SentenceForm, rng: random.Random) -> Iterator[Edit]:
    for k, clause in enumerate(form.clauses):
        if not isinstance(clause, SceneClaim):
            continue
        value = clause.value
        options: tuple[str, ...] = {
            "setting": SETTINGS, "time": ("day", "night"), "weather": WEATHERS, "wall": WALLS,
        }[clause.what]  # fmt: skip
        if value == "rainy":  # it is cloudy, too
            options = ("clear",)
        if value == "day" and rng.random() < 0.4:  # days are the more frequent ones
            continue
        chosen = rng.choice([o for o in options if o != value])
        noun = rng.choice(SETTING_FORMS[chosen]) if clause.what == "setting" and clause.noun else ""
        if clause.noun and clause.what == "time":
            noun = clause.noun.replace(value, chosen).replace("during the night", "at night")
            noun = {"at day": "during the day", "by night": "at night"}.get(noun, noun)
        new = SceneClaim(clause.what, chosen, noun=noun)
        yield Edit("setting", with_clause(form, k, new), k, clause, new)


def _context(scene: Scene, state: State, form: SentenceForm, rng: random.Random) -> Iterator[Edit]:
    """Errors in sentences with a reference, which would be true of something else."""
    if judge(scene, State(), form.clauses)[0] is Truth.TRUE:
        return
    for site in sites(scene, state, form):
        if site.in_subject or site.inner is not None:
            continue
        for edit in (
            *_attribute_at(scene, form, site, rng),
            *_relation_at(scene, state, form, site, rng),
            *_other_fact(scene, form, site),
        ):
            clause = edit.form.clauses[edit.clause]
            if isinstance(clause, Statement) and _true_of_another(scene, state, clause, site):
                yield replace(edit, error_type="context")


def _true_of_another(scene: Scene, state: State, clause: Statement, site: Site) -> bool:
    checks = checks_of(clause.preds, scene, state)
    if checks is None:
        return False
    people = bool(set(site.kinds) & set(PEOPLE))
    return any(
        all(check(thing) for check in checks)
        for thing in scene.things
        if thing.id not in site.owner and (thing.kind in PEOPLE) == people
    )


def _other_fact(scene: Scene, form: SentenceForm, site: Site) -> Iterator[Edit]:
    """The same kind of fact, taken from another thing that is spoken of in the same way."""
    constraint = site.constraint
    if not isinstance(constraint, Has) or constraint.slot in ("word", "rest") or not site.kinds:
        return
    slot = slot_of(site)
    for thing in scene.things:
        if thing.id in site.owner or thing.kind not in site.kinds:
            continue
        for fact in facts(scene, thing):
            if not isinstance(fact, Has) or (fact.slot or main_slot(thing.kind)) != slot:
                continue
            if fact.value not in (constraint.value, NONE) and constraint.value != ANY:
                new = replace(constraint, value=fact.value)
                yield Edit("context", put(form, site, new), site.clause, constraint, new,
                           site.owner, site.kinds)  # fmt: skip
