"""Words that stand in for each other in an edit, by class."""

from __future__ import annotations

import random
from dataclasses import dataclass

from scripts.research.frame.data import beside
from scripts.research.smollm2_reviser.sentences import held_out

_DATA = beside(__file__, "words.toml")
#: Closed classes: any word of a class may be wrong for any other.
CLASSES: dict[str, tuple[str, ...]] = _DATA["classes"]
OF_WORD = {word: name for name, words in CLASSES.items() for word in words}
#: Opposites, each way; of several the first.
RELATIONS: dict[str, str] = {}
for _one, _other in _DATA["opposites"]:
    RELATIONS.setdefault(_one, _other)
    RELATIONS.setdefault(_other, _one)


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
    words = rng.sample(_DATA["signs"], rng.choice((1, 1, 2)))
    text = " ".join(words)
    return text if old.isupper() else text.title()
