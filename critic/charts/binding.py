"""Which marks each number of a sentence is about, by all the names that they have in the chart.

`claims.values` goes by the one category nearest to a number. Here every word counts that tells a
mark from others, of its category, series and panel, so that a value is seen to be another group's.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from revise_captions.charts.chart import Chart
from revise_captions.charts.claims.amounts import is_near, is_within
from revise_captions.charts.claims.check import Tolerance
from revise_captions.charts.claims.grid import FoundMark
from revise_captions.charts.claims.mentions import Number, numbers_in, stemmed, years_in
from revise_captions.charts.claims.sentence import LONGEST

#: What a word counts that is said of another number of the sentence, and in the sentence before.
_ELSEWHERE, _BEFORE = 0.3, 0.2
#: Words at the end of a panel's title that are its own, as the figure's may stand before them; and
#: how many of them name it in full.
_HEADING, _ENOUGH = 6, 2
#: What a word counts that all names of a kind have: "bothered", beside "not bothered".
_SHARED = 0.1
#: Where what is said of one number ends and of the next begins, the clearest first.
_BREAKS = (
    re.compile(
        r";|\b(?:while|whereas|compared (?:to|with)|versus|vs\.?|but|although|though)\b",
        re.IGNORECASE,
    ),
    re.compile(r"[,(]"),
    re.compile(r"\b(?:and|to|than|or)\b"),
)
#: Words that name nothing, and letters by which two forms of a word are taken for one.
_EMPTY = frozenset(
    ("the", "a", "an", "of", "to", "in", "and", "or", "for", "with", "by", "at", "from", "as", "is",
     "are", "was", "were", "be", "that", "this", "it", "on")
)  # fmt: skip
_STEM = 5
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_DIGITS = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


def misnamed(
    sentence: str,
    charts: Sequence[Chart],
    marks: Sequence[FoundMark],
    lines: Sequence[str],
    before: str = "",
) -> float:
    """How much better a sentence names other marks than those that have one of its numbers, or of
    which "below 5,000" holds, at worst: 1 for each of category, series and panel that is another's.

    A number that stands in the image more often than marks have it may be another's, which was not
    read, and one that is part of a name is none.

    Args:
        sentence: The sentence.
        charts: What was read.
        marks: Its marks.
        lines: The lines of text in the image.
        before: The sentence before, which may have named what this one is about.
    """
    if not marks or len(sentence) > LONGEST:
        return 0.0
    numbers = [n for n in numbers_in(sentence, years_in(sentence)) if not n.change]
    if not numbers:
        return 0.0
    names = _names_of(charts, marks)
    labels = _numbers_of([f"{mark.mark.category} {mark.series}" for mark in marks])
    printed = _numbers_of(lines)
    apart = 1.0 if "respectively" in sentence else _ELSEWHERE
    words = dict.fromkeys(_stems(before), _BEFORE) | dict.fromkeys(_stems(sentence), apart)
    worst = 0.0
    for one, own in zip(numbers, _clauses(sentence, numbers), strict=True):
        has = [k for k, mark in enumerate(marks) if is_near(one, mark, Tolerance())]
        read = sum(marks[k].mark.printed for k in has)
        if has and one.value not in labels and not 0 < read < printed[one.value]:
            match = names.match(words | dict.fromkeys(_stems(own), 1.0))
            true = {*has, *(k for k, mark in enumerate(marks) if is_within(one, mark.value))}
            worst = max(worst, max(match) - max(match[k] for k in true))
    return worst


def _numbers_of(texts: Sequence[str]) -> Counter[float]:
    """How often each number stands in texts."""
    return Counter(float(n.replace(",", "")) for text in texts for n in _DIGITS.findall(text))


def _clauses(sentence: str, numbers: Sequence[Number]) -> list[str]:
    """What is said of each number: the sentence, cut between them where it breaks most clearly."""
    cuts = [0]
    for one, other in pairwise(numbers):
        between = sentence[one.end : other.start]
        middle = len(between) // 2
        breaks = next((b for r in _BREAKS if (b := [m.start() for m in r.finditer(between)])), [])
        cuts.append(one.end + min(breaks or [middle], key=lambda at: abs(at - middle)))
    return [sentence[a:b] for a, b in pairwise([*cuts, len(sentence)])]


@lru_cache(4096)
def _stems(text: str) -> tuple[str, ...]:
    """The words of a text, folded, without those that name nothing, each cut to its stem."""
    words = (stemmed(match[0]) for match in _WORD.finditer(text))
    return tuple(word if word.isdigit() else word[:_STEM] for word in words if word not in _EMPTY)


@dataclass(frozen=True, slots=True)
class _Names:
    """The words of the names of marks, by kind of name, each with its share of the name."""

    kinds: tuple[tuple[Mapping[str, float], ...], ...]

    def match(self, words: Mapping[str, float]) -> list[float]:
        """How far words name each mark, each by what it counts."""
        found = [0.0] * len(self.kinds[0])
        for names in self.kinds:
            for k, name in enumerate(names):
                total = sum(share * words.get(word, 0.0) for word, share in name.items())
                found[k] += min(1.0, total)
        return found


def _names_of(charts: Sequence[Chart], marks: Sequence[FoundMark]) -> _Names:
    """Words count by how few of the names of their kind have them: "closely" says nothing where all
    answers end in it."""
    titles = [_stems(chart.title)[-_HEADING:] for chart in charts]
    kinds = [
        [frozenset(_stems(mark.mark.category)) for mark in marks],
        [frozenset(_stems(mark.series)) for mark in marks],
        [frozenset(titles[mark.cell[0]]) for mark in marks],
    ]
    weighed = []
    for names, enough in zip(kinds, (None, None, _ENOUGH), strict=True):
        distinct = set(names)
        counts = Counter(word for name in distinct for word in name)
        weight = {word: math.log(len(distinct) / n) + _SHARED for word, n in counts.items()}
        weighed.append(
            tuple(_shares({word: weight[word] for word in sorted(n)}, enough) for n in names)
        )
    return _Names(tuple(weighed))


def _shares(weights: Mapping[str, float], enough: int | None) -> Mapping[str, float]:
    """Each word's share of a name, which `enough` of its weightiest words name in full; None: all
    of them do."""
    total = sum(sorted(weights.values())[-enough:] if enough else weights.values())
    return {word: weight / total for word, weight in weights.items()}
