"""Words of a sentence, and the phrases of the lexicon found at a place among them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
_TOKEN = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*|'s|\d+|[,;:\"]|\S")
_SHORT = (
    ("isn't", "is not"), ("aren't", "are not"), ("doesn't", "does not"), ("don't", "do not"),
    ("there's", "there is"), ("it's", "it is"), ("he's", "he is"), ("she's", "she is"),
    ("they're", "they are"), ("that's", "that is"), ("hasn't", "has not"),
    ("can't", "cannot"), ("wearing's", "wearing is"),
)  # fmt: skip
_SHORT_FORM = re.compile(r"\b(" + "|".join(re.escape(a) for a, _ in _SHORT) + r")\b", re.I)
_LONG = dict(_SHORT)


@dataclass(frozen=True, slots=True)
class Words:
    """`lower` and `raw` in step. The final full stop or exclamation mark is left out."""

    lower: tuple[str, ...]
    raw: tuple[str, ...]


def words_of(sentence: str) -> Words:
    text = sentence.strip().replace("’", "'").replace("“", '"').replace("”", '"')
    if "'" in text:
        text = _SHORT_FORM.sub(lambda m: _LONG[m[0].lower()], text)
    if text.endswith(('."', '!"')):
        text = text[:-2] + '"'
    elif text.endswith((".", "!")):
        text = text[:-1]
    raw = tuple(_TOKEN.findall(text))
    return Words(tuple(word.lower() for word in raw), raw)


class Phrases(Generic[T]):
    """Phrases of one or more words with their meanings; the longest one that fits is found."""

    def __init__(self, meanings: Mapping[str, T]) -> None:
        self._by_first: dict[str, list[tuple[tuple[str, ...], T]]] = {}
        for phrase, meaning in meanings.items():
            words = tuple(phrase.split())
            self._by_first.setdefault(words[0], []).append((words, meaning))
        for entries in self._by_first.values():
            entries.sort(key=lambda entry: -len(entry[0]))

    def at(self, words: tuple[str, ...], i: int) -> tuple[T, int] | None:
        """The meaning of the longest phrase that begins at word `i`, and where it ends."""
        if i >= len(words):
            return None
        for phrase, meaning in self._by_first.get(words[i], ()):
            if words[i : i + len(phrase)] == phrase:
                return meaning, i + len(phrase)
        return None
