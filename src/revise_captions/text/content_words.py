"""Content words of a sentence, compared by lemma: a rewrite may not add any of its own.

Lemmas come from simplemma's English dictionary, which is part of its package; a stemmer would
conflate many more pairs of different words. Words that the dictionary does not know, and other
languages, are compared by form; scripts written without spaces, character by character.
"""

# ruff: noqa: SIM905  (word lists read better as text)

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import NamedTuple

#: Scripts without spaces between words: each character is compared on its own.
_UNSPACED = "\u0e00-\u0eff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u9fff\uf900-\ufaff"
_WORD = re.compile(
    rf"[{_UNSPACED}]|\d+(?:[.,:]\d+)*|(?:(?![{_UNSPACED}])[^\W\d_])+(?:'(?:(?![{_UNSPACED}])[^\W\d_])+)*"
)
#: The key of negations: they reverse a claim, so they are content.
NEGATION = "not"
_NEGATIONS = frozenset(
    "not no never none nobody nothing nowhere neither nor cannot without hardly barely lack lacks "
    "lacking absent".split()
)
_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_NUMBERS = {word: n for n, word in enumerate(_UNITS)} | {
    word: 10 * n for n, word in enumerate(_TENS, start=2)
}
_NUMBERS |= {"single": 1, "hundred": 100, "thousand": 1000, "dozen": 12}

#: Words that a rewrite may add: determiners, pronouns, auxiliaries, conjunctions, prepositions.
#: Numbers, quantities ("all", "many", "both"), negations and words of place ("behind") are content.
FUNCTION_WORDS = frozenset(
    """
    a an the this that these those each every either another other others such what which who whom
    whose some any
    i me my mine myself you your yours yourself he him his himself she her hers herself it its
    itself we us our ours ourselves they them their theirs themselves one's someone something
    anyone anything there here
    be am is are was were been being do does did doing done have has had having will would shall
    should can could may might must ought 's 're 've 'll 'd 'm
    and or but so yet if then than because while whereas although though as when where how why
    whether also too very just
    of to in on at by for with from into onto upon about off out up down via per
    """.split()
)
#: Texts of up to this many characters are cached.
_LONGEST_KEPT = 1000
#: Words for the same spatial relation, treated as equal.
_SAME = {
    "below": "under", "beneath": "under", "underneath": "under", "over": "above",
    "next": "beside", "near": "beside", "alongside": "beside", "grey": "gray", "colour": "color",
}  # fmt: skip


def words(text: str) -> list[str]:
    """The words of `text`, casefolded, with plain apostrophes, split at hyphens."""
    folded = unicodedata.normalize("NFKC", text).replace("’", "'").casefold()
    return [match.group() for match in _WORD.finditer(folded)]


class _Word(NamedTuple):
    """A word as written, its key, and all keys that it may match."""

    text: str
    key: str
    keys: frozenset[str]


def content(text: str) -> dict[str, str]:
    """Content words by key: the guard treats words with equal keys as the same.

    A key is a lemma, a number in digits, or `NEGATION`; the value is the word as written.
    """
    found: dict[str, str] = {}
    for word in _words_of(text):
        if word.text not in FUNCTION_WORDS:
            found.setdefault(word.key, word.text)
    return found


def known_keys(*sources: str) -> set[str]:
    """Keys of all words of the sources, in every form; an article counts as "one"."""
    known: set[str] = set()
    for source in sources:
        for word in _words_of(source):
            known |= word.keys
            if word.text in ("a", "an"):
                known.add("1")
    return known


def content_keys(text: str) -> list[tuple[str, frozenset[str]]]:
    """Content words of `text`, in order and with repetitions, each with all its keys."""
    return [(word.text, word.keys) for word in _words_of(text) if word.text not in FUNCTION_WORDS]


def new_content(text: str, *sources: str) -> list[str]:
    """Content words of `text`, in order, that none of the sources contains in any form."""
    known = known_keys(*sources)
    return [
        word for key, word in content(text).items() if key not in known and not _forms(word) & known
    ]


def repeated_content(text: str, sentence: str, rationale: str) -> list[str]:
    """Content words that `text` repeats beyond `sentence` and one occurrence for `rationale`.

    They show a correction made where it belongs, and again over something that was right: "a cat
    and a cat". Does not apply to scripts compared character by character.
    """
    before, named = _counts(sentence), _counts(rationale)
    counted = _counts(text)
    spoken = content(text)
    return [
        spoken[key]
        for key, count in counted.items()
        if count > max(1, before[key] + (named[key] > 0)) and (len(key) > 1 or key.isascii())
    ]


def _counts(text: str) -> Counter[str]:
    return Counter(word.key for word in _words_of(text) if word.text not in FUNCTION_WORDS)


def _words_of(text: str) -> tuple[_Word, ...]:
    """The words of a text with their keys. Guards and the parsing of rationales ask for those of
    the same sentence dozens of times, so they are cached, except for long texts, to save memory."""
    return _kept(text) if len(text) <= _LONGEST_KEPT else _read(text)


def _read(text: str) -> tuple[_Word, ...]:
    return tuple(_Word(word, key, frozenset({key, *_forms(word)})) for word, key in _keys(text))


_kept = lru_cache(maxsize=4096)(_read)


def _keys(text: str) -> list[tuple[str, str]]:
    """Each word with its key. "twenty-one" is one word, "isn't" is two."""
    pairs: list[tuple[str, str]] = []
    for word in words(text):
        if word.endswith("n't"):
            pairs.append((NEGATION, NEGATION))
            continue
        word = word.removesuffix("'s").removesuffix("'")
        last = pairs[-1][0] if pairs else ""
        if last in _TENS and 0 < _NUMBERS.get(word, 0) < 10:
            pairs[-1] = (f"{last}-{word}", str(_NUMBERS[last] + _NUMBERS[word]))
        elif word in _NEGATIONS:
            pairs.append((word, NEGATION))
        elif word in _NUMBERS:
            pairs.append((word, str(_NUMBERS[word])))
        else:
            pairs.append((word, lemma(word)))
    return pairs


def read_dictionary() -> None:
    """Loads the dictionary now rather than at the first word."""
    lemma("word")


@lru_cache(maxsize=50_000)
def lemma(word: str) -> str:
    """The dictionary form of a casefolded word; the word itself if it is unknown."""
    from simplemma import lemmatize

    if len(word) > 40 or not word.isascii() or not word.isalpha():
        return word
    known: str = lemmatize(word, lang="en").casefold()
    return _SAME.get(known, known)


@lru_cache(maxsize=50_000)
def _forms(word: str) -> frozenset[str]:
    """Other keys that the word may match, if the dictionary lists it as a word of its own.

    "sitting" (also a noun) matches "sit", "leaves" (also a verb) "leaf", "bigger" "big", and the
    plural of a word that the dictionary does not know matches its singular.
    """
    stems: list[str] = []
    if word.endswith("ing") and len(word) > 5:
        stems = [word[:-3], word[:-3] + "e"]
    elif word.endswith("ves"):
        stems = [word[:-3] + "f", word[:-3] + "fe", word[:-1]]
    elif word.endswith("s") and len(word) > 2:
        stems = [word[:-1]]
    elif word.endswith(("er", "est")) and len(word) > 5:
        stem = word.removesuffix("er").removesuffix("est")
        stems = [stem] if stem[-1:] == stem[-2:-1] else []
    doubled = [s[:-1] for s in stems if len(s) > 3 and s[-1] == s[-2]]
    return frozenset(lemma(stem) for stem in (*stems, *doubled))
