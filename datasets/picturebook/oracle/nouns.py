"""Reading noun phrases: pronouns, determiners, numbers, nouns, "the roof of the house"."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from revise_captions.picturebook.oracle.features import FeatureReader
from revise_captions.picturebook.semantics.claims import NP, Constraint, Has
from revise_captions.picturebook.semantics.lexicon import (
    NOUNS,
    NUMBERS,
    PARTS,
    PEOPLE,
    PLURALS,
)
from revise_captions.picturebook.world.scene import KINDS

OWNERS = {"its": "it", "his": "he", "her": "she", "their": "they"}
#: What a pronoun may stand for, so that "its top" is a table's and "her top" a shirt.
PRONOUN_KINDS = {
    "it": tuple(kind for kind in KINDS if kind not in PEOPLE),
    "he": ("boy",),
    "she": ("girl",),
}
OWNERS_OF_SLOT = {
    slot: tuple(k for k, kind in KINDS.items() if slot in kind.slots)
    for slots in PARTS.values()
    for slot in slots
}


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase; `part` where it names a part of the thing ("its roof"): the slot."""

    np: NP
    part: str = ""


class NounReader(FeatureReader, ABC):
    """Adds noun phrases to what can be read."""

    @abstractmethod
    def postmodifiers(self, np: NP, i: int) -> tuple[NP, int]:
        """What follows the noun and belongs to it; relations hold noun phrases again."""

    def noun_phrase(self, i: int) -> tuple[Phrase, int] | None:
        word = self.word(i)
        if word in ("it", "he", "him", "she", "they", "them"):
            return Phrase(NP({"him": "he", "them": "they"}.get(word, word))), i + 1
        if word in OWNERS:
            part = self.part_slot(i + 1, PRONOUN_KINDS.get(OWNERS[word], ()))
            if part:
                return Phrase(NP(OWNERS[word]), part[0]), part[1]
            return (Phrase(NP("she")), i + 1) if word == "her" else None
        found = self.determiner(i)
        if found is None:
            return None
        det, count, j = found
        if det in ("both", "all", "each", "one of", "other", "another", "one") and count < 0:
            return self._bare(det, -count, j)
        if det == "the":
            of_part = self._part_of(j)
            if of_part:
                return of_part
        return self._described(det, count, j)

    def determiner(self, i: int) -> tuple[str, int, int] | None:
        """(det, count, next); count -1 where the phrase ends here, 0 where the noun decides."""
        word, after = self.word(i), self.word(i + 1)
        match word:
            case "a" | "an":
                if after in ("pair", "couple") and self.word(i + 2) == "of":
                    return "number", 2, i + 3
                if after == "few":
                    return "some", 2, i + 2
                if after == "total" and self.word(i + 2) == "of" and self.word(i + 3) in NUMBERS:
                    return "number", NUMBERS[self.word(i + 3)], i + 4
                if after == "single":
                    return "number", 1, i + 2
                return "a", 1, i + 1
            case "the" | "this" | "that" | "these" | "those":
                if after == "other":
                    return self._other(i + 2)
                if after == "others":
                    return "other", -9, i + 2
                if after in NUMBERS and after != "one":
                    return "the", NUMBERS[after], i + 2
                return "the", 0, i + 1
            case "another":
                if after == "one":
                    return "another", -1, i + 2
                return ("another", 1, i + 1) if self._noun_ahead(i + 1) else ("another", -1, i + 1)
            case "no":
                return "no", 0, i + 1
            case "some":
                return "some", 2, i + 1
            case "several":
                return "some", 3, i + 1
            case "exactly" | "only" | "just" if after in NUMBERS:
                return "number", NUMBERS[after], i + 2
            case "only" | "just" if after in ("a", "an"):
                return "number", 1, i + 2
            case "both" | "all" | "each" | "every":
                return self._quantifier(word, i + 1)
            case "one":
                if after == "of" and self.word(i + 2) in ("them", "these"):
                    return "one of", -1, i + 3
                if after == "of" and self.word(i + 2) == "the":
                    return "one of", 0, i + 3
                return ("number", 1, i + 1) if self._noun_ahead(i + 1) else ("one of", -1, i + 1)
        if word in NUMBERS:
            return "number", NUMBERS[word], i + 1
        if word.isdigit() and 0 < int(word) < 20:
            return "number", int(word), i + 1
        if self._noun_ahead(i, plural_only=True):
            return "plural", 0, i
        return None

    def _other(self, i: int) -> tuple[str, int, int]:
        if self.word(i) in NUMBERS and self.word(i) != "one":
            return "other", NUMBERS[self.word(i)], i + 1
        if self.word(i) == "one":
            return "other", -1, i + 1
        return ("other", 0, i) if self._noun_ahead(i) else ("other", -1, i)

    def _quantifier(self, word: str, i: int) -> tuple[str, int, int]:
        """After both, all, each, every."""
        det = "each" if word == "every" else word
        count = {"both": 2, "each": 1}.get(det, 0)
        if self.word(i) == "of" and self.word(i + 1) in ("them", "these"):
            return det, -(count or 9), i + 2
        if self.word(i) == "of":
            i += 1
        if self.word(i) in ("the", "these"):
            i += 1
        if det == "all" and self.word(i) in NUMBERS:
            count, i = NUMBERS[self.word(i)], i + 1
            if self.word(i) == "of" and self.word(i + 1) == "them":
                return det, -count, i + 2
        if not self._noun_ahead(i):
            return det, -(count or 9), i
        return det, count, i

    def _bare(self, det: str, count: int, i: int) -> tuple[Phrase, int]:
        if det == "other":
            return Phrase(NP("other", count=0 if count == 9 else 1)), i
        return Phrase(NP(det, count=0 if count == 9 else count)), i

    def _noun_ahead(self, i: int, plural_only: bool = False) -> bool:
        """Whether adjectives and a noun follow."""
        while self.adjective(i) is not None:
            i = self.adjective(i)[1]  # type: ignore[index]
        word = self.word(i)
        return word in PLURALS or (not plural_only and word in NOUNS)

    def _described(self, det: str, count: int, i: int) -> tuple[Phrase, int] | None:
        constraints: list[Constraint] = []
        while (adjective := self.adjective(i)) is not None:
            constraints.append(adjective[0])
            i = adjective[1]
        word = self.word(i)
        if word in NOUNS and (count == 1 or det in ("the", "other", "no", "each")) and count < 2:
            kinds, count = NOUNS[word], 1
        elif (word in PLURALS and count != 1) or (word in PLURALS and det == "one of"):
            kinds, count = PLURALS[word], count if det != "one of" else 1
            if word in NOUNS and det == "the" and count == 0:
                count = 1
        else:
            return None
        if not kinds and word not in ("one", "ones", "thing", "things", "object", "objects"):
            return None
        i += 1
        if kinds and kinds[0] in PEOPLE and any(_plain_color(c) for c in constraints):
            return None
        np = NP(det, kinds, tuple(constraints), count)
        if self.word(i) == "'s":
            part = self.part_slot(i + 1, kinds)
            return (Phrase(np, part[0]), part[1]) if part else None
        np, i = self.postmodifiers(np, i)
        return Phrase(np), i

    def _part_of(self, i: int) -> tuple[Phrase, int] | None:
        """After "the": "roof of the house"; "roof" alone, where only houses have one."""
        part = self.part_slot(i, ())
        if part is None:
            return None
        slot, j = part
        if self.word(j) == "of":
            inner = self.noun_phrase(j + 1)
            if inner is None or inner[0].part:
                return None
            slot = self.slot_among(self.word(j - 1), inner[0].np.kinds) or slot
            return Phrase(inner[0].np, slot), inner[1]
        return Phrase(NP("the", OWNERS_OF_SLOT[slot]), slot), j


def _plain_color(constraint: Constraint) -> bool:
    return isinstance(constraint, Has) and constraint.slot == ""
