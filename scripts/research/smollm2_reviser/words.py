"""Words that stand in for each other in an edit, by class."""

# ruff: noqa: SIM905  (word lists read better as text)

from __future__ import annotations

import random
from dataclasses import dataclass

from scripts.research.smollm2_reviser.sentences import held_out

#: Closed classes: any word of a class may be wrong for any other.
CLASSES: dict[str, tuple[str, ...]] = {
    "color": tuple(
        "red orange yellow green blue purple pink brown white black gray golden silver beige tan "
        "teal maroon turquoise cream navy violet bronze crimson lavender".split()
    ),
    "material": tuple(
        "wooden metal plastic glass stone brick concrete leather paper fabric ceramic marble "
        "cardboard rubber steel wicker velvet cotton denim".split()
    ),
    "size": tuple(
        "small large tiny huge big little tall short long wide narrow thick thin".split()
    ),
    "shape": tuple(
        "round square rectangular oval triangular circular curved straight flat".split()
    ),
    "pattern": tuple("striped plain checkered spotted floral dotted plaid solid".split()),
    "state": tuple(
        "open closed empty full wet dry clean dirty old new broken intact bright dark shiny dull "
        "smooth rough light sunny cloudy overcast clear".split()
    ),
    "age": tuple("young old middle-aged elderly".split()),
    "count": tuple("one two three four five six seven eight nine ten eleven twelve".split()),
}
OF_WORD = {word: name for name, words in CLASSES.items() for word in words}

#: Pairs of opposites as they stand in sentences; both directions.
_OPPOSITES = (
    ("to the left of", "to the right of"),
    ("on the left side of", "on the right side of"),
    ("on the left", "on the right"),
    ("in front of", "behind"),
    ("on top of", "underneath"),
    ("above", "below"),
    ("over", "under"),
    ("inside", "outside"),
    ("next to", "far away from"),
    ("in the background", "in the foreground"),
    ("in the foreground", "in the background"),
    ("at the top", "at the bottom"),
    ("at the top of", "at the bottom of"),
    ("bottom left", "top right"),
    ("top left", "bottom right"),
    ("bottom-left", "top-right"),
    ("top-left", "bottom-right"),
    ("upper left", "lower right"),
    ("lower left", "upper right"),
    ("left side", "right side"),
    ("left hand", "right hand"),
    ("beside", "behind"),
    ("along", "across from"),
    ("near", "far from"),
    ("indoor", "outdoor"),
    ("in the center of", "at the edge of"),
    ("facing left", "facing right"),
    ("facing the left", "facing the right"),
    ("facing toward", "facing away from"),
    ("during the day", "at night"),
)
RELATIONS: dict[str, str] = {}
for _one, _other in _OPPOSITES:
    RELATIONS.setdefault(_one, _other)
    RELATIONS.setdefault(_other, _one)

_SIGNS = (
    "EXIT OPEN STOP SALE CAFE BANK HOTEL PARK TAXI SCHOOL MARKET 24 HOURS NO PARKING WELCOME "
    "BAKERY BOOKS POLICE FRESH PIZZA DANGER"
).split()


@dataclass(frozen=True, slots=True)
class EditWords:
    """Open classes, counted in the sentences: words for a slot of each class.

    Attributes:
        nouns: Things, singular.
        plurals: Things, plural.
        adjectives: Qualities that stand before a noun.
        acting: "-ing" verbs without an object.
        doing: "-ing" verbs with an object.
        held: Whether these are the words that training never sees.
    """

    nouns: tuple[str, ...]
    plurals: tuple[str, ...]
    adjectives: tuple[str, ...]
    acting: tuple[str, ...]
    doing: tuple[str, ...]
    held: bool = False

    def part(self, held: bool) -> EditWords:
        """The words that are held out, or those that are not."""
        classes = (self.nouns, self.plurals, self.adjectives, self.acting, self.doing)
        nouns, plurals, adjectives, acting, doing = (
            tuple(word for word in words if held_out(word) == held) for words in classes
        )
        return EditWords(nouns, plurals, adjectives, acting, doing, held)


def sign(old: str, rng: random.Random) -> str:
    """Another lettering for a quoted one."""
    if old.isdigit():
        return "".join(rng.choice("0123456789") for _ in old) or "7"
    words = rng.sample(_SIGNS, rng.choice((1, 1, 2)))
    text = " ".join(words)
    return text if old.isupper() else text.title()
