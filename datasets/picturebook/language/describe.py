"""A complete, canonical listing of a scene: the dense target that teaches the critic to see.

    beach by day, clear. boat, red hull, yellow sail, left, far. dog, small, orange, sitting, …

Things are listed from left to right. Every slot is named unless it has its unsaid value, with a
rough place (left, middle, right; top, middle, bottom) and what the thing stands on.
"""

from __future__ import annotations

from revise_captions.picturebook.world.scene import (
    KINDS,
    NONE,
    Scene,
    Thing,
    center,
    size_word,
)

#: Slots whose bare value is enough; for others, the slot's name follows.
_PLAIN = frozenset(
    {"coat", "pose", "feathers", "body", "colour", "petals", "leaves", "pattern", "seat", "top"}
)


def describe(scene: Scene) -> str:
    """The listing of a scene; equal scenes have equal listings."""
    where = f"{scene.setting} by {scene.time}, {scene.weather}"
    if scene.wall != NONE:
        where += f", {scene.wall} wall"
    things = sorted(scene.things, key=lambda thing: (center(thing.box), thing.id))
    by_id = {thing.id: thing for thing in scene.things}
    return " ".join(f"{part}." for part in (where, *(_thing(t, by_id) for t in things)))


def _thing(thing: Thing, by_id: dict[int, Thing]) -> str:
    parts = [thing.kind]
    if size := size_word(thing):
        parts.append(size)
    for slot in KINDS[thing.kind].slots:
        value = thing.slots.get(slot, NONE)
        if value == NONE or slot == "held":
            continue
        if slot == "holding":
            parts.append(f"with {thing.slots.get('held', NONE)} {value}")
        elif slot == "word":
            parts.append(f"says {value}")
        else:
            parts.append(value if slot in _PLAIN else f"{value} {slot}")
    x, y = center(thing.box)
    parts += [_third(x, "left", "right"), _third(y, "top", "bottom")]
    if thing.on is not None:
        parts.append(f"on {by_id[thing.on].kind}")
    return ", ".join(parts)


def _third(at: float, low: str, high: str) -> str:
    return low if at < 0.36 else high if at > 0.64 else "middle"
