"""Samples scenes: which things there are, what they look like, where they stand.

Deterministic from (seed, split); the four splits draw from separate random streams. Scenes of
the train, validation and test splits never show a held-out value or relation; every scene of
the compositional split shows at least one held-out value on a thing that nothing hides.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from revise_captions.picturebook.world.layout import (
    FAR_KINDS,
    GROUND,
    KEPT_CLEAR,
    ROAD,
    ROOTED,
    SKY_BOTTOM,
    WATER,
    carries,
    crowded,
    holds_something,
    layer,
    overlaps_badly,
    pair_held_out,
    readable,
    shows_held_out,
    surface,
    unclear,
)
from revise_captions.picturebook.world.scene import (
    KINDS,
    NONE,
    SETTINGS,
    SPLITS,
    WALLS,
    Box,
    Scene,
    Thing,
    held_out_value,
)

SKY_LIGHTS = ("sun", "moon", "cloud")
#: How often a kind is picked; 1 where not named.
WEIGHTS = {"girl": 1.6, "boy": 1.6, "dog": 1.3, "cat": 1.3, "sign": 1.2, "boat": 2.0}
WEIGHTS |= {"table": 2.6, "lamp": 1.5, "chair": 1.4}
#: A slot's first values are likelier than the rest, so that a hat is worth mentioning.
FIRST_SHARE = {"hat": 0.50, "holding": 0.45, "pose": 0.40, "collar": 0.35, "pattern": 0.55}
TRIES = 40
GOOD_ENOUGH = 5


@dataclass(frozen=True, slots=True)
class Plan:
    """What a scene should contain, before anything is placed."""

    setting: str
    kinds: tuple[str, ...]  # in placing order
    held_out: tuple[str, str, str] | None  # kind, slot, value that must be shown


def sample_scene(seed: int, split: str = "train") -> Scene:
    """Samples a scene.

    Args:
        seed: Number of the scene; the same number gives the same scene.
        split: `train`, `validation`, `test` or `compositional`.

    Returns:
        Everything that is true of one picture.

    Raises:
        ValueError: There is no such split.
    """
    if split not in SPLITS:
        raise ValueError(f"no split {split!r}: known are {', '.join(SPLITS)}")
    rng = random.Random(f"picturebook.{split}.{seed}")
    while True:
        scene = _attempt(rng, seed, split)
        if scene is not None:
            return scene


def _attempt(rng: random.Random, seed: int, split: str) -> Scene | None:
    """One scene; None if there was no room for its things or its held-out value got lost."""
    setting = rng.choice(SETTINGS)
    time = "night" if rng.random() < 0.36 else "day"
    weather = (
        "clear" if setting == "room" else rng.choices(("clear", "cloudy", "rainy"), (5, 3, 3))[0]
    )
    plan = _plan(rng, setting, compositional=split == "compositional")
    sky = _sky_kinds(rng, setting, time, weather)
    placed: list[Thing] = []
    free = split == "compositional"
    overlapping = rng.random() < 0.6
    for number, kind in enumerate((*plan.kinds, *sky)):
        forced = plan.held_out if number == 0 else None
        slots = _slots(rng, kind, placed, free=free, forced=forced)
        thing = _place(
            rng, number, kind, slots, placed, setting, free=free, overlapping=overlapping
        )
        if thing is not None:
            placed.append(thing)
        elif forced or (kind == "cloud" and weather != "clear"):
            return None
    if sum(thing.kind not in SKY_LIGHTS for thing in placed) < 2:
        return None
    if weather != "clear" and not any(thing.kind == "cloud" for thing in placed):
        return None
    things = _in_depth_order(placed)
    if any(crowded(thing, things) for thing in things):
        return None
    return Scene(
        seed=seed,
        split=split,
        setting=setting,
        time=time,
        weather=weather,
        things=things,
        style=rng.randrange(2**31),
        wall=rng.choice(WALLS) if setting == "room" else NONE,
    )


def _plan(rng: random.Random, setting: str, *, compositional: bool) -> Plan:
    """The kinds of a scene: two to seven things, in about two of five scenes a repeated kind."""
    options = [k for k in KINDS.values() if setting in k.settings and k.name not in SKY_LIGHTS]
    count = rng.choices((2, 3, 4, 5, 6, 7), (1, 3, 5, 5, 4, 2))[0]
    kinds: list[str] = []
    held_out = None
    if compositional:
        held_out = rng.choice(_held_out_values(setting))
        kinds.append(held_out[0])
    if rng.random() < 0.46:
        repeatable = [k for k in options if k.most > 1]
        chosen = rng.choices(repeatable, [WEIGHTS.get(k.name, 1.0) for k in repeatable])[0]
        times = rng.choices((2, 3, 4), (5, 4, 2))[0]
        times = min(times, chosen.most, max(2, count - 1)) - kinds.count(chosen.name)
        kinds += [chosen.name] * times
    while len(kinds) < count:
        rest = [k for k in options if k.name not in kinds]
        kinds.append(rng.choices(rest, [WEIGHTS.get(k.name, 1.0) for k in rest])[0].name)
    first, others = (kinds[:1], kinds[1:]) if held_out else ([], kinds)
    others.sort(key=lambda kind: -KINDS[kind].size[0] * KINDS[kind].size[1])
    return Plan(setting, (*first, *others)[: max(count, 2)], held_out)


def _held_out_values(setting: str) -> list[tuple[str, str, str]]:
    return [
        (kind.name, slot, value)
        for kind in KINDS.values()
        if setting in kind.settings
        for slot, values in kind.slots.items()
        for value in values
        if held_out_value(kind.name, slot, value)
    ]


def _sky_kinds(rng: random.Random, setting: str, time: str, weather: str) -> tuple[str, ...]:
    """Sun or moon and clouds, as time and weather ask for them."""
    if setting == "room":
        return ()
    light = rng.random() < {"clear": 0.85, "cloudy": 0.35, "rainy": 0.1}[weather]
    clouds = rng.choices(
        *{
            "clear": ((0, 1), (7, 3)),
            "cloudy": ((1, 2, 3), (2, 4, 3)),
            "rainy": ((1, 2, 3), (3, 4, 2)),
        }[weather]
    )[0]
    sky = ("moon" if time == "night" else "sun",) if light else ()
    return ("cloud",) * clouds + sky if weather != "clear" else sky + ("cloud",) * clouds


def _slots(
    rng: random.Random,
    kind: str,
    placed: list[Thing],
    *,
    free: bool,
    forced: tuple[str, str, str] | None,
) -> dict[str, str]:
    """A value for each slot; things of one kind share their main color in a quarter of cases."""
    twins = [thing for thing in placed if thing.kind == kind]
    twin = rng.choice(twins) if twins and rng.random() < 0.25 else None
    slots: dict[str, str] = {}
    for slot, values in KINDS[kind].slots.items():
        allowed = [v for v in values if free or not held_out_value(kind, slot, v)]
        if twin and slot == KINDS[kind].main:
            slots[slot] = twin.slots[slot]
        elif slot == "held":
            holding = slots["holding"] != NONE or (forced is not None and forced[1] == "held")
            slots[slot] = rng.choice([v for v in allowed if v != NONE]) if holding else NONE
        elif slot in FIRST_SHARE:
            first = allowed[0]
            rest = rng.choice(allowed[1:])
            slots[slot] = first if rng.random() < FIRST_SHARE[slot] else rest
        else:
            slots[slot] = rng.choice(allowed)
    if forced:
        slots[forced[1]] = forced[2]
        if forced[1] == "held" and slots["holding"] == NONE:
            slots["holding"] = rng.choice([v for v in KINDS[kind].slots["holding"] if v != NONE])
    return slots


def _place(
    rng: random.Random,
    number: int,
    kind: str,
    slots: dict[str, str],
    placed: list[Thing],
    setting: str,
    *,
    free: bool,
    overlapping: bool,
) -> Thing | None:
    """The clearest of a few good places for a thing; None if no try found one."""
    support = _support(rng, kind, slots, placed, free=free)
    rear = _rear(rng, kind, placed, free=free) if overlapping and support is None else None
    best: Thing | None = None
    best_score, found = 99, 0
    for turn in range(TRIES):
        if turn == TRIES // 2:  # the pair finds no room: stand alone
            support = rear = None
        scale = _scale(rng, kind, support)
        flipped = rng.random() < 0.5
        box = _box(rng, kind, slots, scale, setting, support, rear)
        if box is None:
            continue
        thing = Thing(number, kind, box, slots, 0, support.id if support else None, flipped)
        score = _score(thing, placed, rear, free=free)
        if score is None:
            continue
        found += 1
        if score < best_score:
            best, best_score = thing, score
        if score == 0 or found >= GOOD_ENOUGH:
            break
    return best


def _support(
    rng: random.Random, kind: str, slots: dict[str, str], placed: list[Thing], *, free: bool
) -> Thing | None:
    """An existing thing for the new one to stand on: in most cases, if there is one."""
    if slots.get("pose") == "flying":
        return None
    options = [
        thing
        for thing in placed
        if carries(thing, kind) and (free or not pair_held_out(kind, "on", thing.kind))
    ]
    return rng.choice(options) if options and rng.random() < 0.7 else None


def _rear(rng: random.Random, kind: str, placed: list[Thing], *, free: bool) -> Thing | None:
    """An existing thing for the new one to stand in front of."""
    if rng.random() < 0.35 or kind in SKY_LIGHTS:
        return None
    options = [
        thing
        for thing in placed
        if thing.on is None
        and not (free and thing.id == 0)  # shows the held-out value: nothing may hide it
        and (free or not pair_held_out(kind, "in front of", thing.kind))
    ]
    return rng.choice(options) if options else None


def _scale(rng: random.Random, kind: str, support: Thing | None) -> float:
    """Size relative to the usual: clearly small, about usual or clearly large."""
    small, usual, large = (0.72, 0.79), (0.88, 1.14), (1.27, 1.40)
    if support is not None:
        low, high = rng.choice((small, (0.88, 1.0)))
    elif kind in ("house", "table", "fence", "cloud"):
        low, high = rng.choices((small, usual), (1, 3))[0]
    else:
        low, high = rng.choices((small, usual, large), (3, 9, 4))[0]
    return rng.uniform(low, high)


def thing_size(kind: str, slots: dict[str, str], scale: float) -> tuple[float, float]:
    """Width and height on the canvas. People holding something, and longer words, are wider."""
    width, height = KINDS[kind].size
    width, height = width * scale, height * scale
    if holds_something(slots):
        width *= 1.36
    if kind == "sign":
        width = max(0.9, scale**0.5) * (0.045 + 0.056 * len(slots["word"]))
    return width, height


def _box(
    rng: random.Random,
    kind: str,
    slots: dict[str, str],
    scale: float,
    setting: str,
    support: Thing | None,
    rear: Thing | None,
) -> Box | None:
    width, height = thing_size(kind, slots, scale)
    left, right = 0.02 + width / 2, 0.98 - width / 2
    if support is not None:
        x0, x1, bottom = surface(support)
        if width > (x1 - x0) * 1.15:
            return None
        reach = max(0.0, (x1 - x0 - width) / 2)
        x = (x0 + x1) / 2 + rng.uniform(-reach, reach)
        bottom += 0.0 if kind == "bird" else rng.uniform(0.0, 0.008)
    elif rear is not None:
        x = rng.uniform(rear.box[0] - width * 0.2, rear.box[2] + width * 0.2)
        flying = layer(Thing(0, kind, rear.box, slots)) == 2
        bottom = (
            rng.uniform(rear.box[1] + height * 0.5, rear.box[3] + height * 0.4)
            if flying
            else rear.box[3] + rng.uniform(0.01, 0.14)
        )
    else:
        x = rng.uniform(left, right)
        bottom = _bottom(rng, kind, slots, height, setting)
    if not (left <= x <= right and 0.02 + height <= bottom <= 0.97):
        return None
    if support is None and not _grounded(kind, slots, bottom, setting):
        return None
    return (x - width / 2, bottom - height, x + width / 2, bottom)


def _zone(kind: str, slots: dict[str, str], setting: str) -> tuple[float, float]:
    """Between which heights the lowest point of a thing may be."""
    place = layer(Thing(0, kind, (0, 0, 1, 1), slots))
    if place < 3:
        return 0.0, SKY_BOTTOM[setting]
    if place == 3:
        return WATER
    if kind == "car" and setting == "street":
        return ROAD
    far, near = GROUND[setting]
    return (far, far + 0.5 * (near - far)) if kind in FAR_KINDS else (far, near)


def _grounded(kind: str, slots: dict[str, str], bottom: float, setting: str) -> bool:
    low, high = _zone(kind, slots, setting)
    if setting == "street" and kind in ROOTED and KEPT_CLEAR[0] < bottom < KEPT_CLEAR[1]:
        return False
    return low <= bottom <= high


def _bottom(
    rng: random.Random, kind: str, slots: dict[str, str], height: float, setting: str
) -> float:
    low, high = _zone(kind, slots, setting)
    if low == 0.0:
        high = min(high, height + 0.18) if kind in SKY_LIGHTS else high
        return rng.uniform(min(high, height + 0.02), high)
    return rng.uniform(low, high)


def _score(thing: Thing, placed: list[Thing], rear: Thing | None, *, free: bool) -> int | None:
    """How many relations to the others are unclear; None if the place is not allowed."""
    score = 0
    key = _order(thing, placed)
    for other in placed:
        carried = thing.on == other.id
        meant = rear is not None and other.id == rear.id
        if not carried and overlaps_badly(thing, other, meant=meant):
            return None
        ahead = carried or key > _order(other, placed)
        a, b = replace(thing, depth=int(ahead)), replace(other, depth=int(not ahead))
        if meant and not ahead:
            return None
        if not carried and not readable(*((b, a) if ahead else (a, b))):
            return None
        if not free and shows_held_out(a, b):
            return None
        score += 0 if carried else unclear(thing, other)
    return score


def _order(thing: Thing, placed: list[Thing]) -> tuple[int, float, int]:
    """Painting order: by layer, then by how near the foot of the thing is to the viewer."""
    foot = thing
    if thing.on is not None:
        foot = next(other for other in placed if other.id == thing.on)
    return layer(thing), foot.box[3], int(thing.on is not None)


def _in_depth_order(placed: list[Thing]) -> tuple[Thing, ...]:
    """Ids in the order of painting, depth too; what stands on a thing comes right after it."""
    ordered = sorted(placed, key=lambda thing: (_order(thing, placed), thing.id))
    number = {thing.id: i for i, thing in enumerate(ordered)}
    return tuple(
        replace(t, id=i, depth=i, on=None if t.on is None else number[t.on])
        for i, t in enumerate(ordered)
    )
