"""Words for the way a series goes, each with the years that the sentence gives it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from revise_captions.charts.claims.grid import FoundMark, in_time, year_of
from revise_captions.charts.claims.mentions import BEFORE, NamedLabel
from revise_captions.charts.claims.vocabulary import DOWN, LITTLE, MUCH, UP, verb_of
from revise_captions.records import Span

_WORD = re.compile(rf"\b(?:(?P<up>{UP})|(?P<down>{DOWN}))\b", re.IGNORECASE)
#: "No decline", "without falling", "the largest increase": no claim of a direction.
_DENIED = re.compile(
    r"\b(?:no|not|without|never|neither|nor|any|instead of|rather than|largest|greatest|biggest"
    r"|smallest|steepest|sharpest|highest|least|most|annual|average|rates? of|only|first|initial"
    r"|early|brief|temporary|later|subsequent|after an?|following an?)(?: \w+){0,2} $",
    re.IGNORECASE,
)
#: "The growth rate": what is measured, not how it goes.
_NAMED = re.compile(r" (?:rates?|forecasts?|projections?)\b", re.IGNORECASE)
#: What stands between a direction and the year that it ends, or begins, with.
_UNTIL = re.compile(r"\b(?:until|till|up to|through|to|by)(?: the year)? $", re.IGNORECASE)
_BY = re.compile(r"by\b", re.IGNORECASE)
#: "Jumped to 300": by the year that is said, from some year before.
_TO = re.compile(r"(?: \w+ly| back| again)? to (?:\w+ ){0,3}[$€£]?\d")
_SINCE = re.compile(
    r"\b(?:since|after|from|starting (?:in|from)|beginning in|onwards? from)(?: the year)? $",
    re.IGNORECASE,
)
#: A sentence that goes on where one before it ended.
_GOES_ON = re.compile(
    r"^(?:(?:following|after|from|since|beyond) (?:this|that|which|the peak)|afterwards?|thereafter"
    r"|subsequently|then|next)\b",
    re.IGNORECASE,
)
#: Of these years nothing is known but that they are not all.
_LATELY = re.compile(
    r"\b(?:recent(?:ly)?|lately|(?:past|last|coming|next) (?:\w+ )?(?:years?|decades?|months?))\b",
    re.IGNORECASE,
)
_AGAIN = re.compile(r"(?: \w+)? again\b", re.IGNORECASE)
_MANNER = rf"(?P<little>{LITTLE})|(?P<much>{MUCH})"
_BEFORE = re.compile(rf"\b(?:{_MANNER}) $", re.IGNORECASE)
_BEHIND = re.compile(rf"^ (?:{_MANNER})\b", re.IGNORECASE)
_THEN = re.compile(
    r"\b(?:then|before|afterwards?|after that|followed by|subsequent(?:ly)?|thereafter|since then"
    r"|but has since|after which|from then on|again)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Direction:
    """A word for the way that a series goes.

    Attributes:
        start: Where it stands, in code points of the sentence; `end` is exclusive.
        up: Whether it says that the series rises.
        first: The year from which on it does; None: from the first.
        last: The year until which; None: to the last.
        known: Whether the sentence tells that part of the series apart, or means all of it.
        little: The word that calls the change small, "" where none does.
        much: The word that calls it great.
        manner: Where that word stands.
        also: Where other words say the same of the same thing: "a decline, falling from …".
        open: Whether no year is said from which on, so that it may be any before the last.
    """

    start: int
    end: int
    up: bool
    first: int | None = None
    last: int | None = None
    known: bool = True
    little: str = ""
    much: str = ""
    manner: Span | None = None
    also: tuple[Span, ...] = ()
    open: bool = False

    def part(self, run: Sequence[FoundMark]) -> list[FoundMark]:
        """The dated marks of a series that it is about, from the first to the last."""
        dated = in_time(run)
        low = self.first if self.first is not None else min((y for y, _ in dated), default=0)
        high = self.last if self.last is not None else max((y for y, _ in dated), default=0)
        return [found for year, found in dated if low <= year <= high]


def directions_in(sentence: str, labels: Sequence[NamedLabel]) -> list[Direction]:
    """The directions that a sentence states, in order, each with the years behind it, or, for the
    first one, before it."""
    groups: list[list[re.Match[str]]] = []
    plain = sentence  # "not" within a name denies nothing
    for label in labels:
        plain = plain[: label.start] + "x" * (label.end - label.start) + plain[label.end :]
    for word in _WORD.finditer(sentence):
        if _DENIED.search(_before(plain, word.start())) or _NAMED.match(sentence, word.end()):
            continue
        if groups and _same(sentence, groups[-1][-1], word):
            groups[-1].append(word)
        else:
            groups.append([word])
    words = [group[0] for group in groups]
    years = [(label, y) for label in labels if (y := year_of(label.name)) is not None]
    found: list[Direction] = []
    for k, word in enumerate(words):
        stop = words[k + 1].start() if k + 1 < len(words) else len(sentence)
        own = [one for one in years if word.end() <= one[0].start < stop]
        if k == 0 and (len(words) == 1 or not own):
            own = [one for one in years if one[0].start < stop]
        before = found[-1] if found else None
        between = sentence[before.end : word.start()] if before else ""
        way = _placed(sentence, word, own, before, bool(_THEN.search(between)))
        also = tuple(Span(*other.span()) for other in groups[k][1:])
        found.append(_with_manner(sentence, replace(way, also=also)))
    return found


def _before(sentence: str, at: int) -> str:
    """What stands close before a place."""
    return sentence[max(0, at - BEFORE) : at]


def _same(sentence: str, one: re.Match[str], other: re.Match[str]) -> bool:
    """Whether two words say the same of the same thing: "a decline, falling from …"."""
    between = sentence[one.end() : other.start()]
    alike = (one["up"] is None) == (other["up"] is None)
    return alike and not re.search(r"\d{4}|\bthen\b|\bagain\b", between)


def _placed(
    sentence: str, word: re.Match[str], years: Sequence[tuple[NamedLabel, int]],
    before: Direction | None, then: bool,
) -> Direction:  # fmt: skip
    """A direction with its part of the series, given the one before it."""
    start, end, up = word.start(), word.end(), word["up"] is not None
    last = before.last if before is not None and before.known else None
    begins = before is None and not _GOES_ON.search(sentence) and not _AGAIN.match(sentence, end)
    begins = begins and not _LATELY.search(sentence)
    if len(years) > 1:
        span = [year for _, year in years]
        return Direction(start, end, up, min(span), max(span))
    if len(years) == 1:
        label, year = years[0]
        ahead = _before(sentence, label.start)
        until = _UNTIL.search(ahead)
        if until and (begins or last is not None) and not (last is None and _BY.match(until[0])):
            return Direction(start, end, up, last, year)
        if _SINCE.search(ahead):
            return Direction(start, end, up, year)
        if (until and begins) or (not until and _TO.match(sentence, end)):
            return Direction(start, end, up, last, year, open=True)
        return Direction(start, end, up, known=False)
    if before is None:
        return Direction(start, end, up, known=begins)
    return Direction(start, end, up, last, known=then and last is not None)


def _with_manner(sentence: str, way: Direction) -> Direction:
    """A direction with the word before or behind it for how far it goes."""
    ahead = _before(sentence, way.start)
    near, offset = _BEFORE.search(ahead), way.start - len(ahead)
    if near is None:
        near, offset = _BEHIND.search(sentence[way.end :]), way.end
    if near is None:
        verb = verb_of(sentence[way.start : way.end])
        strong = verb is not None and verb.base in ("surge", "soar", "plunge", "plummet")
        return replace(way, much=sentence[way.start : way.end]) if strong else way
    start, end = near.span(near.lastgroup or 0)
    manner = Span(start + offset, end + offset)
    return replace(way, little=near["little"] or "", much=near["much"] or "", manner=manner)
