"""Where things may be placed: ground, sky and water zones, supports, and visibility limits.

Fractions in this module are of a thing's own box, (x0, y0, x1, y1), y down.
"""

from __future__ import annotations

from functools import cache

from revise_captions.picturebook.world.scene import (
    INVERSE,
    KINDS,
    MARGIN,
    NEAR,
    NONE,
    Box,
    Thing,
    center,
    held_out_relation,
    holds,
    overlap,
)

#: Lowest points of things on the ground, per setting: (far, near).
GROUND = {
    "meadow": (0.62, 0.95),
    "beach": (0.69, 0.95),
    "street": (0.63, 0.95),
    "room": (0.72, 0.96),
}
#: Houses and trees stand in the farther part of the ground, to leave room for the rest.
FAR_KINDS = ("house", "tree", "fence")
WATER = (0.50, 0.61)
ROAD = (0.80, 0.90)
#: No roots, posts or chairs stand between these heights in a street.
KEPT_CLEAR = (0.735, 0.925)
ROOTED = ("house", "tree", "flower", "fence", "sign")
SKY_BOTTOM = {"meadow": 0.54, "beach": 0.42, "street": 0.50, "room": 0.56}

#: What can carry a thing: (x0, x1, y) of its upper surface, and the kinds it carries.
SUPPORTS: dict[str, tuple[tuple[float, float, float], tuple[str, ...]]] = {
    "table": ((0.08, 0.92, 0.14), ("dog", "cat", "lamp", "ball", "bird")),
    "chair": ((0.10, 0.90, 0.60), ("cat", "ball", "bird", "dog")),
    "house": ((0.22, 0.78, 0.03), ("bird",)),
    "fence": ((0.10, 0.90, 0.06), ("bird",)),
    "sign": ((0.12, 0.88, 0.02), ("bird",)),
}

#: Parts that carry facts, and the largest share of each that other things may hide.
_WHOLE = ((0.0, 0.0, 1.0, 1.0), 0.30)
KEY_PARTS: dict[str, tuple[tuple[Box, float], ...]] = {
    "house": (
        ((0.0, 0.0, 1.0, 0.42), 0.25),
        ((0.10, 0.46, 0.90, 0.68), 0.10),
        ((0.38, 0.66, 0.62, 1.0), 0.25),
    ),
    "tree": (((0.0, 0.0, 1.0, 0.65), 0.30),),
    "flower": (((0.1, 0.0, 0.9, 0.55), 0.15),),
    "girl": (((0.0, 0.0, 1.0, 0.45), 0.10), ((0.0, 0.40, 1.0, 0.70), 0.30)),
    "boy": (((0.0, 0.0, 1.0, 0.45), 0.10), ((0.0, 0.40, 1.0, 0.70), 0.30)),
    "dog": (_WHOLE, ((0.5, 0.0, 1.0, 0.7), 0.15), ((0.0, 0.0, 0.5, 0.7), 0.40)),
    "cat": (_WHOLE, ((0.5, 0.0, 1.0, 0.7), 0.15), ((0.0, 0.0, 0.5, 0.7), 0.40)),
    "bird": (_WHOLE,),
    "car": (((0.0, 0.0, 1.0, 1.0), 0.45),),
    "boat": (((0.0, 0.0, 1.0, 0.7), 0.30), ((0.0, 0.7, 1.0, 1.0), 0.45)),
    "table": (((0.0, 0.0, 1.0, 0.35), 0.35),),
    "chair": (((0.0, 0.0, 1.0, 0.70), 0.40),),
    "lamp": (((0.0, 0.0, 1.0, 0.50), 0.10),),
    "ball": (_WHOLE,),
    "kite": (((0.0, 0.0, 1.0, 0.70), 0.30),),
    "balloon": (((0.0, 0.0, 1.0, 0.70), 0.30),),
    "sign": (((0.0, 0.0, 1.0, 0.62), 0.02),),
    "fence": (((0.0, 0.0, 1.0, 1.0), 0.50),),
    "sun": (((0.0, 0.0, 1.0, 1.0), 0.45),),
    "moon": (((0.0, 0.0, 1.0, 1.0), 0.30),),
    "cloud": (((0.0, 0.0, 1.0, 1.0), 0.50),),
}

#: More of a thing than this is never hidden by one other thing.
MOST_HIDDEN = 0.50
#: Boxes that are not meant to overlap share less than this of the smaller one; boxes that are,
#: more than that. `world.holds` draws its line at 0.3.
APART, TOGETHER = 0.12, 0.38
SEEN_RELATIONS = ("on", "in front of", "behind", "next to")


def part(box: Box, fraction: Box) -> Box:
    """A part of a box, given in fractions of it, in canvas units."""
    x0, y0, x1, y1 = box
    width, height = x1 - x0, y1 - y0
    return (
        x0 + fraction[0] * width,
        y0 + fraction[1] * height,
        x0 + fraction[2] * width,
        y0 + fraction[3] * height,
    )


def hidden(rear: Box, front: Box) -> float:
    """The share of `rear` that the box `front` covers, in [0, 1]."""
    width = min(rear[2], front[2]) - max(rear[0], front[0])
    height = min(rear[3], front[3]) - max(rear[1], front[1])
    if width <= 0 or height <= 0:
        return 0.0
    return width * height / ((rear[2] - rear[0]) * (rear[3] - rear[1]))


def key_parts(thing: Thing) -> tuple[tuple[Box, float], ...]:
    """The parts of a thing that must stay visible, with the share that may be hidden."""
    parts = []
    for (x0, y0, x1, y1), most in KEY_PARTS[thing.kind]:
        if thing.flipped:
            x0, x1 = 1 - x1, 1 - x0
        parts.append((part(thing.box, (x0, y0, x1, y1)), most))
    return tuple(parts)


def readable(rear: Thing, front: Thing) -> bool:
    """Whether everything that captions say about `rear` is still visible behind `front`."""
    if hidden(rear.box, front.box) > MOST_HIDDEN:
        return False
    return all(hidden(box, front.box) <= most for box, most in key_parts(rear))


def crowded(thing: Thing, things: tuple[Thing, ...]) -> bool:
    """Whether the others together hide too much of a thing; what it carries may hide a third."""
    front = [other for other in things if other.depth > thing.depth]
    share = sum(hidden(thing.box, o.box) for o in front if o.on != thing.id)
    carried = sum(hidden(thing.box, o.box) for o in front if o.on == thing.id)
    return share + max(0.0, carried - 0.35) > MOST_HIDDEN


def layer(thing: Thing) -> int:
    """0 sun and moon, 1 clouds, 2 what flies, 3 boats, 4 all that stands on the ground."""
    if thing.kind in ("sun", "moon"):
        return 0
    if thing.kind == "cloud":
        return 1
    if thing.on is not None:
        return 4
    if KINDS[thing.kind].place == "sky" and thing.slots.get("pose") != "standing":
        return 2
    return 3 if KINDS[thing.kind].place == "water" else 4


@cache
def _held_out(kind: str, relation: str, other: str) -> bool:
    return held_out_relation(kind, relation, other)


def shows_held_out(a: Thing, b: Thing) -> bool:
    """Whether a held-out relation that a picture shows holds between the two, either way."""
    near = b.box[0] - a.box[2] < NEAR and a.box[0] - b.box[2] < NEAR
    if not near:
        return False
    return any(
        (_held_out(a.kind, relation, b.kind) and holds(relation, a, b))
        or (_held_out(b.kind, relation, a.kind) and holds(relation, b, a))
        for relation in SEEN_RELATIONS
    )


def pair_held_out(a: str, relation: str, b: str) -> bool:
    """Whether a planned relation between two kinds, or its mirror image, is held out."""
    return _held_out(a, relation, b) or _held_out(b, INVERSE.get(relation, relation), a)


def unclear(a: Thing, b: Thing) -> int:
    """How many relations of the two are too close to call at a glance."""
    (ax, _), (bx, _) = center(a.box), center(b.box)
    count = int(abs(abs(ax - bx) - MARGIN) < 0.025)
    for upper, lower in ((a, b), (b, a)):
        count += abs(upper.box[3] - lower.box[1] - MARGIN / 2) < 0.02
    gap = max(a.box[0], b.box[0]) - min(a.box[2], b.box[2])
    drop = abs(a.box[3] - b.box[3])
    count += abs(gap - NEAR) < 0.025 and drop < NEAR + 0.02
    count += abs(drop - NEAR) < 0.02 and gap < NEAR + 0.025
    return count


def drawn_box(thing: Thing) -> Box:
    """The part of a thing's box that its pose fills: sleepers lie low, jumpers leave the ground."""
    pose = thing.slots.get("pose")
    if pose == "sleeping":
        return part(thing.box, (0.0, 0.42, 1.0, 1.0))
    if pose == "sitting" and thing.kind in ("girl", "boy"):
        return part(thing.box, (0.0, 0.17, 1.0, 1.0))
    return part(thing.box, (0.0, 0.0, 1.0, 0.86)) if pose == "jumping" else thing.box


def overlaps_badly(a: Thing, b: Thing, *, meant: bool) -> bool:
    """Whether two boxes overlap when they should not, or too little when they should."""
    share = overlap(a.box, b.box)
    if meant:
        return share < TOGETHER or overlap(drawn_box(a), drawn_box(b)) < APART * 2
    return share > APART


def carries(support: Thing, kind: str) -> bool:
    return support.kind in SUPPORTS and kind in SUPPORTS[support.kind][1]


def surface(support: Thing) -> tuple[float, float, float]:
    """(x0, x1, y) in canvas units of the surface on which a support carries things."""
    (x0, x1, y), _ = SUPPORTS[support.kind]
    box = part(support.box, (x0, y, x1, y))
    return box[0], box[2], box[1]


def holds_something(slots: dict[str, str]) -> bool:
    return slots.get("holding", NONE) != NONE
