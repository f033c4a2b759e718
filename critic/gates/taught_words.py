"""The unknown-word gate: a critic that was never taught “dragon” cannot say whether there is one.

A small critic knows only the words of its training data, yet affirms others: asked about a dragon,
it reads the frame “There is a …” and a few letters. So a sentence with a content word outside the
list of taught words is unscored. The list holds words, independent of the tokenizer; inflected
forms of a taught word are known, and English function words do not count. Numbers in digits are
read digit by digit and never unknown. Words that were only ever read off signs, in quotes or
capitals, are known only there: “FISH” on a sign does not teach what a fish is. These, and names,
are looked up like other words, unless the training data showed that they are an open class, to be
spelled out; the list then says so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from revise_captions.critic.gates.function_words import FUNCTION_WORDS, IRREGULAR
from revise_captions.errors import UserError
from revise_captions.io.writing import write_text

TAUGHT_FILE = "taught-words.txt"
#: Lines of the file that allow any word in quotes, and any name (capitalized within a sentence).
QUOTED, NAMED = '"', "^"
#: A class is open if more of it is unseen by the Good–Turing estimate (share of words seen once).
OPEN = 0.05
_WORD = re.compile(r"[^\W\d_]+")
_QUOTE = re.compile(r"[\"“][^\"“”]*[\"”]")
_STOPS = '.!?:;"“”'
_CAPITAL = re.compile(r"[A-Z]")
_VOWEL = re.compile(r"[aeiouy]")
#: As in "car": "caring" is a form of "care", not "car".
_SHORT = re.compile(r"[^aeiou]*[aeiouy][^aeiouwxy]")


@dataclass(frozen=True, slots=True)
class _Word:
    """`quoted`: in quotes, or in capitals among words that are not; `name`: is capitalized."""

    text: str
    quoted: bool
    name: bool


def _words(text: str) -> Iterator[_Word]:
    """The words of a text that could be unknown: of two letters or more."""
    quotes = [match.span() for match in _QUOTE.finditer(text)]
    shouted = not any(letter.islower() for letter in text)
    for match in _WORD.finditer(text):
        start, end = match.span()
        if end - start > 1:
            word = match[0]
            quoted = any(a < start < b for a, b in quotes) or (word.isupper() and not shouted)
            name = word[0].isupper() and not _starts(text, start) and not shouted
            yield _Word(word, quoted, name)


def _starts(text: str, start: int) -> bool:
    """Whether a word that starts there is the first of a sentence or a quotation."""
    return text[max(0, start - 8) : start].rstrip()[-1:] in _STOPS  # `in` holds for "" too


def base_forms(word: str, *, compared: bool = True) -> set[str]:
    """The words that a lower-case word may be a form of, itself included: "run" for "running".

    `compared`: also strip -er and -est.
    """
    found = {word, *IRREGULAR.get(word, ())}
    for ending in ("ing", "ed", *(("er", "est") if compared else ())):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 1 and _VOWEL.search(stem) and word[-3:] != "eed":
            found |= _stems(stem)
    if word.endswith("ies") and len(word) > 4:
        found.add(word[:-3] + "y")
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        found.add(word[:-1])
        if word.endswith(("ses", "xes", "zes", "ches", "shes", "oes", "sses")):
            found.add(word[:-2])
    return found


def _stems(stem: str) -> set[str]:
    """The verbs or adjectives that have `stem` before -ing, -ed, -er or -est."""
    if stem.endswith("i"):
        return {stem[:-1] + "y"}
    if len(stem) > 3 and stem[-1] == stem[-2]:
        return {stem, stem[:-1]}
    return {stem + "e"} if _SHORT.fullmatch(stem) else {stem, stem + "e"}


@dataclass(frozen=True)
class TaughtWords:
    """A critic's taught words: in lower case, in capitals if only on signs; and marker lines."""

    listed: frozenset[str]

    @cached_property
    def _forms(self) -> frozenset[str]:
        return frozenset(form for word in self.listed for form in base_forms(word, compared=False))

    def unknown(self, sentence: str) -> str | None:
        """The first content word that the critic was not taught, as written; None if all were."""
        lower = _WORD.findall(sentence.lower())
        if all(word in self._forms or word in FUNCTION_WORDS for word in lower):
            return None
        for word in _words(sentence):
            spelled = (word.quoted and QUOTED in self.listed) or (
                word.name and NAMED in self.listed
            )
            sign = (word.quoted or word.text.isupper()) and word.text.upper() in self.listed
            if not spelled and not sign and not self.knows(word.text.lower()):
                return word.text
        return None

    def in_case(self, sentence: str) -> str:
        """The sentence as the critic reads it: without uninformative capitals, of equal length.

        Every word of “A DOG SITS.” and “A Dog Sits.” has different tokens, which a small critic
        would have to learn one by one. Quoted text, words known from signs, and names stay.
        """
        if not _CAPITAL.search(sentence, 1):
            return sentence
        shouted = not any(map(str.islower, sentence))
        quotes = [match.span() for match in _QUOTE.finditer(sentence)]
        made, done = [], 0
        for match in _WORD.finditer(sentence):
            (start, end), word, lower = match.span(), match[0], match[0].lower()
            kept = word.upper() in self.listed or any(a < start < b for a, b in quotes)
            first = _starts(sentence, start)
            title = not first and (word[1:].islower() or word == "A") and self.knows(lower)
            if kept or len(lower) != len(word) or not (shouted or title):
                continue
            made += [sentence[done:start], word[0] + lower[1:] if first else lower]
            done = end
        return "".join([*made, sentence[done:]])

    def knows(self, word: str) -> bool:
        """Whether a lower-case word is a function word or a form of a taught one."""
        if word in FUNCTION_WORDS or word in self._forms:
            return True
        return not self._forms.isdisjoint(base_forms(word))


def taught_words(texts: Iterable[str]) -> TaughtWords:
    """The words of the sentences that a critic is trained on, whatever their frequency."""
    counts: dict[str, Counter[str]] = {"": Counter(), QUOTED: Counter(), NAMED: Counter()}
    for text in texts:
        # a text all in capitals does not show which words are only ever on signs
        for word in _words(text) if any(map(str.islower, text)) else ():
            counts[QUOTED if word.quoted else NAMED if word.name else ""][word.text.lower()] += 1
    listed = {*counts[""], *counts[NAMED]}
    listed |= {word.upper() for word in counts[QUOTED] if word not in listed}
    for mark in (QUOTED, NAMED):
        found = counts[mark]
        if sum(count == 1 for count in found.values()) > OPEN * found.total():
            listed.add(mark)
    return TaughtWords(frozenset(listed - FUNCTION_WORDS))


def read_taught_words(folder: Path) -> TaughtWords | None:
    """A checkpoint's list, one word per line; None if it has none, and all words are accepted."""
    path = folder / TAUGHT_FILE
    return TaughtWords(read_words(path)) if path.exists() else None


def read_words(path: Path) -> frozenset[str]:
    """The words of a list. Raises `UserError` if it cannot be read, or is not UTF-8 text."""
    try:
        return frozenset(path.read_text(encoding="utf-8").split())
    except UnicodeDecodeError as error:
        found = f"{path} is no list of words in UTF-8: byte {error.start}: {error.reason}"
        raise UserError(found, hint="save it in UTF-8, one word per line") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None


def write_taught_words(folder: Path, taught: TaughtWords) -> None:
    """Writes the list to a checkpoint's folder."""
    write_text(folder / TAUGHT_FILE, "".join(f"{word}\n" for word in sorted(taught.listed)))
