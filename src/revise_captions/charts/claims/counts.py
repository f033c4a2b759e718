"""Claims of how many years, groups or things a chart shows, of the range of its values, and of what
it counts in."""

from __future__ import annotations

import re
from collections.abc import Sequence

from revise_captions.charts.chart import Chart
from revise_captions.charts.claims.check import (
    ChartCheck,
    ChartClaim,
    ClaimOutcome,
    Tolerance,
    edit,
)
from revise_captions.charts.claims.edits import number_edit
from revise_captions.charts.claims.grid import FoundMark, narrowed, said, year_of
from revise_captions.charts.claims.mentions import (
    BEFORE,
    SCALES,
    NamedLabel,
    Number,
    without_accents,
)

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
         "eleven", "twelve")  # fmt: skip
_COUNT = re.compile(
    r"\b(?:(?:charts?|graph|table|figure|plot|data)(?: \w+)? (?:compar|show|cover|list|includ"
    r"|present|display|contain|provid|illustrat|depict|rank)\w*"
    r"(?: (?:data|information) (?:on|for|about))?"
    r"|divided into|consists of|there are|made up of|compares|has|shows)"
    rf"(?: the| only)?(?: a total of)? (?P<count>{'|'.join(WORDS[2:])}|\d\d?)(?: \w+)??"
    r" (?P<kind>countries|(?!(?:percent\w*|points|times|thousands|millions|billions|panels|series"
    r"|variables|lines|charts|graphs|axes|units|days|hours|minutes)\b)[a-z]{3,}s)\b",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    rf"^(?:In total, |Overall, |A total of )?(?P<count>{'|'.join(WORDS[2:])}|\d\d?)"
    r" (?P<kind>[a-z]{3,}s) are (?:compared|listed|included|shown|displayed|ranked)\b",
    re.IGNORECASE,
)
#: Of charts that are no pie or table, marks may be overlooked: counts that are nearer are left.
_CLEARLY = 2


def check_counts(sentence: str, charts: Sequence[Chart]) -> list[ChartCheck]:
    """Decides how many categories, slices or years the one chart is said to have."""
    match = _COUNT.search(sentence) or _COUNTED.search(sentence)
    if match is None or len(charts) != 1 or not charts[0].readable:
        return []
    kind, word = match["kind"].lower(), match["count"].lower()
    stated = WORDS.index(word) if word in WORDS else int(word)
    names = list(dict.fromkeys(m.category for one in charts[0].series for m in one.marks))
    dated = sum(year_of(name) is not None for name in names) > 0.6 * len(names)
    series = len(charts[0].series)
    if (kind == "years") != dated:
        return []
    known = {len(names), series, series * len(names), len(charts[0].series[0].marks)}
    if stated in known:
        return [ChartCheck(ChartClaim.COUNT, ClaimOutcome.TRUE)]
    whole = charts[0].kind in ("pie", "table")
    if not whole and min(abs(stated - one) for one in known) < _CLEARLY:
        return [ChartCheck(ChartClaim.COUNT, ClaimOutcome.UNDECIDED)]
    right = str(len(names))
    if word in WORDS and len(names) < len(WORDS):
        right = WORDS[len(names)]
    rationale = f"There are {right} {kind}, not {match['count']}."
    edits = edit(*match.span("count"), right)
    return [ChartCheck(ChartClaim.COUNT, ClaimOutcome.FALSE, 1.0, rationale, (), edits)]


#: Times the tolerance that an end of a range must lie beyond all marks to be wrong.
_OVERLOOKED = 8
_RANGE = re.compile(
    r"\b(?:values?|figures|shares?|percentages|numbers|rates)(?: \w+){0,2} (?:rang(?:e|es|ed|ing)"
    r"|var(?:y|ies|ied|ying)|span(?:s|ned|ning)?) (?:from|between) $",
    re.IGNORECASE,
)


def check_range(
    sentence: str, numbers: Sequence[Number], labels: Sequence[NamedLabel],
    marks: Sequence[FoundMark], tolerance: Tolerance,
) -> list[ChartCheck]:  # fmt: skip
    """Decides "values range from 3 to 9" where it is said of all marks, or of one series."""
    found = [n for n in numbers if _RANGE.search(sentence[max(0, n.start - BEFORE) : n.start])]
    behind = [n for n in numbers if found and n.start > found[0].start]
    if not behind or not marks or any(not label.series for label in labels):
        return []
    pool = narrowed(marks, labels)
    ends = min(pool, key=lambda one: one.value), max(pool, key=lambda one: one.value)
    checks = []
    for number, end in zip((found[0], behind[0]), ends, strict=True):
        width = tolerance.width(end.value, end.extent, end.mark.tolerance, number.hedged)
        off = abs(number.value - end.value) / max(width, 1e-9)
        scaled = abs(number.value) > 50 * abs(end.value) or number.scale > 1
        which = "lowest" if end is ends[0] else "highest"
        right = said(end.value, end.mark.tolerance, end.mark.printed)
        rationale = f"The {which} value is {right}, not {number.said}."
        # beyond all that was read may be a mark that was overlooked
        beyond = number.value > end.value if end is ends[1] else number.value < end.value
        wrong = off > (_OVERLOOKED if beyond else 2) and not scaled
        outcome = ClaimOutcome.FALSE if wrong else ClaimOutcome.UNDECIDED
        outcome = ClaimOutcome.TRUE if off <= 1 else outcome
        edits = (number_edit(sentence, number, right),) if wrong else ()
        told = rationale if wrong else ""
        checks.append(ChartCheck(ChartClaim.RANGE, outcome, off, told, (end.cell,), edits))
    return checks


_COUNTS = re.compile(r"\bin (?P<unit>thousand|million|billion|trillion)s?\b|1,?000", re.IGNORECASE)


#: A share of the least value: what is smaller is nothing that the chart has.
_AS_SMALL = 0.5


def check_unit(
    sentence: str, numbers: Sequence[Number], charts: Sequence[Chart]
) -> list[ChartCheck]:
    """Refutes "82 billion" in a chart that counts millions, and has 82 but nothing a thousand times
    as great, and "82 million" in one that counts billions, but nothing as small."""
    told = {
        (found["unit"] or "thousand").lower()
        for one in charts
        for text in (one.title, one.x.label, one.y.label)
        if (found := _COUNTS.search(without_accents(text)))  # OCR puts some where there are none
    }
    said = [one for one in numbers if one.scale > 1 and one.unit.strip().lower() in SCALES]
    values = [m.value for chart in charts for s in chart.series for m in s.marks if m.value]
    if len(told) != 1 or not values:
        return []
    (unit,) = told
    checks = []
    for one in said:
        own = one.unit.strip().lower()
        off = one.scale / SCALES[unit]
        same = any(abs(one.value - value) <= 0.05 * abs(value) for value in values)
        low, high = _AS_SMALL * min(map(abs, values)), 1.05 * max(values)
        if own == unit or not same or low <= one.value * off <= high:
            continue
        rationale = f"The chart counts in {unit}s: {one.value:g} {unit}, not {one.said}."
        start = sentence.index(own, one.digits_end) if own in sentence[one.digits_end :] else -1
        edits = edit(start, start + len(own), unit) if start >= 0 else ()
        checks.append(ChartCheck(ChartClaim.UNIT, ClaimOutcome.FALSE, 9.0, rationale, (), edits))
    return checks
