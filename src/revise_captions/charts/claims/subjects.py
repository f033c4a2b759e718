"""Claims of what a chart is about: the place that its title names, and the title itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from revise_captions.charts.chart import Chart
from revise_captions.charts.claims.check import ChartCheck, ChartClaim, ClaimOutcome, edit
from revise_captions.charts.claims.mentions import fold, without_accents

_NAME = r"[A-Z][\w’'-]+(?:\.(?:[A-Z]\.)*)?(?: (?:of |and |the )?[A-Z][\w’'-]+)*|U\.[SK]\.?"
_PLACE = re.compile(rf"\bin (?P<name>(?:the )?(?:{_NAME})(?<!['’]))(?![\w’'-])")
#: What "in" precedes that is no place.
_TIME = re.compile(
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Spring|Summer|Fall|Autumn|Winter|FY|Q[1-4]|The|This|That|These|Each|Both|All)\b"
)
_ALIASES = (
    ("us", "usa", "unitedstates", "america", "unitedstatesofamerica"),
    ("uk", "unitedkingdom", "britain", "greatbritain"),
    ("uae", "unitedarabemirates"), ("southkorea", "korea", "republicofkorea"),
    ("czechrepublic", "czechia"), ("netherlands", "holland"),
)  # fmt: skip
#: Names that are more alike are one place, misread or in another form: "French".
_ALIKE = 0.6
_QUOTED = re.compile(
    r"\b(?:titled|entitled|headed|named|shows|presents|illustrates|depicts|displays),?"
    r" [\"“](?P<said>[^\"“”]{6,}?)[,.]?[\"”]",
    re.IGNORECASE,
)


def check_subject(sentence: str, charts: Sequence[Chart], texts: Sequence[str]) -> list[ChartCheck]:
    """Decides whether the chart is about the place, and has the title, that a sentence names."""
    return [
        *_check_place(sentence, charts, texts),
        *_check_title(sentence, charts, texts),
        *_check_source(sentence, texts),
    ]


_ASKED = re.compile(
    r"\b(?:survey|poll|data|results|respondents|interviews)\b.*\b(?:conducted|carried out"
    r"|took place|fielded|collected|taken|asked|interviewed|come|comes)\b",
    re.IGNORECASE,
)
_SOURCE = re.compile(r"\b(?:source|survey|poll|conducted|research cent(?:er|re))", re.IGNORECASE)
_YEAR = re.compile(r"(?<![\d,.])(?:19|20)\d\d(?![\d%]|,\d)")


def _check_source(sentence: str, texts: Sequence[str]) -> list[ChartCheck]:
    """Decides the year in which people were asked, where the image says it of its source."""
    said = list(_YEAR.finditer(sentence))
    shown = {year for text in texts for year in _YEAR.findall(text)}
    sources = {year for text in texts if _SOURCE.search(text) for year in _YEAR.findall(text)}
    if len(said) != 1 or not _ASKED.search(sentence) or not sources:
        return []
    (year,) = said
    if year[0] in shown:
        return [ChartCheck(ChartClaim.SUBJECT, ClaimOutcome.TRUE)]
    right = sources.pop() if len(sources) == 1 else ""
    rationale = f"People were asked in {right}, not {year[0]}." if right else ""
    outcome = ClaimOutcome.FALSE if right else ClaimOutcome.UNDECIDED
    edits = edit(*year.span(), right)
    return [ChartCheck(ChartClaim.SUBJECT, outcome, 1.0, rationale, (), edits)]


#: Groups of people by age and sex.
_GROUP = re.compile(
    r"\b(?:\d+(?: years?)?(?: old)? (?:and|or) (?:over|older|above|under|younger)"
    r"|\d{1,2} ?[-–] ?\d{1,2}(?: years?\b|[- ]year[- ]olds?\b)"
    r"|(?:fe)?males?|(?:wo)?men|boys?|girls?)\b",
    re.IGNORECASE,
)


def speaks_of_others(sentence: str, charts: Sequence[Chart]) -> bool:
    """Whether a sentence names a group of people, by age or sex, that no series, category or title
    of the charts does: what was read is not that group's."""
    said = [match[0].casefold() for match in _GROUP.finditer(sentence)]
    if not said:
        return False
    shown = " ".join(_texts(charts)).casefold()
    words = {word.removesuffix("s") for word in re.findall(r"[^\W\d_]+", shown)}
    plain = fold(shown)
    return not all(
        fold(one) in plain if one[0].isdigit() else one.removesuffix("s") in words for one in said
    )


def _check_place(sentence: str, charts: Sequence[Chart], texts: Sequence[str]) -> list[ChartCheck]:
    """Refutes a place that stands nowhere in the image, where the title names one other."""
    titled = {name for chart in charts for name in _places(chart.title)}
    said = list(_places(sentence).items())
    if len(titled) != 1 or len(said) != 1:
        return []
    (right,), ((wrong, span),) = titled, said
    written = _plain(" ".join([*texts, *_texts(charts)]))
    if _plain(wrong) in written or _is_same(wrong, right) or _plain(right) in _plain(sentence):
        return []
    rationale = f"The chart is about {right}, not {wrong}."
    edits = edit(*span, right)
    return [ChartCheck(ChartClaim.SUBJECT, ClaimOutcome.FALSE, 1.0, rationale, (), edits)]


def _places(text: str) -> dict[str, tuple[int, int]]:
    """The names behind "in", with their spans."""
    return {
        match["name"]: match.span("name")
        for match in _PLACE.finditer(text)
        if not _TIME.match(match["name"].removeprefix("the ")) and " and " not in match["name"]
    }


def _is_same(one: str, other: str) -> bool:
    """Whether two names may mean one place."""
    a, b = _plain(one), _plain(other)
    if any(a in names and b in names for names in _ALIASES) or a[:4] == b[:4]:
        return True
    return a in b or b in a or SequenceMatcher(None, a, b).ratio() > _ALIKE


def _plain(text: str) -> str:
    """Folded, without accents."""
    return fold(without_accents(text.removeprefix("the ")))


def _texts(charts: Sequence[Chart]) -> list[str]:
    found = []
    for chart in charts:
        found += [chart.title, chart.x.label, chart.y.label, chart.source, *chart.notes]
        found += [one.name for one in chart.series]
        found += [mark.category for one in chart.series for mark in one.marks]
    return found


def _check_title(sentence: str, charts: Sequence[Chart], texts: Sequence[str]) -> list[ChartCheck]:
    """Bears out a title that stands in the image."""
    match = _QUOTED.search(sentence)
    if match is None or _plain(match["said"]) not in _plain(" ".join([*texts, *_texts(charts)])):
        return []
    return [ChartCheck(ChartClaim.SUBJECT, ClaimOutcome.TRUE)]
