"""Whether two values of one thing agree: "gray" and "silver", "open" and "closed", "2" and "three".

Values of one scale exclude each other unless they are neighbors on it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from revise_captions.graphs import words
from revise_captions.graphs.triples import lemmas

_COLORS = (
    "gray grey silver", "white cream ivory beige pale", "brown tan beige khaki bronze golden",
    "yellow gold golden blond blonde", "red maroon burgundy crimson scarlet reddish",
    "orange peach", "blue navy azure teal turquoise cyan bluish", "black",
    "green teal olive turquoise lime greenish", "purple violet lavender magenta pink",
)  # fmt: skip
#: Members of one row agree; those of different rows of a scale do not.
_SCALES: tuple[tuple[str, ...], ...] = (
    _COLORS,
    (
        "wood wooden timber oak pine hardwood log",
        "glass crystal",
        "plastic vinyl styrofoam",
        "metal metallic steel iron aluminum tin brass copper bronze chrome silver gold",
        "stone rock marble granite cobblestone rocky",
        "brick bricked",
        "concrete cement",
        "leather",
        "paper cardboard",
        "cloth fabric cotton denim wool woolen silk linen knit lace",
        "ceramic porcelain clay",
        "rubber",
        "straw wicker bamboo",
        "wax",
        "ice",
        "gravel",
        "dirt",
        "sand sandy",
    ),
    (
        "large big huge giant enormous massive gigantic great vast oversized larger bigger",
        "small little tiny miniature mini smaller",
    ),
    ("tall high taller higher", "short low lower shorter"),
    ("long longer", "short shorter"),
    ("wide broad wider", "narrow"),
    ("thick thicker", "thin skinny slender slim"),
    ("fat obese chubby plump", "thin skinny slender slim"),
    ("young teenage younger little baby youthful", "old elderly older aged senior"),
    ("new modern brand-new", "old vintage antique old-fashioned ancient historical"),
    ("open opened", "closed shut"),
    ("empty bare vacant unoccupied", "full filled packed crowded busy"),
    ("wet soaked damp soggy", "dry dried"),
    ("clean", "dirty muddy grimy dusty"),
    ("hot warm", "cold cool icy frozen"),
    ("bright light lit", "dark dim darkened"),
    ("light pale bright", "dark deep"),
    ("round circular spherical oval", "square rectangular", "triangular"),
    ("flat level", "steep sloped slanted tilted hilly"),
    ("straight", "curly wavy", "bent curved crooked"),
    ("smooth", "rough bumpy rugged"),
    ("hard solid", "soft"),
    ("male", "female"),
    ("happy smiling laughing cheerful", "sad crying frowning unhappy", "angry"),
    ("sunny clear", "cloudy overcast", "rainy stormy", "foggy misty"),
    ("left", "right", "middle center central"),
    ("top upper upper-most", "bottom lower", "middle center central"),
    ("front ahead", "back rear behind"),
    ("above overhead atop top", "below beneath underneath bottom"),
    ("foreground", "background"),
    ("inside indoor indoors interior", "outside outdoor outdoors exterior"),
    ("horizontal", "vertical"),
    ("raw uncooked", "cooked baked fried grilled roasted"),
    ("whole", "half sliced cut chopped"),
    ("dead", "alive live"),
    ("parked stopped still motionless stationary", "moving driving speeding"),
    ("up raised", "down lowered"),
    (
        "sitting seated sit",
        "standing stand",
        "lying laying lie lay reclining",
        "walking walk",
        "running run jogging",
        "jumping jump leaping leap",
        "flying fly",
        "swimming swim",
        "sleeping sleep asleep",
        "kneeling kneel crouching squatting",
        "riding ride",
        "climbing climb",
        "dancing dance",
    ),
    ("asleep sleeping sleep", "awake"),
    ("dressed clothed", "naked nude shirtless"),
    ("leafy lush", "leafless bare"),
    ("plain solid", "striped", "plaid checkered", "spotted polka-dot", "floral flowered"),
    ("shallow", "deep"),
    ("heavy", "light"),
    ("sharp pointed pointy", "blunt dull rounded"),
    ("natural real", "artificial fake stuffed toy"),
    ("tame", "wild"),
)
_MATERIALS = 1  # the scale of materials
_FEW = ("few", "couple")
_MANY = words.listed("several many multiple numerous various countless dozens group crowd bunch")
_PAIRS = {"couple": 2, "both": 2, "pair": 2, "pair of": 2, "single": 1, "lone": 1, "trio": 3}


def _rows() -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    for scale, rows in enumerate(_SCALES):
        for row, text in enumerate(rows):
            for word in dict.fromkeys(w for one in text.split() for w in (one, lemmas(one))):
                found.setdefault(word, []).append((scale, row))
    return found


_ROWS = _rows()


@lru_cache(maxsize=100_000)
def verdict(first: str, second: str) -> bool | None:
    """Whether two values of one thing agree (True), exclude each other, or neither is known.

    Each word of a value may agree: "dark blue" with "blue". They exclude each other where some
    scale has both in different rows, and none has both in one.
    """
    if first == second or lemmas(first) == lemmas(second):
        return True
    one, other = _words(first), _words(second)
    shared = one & other
    differ = _clash(one - shared, other - shared)
    if shared - _WEAK:
        return not differ if not differ or not shared & words.COLORS else None
    if differ:
        return False
    return True if _agree(one, other) else None


_WEAK = words.DEGREES | words.listed("in on at the of color very partly side light dark bright")


def is_another_material(name: str, others: Iterable[str]) -> bool:
    """Whether a name is a material ("plastic"), and some of the others are ("stone steps"), but
    none is this one.
    """
    mine = _materials(name.rpartition(" ")[2])
    theirs = {row for other in others for word in other.split() for row in _materials(word)}
    return bool(mine and theirs) and not mine & theirs


def _materials(word: str) -> set[int]:
    return {row for scale, row in _ROWS.get(word, ()) if scale == _MATERIALS}


def _words(value: str) -> frozenset[str]:
    found = value.lower().replace("-", " ").split()
    return frozenset(found) | {lemmas(word) for word in found} - {""}


def _agree(one: frozenset[str], other: frozenset[str]) -> bool:
    rows = {place for word in one - _WEAK for place in _ROWS.get(word, ())}
    return any(place in rows for word in other - _WEAK for place in _ROWS.get(word, ()))


def _clash(one: frozenset[str], other: frozenset[str]) -> bool:
    """On some scale both stand, and on no scale in one row."""
    mine = [place for word in one for place in _ROWS.get(word, ())]
    theirs = [place for word in other for place in _ROWS.get(word, ())]
    if set(mine) & set(theirs):
        return False
    return bool({scale for scale, _ in mine} & {scale for scale, _ in theirs})


def number(value: str) -> int | None:
    """A count as a number; None for a vague one."""
    return int(value) if value.isdigit() else _PAIRS.get(value)


def counts_agree(first: str, second: str) -> bool | None:
    """By value; a vague one agrees with what it may stand for, and is never wrong."""
    one, other = number(first), number(second)
    if one is not None and other is not None:
        return one == other
    if one is None and other is None:
        return True if first in _MANY and second in _MANY else None
    known, vague = (one, second) if one is not None else (other, first)
    assert known is not None
    if vague in _MANY:
        return known > 2 or False
    return None
