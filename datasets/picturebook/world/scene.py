"""The picture-book world: what can exist, and what is true of it. No drawing, no language here.

A `Scene` is a list of `Thing`s in a setting. Every fact a caption may state is either a field of
the scene (kind, count, a slot such as the roof's color, the pose, the word on a sign, setting,
time, weather) or a relation computed from the things' boxes by `holds`. So each sentence, including
one that a reviser invents, has an exact truth.

Coordinates: the canvas is the unit square, x to the right, y down; a box is (x0, y0, x1, y1) and
bounds what is drawn of the thing, before anything in front of it covers some of it.

Splits: `held_out_value` and `held_out_relation` mark about a tenth of the kind–value and
kind–relation–kind combinations. Neither images nor texts of the train, validation and ordinary
test split contain them; every scene of the compositional split contains at least one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

COLORS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "white", "black")
WORDS = (
    "STOP", "OPEN", "EXIT", "CAFE", "SHOP", "PARK", "ZOO", "BUS", "TAXI", "HOTEL",
    "BEACH", "FARM", "SALE", "FISH", "TOYS", "MILK",
)  # fmt: skip
SETTINGS = ("meadow", "beach", "street", "room")
TIMES = ("day", "night")
WEATHERS = ("clear", "cloudy", "rainy")
WALLS = ("white", "yellow", "green", "blue", "pink", "purple")
RELATIONS = ("left of", "right of", "above", "below", "next to", "in front of", "behind", "on")
INVERSE = {
    "left of": "right of",
    "right of": "left of",
    "above": "below",
    "below": "above",
    "next to": "next to",
    "in front of": "behind",
    "behind": "in front of",
}
SPLITS = ("train", "validation", "test", "compositional")
NONE = "none"

#: Centers nearer than this (in x or y) are neither left nor right, above nor below.
MARGIN = 0.08
#: Boxes with a horizontal gap below this, on about the same ground, are next to each other.
NEAR = 0.10


@dataclass(frozen=True, slots=True)
class ThingKind:
    """The possible properties of a kind. Captions leave a slot's first value unsaid."""

    name: str
    slots: Mapping[str, tuple[str, ...]]
    settings: tuple[str, ...]
    place: str  # "ground", "sky", "water", "surface" (ground or on a table)
    size: tuple[float, float]  # typical width and height on the unit canvas
    main: str = ""  # the slot that "a red car" talks about
    most: int = 3  # of this kind in one scene


OUTDOORS = ("meadow", "beach", "street")
ANYWHERE = SETTINGS
_COATS = ("brown", "black", "white", "orange")
_CLOTHES = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "white")
_BRIGHT = ("red", "orange", "yellow", "green", "blue", "purple", "pink")
_HELD = (NONE, "balloon", "flag", "umbrella", "flower")
_PERSON = {
    "shirt": _CLOTHES,
    "hat": (NONE, "red", "yellow", "green", "blue", "purple", "black"),
    "pose": ("standing", "sitting", "jumping", "waving"),
    "holding": _HELD,
    "held": (NONE, *_BRIGHT),  # the color of what is held; NONE exactly when holding is NONE
}

KINDS: dict[str, ThingKind] = {
    kind.name: kind
    for kind in (
        ThingKind(
            "house",
            {
                "walls": ("white", "yellow", "pink", "blue", "brown"),
                "roof": ("red", "brown", "black", "green", "purple", "blue"),
                "door": ("brown", "red", "green", "blue", "yellow", "white"),
                "windows": ("1", "2", "3"),
            },
            OUTDOORS, "ground", (0.32, 0.36), "walls", 2,
        ),
        ThingKind("tree", {"leaves": ("green", "orange", "yellow", "pink")}, OUTDOORS, "ground",
             (0.20, 0.36), "leaves", 4),
        ThingKind("flower", {"petals": (*_BRIGHT, "white")}, ("meadow", "street", "room"), "ground",
             (0.09, 0.16), "petals", 4),
        ThingKind("girl", _PERSON, ANYWHERE, "ground", (0.15, 0.30), "shirt", 2),
        ThingKind("boy", _PERSON, ANYWHERE, "ground", (0.15, 0.30), "shirt", 2),
        ThingKind("dog", {"coat": _COATS, "pose": ("standing", "sitting", "sleeping"),
                     "collar": (NONE, "red", "blue", "green")}, ANYWHERE, "surface",
             (0.18, 0.15), "coat", 3),
        ThingKind("cat", {"coat": _COATS, "pose": ("standing", "sitting", "sleeping")}, ANYWHERE,
             "surface", (0.15, 0.15), "coat", 3),
        ThingKind("bird",
             {"feathers": (*_BRIGHT, "black", "white"), "pose": ("flying", "standing")},
             ANYWHERE, "sky", (0.12, 0.10), "feathers", 4),
        ThingKind("car", {"body": ("red", "yellow", "green", "blue", "white", "black", "orange")},
             ("street", "beach", "meadow"), "ground", (0.30, 0.17), "body", 2),
        ThingKind("boat", {"hull": ("brown", "red", "blue", "white", "green"),
                      "sail": ("white", "red", "yellow", "blue", "orange", "pink")},
             ("beach",), "water", (0.22, 0.24), "hull", 2),
        ThingKind("table", {"top": ("brown", "white", "black", "red", "blue", "green")}, ("room",),
             "ground", (0.32, 0.22), "top", 1),
        ThingKind("chair", {"seat": ("brown", "red", "blue", "green", "yellow", "white", "black")},
             ("room", "beach"), "ground", (0.16, 0.26), "seat", 3),
        ThingKind("lamp", {"shade": (*_BRIGHT, "white"), "light": ("on", "off")}, ("room",),
             "surface", (0.12, 0.26), "shade", 2),
        ThingKind("ball", {"colour": (*_BRIGHT, "white", "black"), "pattern": ("plain", "striped")},
             ANYWHERE, "surface", (0.10, 0.10), "colour", 4),
        ThingKind("kite", {"colour": _BRIGHT}, OUTDOORS, "sky", (0.14, 0.18), "colour", 3),
        ThingKind("balloon", {"colour": _BRIGHT}, ANYWHERE, "sky", (0.09, 0.15), "colour", 4),
        ThingKind("sign", {"board": ("white", "yellow", "red", "green", "blue"), "word": WORDS},
             OUTDOORS, "ground", (0.24, 0.28), "board", 1),
        ThingKind("fence", {"colour": ("white", "brown", "green", "blue", "red")},
             ("meadow", "street", "beach"), "ground", (0.36, 0.14), "colour", 1),
        ThingKind("sun", {}, OUTDOORS, "sky", (0.16, 0.16), "", 1),
        ThingKind("moon", {}, OUTDOORS, "sky", (0.13, 0.13), "", 1),
        ThingKind("cloud", {}, OUTDOORS, "sky", (0.24, 0.11), "", 3),
    )
}  # fmt: skip


Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Thing:
    """One thing. `depth` grows toward the viewer; `on` is the id of the thing it stands on."""

    id: int
    kind: str
    box: Box
    slots: Mapping[str, str] = field(default_factory=dict)
    depth: int = 0
    on: int | None = None
    flipped: bool = False


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that is true of one picture.

    A thing's size is not an absolute fact: captions compare it with its kind's usual size
    (`size_word`). At night there is no sun, by day no moon; rooms have neither.

    Attributes:
        seed: Number of the scene.
        split: What it was sampled for.
        setting: Where it is.
        time: Day or night.
        weather: `rainy` and `cloudy` show at least one cloud; rooms are always `clear`.
        things: What is in it.
        style: Seed for how it is drawn, which never affects what is true.
        wall: A room's wall color.
    """

    seed: int
    split: str
    setting: str
    time: str
    weather: str
    things: tuple[Thing, ...]
    style: int
    wall: str = NONE  # a room's wall color

    def of_kind(self, kind: str) -> tuple[Thing, ...]:
        """Its things of one kind."""
        return tuple(thing for thing in self.things if thing.kind == kind)


def center(box: Box) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def size_word(thing: Thing) -> str:
    """ "small", "large" or "" (in between): the height against the kind's usual height."""
    ratio = (thing.box[3] - thing.box[1]) / KINDS[thing.kind].size[1]
    return "small" if ratio <= 0.80 else "large" if ratio >= 1.25 else ""


def holds(relation: str, a: Thing, b: Thing) -> bool:
    """Whether `a` stands in `relation` to `b`. Exactly computed; near misses hold for neither."""
    ax, bx = center(a.box)[0], center(b.box)[0]
    if a.id == b.id:
        return False
    if relation == "left of":
        return ax < bx - MARGIN
    if relation == "right of":
        return ax > bx + MARGIN
    if relation == "above":
        return a.box[3] < b.box[1] + MARGIN / 2 and a.on != b.id
    if relation == "below":
        return holds("above", b, a)
    if relation == "next to":
        gap = max(a.box[0], b.box[0]) - min(a.box[2], b.box[2])
        return gap < NEAR and abs(a.box[3] - b.box[3]) < NEAR and abs(ax - bx) > MARGIN
    if relation == "in front of":
        return a.depth > b.depth and overlap(a.box, b.box) >= 0.3 and a.on != b.id
    if relation == "behind":
        return holds("in front of", b, a)
    if relation == "on":
        return a.on == b.id
    raise ValueError(f"no relation {relation!r}: known are {', '.join(RELATIONS)}")


def overlap(a: Box, b: Box) -> float:
    """The boxes' common area as a share of the smaller one, in [0, 1]."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    smaller = min((x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in (a, b))
    return width * height / smaller


def held_out_value(kind: str, slot: str, value: str) -> bool:
    """Whether this kind–value pair is kept for the compositional split (about one in ten)."""
    colors = [v for v in KINDS[kind].slots.get(slot, ()) if v in COLORS]
    if value not in colors or len(colors) < 4:
        return False
    return _bucket(f"{kind}.{slot}.{value}") < 12


def held_out_relation(kind: str, relation: str, other: str) -> bool:
    """Whether this kind–relation–kind triple (or its mirror image) is kept out of training."""
    pair = (kind, relation, other)
    mirrored = (other, INVERSE.get(relation, relation), kind)
    return _bucket(".".join(min(pair, mirrored))) < 10


def _bucket(key: str) -> int:
    return int.from_bytes(hashlib.sha256(f"920.{key}".encode()).digest()[:4]) % 100
