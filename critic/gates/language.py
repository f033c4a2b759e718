"""Does the critic know this language? Decided by the words that its training captions used.

Function words make the difference: an English caption about unknown things still shares half of its
words with any English training text, a German one next to none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from revise_captions.records import Span

WORDS_FILE = "words.txt"
_WORD = re.compile(r"[^\W\d_]+")
#: A caption with a smaller share of known words is in another language.
CAPTION_SHARE = 0.34
#: The same for one sentence of at least `SENTENCE_WORDS` words in a caption that is known.
SENTENCE_SHARE = 0.25
SENTENCE_WORDS = 4


def words(text: str) -> list[str]:
    """Lower-cased runs of letters."""
    return [word.lower() for word in _WORD.findall(text)]


def common_words(texts: Iterable[str], at_least: int = 5, limit: int = 6000) -> list[str]:
    """The words that occur at least so often in `texts`, sorted."""
    counts = Counter(word for text in texts for word in words(text))
    return sorted(word for word, count in counts.most_common(limit) if count >= at_least)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words a critic was trained on. An empty lexicon knows every language."""

    known: frozenset[str]

    def foreign(self, text: str, spans: Sequence[Span]) -> list[bool]:
        """For each sentence: is it in a language that the critic does not know?

        A caption without a single word in it counts as foreign.
        """
        if not self.known:
            return [False] * len(spans)
        if self._share(words(text)) < CAPTION_SHARE:
            return [True] * len(spans)
        found = [words(span.of(text)) for span in spans]
        return [len(w) >= SENTENCE_WORDS and self._share(w) < SENTENCE_SHARE for w in found]

    def _share(self, found: Sequence[str]) -> float:
        return sum(word in self.known for word in found) / len(found) if found else 0.0


def read_lexicon(folder: Path) -> Vocabulary:
    """`words.txt` of a checkpoint, one word a line; an empty lexicon where there is none."""
    path = folder / WORDS_FILE
    if not path.exists():
        return Vocabulary(frozenset())
    return Vocabulary(frozenset(path.read_text(encoding="utf-8").split()))


def write_lexicon(folder: Path, known: Iterable[str]) -> None:
    (folder / WORDS_FILE).write_text("".join(f"{word}\n" for word in known), encoding="utf-8")
