"""Reading the words that describe a thing: adjectives, parts, clothes, things held, sign words.

Every function takes the place `i` of a word and returns what it read with the place after it, or
None. Nothing is skipped: what no function reads makes the sentence unparsed.
"""

from __future__ import annotations

from revise_captions.picturebook.oracle.tokens import Words
from revise_captions.picturebook.semantics.claims import (
    ANY,
    Constraint,
    Has,
    Holds,
    Not,
    Size,
)
from revise_captions.picturebook.semantics.lexicon import (
    CLOTHES,
    COLOR_SET,
    FOREIGN,
    ITEMS,
    NOUNS,
    NUMBERS,
    PARTS,
    PEOPLE,
    PLURALS,
    POSE_PARTICIPLES,
    SIZE_WORDS,
    plural,
)
from revise_captions.picturebook.world.scene import KINDS, NONE

#: Constraints that were read, and the place after them.
Read = tuple[tuple[Constraint, ...], int]
PLURAL_ITEMS = {plural(item): item for item in ITEMS}


class FeatureReader:
    """Reads one sentence's words. Holds no state besides them."""

    def __init__(self, words: Words) -> None:
        self.words = words.lower
        self.raw = words.raw
        self.end = len(words.lower)

    def word(self, i: int) -> str:
        return self.words[i] if i < self.end else ""

    def part_slot(self, i: int, kinds: tuple[str, ...]) -> tuple[str, int] | None:
        word = self.word(i)
        slot = self.slot_among(word, kinds)
        return (slot, i + 1) if slot else None

    def slot_among(self, part: str, kinds: tuple[str, ...]) -> str:
        """The slot that a part noun names for things of some of `kinds`; "" where none."""
        slots = PARTS.get(part, ())
        if not kinds:
            return slots[0] if slots else ""
        for slot in slots:
            if any(kind in KINDS and slot in KINDS[kind].slots for kind in kinds):
                return slot
        if kinds[0] in FOREIGN and slots:
            return slots[0]
        return ""

    def adjective(self, i: int) -> tuple[Constraint, int] | None:
        word = self.word(i)
        if word in SIZE_WORDS:
            return Size(SIZE_WORDS[word]), i + 1
        if word in COLOR_SET:
            return Has("", word), i + 1
        if word in ("striped", "plain"):
            return Has("pattern", word), i + 1
        if word in ("lit", "unlit"):
            return Has("light", "on" if word == "lit" else "off"), i + 1
        after = self.word(i + 1)
        if word in POSE_PARTICIPLES and word != "asleep" and (after in NOUNS or after in PLURALS):
            return Has("pose", POSE_PARTICIPLES[word]), i + 1
        return None

    def features(self, kinds: tuple[str, ...], i: int) -> Read | None:
        """ "a red roof, two windows and a blue door"; things held and words on signs too."""
        first = self.feature(kinds, i)
        if first is None:
            return None
        made, i = list(first[0]), first[1]
        while True:
            j = i + 1 if self.word(i) == "," else i
            j = j + 1 if self.word(j) in ("and", "but") else j
            j = j + 1 if self.word(j) in ("with", "wearing") and j > i else j
            more = self.feature(kinds, j) if j > i else None
            if more is None or (isinstance(more[0][0], Holds) and not isinstance(made[-1], Holds)):
                return self._not_featured(kinds, made, i)
            made += more[0]
            i = more[1]

    def not_at(self, i: int) -> int:
        """The place after ", not" / "rather than" / "instead of", or 0."""
        j = i + 1 if self.word(i) == "," else i
        j = j + 1 if self.word(j) == "and" and self.word(j + 1) == "not" else j
        if self.word(j) == "not":
            return j + 1
        if (self.word(j), self.word(j + 1)) in (("rather", "than"), ("instead", "of")):
            return j + 2
        return 0

    def _colored_one(self, i: int) -> str:
        """The color of "a red one", or ""."""
        one = self.word(i) in ("a", "an") and self.word(i + 2) == "one"
        return self.word(i + 1) if one and self.word(i + 1) in COLOR_SET else ""

    def _not_featured(self, kinds: tuple[str, ...], made: list[Constraint], i: int) -> Read:
        """ ", not a red one" / "rather than a red roof" / ", not three" after features."""
        j = self.not_at(i)
        last = made[-1]
        if not j or not isinstance(last, Has):
            return tuple(made), i
        if last.slot == "windows" and self.word(j) in NUMBERS:
            return (*made, Not(Has("windows", str(NUMBERS[self.word(j)])))), j + 1
        if color := self._colored_one(j):
            return (*made, Not(Has(last.slot, color))), j + 3
        wrong = self.feature(kinds, j)
        if wrong is None:
            return tuple(made), i
        return (*made, *(Not(c) for c in wrong[0])), wrong[1]

    def feature(self, kinds: tuple[str, ...], i: int) -> Read | None:
        word = self.word(i)
        if word in ("the", "a") and self.word(i + 1) == "word":
            return self.sign_word(i)
        count = 0
        value = ANY
        if word == "no":
            value, i = NONE, i + 1
        elif word in NUMBERS:
            count, i = NUMBERS[word], i + 1
        elif word in ("a", "an"):
            count, i = 1, i + 1
            if self.word(i) == "single":
                i += 1
        color = self.word(i) if self.word(i) in COLOR_SET else ""
        i += bool(color)
        noun = self.word(i)
        item = PLURAL_ITEMS.get(noun, noun)
        if item in ITEMS and value != NONE and not kinds:
            return None
        slot = self.slot_among(noun, kinds)
        if item in ITEMS and not slot and kinds and kinds[0] in PEOPLE:
            made: Constraint = Holds(item, color)
            return ((Not(made) if value == NONE else made),), i + 1
        if not slot:
            return None
        if slot == "windows":
            if color or (value != NONE and count == 0):
                return None
            return (Has(slot, NONE if value == NONE else str(count)),), i + 1
        if value == NONE and color:
            return (Not(Has(slot, color)),), i + 1
        if value == ANY and not color and slot not in CLOTHES:
            return (Has(slot, ANY),), i + 1
        return (Has(slot, color or value),), i + 1

    def worn(self, kinds: tuple[str, ...], i: int) -> Read | None:
        """ "wearing a red hat", "in a blue shirt", "dressed in green", "in red"."""
        if kinds and not set(kinds) & {*PEOPLE, "dog"} and kinds[0] not in FOREIGN:
            return None
        word = self.word(i)
        i += 2 if word == "dressed" and self.word(i + 1) == "in" else 1
        bare = self.word(i) in COLOR_SET and self.word(i + 1) not in PARTS
        if bare and word in ("in", "dressed"):
            return (Has("shirt", self.word(i)),), i + 1
        kinds = kinds or ("girl",)
        return self.features(kinds, i) if self._clothes_ahead(i) else None

    def _clothes_ahead(self, i: int) -> bool:
        i += self.word(i) in ("a", "an", "no") or self.word(i) in NUMBERS
        i += self.word(i) in COLOR_SET
        return any(slot in CLOTHES for slot in PARTS.get(self.word(i), ()))

    def held(self, i: int) -> Read | None:
        """ "a red balloon" after holding."""
        if self.word(i) == "nothing":
            return (Not(Holds(ANY)),), i + 1
        none = self.word(i) == "no"
        i += self.word(i) in ("a", "an", "no", "the") or self.word(i) in NUMBERS
        color = self.word(i) if self.word(i) in COLOR_SET else ""
        i += bool(color)
        noun = self.word(i)
        item = PLURAL_ITEMS.get(noun, noun)
        if item not in ITEMS:
            return None
        made = Holds(item, color)
        i += 1
        j = self.not_at(i)
        if j and not none:
            if other := self._colored_one(j):
                return (made, Not(Holds(item, other))), j + 3
            wrong = self.held(j)
            if wrong and self.word(j) in ("a", "an") and len(wrong[0]) == 1:
                return (made, Not(wrong[0][0])), wrong[1]
        return ((Not(made) if none else made),), i

    def sign_word(self, i: int) -> Read | None:
        """`STOP`, `"STOP"`, `the word "STOP" on it`: capitals only."""
        if self.word(i) in ("the", "a") and self.word(i + 1) == "word":
            i += 2
        quoted = self.word(i) == '"'
        i += quoted
        if i >= self.end or not self.raw[i].isupper() or len(self.raw[i]) < 2:
            return None
        made = Has("word", self.raw[i])
        i += 1
        if quoted:
            if self.word(i) != '"':
                return None
            i += 1
        if self.words[i : i + 2] == ("on", "it"):
            i += 2
        return (made,), i
