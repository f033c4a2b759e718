"""What a sentence mentions of a chart: categories, series, years, and numbers with their units."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from revise_captions.charts.chart import Chart
from revise_captions.charts.claims.vocabulary import ABOUT, NARROWLY, OVER, UNDER

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_YEAR = re.compile(r"(?<![\d.,$€£-])(1[6-9]\d\d|20\d\d|2100)(?:s?)(?![\d%]|[.,]\d)")
_NUMBER = re.compile(
    r"(?<![\w.,/])(?<![A-Za-z]-)(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    r"(?P<unit>\s?%|\s(?:percent\b|per cent\b|percentage points?\b|points?\b|thousand\b|million\b"
    r"|billion\b|trillion\b|bn\b)|[kKmM]\b|(?:th|st|nd|rd|s)\b)?(?![\d/+])"
)
_HEDGE = re.compile(
    rf"\b(?:{ABOUT}|(?:{NARROWLY}) (?:{OVER}|{UNDER}|higher than|lower than)"
    r"|over|under|more than|less than|above|below|at least|up to)\s+\D{0,4}$"
)
#: What a number is multiplied by that stands before the word.
SCALES = {"thousand": 1e3, "k": 1e3, "million": 1e6, "m": 1e6, "billion": 1e9, "bn": 1e9,
           "trillion": 1e12}  # fmt: skip
_IN_TEN = {"one": 10.0, "two": 20.0, "three": 30.0, "four": 40.0, "five": 50.0, "six": 60.0,
           "seven": 70.0, "eight": 80.0, "nine": 90.0}  # fmt: skip
_SHARE = re.compile(
    r"\b(?:(?P<ten>one|two|three|four|five|six|seven|eight|nine)[- ](?:in|out of)[- ]ten"
    r"|(?P<quarters>three[- ]quarters)|(?P<quarter>(?:a|one)[- ]quarter)"
    r"|(?P<thirds>two[- ]thirds)|(?P<third>(?:a|one)[- ]third)"
    r"|(?P<fifth>(?:a|one)[- ]fifth)|(?P<tenth>(?:a|one)[- ]tenth)"
    r"|(?<!and a )(?P<half>half)(?! of a| the))\b",
    re.IGNORECASE,
)
_FIXED = {"quarters": 75.0, "quarter": 25.0, "thirds": 200 / 3, "third": 100 / 3, "half": 50.0,
          "fifth": 20.0, "tenth": 10.0}  # fmt: skip
#: Words that make a number an amount of change or a factor, not a value.
_CHANGE = re.compile(
    r"(?:\b(?:increas|decreas|declin|r[io]s|grow|grew|f[ae]ll|drop|climb|exceed|surpass|outnumber|differ"
    r"|higher|lower|more|ahead|chang|shrank|reduc|outpac|lead)\w*\s+(?:\w+\s+){0,3}?by\s+(?:\w+\s+){0,2}[$€£]?"
    r"|\b(?:difference|gap|margin|increase|decrease|decline|rise|drop|growth|reduction|change|lead"
    r"|advantage)s? of\s+(?:\w+\s+){0,2}[$€£]?"
    r"|\b(?:difference|gap)\b[^.;]*\b(?:is|was)\s+(?:\w+\s+){0,2})$",
    re.IGNORECASE,
)
#: The years that something spans.
PERIOD = re.compile(
    r"\b(?:from|between)(?: the years?)? ((?:1[6-9]|20)\d\d)\S* (?:to|and|through|until) "
    r"((?:1[6-9]|20)\d\d)\b"
)
#: That a chart shows something.
SHOWS = re.compile(
    r"\b(?:chart|graph|table|data|statistics?|figure|plot|provided)\b.{0,40}?\b(?:shows?|illustrat\w+"
    r"|present(?:s|ed)|depict\w*|display(?:s|ed)|represents?|outlin\w+|provid\w+|cover\w*|track\w*"
    r"|highlight\w*|detail\w*|compar\w+|describ\w+)",
    re.IGNORECASE,
)
#: What follows an amount by which something is more.
_MORE_THAN = re.compile(
    r"^(?: (?!for\b|in\b|the\b|of\b)[\w.]+){0,4}? (?:higher|lower|more|less|larger|smaller"
    r"|greater|fewer|longer|shorter) than\b",
    re.IGNORECASE,
)
#: A share in words before the number that it stands for, in parentheses.
_IN_WORDS = re.compile(
    r"\b(?:[a-z]+[- ]in[- ]ten|half|(?:an? |one[- ]|two[- ]|three[- ])(?:third|quarter)s?) \($",
    re.IGNORECASE,
)
_FACTOR = re.compile(
    r"^(?:\s*(?:times|fold|years?\b|months?\b|days?\b|confidence\b)|-[a-z])", re.IGNORECASE
)
#: Amounts of time, where they have decimals: "43.7 years".
_LONG_TIME = re.compile(r"^\s+(?:years?|months?|days?)\b", re.IGNORECASE)
#: "18-29" and "per 1,000" are no amounts.
_RANGE = re.compile(r"\d[-–]")
_PER = re.compile(
    r"\b(?:per|ages?|aged|top|Q|rank(?:ed|s)?(?: \w+)?"
    r"|(?:Jan|Feb|March|April|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)[a-z]*\.?)\s?$",
    re.IGNORECASE,
)
#: Ticks of an axis are no values of marks.
_AXIS = re.compile(r"\b(?:[xy][- ]?|vertical |horizontal )(?:axis|axes)|\baxis\b", re.IGNORECASE)
_BOUND = re.compile(
    rf"(?<!just )(?<!slightly )\b(?:(?P<above>{OVER})|(?P<below>{UNDER}))\s+\D{{0,4}}$",
    re.IGNORECASE,
)
#: "Never exceeded" bounds it the other way.
_DENIED = re.compile(r"\b(?:never|not|no)(?: \w+)? $", re.IGNORECASE)
_COUNT = re.compile(
    r"^\s+(?:\w+\s)?(?:countries|categories|groups|years|entries|states|cities|companies|sectors"
    r"|regions|questions|people\b|bars|lines|slices|segments|economies|nations|publics|markets"
    r"|surveys|respondents|adults|topics|issues|age groups|data points)",
    re.IGNORECASE,
)


#: Characters before a number that are searched for what it is about.
BEFORE = 200
#: "non-Hispanic" is not Hispanic.
_NON = re.compile(r"\bnon[- ]$", re.IGNORECASE)
_ASIDE = re.compile(r"\s*\([^)]*\)")
#: A label that the chart cuts short.
_CUT = re.compile(r"\s?(?:\.{2,}|…)$")


@dataclass(frozen=True, slots=True)
class NamedLabel:
    """A category, series or year that a sentence names.

    Attributes:
        start: Where, in code points of the sentence; `end` is exclusive.
        name: As the chart has it.
        series: Whether it names a series.
        literal: Whether the sentence has all of the name, not one word of it alone.
    """

    start: int
    end: int
    name: str
    series: bool = False
    literal: bool = True


@dataclass(frozen=True, slots=True)
class Number:
    """An amount that a sentence states.

    Attributes:
        start: Where, in code points of the sentence; `end` is exclusive and takes the unit in.
        value: Without its unit.
        percent: Whether % or percent follows.
        scale: 1000 for "thousand" and so on.
        hedged: Whether "about" or the like precedes, or it is a share in words.
        change: Whether it is a difference ("by 5 points", "an increase of 3").
        digits_end: Where its digits end.
        step: The last digit's worth if it has decimals, else 0: 0.1 for "2.3".
        said: As the sentence writes it, with its unit.
        unit: What another number in its place is followed by: "%", " million".
        bound: 1 after "more than" and the like, -1 after "less than", else 0.
        blur: How far from it a value may be that it still stands for: of "nearly half".
    """

    start: int
    end: int
    value: float
    percent: bool = False
    scale: float = 1.0
    hedged: bool = False
    change: bool = False
    digits_end: int = 0
    bound: int = 0
    step: float = 0.0
    said: str = ""
    unit: str = ""
    blur: float = 0.0


#: Percentage points around "nearly half", "about three-in-ten" and the like.
_BLUR = 3.0


def without_accents(text: str) -> str:
    """A text without accents: OCR puts some where there are none."""
    letters = unicodedata.normalize("NFKD", text)
    return "".join(c for c in letters if not unicodedata.combining(c))


def fold(text: str) -> str:
    """Lower case letters and digits alone, for comparing labels that OCR read."""
    return "".join(c for c in text.casefold() if c.isalnum())


def stemmed(text: str) -> str:
    """Folded, each word without the ending of its number, owner or manner: "Republicans'" and
    "warmly" are "Republican" and "warm"; without an article in front."""
    words = [_ending(fold(word)) for word in _WORD.findall(text)]
    return "".join(words[1:] if len(words) > 1 and words[0] in ("the", "a", "an") else words)


def _ending(word: str) -> str:
    if word.isdigit() or len(word) < _LONG_WORD:
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith("ly") and len(word) > _LONG_WORD:
        return word[:-2]
    plural = word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return word[:-1] if plural else word


#: Words with fewer letters have no endings.
_LONG_WORD = 5


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a sentence: where it stands, folded, and without its ending; "" both if denied."""

    start: int
    end: int
    folded: str
    stem: str


def labels_in(sentence: str, chart: Chart) -> list[NamedLabel]:
    """The categories and series that the sentence names, in order, longest first at a place."""
    names: dict[str, tuple[str, bool]] = {}
    for one in chart.series:
        for key in _keys(one.name) if one.name else ():
            names.setdefault(key, (one.name, True))
        for mark in one.marks:
            for key in _keys(mark.category):
                names.setdefault(key, (mark.category, False))
    words = []
    for m in _WORD.finditer(sentence):
        folded = fold(m[0])
        if _is_denied(sentence, m.start(), folded, names):
            folded = ""
        words.append(_Word(m.start(), m.end(), folded, _ending(folded)))
    found: list[NamedLabel] = []
    at = 0
    while at < len(words):
        label = _longest(words, at, names)
        if label is None or sentence[label.start : label.end] in _COMMON:
            at += 1
            continue
        found.append(label)
        while at < len(words) and words[at].start < label.end:
            at += 1
    return found or _by_head(words, names)


@lru_cache(4096)
def _keys(label: str) -> tuple[str, ...]:
    """The forms of a name as OCR read it, each with its words joined or not, and by its stems."""
    return tuple(key for form in _forms(label) for key in (fold(form), stemmed(form)))


def _is_denied(sentence: str, start: int, word: str, names: dict[str, tuple[str, bool]]) -> bool:
    """Whether "non-" stands before a word, and the two together begin no name of the chart."""
    non = _NON.search(sentence[max(0, start - 5) : start])
    return bool(non) and not any(name.startswith(f"non{word}") for name in names)


def _forms(label: str) -> list[str]:
    """The label, as a sentence may write it: without what is in parentheses, or what was cut."""
    forms = [label]
    bare = _ASIDE.sub(" ", label).strip()
    if len(bare) > 2:
        forms.append(bare)
    if (told := _VERB.sub("", label)) != label and len(told) > _LONG_FORM:
        forms.append(told)
    if (month := label[:3].lower()) in _MONTHS and label.lower() in (month, _MONTHS[month]):
        forms += [month, _MONTHS[month]]
    if _CUT.search(label):
        whole = _CUT.sub("", label).rpartition(" ")[0]
        if len(whole) > 7:
            forms.append(whole)
    return forms


#: With what an answer begins that a sentence puts otherwise: "Are abusive", "content that is …".
_VERB = re.compile(r"^(?:are|is|was|were|be|have|has|had|do|does|did|will) (?:an? |the )?", re.I)
_LONG_FORM = 12
_MONTHS = {name[:3]: name for name in (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december")}  # fmt: skip


def _longest(
    words: Sequence[_Word], at: int, names: dict[str, tuple[str, bool]]
) -> NamedLabel | None:
    joined = stems = ""
    best = None
    for word in words[at : at + 10]:
        joined, stems = joined + word.folded, stems + word.stem
        if not word.folded:
            break
        for form in (joined, stems):
            if form in names and len(form) > 1:
                name, series = names[form]
                best = NamedLabel(words[at].start, word.end, name, series)
    return best


#: Labels that are words of any sentence, unless they have a capital letter.
_COMMON = frozenset(("total", "other", "others", "all", "no", "in", "the", "of", "a", "it", "net",
                     "good", "bad"))  # fmt: skip


@lru_cache(4096)
def _heads(name: str) -> tuple[str, ...]:
    """The longer words of a label, folded, but numbers."""
    words = (match[0] for match in _WORD.finditer(name))
    return tuple(fold(word) for word in words if len(word) > 3 and not word.isdigit())


def _by_head(words: Sequence[_Word], names: dict[str, tuple[str, bool]]) -> list[NamedLabel]:
    """Labels by a word that no other label has: "Heathrow" for "London Heathrow Airport"."""
    owners: dict[str, set[str]] = {}
    for key, (name, _) in names.items():
        for head in _heads(name):
            owners.setdefault(head, set()).add(key)
    found: list[NamedLabel] = []
    for word in words:
        for form in (word.folded, word.folded.removesuffix("s"), f"{word.folded}s"):
            owning = {names[key][0] for key in owners.get(form, ())}
            if len(owning) == 1 and form not in _COMMON:
                name, series = names[next(iter(owners[form]))]
                if not found or found[-1].name != name:
                    found.append(NamedLabel(word.start, word.end, name, series, literal=False))
                break
    return found


def years_in(sentence: str) -> list[NamedLabel]:
    """Four-digit years that the sentence names."""
    return [NamedLabel(m.start(), m.end(), m[1]) for m in _YEAR.finditer(sentence)]


def numbers_in(sentence: str, taken: Sequence[NamedLabel]) -> list[Number]:
    """The amounts that a sentence states, without years, counts, factors and parts of labels."""
    if _AXIS.search(sentence):
        return []
    spans = [(label.start, label.end) for label in taken]
    found = []
    for match in _NUMBER.finditer(sentence):
        if any(start < match.end("number") and match.start() < end for start, end in spans):
            continue
        unit = (match["unit"] or "").strip()
        rest = sentence[match.end() :]
        around = sentence[match.start() - 2 : match.start()], rest[:2]
        if _RANGE.fullmatch(around[0]) or _RANGE.fullmatch(around[1][::-1]):
            continue
        before = sentence[max(0, match.start() - BEFORE) : match.start()]
        if _PER.search(before):
            continue
        decimals = match["number"].partition(".")[2]
        counted = bool(_FACTOR.match(rest) or (_COUNT.match(rest) and "," not in match["number"]))
        if decimals and _LONG_TIME.match(rest):
            counted = False
        if counted or unit in ("th", "st", "nd", "rd", "s"):
            continue
        value = float(match["number"].replace(",", ""))
        found.append(
            Number(
                match.start(), match.end(), value,
                unit.startswith(("%", "per")), SCALES.get(unit.lower(), 1.0),
                bool(_HEDGE.search(before.lower())),
                _is_difference(unit, value) or _is_change(before, rest),
                match.end("number"),
                _bound(before), 10.0 ** -len(decimals) if decimals else 0.0,
                _with_words(match[0], before, rest),
                match["unit"] or "",
            )
        )  # fmt: skip
    for match in _SHARE.finditer(sentence):
        behind = sentence[match.end() : match.end() + 8]
        if re.match(r"\s\(\d", behind):
            continue
        value = _IN_TEN[match["ten"].lower()] if match["ten"] else _FIXED[str(match.lastgroup)]
        share = Number(match.start(), match.end(), value, True, 1.0, True, False, match.end())
        before = sentence[max(0, match.start() - BEFORE) : match.start()]
        share = replace(share, blur=_BLUR if _HEDGE.search(before.lower()) else 0.0)
        found.append(replace(share, said=match[0], unit="%", bound=_bound(before)))
    return sorted(found, key=lambda number: number.start)


def _is_change(before: str, rest: str) -> bool:
    return bool(_CHANGE.search(before) or _MORE_THAN.match(rest))


def _is_difference(unit: str, value: float) -> bool:
    """Whether an amount of points is one of shares, not an index: those have more."""
    return "point" in unit and ("per" in unit or value <= _ALL)


#: No share is higher.
_ALL = 100.0


def _with_words(number: str, before: str, rest: str) -> str:
    """A number with the share in words that it is put to in parentheses: "half (48%)"."""
    words = _IN_WORDS.search(before)
    return f"{words[0]}{number})" if words and rest.startswith(")") else number


def _bound(before: str) -> int:
    found = _BOUND.search(before)
    if found is None:
        return 0
    sign = 1 if found["above"] else -1
    return -sign if _DENIED.search(before[: found.start()]) else sign
