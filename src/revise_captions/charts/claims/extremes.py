"""Claims of extremes: what is highest, second highest or lowest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from revise_captions.charts.claims.check import (
    ChartCheck,
    ChartClaim,
    ClaimEdit,
    ClaimOutcome,
    Tolerance,
    undecided,
)
from revise_captions.charts.claims.edits import number_edit
from revise_captions.charts.claims.grid import FoundMark, at_label, narrowed, runs_of, year_of
from revise_captions.charts.claims.mentions import (
    PERIOD,
    SHOWS,
    NamedLabel,
    numbers_in,
    years_in,
)
from revise_captions.charts.claims.values import HIGHEST_SHARE, in_unit
from revise_captions.charts.claims.vocabulary import CHANGES, HIGHEST, LOWEST, RANKS
from revise_captions.records import Span

_SUPERLATIVE = re.compile(
    rf"\b(?:(?P<rank>second|third|fourth|fifth|2nd|3rd)[- ](?:most |least )?)?"
    rf"(?:(?P<high>{HIGHEST})|(?P<low>{LOWEST}))\b",
    re.IGNORECASE,
)
#: "The largest increase" ranks changes, not values.
_OF_CHANGE = re.compile(
    rf"^(?:\W+\w+){{0,2}}?\W+(?:{CHANGES})",
    re.IGNORECASE,
)
#: A peak or low may be one of several.
_LOCAL = re.compile(r"peak|bottom|low point", re.IGNORECASE)
#: Another peak is higher, or may be.
_ONE_OF = re.compile(r"\b(?:first|initial|earlier|local|next|brief) $", re.I)
#: "At least 5", "among the highest", "another peak", "near the maximum": no claim about one mark.
_NO_CLAIM = re.compile(
    r"\b(?:at|among|amongst|one of|some of|not|near|close to|approaching|from)(?: the)? $"
    r"|\b(?:this|that|(?:after|following|since|before|beyond) (?:the|its)) $",
    re.IGNORECASE,
)


#: "It is best to wait", "in their best interests": no rank.
_BEST_TO = re.compile(r"best (?:to|for|interests?|described)\b", re.IGNORECASE)
#: Where something else is told of.
_CLAUSE = re.compile(r";|\b(?:while|whereas)\b")
#: Between a superlative and its category: "a peak of 12.2 million in 2007".
_OF_VALUE = re.compile(r" (?:of|at) (?:\w+ )?[$€£]?\d[\d,.]*%?(?: \w+)? (?:in|by) ", re.IGNORECASE)
#: What a category behind it is compared with, or counted from, and not said to be.
_BESIDE = re.compile(
    r"\b(?:since|than|after|before|until|compared (?:to|with)|from)(?: the)? $",
    re.IGNORECASE,
)


def check_extremes(
    sentence: str, labels: Sequence[NamedLabel], marks: Sequence[FoundMark], tolerance: Tolerance
) -> list[ChartCheck]:
    """Decides each superlative for the category nearest to it."""
    spans = [match.span() for match in PERIOD.finditer(sentence)]
    categories = [
        label
        for label in labels
        if not label.series
        and at_label(marks, label)
        and not any(start <= label.start < end for start, end in spans)
        and not _BESIDE.search(sentence[max(0, label.start - 20) : label.start])
    ]
    checks, about = [], []
    for match in _SUPERLATIVE.finditer(sentence):
        if not marks or not _is_claim(sentence, match, bool(categories)):
            continue
        label = None
        own = [one for one in categories if not _CLAUSE.search(_between(sentence, match, one))]
        if own:
            label = min(own, key=lambda one: _distance(sentence, match, one))
            listed = _listed_with(sentence, label, categories)
            pool = narrowed(marks, labels)
            ranked = _ranked(sentence, label, match, pool, tolerance, listed)
            check = _sure(ranked, pool, labels, marks)
            if listed > 1 and check is not None and check.edits:
                check = replace(check, doubt="one name of several")
        else:
            elsewhere = any(label.name.isdigit() for label in labels)
            ranked = None if elsewhere else _series_ranked(match, labels, marks, tolerance)
            check = ranked or _unnamed(match, narrowed(marks, labels))
        if check is not None:
            checks.append(check)
            about.append((label, match["high"] is not None))
    return [_alone(check, about, k) for k, check in enumerate(checks)]


def _is_claim(sentence: str, match: re.Match[str], named: bool) -> bool:
    """Whether a superlative says of one mark where it ranks: "a second peak" does not, nor does
    "the chart presents the most common diets"."""
    before = sentence[: match.start()]
    behind = sentence[match.end() :]
    if (_NO_CLAIM.search(before) and match[0][:4] != "its ") or _OF_CHANGE.match(behind):
        return False
    if _BEST_TO.match(match[0] + behind):
        return False
    if _LOCAL.search(match[0]) and (match["rank"] or _ONE_OF.search(before)):
        return False
    return named or not SHOWS.search(before)


def _listed_with(sentence: str, label: NamedLabel, categories: Sequence[NamedLabel]) -> int:
    """How many categories are named in one list with it: "Prada and Dior" are the two lowest."""
    at = categories.index(label)
    low = high = at
    joined = re.compile(r"['\"”’]?(?:,|,? and|, or|/) (?:in )?(?:the )?['\"“‘]?")
    while low and joined.fullmatch(sentence[categories[low - 1].end : categories[low].start]):
        low -= 1
    while high + 1 < len(categories) and joined.fullmatch(
        sentence[categories[high].end : categories[high + 1].start]
    ):
        high += 1
    return high - low + 1


def _sure(
    check: ChartCheck | None,
    pool: Sequence[FoundMark],
    labels: Sequence[NamedLabel],
    marks: Sequence[FoundMark],
) -> ChartCheck | None:
    """Refutes no rank among several series, none of them named, of which some marks are missing,
    nor where the series named has it at the category: "the 40–50 group is highest in May"."""
    if check is None or check.outcome is not ClaimOutcome.FALSE:
        return check
    series = {label.name for label in labels if label.series}
    mine = next(found for found in pool if found.cell == check.cells[0])
    row = [m for m in marks if m.cell[0] == mine.cell[0] and m.cell[2] == mine.cell[2]]
    if mine.series in series and mine.value in _ends([found.value for found in row]):
        return undecided(check)
    shapes = {tuple(found.mark.category for found in run) for run in runs_of(pool)}
    if len(shapes) > 1 and not any(label.series for label in labels):
        return undecided(check)
    return check


def _ends(values: Sequence[float]) -> tuple[float, ...]:
    return (min(values), max(values)) if len(values) > 1 else ()


def _alone(
    check: ChartCheck, about: Sequence[tuple[NamedLabel | None, bool]], at: int
) -> ChartCheck:
    """Refutes no rank where the same category is said to be at the other end, too: of what, the
    sentence says in words that are not known."""
    label, high = about[at]
    other = (label, not high) in about
    if check.outcome is ClaimOutcome.FALSE and label is not None and other:
        return undecided(check)
    return check


def _unnamed(match: re.Match[str], pool: Sequence[FoundMark]) -> ChartCheck:
    """What is said to be highest is nothing that the chart has; what it is instead is known where
    the sentence is about one series."""
    runs, rank = runs_of(pool), RANKS.get((match["rank"] or "").lower(), 1)
    if len(runs) != 1 or rank > len(runs[0]):
        return ChartCheck(ChartClaim.EXTREME, ClaimOutcome.UNDECIDED)
    high = match["high"] is not None
    there = sorted(runs[0], key=lambda found: -found.value if high else found.value)[rank - 1]
    rationale = f"{there.name} is the {_place(match)}, at {there.said}." if there.name else ""
    return ChartCheck(
        ChartClaim.EXTREME, ClaimOutcome.UNDECIDED, rationale=rationale, cells=(there.cell,)
    )


def _place(match: re.Match[str]) -> str:
    """ "highest", "second lowest"."""
    word = "highest" if match["high"] is not None else "lowest"
    return f"{match['rank'].lower()} {word}" if match["rank"] else word


def _distance(sentence: str, match: re.Match[str], label: NamedLabel) -> int:
    between = _between(sentence, match, label)
    if label.start >= match.end() and _OF_VALUE.fullmatch(between):
        return 0
    breaks = between.count(",") + between.count(" while ") + between.count(" and ")
    return len(between) + 25 * breaks + 60 * between.count(";")


def _between(sentence: str, match: re.Match[str], label: NamedLabel) -> str:
    if label.start >= match.end():
        return sentence[match.end() : label.start]
    return sentence[label.end : match.start()]


def _ranked(
    sentence: str, label: NamedLabel, match: re.Match[str], pool: Sequence[FoundMark],
    tolerance: Tolerance, listed: int = 1,
) -> ChartCheck | None:  # fmt: skip
    """Whether the category has that rank in some series, or one of so many listed, within the
    tolerance."""
    high = match["high"] is not None
    rank = RANKS.get((match["rank"] or "").lower(), 1)
    best: ChartCheck | None = None
    for run in runs_of(pool):
        named = at_label(run, label)
        if not named or len(run) < 3 or rank > len(run):
            continue
        order = sorted(run, key=lambda found: -found.value if high else found.value)
        there = order[rank - 1]
        mine = min(named, key=lambda found: abs(found.value - there.value))
        beside = [*order[max(0, rank - 2) : rank - 1], *order[rank : rank + 1]]
        slack = 0.5 * tolerance.width(there.value, there.extent, there.mark.tolerance, False)
        off = abs(mine.value - there.value) / max(slack, 1e-9)
        if rank <= order.index(mine) + 1 < rank + listed:
            off = 0.0
        if off <= 1 and not (off > 0 and mine.mark.printed and there.mark.printed):
            return ChartCheck(ChartClaim.EXTREME, ClaimOutcome.TRUE, off, cells=(mine.cell,))
        local = _LOCAL.fullmatch(match[0]) and _is_turn(run, mine, high)
        if off <= 1 or local or (_beside(mine, there) and off < 3):
            return ChartCheck(ChartClaim.EXTREME, ClaimOutcome.UNDECIDED, off, cells=(mine.cell,))
        if best is None or off < best.off:
            truth = f"{there.name or 'another'} is the {_place(match)}, at {there.said}"
            rationale = f"{truth}; {mine.name} is at {mine.said}."
            best = ChartCheck(
                ChartClaim.EXTREME, ClaimOutcome.FALSE, off, rationale, (mine.cell, there.cell),
                rank_edits(sentence, Span(label.start, label.end), there),
                named=Span(label.start, label.end), doubt=_tie(there, beside),
            )  # fmt: skip
    return best


def _tie(there: FoundMark, beside: Sequence[FoundMark]) -> str:
    """What speaks against a rank: a mark next to it in order that may be its equal."""
    for other in beside:
        apart = abs(other.value - there.value)
        exact = there.mark.printed and other.mark.printed
        own = there.mark.tolerance + other.mark.tolerance
        if apart == 0 or (not exact and apart <= max(own, _TIED * there.extent)):
            return f"{other.name} is nearly the same"
    return ""


#: A share of the axis by which measured marks are no further apart than they may be misread.
_TIED = 0.01
#: Names that "the" stands before, and labels that were cut or run together.
_WITH_ARTICLE = re.compile(
    r"\b(?:of|States|Kingdom|Republic|Islands|Netherlands|Philippines|Emirates|Union|Tower|Bridge"
    r"|Coast|Sea|River|Bank)\b|s$"
)
_CUT = re.compile(r"\.\.|…|\[|\b(?P<word>\w+) (?P=word)\b")
_LONGEST_LABEL = 7
_YEAR = re.compile(r"(?:in |FY )?\d{4}(?:/\d\d)?\*{0,2}")


def rank_edits(sentence: str, named: Span, there: FoundMark) -> tuple[ClaimEdit, ...]:
    """What has the rank, in the place of what is said to, with the number if there is but one.

    Args:
        sentence: The sentence.
        named: The span of the name in it.
        there: The mark that has the rank.

    Returns:
        Edits; none where the label was cut or run together, the sentence has it already, or it is
        no year where the sentence has one.
    """
    wrong, right = named.of(sentence), there.mark.category
    again = re.search(rf"(?<!\w){re.escape(right)}(?!\w)", sentence)
    kinds = {bool(_YEAR.fullmatch(wrong)), bool(_YEAR.fullmatch(right))}
    if not right or len(right.split()) > _LONGEST_LABEL or _CUT.search(right) or again:
        return ()
    if len(kinds) > 1:
        return ()
    start, article = named.start, re.search(r"\b[Tt]he $", sentence[: named.start])
    if article and wrong[0].isupper() and right[0].isupper() and not _WITH_ARTICLE.search(right):
        start = article.start()
    edits = [ClaimEdit(Span(start, named.end), right)]
    stated = numbers_in(sentence, [NamedLabel(*named, wrong), *years_in(sentence)])
    if any(one.percent and there.value > HIGHEST_SHARE for one in stated):
        return ()
    for one in stated if len(stated) == 1 else ():
        value = in_unit(there, one)
        gap = _amount(value) - one.value
        if not one.change and one.bound * gap <= 0 and abs(gap) > _SAME * abs(one.value):
            edits.append(number_edit(sentence, one, value))
    return tuple(sorted(edits, key=lambda one: one.span))


#: Shares of a number by which another is the same.
_SAME = 0.06


def _amount(said: str) -> float:
    return float(said.removeprefix("about ").replace(",", ""))


def _is_turn(run: Sequence[FoundMark], mine: FoundMark, high: bool) -> bool:
    """Whether the marks next to it are both lower, or higher for a low."""
    at, sign = run.index(mine), 1 if high else -1
    near = [*run[max(0, at - 1) : at], *run[at + 1 : at + 2]]
    return all(sign * other.value <= sign * mine.value for other in near)


def _beside(one: FoundMark, other: FoundMark) -> bool:
    """Whether two marks of a measured curve stand next to each other: its years may be off."""
    years = year_of(one.mark.category), year_of(other.mark.category)
    measured = not (one.mark.printed and other.mark.printed)
    return measured and None not in years and abs(one.cell[2] - other.cell[2]) <= 1


def _series_ranked(
    match: re.Match[str],
    labels: Sequence[NamedLabel],
    marks: Sequence[FoundMark],
    tolerance: Tolerance,
) -> ChartCheck | None:
    """Whether a series has that rank by its mean, where the sentence names series alone."""
    named = [label for label in labels if label.series]
    runs = [run for run in runs_of(marks) if run[0].series]
    if len(named) != 1 or len(runs) < 2:
        return None
    means = {run[0].series: sum(f.value for f in run) / len(run) for run in runs}
    order = sorted(means, key=lambda name: means[name], reverse=match["high"] is not None)
    rank = RANKS.get((match["rank"] or "").lower(), 1)
    if rank > len(order) or named[0].name not in means:
        return None
    gap = abs(means[named[0].name] - means[order[rank - 1]])
    off = gap / max(tolerance.of_axis * runs[0][0].extent, 1e-9)
    return ChartCheck(
        ChartClaim.EXTREME, ClaimOutcome.TRUE if off <= 1 else ClaimOutcome.UNDECIDED, off
    )
