"""The language gate: do the words of the training captions show that the critic knows a language?

Function words are decisive: an English caption about unknown things still shares half of its words
with any English training text, a German caption next to none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from revise_captions.critic.gates.taught_words import (
    TaughtWords,
    read_taught_words,
    read_words,
    write_taught_words,
)
from revise_captions.io.writing import write_text
from revise_captions.records import Span

WORDS_FILE = "words.txt"
_WORD = re.compile(r"[^\W\d_]+")
#: A caption with a smaller share of known words is in another language.
KNOWN_IN_CAPTION = 0.34
#: The same for a sentence of at least `SENTENCE_WORDS` words, in a caption that passed.
KNOWN_IN_SENTENCE = 0.25
SENTENCE_WORDS = 4


def words(text: str) -> list[str]:
    """Lower-cased runs of letters."""
    return [word.lower() for word in _WORD.findall(text)]


def common_words(texts: Iterable[str], at_least: int = 5, limit: int = 6000) -> list[str]:
    """The `limit` most frequent words of `texts` that occur at least `at_least` times, sorted."""
    counts = Counter(word for text in texts for word in words(text))
    return sorted(word for word, count in counts.most_common(limit) if count >= at_least)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words a critic was trained on. An empty vocabulary knows every language.

    Attributes:
        known: The frequent ones, which identify the language.
        taught: All of them; None if no word counts as unknown to this critic.
    """

    known: frozenset[str]
    taught: TaughtWords | None = None

    def unknown_word(self, sentence: str) -> str | None:
        """The first content word that the critic was not taught; None if it knows them all."""
        return None if self.taught is None else self.taught.unknown(sentence)

    def in_case(self, text: str, spans: Sequence[Span]) -> str:
        """A caption as the critic reads it (`TaughtWords.in_case`), of the same length."""
        if self.taught is None:
            return text
        made = list(text)
        for span in spans:
            made[span.start : span.end] = self.taught.in_case(span.of(text))
        return "".join(made)

    def foreign(self, text: str, spans: Sequence[Span]) -> list[bool]:
        """For each sentence, whether it is in a language that the critic does not know.

        A caption without a single word counts as foreign.

        Args:
            text: The caption.
            spans: Its sentences, half-open `[start, end)` in code points.
        """
        if not self.known:
            return [False] * len(spans)
        if self._known(words(text)) < KNOWN_IN_CAPTION:
            return [True] * len(spans)
        found = [words(span.of(text)) for span in spans]
        return [len(w) >= SENTENCE_WORDS and self._known(w) < KNOWN_IN_SENTENCE for w in found]

    def _known(self, found: Sequence[str]) -> float:
        return sum(word in self.known for word in found) / len(found) if found else 0.0


def read_vocabulary(folder: Path) -> Vocabulary:
    """The word lists of a checkpoint; an empty vocabulary where there are none."""
    path, taught = folder / WORDS_FILE, read_taught_words(folder)
    if not path.exists():
        return Vocabulary(frozenset(), taught)
    return Vocabulary(read_words(path), taught)


def write_vocabulary(folder: Path, vocabulary: Vocabulary) -> None:
    """Writes the word lists that are not empty to a checkpoint's folder."""
    if vocabulary.known:
        write_text(folder / WORDS_FILE, "".join(f"{word}\n" for word in sorted(vocabulary.known)))
    if vocabulary.taught is not None:
        write_taught_words(folder, vocabulary.taught)
