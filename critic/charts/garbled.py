"""Signs of text that is no sentence, as weak captioners write it.

They were chosen with the development half of CHOCOLATE and the world of charts in sight.
"""

from __future__ import annotations

import functools
import re
from collections import Counter

from revise_captions.charts.claims.sentence import LONGEST
from revise_captions.charts.claims.vocabulary import DOWN, STRONG, UP, verb_of
from revise_captions.critic.charts.words import chart_words, function_words

_WORD = re.compile(r"\w+|&")
#: "of people of people", "users users", "of of"; "had had" and "die die" are words of a sentence.
_AT_ONCE = re.compile(
    r"\b([^\W\d_]\w+(?:[ ,/-]+\w+){1,5}|[^\W\d_]{5,}|of|in|the|to|and|for|with|at|from) \1\b"
)
#: Words that set a clause beside one that repeats its words.
_CONTRAST = re.compile(
    r"\b(?:while|but|and|than|whereas|versus|vs|compared|exceeds?|from|ahead|behind|above|below)\b|;",
    re.IGNORECASE,
)
#: (words, times): a run of so many words that stands in the sentence so often; the last one only
#: where no `_CONTRAST` explains it.
_RUNS = ((7, 2), (3, 3), (2, 4))
_ALIKE = (5, 2)
#: Characters that OCR-free text has no use for, and symbols in a row.
_GLYPHS = re.compile(r"[|○�]|;&|([^\w\s.!?*…\-—–_])\1\1")
#: "on0% of", "from191,000", "they69%"; but "NO2", "may2020", "per1000" and "over50s".
_JOINED = {word for word in function_words() if len(word) > 2} - {"may", "over", "per", "under"}
_STUCK = re.compile(
    rf"\b(?:on|of|in|at|to|by|is|number|people|rate|{'|'.join(sorted(_JOINED))})\d", re.IGNORECASE
)
#: What a number or word was lost from: "an, 88%", "to be..58%", "in other countries.66%".
_LOST = re.compile(r"\b(?:an|the)[,;]|[a-z](?:\.\.\d|[.,;]\d+(?:\.\d+)?%)")
_FUNCTION = r"for|with|by|from|is|are|was|were|has|have|had|and|or|which|an|the|than|into"
#: What nothing follows, and what follows nothing: "has a for better", "between of".
_MISPLACED = re.compile(
    rf"\b(?:a|an|the) (?:of|a|{_FUNCTION})\b(?!-)"
    r"|\b(?:of|between|among|into) (?:of|by|at|for|with|from|is|are|was|were|has|have|had|than"
    r"|into)\b(?!-)"
)
#: "Overall, 3.": a list's number, and what opened a sentence.
_NUMBER = re.compile(r"^(?:[A-Z][a-z]+(?: [a-z]+){0,3}, )?\W*\d{1,2}\.?\s*$")
_OPEN_END = re.compile(r"\b(?:an?|the|and|or|of|than|their|its)\.?\s*$")
_UNFINISHED = re.compile(
    r"\b(?:an?|the|and|or|of|in|on|at|by|with|from|to|for|than|their|its|is|was|are|were|has|have|had"
    r"|that|which|as|between|among|into|about)\s*$",
    re.IGNORECASE,
)
_ENDS = re.compile(r"[.!?:;][\"')\]”’]*\s*$")
#: A capital in the middle of a sentence on a word that no name begins with.
_MOVED = re.compile(r"(?<!,) \b[a-z]{2,} (?:The|Has|Was|Is|An|There|Values|Among) [a-z]")
#: Values read out without words between them: "Men 57 50 women".
_ROW = re.compile(
    r"(?:(?<!\w)(?!(?:1[6-9]|20)\d\d\b)\d[\d.]*%? ){2,}\d"
    r"|(?<![\w.,$])(?!(?:1[6-9]|20)\d\d\b)\d[\d.]*%? (?!(?:1[6-9]|20)\d\d\b)\d[\d.]*%?(?= [A-Za-z])"
)
#: "lower than Spain. is."; "is than".
_STOPPED = re.compile(r"[a-z]{3,}\. [a-z]{1,4}\.?\s*$|\b(?:is|are|was|were|has|had) than\b")
#: "Republicans are more likely than Republicans to agree."
_SAME_GROUP = re.compile(
    r"\b([A-Z]\w{3,})\b[^.;,]{0,40} (?:more|less) likely than \1\b"
    r"(?! (?:aged?|from|in|of|over|under|who|with)\b)"
)
_THAN = re.compile(r"\b(?:than|versus) (?:that |those |the )?")
_BETWEEN = re.compile(r"\bbetween (\w[^,.]*?) and \1\b(?![/-])", re.IGNORECASE)
#: A word in lower case that no sign or abbreviation is part of.
_PLAIN = re.compile(r"(?<![\w.'’&/()-])[a-z]+(?![\w'’&/)-]|\.\w)")
#: Letters that stand alone for nothing, but in names ("plan b").
_LONE = frozenset("bfghjloqruvwz")
_NAMED = re.compile(
    r"\b(?:plan|option|group|type|class|grade|phase|team|category|vitamin|panel|part|section|figure"
    r"|model|q) [a-z]\b"
)


def is_garbled(sentence: str) -> bool:
    """Whether a text repeats itself, compares a thing with itself, was cut, or is no sentence."""
    if len(sentence) > LONGEST:
        return True
    patterns = (
        _GLYPHS,
        _STUCK,
        _LOST,
        _SAME_GROUP,
        _MISPLACED,
        _OPEN_END,
        _MOVED,
        _ROW,
        _BETWEEN,
        _AT_ONCE,
        _STOPPED,
        _NUMBER,
    )
    return (
        any(pattern.search(sentence) for pattern in patterns)
        or not any(letter.isalpha() for letter in sentence)
        or _repeats(sentence)
        or _ends_within(sentence)
        or _against_itself(sentence)
        or _has_cut_words(sentence)
    )


def _words(sentence: str) -> list[str]:
    return _WORD.findall(sentence.casefold())


def _repeats(sentence: str) -> bool:
    """Whether a run of words stands there too often."""
    runs = _RUNS if _CONTRAST.search(sentence) else (*_RUNS, _ALIKE)
    words = _words(sentence)
    for length, times in runs:
        found = Counter(tuple(words[k : k + length]) for k in range(len(words) - length + 1))
        if any(n >= times and any(w.isalpha() for w in run) for run, n in found.items()):
            return True
    return False


def _ends_within(sentence: str) -> bool:
    """Whether it ends with a word that another must follow, without a full stop."""
    return not _ENDS.search(sentence) and bool(_UNFINISHED.search(sentence))


def _against_itself(sentence: str) -> bool:
    """Whether what is behind "than" stands before it, word for word."""
    than = _THAN.search(sentence)
    if than is None:
        return False
    before, after = _words(sentence[: than.start()]), _words(sentence[than.end() :])
    starts = range(len(before) - len(after) + 1)
    return len(after) > 1 and any(before[k : k + len(after)] == after for k in starts)


def _has_cut_words(sentence: str) -> bool:
    """Whether words lost letters: two are single ones, or begin like common words."""
    return sum(_is_cut(word) for word in _PLAIN.findall(_NAMED.sub("", sentence))) > 1


@functools.cache
def _is_cut(word: str) -> bool:
    """Whether it is a letter that is no word, or two or three that begin a function word."""
    known = function_words() | chart_words() | _SHORT
    begins = any(other.startswith(word) for other in function_words())
    return word in _LONE or (1 < len(word) < 4 and word not in known and begins)


#: Words in lower case that begin others.
_SHORT = frozenset(
    ("al", "app", "art", "de", "do", "du", "en", "ex", "go", "he", "hi", "le", "led", "me", "mid",
     "mil", "my", "ok", "per", "ran", "she", "su", "tot", "un", "us", "var", "we", "wee", "ye")
)  # fmt: skip


_AMOUNT = (
    r"[$€£]?(?P<{0}>\d[\d,]*(?:\.\d+)?)(?P<unit_{0}> ?%| (?:thousand|million|billion|trillion))?"
)
_HEDGES = r"(?:(?:just|about|around|over|nearly|almost|approximately|roughly) )*"
#: A direction, and the next two numbers that it is told with, no other direction between.
_FROM_TO = re.compile(
    rf"\b(?P<way>{UP}|{DOWN})\b(?:(?!\b(?:{UP}|{DOWN})\b)[^;.])*?"
    rf"\bfrom {_HEDGES}{_AMOUNT.format('first')}(?![-–\d])(?:,? in \S+)?,?"
    rf" to {_HEDGES}{_AMOUNT.format('last')}(?![-–\d])",
    re.IGNORECASE,
)
_RISES = re.compile(UP, re.IGNORECASE)
_A_YEAR = re.compile(r"(?:1[6-9]|20)\d\d")


def contradicts_itself(sentence: str) -> bool:
    """Whether something is said to rise from a number to a lower one, or to fall to a higher."""
    for match in _FROM_TO.finditer(sentence):
        verb, ends = verb_of(match["way"]), (match["first"], match["last"])
        units = {(match[f"unit_{end}"] or "").strip().lower() for end in ("first", "last")}
        # a currency strengthens to fewer units of another
        if verb is None or verb.base in STRONG or len(units) > 1:
            continue
        if not any(_A_YEAR.fullmatch(end) for end in ends):
            first, last = (float(end.replace(",", "")) for end in ends)
            if (last < first) if _RISES.fullmatch(match["way"]) else (last > first):
                return True
    return False
