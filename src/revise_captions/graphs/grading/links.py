"""Whether two relations agree: "sit on" with "on", "left of" turned round with "right of".

A relation's name has a verb, a preposition, or both. Prepositions stand on axes ("above" and
"below" on one), and verbs in groups of one meaning. What is said the other way round agrees where
it is the converse ("hold" and "held by" are one already in the graph; "lead" and "follow", "wear"
and "on"), or where both directions say the same ("next to"); the same the other way round does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from revise_captions.graphs.words import listed

_PLACES = {
    "side": ("left leave left_side", "right right_side"),
    "height": (
        "above over on_top_of atop on onto upon high_above",
        "below under beneath underneath at_bottom_of on_bottom_of",
    ),
    "depth": (
        "in_front_of before in_foreground_of ahead_of",
        "behind in_back_of at_rear_of at_back_of beyond in_background_of after",
    ),
    "inside": ("in inside into within in_middle_of in_center_of amid among", "outside out_of"),
    "near": (
        "next_to beside near by close_to alongside side_by_side_with adjacent_to close_by with "
        "along around at against",
        "away_from far_from",
    ),
    "way": ("up", "down"),
    "aim": ("to toward towards into onto", "from away_from out_of off"),
}
#: Places where something touches what it is on: neither beside it nor in it.
_ON = listed("on onto upon atop on_top_of")
_BESIDE = listed(
    "next_to beside near by close_to alongside side_by_side_with adjacent_to in_front_of behind"
)
#: Verbs of one meaning.
_GROUPS = (
    "hold carry grip clutch grasp grab clasp cradle", "wear don sport dress",
    "have contain feature include possess own", "look watch stare gaze view observe",
    "chase pursue", "walk stroll stride hike", "run jog sprint race", "jump leap hop",
    "eat bite chew munch nibble", "throw toss pitch hurl", "hit strike", "pull tow drag tug haul",
    "sit seat perch", "stand", "lie lay recline", "lean rest prop", "hang suspend dangle",
    "cover blanket drape", "surround encircle ring", "attach mount fix affix fasten connect",
    "touch", "climb ascend scale", "descend", "talk speak chat", "kiss", "hug embrace", "ride",
    "drive", "fly soar", "swim", "kick", "push shove", "catch", "follow trail", "lead guide",
    "feed", "play", "drink sip", "cut slice", "read", "point", "cross",
)  # fmt: skip
#: Verbs of which something does one at a time, with the same partner.
_EXCLUDING = (
    ("sit", "stand", "lie", "walk", "run", "jump", "ride", "swim", "fly", "climb"),
    ("push", "pull"), ("throw", "catch"), ("lead", "follow", "chase"), ("climb", "descend"),
)  # fmt: skip
_MUTUAL = listed("kiss hug touch talk play meet fight face marry dance connect cross")
#: Of each pair, the first turned round is the second.
_CONVERSE = (("lead", "follow"), ("ride", "carry"), ("drive", "carry"))
_HOLDING = listed("have hold wear with of")
_HELD = listed("on in at inside part_of belong_to attach_to hang_from hang_on of")
#: What a preposition begins with, so that no verb is before it.
_PREPOSITIONS = listed("across through between of for like past about to close far high right") | {
    word.partition("_")[0] for rows in _PLACES.values() for row in rows for word in row.split()
} - {"leave"}


@dataclass(frozen=True, slots=True)
class Sense:
    """A relation's verb by its group, and the axes that its preposition stands on."""

    verb: str
    place: str
    axes: Mapping[str, int]


@lru_cache(maxsize=50_000)
def sense(name: str) -> Sense:
    parts = name.split()
    start = 0
    while start < len(parts) and parts[start] in ("be", "locate", "position", "situate", "place"):
        start += 1
    parts = parts[start:]
    verb = ""
    if parts and parts[0] not in _PREPOSITIONS and parts[:2] != ["leave", "of"]:
        verb, *parts = parts
    place = "_".join(part for part in parts if part not in ("the", "a"))
    return Sense(_GROUP.get(verb, verb), place, _axes(place, verb))


def _axes(place: str, verb: str) -> dict[str, int]:
    words_ = set(place.split("_"))
    if "left" in words_ or place == "leave_of":
        return {"side": 0}
    if "right" in words_:
        return {"side": 1}
    found = {
        axis: sign
        for axis, rows in _PLACES.items()
        for sign, row in enumerate(rows)
        if place and place in row.split()
    }
    first, _, rest = place.partition("_")
    if not found and rest:
        last = rest.rpartition("_")[2]
        found = _axes(first if last == "of" else last, verb)
    if verb == "ride" and not found:
        found = {"height": 0}
    return found


_GROUP = {word: row.split()[0] for row in _GROUPS for word in row.split()}


@lru_cache(maxsize=100_000)
def verdict(first: str, second: str, *, turned: bool = False) -> bool | None:
    """Whether two relations agree (True), exclude each other (False), or neither.

    Args:
        first: A relation's name: "sit on".
        second: Another between the same two things.
        turned: The second is said the other way round, of the second's target to its subject.
    """
    one, other = sense(first), sense(second)
    return _turned(one, other) if turned else _straight(one, other)


def _straight(one: Sense, other: Sense) -> bool | None:
    if one == other:
        return True
    if _excluded(one.verb, other.verb):
        return False
    axes = _compare(one, other)
    if axes is False:
        return False
    if one.verb and one.verb == other.verb:
        return True if axes or not (one.place and other.place) else None
    if (axes or one.place == other.place) and not (one.verb and other.verb):
        return True
    if _having(one) and _having(other):
        return True
    return None


def _turned(one: Sense, other: Sense) -> bool | None:
    if one.verb and (one.verb == other.verb) and one.verb in _MUTUAL:
        return True
    pair = {(one.verb, other.verb), (other.verb, one.verb)}
    if pair & set(_CONVERSE):
        return True
    if _holds(one, other) or _holds(other, one):
        return True
    shared = set(one.axes) & set(other.axes)
    if "near" in shared:
        return one.axes["near"] == other.axes["near"]
    for axis in ("side", "height", "depth", "inside"):
        if axis in shared:
            return one.axes[axis] != other.axes[axis]
    if one == other or (one.verb and one.verb == other.verb):
        return False
    return None


def _compare(one: Sense, other: Sense) -> bool | None:
    shared = set(one.axes) & set(other.axes)
    if any(one.axes[axis] == other.axes[axis] for axis in shared):
        return True
    if shared:
        return False
    if (one.place in _ON and other.place in _BESIDE) or (
        other.place in _ON and one.place in _BESIDE
    ):
        return False
    return None


def _excluded(one: str, other: str) -> bool:
    return one != other and any(one in row and other in row for row in _EXCLUDING)


def _having(sense: Sense) -> bool:
    return (sense.verb or sense.place) in _HOLDING


def _holds(one: Sense, other: Sense) -> bool:
    """Whether the second is the first turned round: "plates on a table", "a table with plates"."""
    if one.verb == "wear":
        return other.place == "on"
    whole = f"{other.verb}_{other.place}".strip("_")
    return _having(one) and (other.place in _HELD or whole in _HELD)
