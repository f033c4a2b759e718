"""Logical forms: what a sentence says about a picture, without words and without a context.

A sentence is one or more `Statement`s (a noun phrase about which something is said) and
`SceneClaim`s. `discourse.evaluate` evaluates them. Fields marked as surface choices never change
the meaning, and equality ignores them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from revise_captions.picturebook.semantics.lexicon import REST_PARTICIPLES, STILL_POSES
from revise_captions.picturebook.world.scene import (
    KINDS,
    NONE,
    Scene,
    Thing,
    center,
    size_word,
)

#: A slot's value that stands for any value but NONE: "a hat".
ANY = "any"

#: Subjects whose referent the context fixes.
PRONOUNS = ("it", "he", "she", "they", "both of them")


@dataclass(frozen=True, slots=True)
class Has:
    """A slot has a value. Slot "": the kind's main slot; "rest": "parked", "located", …."""

    slot: str
    value: str
    form: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Holds:
    """Something is held; `color` "" says nothing about its color."""

    item: str
    color: str = ""
    form: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Size:
    word: str  # "small" or "large"
    form: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Placed:
    """A place in the picture: a key of `lexicon.PLACE_PHRASES`."""

    place: str
    form: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Stands:
    """A relation of `world.RELATIONS` to another thing."""

    relation: str
    other: NP
    form: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class IsA:
    """The predicate of "it is a white cat"."""

    what: NP


@dataclass(frozen=True, slots=True)
class Not:
    claim: Constraint


Constraint = Has | Holds | Size | Placed | Stands | IsA | Not


@dataclass(frozen=True, slots=True)
class NP:
    """A noun phrase. `kinds` () is any kind; `count` 0 a plural without number.

    `det`: "a", "the", "number" (exactly `count`), "some" (at least `count`), "plural" (at least
    two), "no", "another", "other", "one of" (a group known from before), "both", "all", "each",
    and the pronouns. `noun` is the surface noun.
    """

    det: str
    kinds: tuple[str, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    count: int = 1
    noun: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Statement:
    """Something said of a subject; without `preds` that it exists.

    `style` is a surface choice: how `realize` puts the predicate.
    """

    subject: NP
    preds: tuple[Constraint, ...] = ()
    negated: bool = False
    style: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class SceneClaim:
    """`what`: "setting", "time", "weather", "wall" (of a room). `noun`: surface choice."""

    what: str
    value: str
    negated: bool = False
    noun: str = field(default="", compare=False)


Clause = Statement | SceneClaim


@dataclass(frozen=True, slots=True)
class SentenceForm:
    """Clauses with the template that words them (see `realize`)."""

    template: str
    clauses: tuple[Clause, ...]


def main_slot(kind: str) -> str:
    """The slot that a bare color before the noun describes; "" if there is none."""
    if kind in ("girl", "boy") or kind not in KINDS:
        return ""
    return KINDS[kind].main


def has(thing: Thing, slot: str, value: str) -> bool:
    """Whether `thing` has `value` in `slot`, where resting and still things need no pose."""
    if slot == "rest":
        kinds = REST_PARTICIPLES[value]
        return not kinds or thing.kind in kinds
    slot = slot or main_slot(thing.kind)
    own = thing.slots.get(slot)
    if own is None:
        if slot != "pose":
            return False
        return thing.kind in STILL_POSES.get(value, ()) and (value != "flying" or thing.on is None)
    if value == ANY:
        return own != NONE
    if thing.kind == "bird" and slot == "pose" and value == "sitting":
        return own == "standing"
    return own == value


def holds_item(thing: Thing, item: str, color: str) -> bool:
    slots = thing.slots
    own = slots.get("holding", NONE)
    if item == ANY:
        return own != NONE
    return own == item and (not color or slots.get("held") == color)


def placed(thing: Thing, place: str) -> bool:
    """Whether a thing is in a part of the picture, with unambiguous parts.

    left/right: center beyond 0.45/0.55; middle: center within 0.35–0.65; background/foreground:
    lowest point above/below 0.80 (what flies is neither); sky: not standing on anything.
    """
    x = center(thing.box)[0]
    bottom = thing.box[3]
    if place == "left":
        return x < 0.45
    if place == "right":
        return x > 0.55
    if place == "middle":
        return 0.35 < x < 0.65
    if place == "water":
        return KINDS[thing.kind].place == "water"
    aloft = (
        KINDS[thing.kind].place == "sky"
        and thing.on is None
        and thing.slots.get("pose") != "standing"
    )
    if place == "sky":
        return aloft
    if aloft:
        return False
    if place == "background":
        return bottom < 0.80
    if place == "foreground":
        return bottom > 0.80
    if place == "ground":
        return thing.on is None and KINDS[thing.kind].place != "water"
    raise ValueError(f"no place {place!r}")


def sized(thing: Thing, word: str) -> bool:
    return size_word(thing) == word


def scene_claim(scene: Scene, what: str, value: str) -> bool:
    """Whether the picture has that setting, time, weather or wall; rooms have no weather, and
    rain comes with clouds.
    """
    if what == "wall":
        return scene.wall == value
    if what == "weather":
        if scene.setting == "room":
            return False
        return scene.weather == value or (value == "cloudy" and scene.weather == "rainy")
    return bool(getattr(scene, what) == value)
