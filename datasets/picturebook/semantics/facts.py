"""What may be said about a scene: indisputable facts, and how to refer to things.

Relations and places are used only if they clearly hold, or clearly do not; words of held-out
combinations are used only in the compositional split.
"""

from __future__ import annotations

import random
from functools import cache

from revise_captions.picturebook.semantics.claims import (
    NP,
    Constraint,
    Has,
    Holds,
    Placed,
    Size,
    Stands,
    main_slot,
    placed,
)
from revise_captions.picturebook.semantics.discourse import State, resolve
from revise_captions.picturebook.semantics.lexicon import PEOPLE, WRITTEN
from revise_captions.picturebook.world.scene import (
    KINDS,
    MARGIN,
    NEAR,
    NONE,
    RELATIONS,
    Scene,
    Thing,
    center,
    holds,
    overlap,
    size_word,
)
from revise_captions.picturebook.world.scene import (
    held_out_relation as _held_out_relation,
)
from revise_captions.picturebook.world.scene import held_out_value as _held_out_value

held_out_relation = cache(_held_out_relation)
held_out_value = cache(_held_out_value)

#: Slots that captions name as parts; the rest are poses, words and the like.
COLOR_PARTS = (
    "walls", "roof", "door", "leaves", "petals", "shirt", "hat", "coat", "collar", "feathers",
    "body", "hull", "sail", "top", "seat", "shade", "board",
)  # fmt: skip


#: Large things that stay where they are: other things are placed relative to them.
STATELY = ("house", "tree", "table", "fence", "car", "sign", "sun", "moon", "cloud", "boat")


#: The share of the scenes that may have a kind in which it occurs, and how often true captions
#: mention it per scene that lacks it (measured over 3,000 scenes). Wrong sentences deny and mention
#: kinds in these proportions, so that no word gives them away.
SHARE = {
    "house": 0.25, "tree": 0.26, "flower": 0.37, "girl": 0.39, "boy": 0.37, "dog": 0.33,
    "cat": 0.32, "bird": 0.27, "car": 0.25, "boat": 0.38, "table": 0.57, "chair": 0.35,
    "lamp": 0.43, "ball": 0.27, "kite": 0.23, "balloon": 0.35, "sign": 0.26, "fence": 0.17,
    "sun": 0.53, "moon": 0.49, "cloud": 0.67,
}  # fmt: skip


MENTIONED = {
    "house": 0.38, "tree": 0.33, "flower": 0.26, "girl": 0.74, "boy": 0.65, "dog": 0.57,
    "cat": 0.53, "bird": 0.39, "car": 0.37, "boat": 0.67, "table": 1.23, "chair": 0.44,
    "lamp": 0.59, "ball": 0.28, "kite": 0.27, "balloon": 0.25, "sign": 0.47, "fence": 0.22,
    "sun": 0.35, "moon": 0.32, "cloud": 2.60,
}  # fmt: skip


def free(scene: Scene) -> bool:
    """Whether the scene's texts may use held-out combinations."""
    return scene.split == "compositional"


def may_say(scene: Scene, kind: str, slot: str, value: str) -> bool:
    return free(scene) or kind not in KINDS or not held_out_value(kind, slot, value)


def may_relate(scene: Scene, kind: str, relation: str, other: str) -> bool:
    return free(scene) or not (
        held_out_relation(kind, relation, other)
        or (relation in ("on",) and held_out_relation(other, relation, kind))
    )


def clearly(relation: str, a: Thing, b: Thing) -> bool | None:
    """Whether `a` stands in `relation` to `b`; None if it is too close to call at a glance."""
    if a.id == b.id:
        return None
    dx = center(a.box)[0] - center(b.box)[0]
    truth = holds(relation, a, b)
    if relation in ("left of", "right of"):
        toward = -dx if relation == "left of" else dx
        sure = toward > MARGIN + 0.03 if truth else toward < MARGIN - 0.04
    elif relation in ("above", "below"):
        upper, lower = (a, b) if relation == "above" else (b, a)
        room = lower.box[1] + MARGIN / 2 - upper.box[3]
        sure = (room > 0.03 and abs(dx) < 0.45) if truth else room < -0.05 or upper.on == lower.id
    elif relation == "next to":
        gap = max(a.box[0], b.box[0]) - min(a.box[2], b.box[2])
        drop = abs(a.box[3] - b.box[3])
        sure = (
            (gap < NEAR - 0.02 and drop < NEAR - 0.015 and abs(dx) > MARGIN + 0.02)
            if truth
            else gap > NEAR + 0.06 or drop > NEAR + 0.08
        )
    elif relation in ("in front of", "behind"):
        share = overlap(a.box, b.box)
        sure = (
            share > 0.33 if truth else share < 0.15 or (a.depth > b.depth) == (relation == "behind")
        )
        if not truth and (a.on == b.id or b.on == a.id):
            sure = False
    else:
        sure = True if truth else overlap(a.box, b.box) < 0.25
    return truth if sure else None


def clearly_placed(place: str, thing: Thing) -> bool | None:
    """Whether `thing` is in that part of the picture; None if it is hard to tell."""
    x, bottom = center(thing.box)[0], thing.box[3]
    truth = placed(thing, place)
    sure = {
        "left": x < 0.36 if truth else x > 0.56,
        "right": x > 0.64 if truth else x < 0.44,
        "middle": 0.43 < x < 0.57 if truth else not 0.28 < x < 0.72,
        "background": bottom < 0.74 if truth else bottom > 0.87,
        "foreground": bottom > 0.86 if truth else bottom < 0.75,
    }.get(place, True)
    return truth if sure else None


def related(scene: Scene, a: Thing, b: Thing) -> list[str]:
    """Relations of `a` to `b` that clearly hold, may be said and are natural to say."""
    made = []
    for relation in RELATIONS:
        if not may_relate(scene, a.kind, relation, b.kind):
            continue
        lights = ("sun", "moon", "cloud")
        level = relation in ("left of", "right of", "next to")
        if a.kind in lights and level and b.kind not in (*lights, "bird", "kite", "balloon"):
            continue
        upright = relation in ("above", "below") and a.on is None and b.on is None
        if upright and not (placed(a, "sky") or placed(b, "sky")):
            continue
        if clearly(relation, a, b):
            made.append(relation)
    return made


def relation_form(relation: str, rng: random.Random) -> int:
    return rng.randrange(WRITTEN.get(relation, 1))


def place_form(place: str, rng: random.Random) -> int:
    """One of the wordings that a place has."""
    return rng.randrange({"left": 5, "right": 5, "middle": 3}.get(place, 1))


def facts(scene: Scene, thing: Thing) -> list[Constraint]:
    """Single facts about a thing itself, each of which may be said."""
    made: list[Constraint] = []
    kind = thing.kind
    for slot, value in thing.slots.items():
        if slot in ("held", "holding") or not may_say(scene, kind, slot, value):
            continue
        if value == NONE:
            continue
        made.append(Has(slot, value))
        if slot == main_slot(kind):
            made.append(Has("", value))
    item = thing.slots.get("holding", NONE)
    if item != NONE:
        color = thing.slots["held"]
        made.append(Holds(item, color if may_say(scene, kind, "held", color) else ""))
    word = size_word(thing)
    if word and not (word == "large" and kind in ("sun", "moon", "cloud")):
        made.append(Size(word, 2 if kind in PEOPLE else 0))
    return made


def place_facts(thing: Thing) -> list[Constraint]:
    places = ["left", "right", "middle"]
    if KINDS[thing.kind].place != "sky" and thing.on is None:
        places += ["background", "foreground"]
    return [Placed(place) for place in places if clearly_placed(place, thing)]


def features(scene: Scene, thing: Thing, rng: random.Random, richness: float) -> list[Constraint]:
    """What an introducing noun phrase says about a thing, in order."""
    kind, slots = thing.kind, thing.slots
    made: list[Constraint] = []

    def may(slot: str) -> bool:
        value = slots.get(slot, NONE)
        return value != NONE and may_say(scene, kind, slot, value)

    word = size_word(thing)
    if word and kind not in ("sun", "moon") and rng.random() < 0.55 * richness:
        made.append(Size(word, 2 if kind in PEOPLE else rng.randrange(2)))
    main = main_slot(kind)
    if kind == "ball" and slots["pattern"] == "striped" and rng.random() < 0.6 * richness:
        made.append(Has("pattern", "striped"))
    if main and may(main) and rng.random() < 0.85 * richness:
        made.append(Has("", slots[main]))
    if kind in PEOPLE:
        form = rng.randrange(4)
        if may("shirt") and rng.random() < 0.8 * richness:
            made.append(Has("shirt", slots["shirt"], form))
        if may("hat") and rng.random() < 0.45 * richness:
            made.append(Has("hat", slots["hat"], form & 2))
        item = slots["holding"]
        if item != NONE and len(made) < 2 and rng.random() < 0.4 * richness:
            made.append(Holds(item, slots["held"] if may("held") else "", rng.randrange(2)))
        return made
    part = {"house": "roof", "boat": "sail", "dog": "collar"}.get(kind, "")
    if kind == "house" and rng.random() < 0.25:
        part = "door"
    if part and may(part) and rng.random() < 0.4 * richness:
        made.append(Has(part, slots[part]))
    return made


def refer(
    scene: Scene,
    thing: Thing,
    rng: random.Random,
    plain: bool = False,
    without: Constraint | None = None,
) -> NP | None:
    """A definite description that needs no context, the shortest that fits; None if none does.

    `without`: a fact that must not be part of it, because it is what will be said.
    """
    kind = thing.kind
    if len(scene.of_kind(kind)) == 1:
        if plain or rng.random() < 0.8:
            return NP("the", (kind,))
        extra = [
            c
            for c in features(scene, thing, rng, 0.5)
            if not isinstance(c, Size) and not same_slot(c, without, kind)
        ][:1]
        return NP("the", (kind,), tuple(extra))
    options: list[Constraint] = [
        fact
        for fact in facts(scene, thing)
        if (
            isinstance(fact, Has) and fact.slot in ("", "shirt", "hat", "pose", "pattern", "collar")
        )
        or isinstance(fact, Size)
    ]
    main = [f for f in options if isinstance(f, Has) and f.slot in ("", "shirt")]
    rest = [f for f in options if f not in main]
    sides: list[Constraint] = [
        Placed(place) for place in ("left", "right") if clearly_placed(place, thing)
    ]
    order = [*main, *sides, *rest] if rng.random() < 0.6 else [*sides, *main, *rest]
    for fact in order:
        if same_slot(fact, without, kind):
            continue
        if isinstance(fact, Has) and fact.slot == "pose":
            fact = Has("pose", fact.value, 10)
        if isinstance(fact, Placed) and not _outermost(scene, thing, fact.place):
            continue
        np = NP("the", (kind,), (fact,))
        if resolve(np, scene, State()).ids == (thing.id,):
            return np
    return None


def same_slot(one: Constraint, other: Constraint | None, kind: str) -> bool:
    """Whether two constraints are about the same slot of a thing (or its size, or place)."""
    if isinstance(one, Has) and isinstance(other, Has):
        return (one.slot or main_slot(kind)) == (other.slot or main_slot(kind))
    return type(one) is type(other)


def _outermost(scene: Scene, thing: Thing, place: str) -> bool:
    """Whether "the dog on the left" is unambiguously this one."""
    x = center(thing.box)[0]
    others = [center(t.box)[0] for t in scene.of_kind(thing.kind) if t.id != thing.id]
    clear = (
        all(o > x + MARGIN for o in others)
        if place == "left"
        else all(o < x - MARGIN for o in others)
    )
    return (
        clear and sum(clearly_placed(place, t) is not False for t in scene.of_kind(thing.kind)) == 1
    )


def absent_kinds(scene: Scene) -> list[str]:
    """Kinds that the setting, the time and the weather would allow and that are not there."""
    here = {t.kind for t in scene.things}
    return [
        kind.name
        for kind in KINDS.values()
        if scene.setting in kind.settings
        and kind.name not in here
        and not (kind.name == "sun" and scene.time == "night")
        and not (kind.name == "moon" and scene.time == "day")
    ]


def draw_kind(kinds: list[str], rng: random.Random, *, denied: bool = False) -> str:
    """One of some absent kinds, as often as captions truly mention it; `denied`: as often as
    captions falsely deny it.
    """
    weights = [SHARE[k] if denied else MENTIONED[k] for k in kinds]
    return rng.choices(kinds, weights)[0]


def landmarks(scene: Scene, thing: Thing, rng: random.Random) -> list[tuple[str, Thing]]:
    """(relation, other) pairs that may be said of a thing, in random order, telling ones first."""
    pairs = [
        (relation, other)
        for other in scene.things
        if other.id != thing.id
        for relation in related(scene, thing, other)
    ]
    rng.shuffle(pairs)
    telling = {"on": 0, "in front of": 0, "behind": 0, "next to": 1}
    pairs.sort(key=lambda pair: telling.get(pair[0], 2) if rng.random() < 0.45 else 2)
    return pairs


def stands(
    scene: Scene, thing: Thing, rng: random.Random, used: frozenset[tuple[str, int]] = frozenset()
) -> tuple[Stands, Thing] | None:
    """A relation to another thing that can be named without context."""
    for relation, other in landmarks(scene, thing, rng)[:6]:
        if (relation, other.id) in used:
            continue
        beside_sky = relation in ("left of", "right of") and other.kind in ("sun", "moon", "cloud")
        if beside_sky and not placed(thing, "sky") and rng.random() < 0.6:
            continue
        if thing.kind in STATELY and other.kind not in STATELY and rng.random() < 0.7:
            continue
        np = refer(scene, other, rng)
        if np is None:
            continue
        single = len(scene.of_kind(other.kind)) == 1 and other.kind not in ("sun", "moon")
        if single and rng.random() < 0.2:
            np = NP("a", np.kinds, np.constraints)
        return Stands(relation, np, relation_form(relation, rng)), other
    return None
