"""Claims of values: numbers beside a category, and numbers that no mark has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from revise_captions.charts.claims.amounts import is_within, off_by, rounding, scaled
from revise_captions.charts.claims.check import (
    ChartCheck,
    ChartClaim,
    ClaimOutcome,
    Tolerance,
    undecided,
)
from revise_captions.charts.claims.comparisons import check_change
from revise_captions.charts.claims.edits import number_edit
from revise_captions.charts.claims.grid import FoundMark, at_label, narrowed, said
from revise_captions.charts.claims.mentions import NamedLabel, Number, fold
from revise_captions.charts.claims.shares import is_derived
from revise_captions.records import Span

#: Between a number and what it belongs to: "from 4.3 billion dollars in 1998 to …".
_IN = re.compile(r"(?: (?!and\b|to\b|while\b)[\w.%]+){0,5}? (?:in|for) .+")
#: Times the tolerance that a measured value must be missed by: readings err, too.
_CLEARLY = 1.5
#: What may be put right by the highest value.
_OF_HIGHEST = re.compile(r"\brang|\bup to\b|\b(?:high|larg|great)est\b|\bpeak|\bmaximum\b")
#: Values above this are no percentages: a share in the sentence is not theirs.
HIGHEST_SHARE = 250.0


def check_numbers(
    sentence: str,
    numbers: Sequence[Number],
    labels: Sequence[NamedLabel],
    marks: Sequence[FoundMark],
    printed: frozenset[float],
    tolerance: Tolerance,
) -> list[ChartCheck]:
    """Decides each number against the marks that the sentence names, else against all.

    Args:
        sentence: Where the numbers stand.
        numbers: Its amounts.
        labels: What it names, years among them.
        marks: What was read.
        printed: Every number that stands in the image.
        tolerance: How far a number may be off.
    """
    owners = _owners(sentence, numbers, [x for x in labels if x.series or at_label(marks, x)])
    series = _series_in_order(numbers, labels)
    checks = []
    for index, one in enumerate(numbers):
        if one.change:
            checks.append(check_change(sentence, one, marks, labels, tolerance))
            continue
        named = owners[index]
        candidates = _candidates(marks, named, series.get(index, labels))
        if one.percent and any(found.value > HIGHEST_SHARE for found in candidates):
            candidates = []
        if named and candidates:
            check = _against(sentence, one, candidates, tolerance, ChartClaim.VALUE)
            check = replace(check, named=Span(named[0].start, named[0].end))
            if check.outcome is ClaimOutcome.FALSE and not _is_told(sentence, one, named):
                check = _lenient(check, sentence, one, labels, marks, tolerance)
            if check.outcome is ClaimOutcome.FALSE and _SUMS.search(sentence):
                row = [m for m in marks if m.cell[0] == candidates[0].cell[0]]
                check = undecided(check) if is_derived(one.value, row, marks) else check
            if (
                len({found.cell for found in candidates}) > 1
                or _BOTH.search(sentence[max(0, one.start - 30) : one.start])
                or _is_of_list(sentence, named[0], labels, owners)
            ):
                check = _ambiguous(check, one, candidates, marks, len(named))
            checks.append(check)
        else:
            checks.append(_anywhere(sentence, one, marks, printed, tolerance))
    return _one_value_each(checks)


def _one_value_each(checks: Sequence[ChartCheck]) -> list[ChartCheck]:
    """Refutes no value of a mark to which the sentence gives more than one: whose the others are is
    not known."""
    values = [check.cells for check in checks if check.claim is ChartClaim.VALUE]
    return [
        undecided(check)
        if check.claim is ChartClaim.VALUE
        and check.outcome is not ClaimOutcome.TRUE
        and values.count(check.cells) > 1
        else check
        for check in checks
    ]


def _lenient(
    check: ChartCheck,
    sentence: str,
    one: Number,
    labels: Sequence[NamedLabel],
    marks: Sequence[FoundMark],
    tolerance: Tolerance,
) -> ChartCheck:
    """A refuted value stays undecided where it may belong to something else that is named.

    A series beside the one category that is named narrows that down, and is nothing else.
    """
    categories = [label for label in labels if not label.series]
    series = {label.name for label in labels if label.series}
    for label in categories if len(categories) == 1 else labels:
        other = at_label(marks, label)
        if len(series) == 1 and not label.series:
            other = narrowed(other, labels)
        found = _against(sentence, one, other, tolerance, ChartClaim.VALUE) if other else None
        if found is not None and found.outcome is ClaimOutcome.TRUE:
            return undecided(check)
    return check


#: "at 12 in 2014", "12% of men": the number is of nothing else.
_OF = re.compile(r"(?: [\w.$%]+){0,3}? (?:in|for|of|among) (?:the )?$")


def _is_told(sentence: str, one: Number, named: Sequence[NamedLabel]) -> bool:
    """Whether a number is told of the year behind it: "from 883 in 1991 to 429 in 2016"."""
    return any(
        label.name[:4].isdigit() and _OF.fullmatch(sentence[one.end : label.start])
        for label in named
        if label.start >= one.end
    )


#: "Both at 68%": of what else, the sentence says elsewhere.
_BOTH = re.compile(r"\b(?:both|each|all|either)\b[^.,;\d]*$", re.IGNORECASE)


#: What says that a number is several values together.
_SUMS = re.compile(
    r"\b(?:in total|together|combined|altogether|a total of|sum|either|overall"
    r"|(?:very|\w+ly) or)\b",
    re.IGNORECASE,
)


def _ambiguous(
    check: ChartCheck, one: Number, candidates: Sequence[FoundMark], marks: Sequence[FoundMark],
    named: int,
) -> ChartCheck:  # fmt: skip
    """A refuted value stays undecided where it may be of several marks, unless none of those that
    are printed for the one name has it, alone or with another: then nothing is known to be right.
    """
    if check.outcome is not ClaimOutcome.FALSE:
        return check
    rows = {(found.cell[0], fold(found.mark.category)) for found in candidates}
    row = [m for m in marks if (m.cell[0], fold(m.mark.category)) in rows]
    whole = {m.cell[:2] for m in marks if m.cell[0] == row[0].cell[0]} if row else set()
    known = all(found.mark.printed for found in row) and len(whole) == len(row)
    exact = not (one.hedged or one.bound) and one.value >= _LEAST
    if named != 1 or len(rows) != 1 or len(row) < 2 or not known or not exact:
        return undecided(check)
    if is_derived(one.value, row, marks):
        return undecided(check)
    said = ", ".join(found.said for found in row)
    rationale = f"{row[0].mark.category} has {said}, not {one.said}."
    return replace(check, rationale=rationale, cells=tuple(m.cell for m in row), edits=())


#: Numbers below are of one digit, which is easily overlooked in an image.
_LEAST = 10.0


def _series_in_order(
    numbers: Sequence[Number], labels: Sequence[NamedLabel]
) -> dict[int, list[NamedLabel]]:
    """The series of each number, where a sentence has one for each, in order; else {}."""
    values = [k for k, one in enumerate(numbers) if not one.change]
    series = [label for label in labels if label.series]
    distinct = {label.name for label in series}
    if len(values) < 2 or not len(values) == len(series) == len(distinct):
        return {}
    return {k: [label] for k, label in zip(values, series, strict=True)}


def _owners(
    sentence: str, numbers: Sequence[Number], labels: Sequence[NamedLabel]
) -> list[list[NamedLabel]]:
    """The labels that each number belongs to: in order for lists, else the nearest category."""
    categories = [label for label in labels if not label.series]
    values = [k for k, one in enumerate(numbers) if not one.change]
    owned: list[list[NamedLabel]] = [[] for _ in numbers]
    if "respectively" in sentence and len(values) == len(categories):
        for k, label in zip(values, categories, strict=True):
            owned[k] = [label]
        return owned
    for k in values:
        one = numbers[k]
        near = sorted(categories, key=lambda label: _distance(sentence, one, label))
        near = [label for label in near if not _ASIDE.search(_between(sentence, one, label))]
        following = [label for label in near if label.start >= one.end]
        behind = min(following, key=lambda label: label.start, default=None)
        if behind is not None and _IN.fullmatch(sentence[one.end : behind.end]):
            near = [behind]
        owned[k] = near[:1]
    return owned


#: What joins the names of a list.
_JOINED = re.compile(r"['\"”’]?(?:,|,? and|, or|/) (?:in )?(?:the )?['\"“‘]?")


def _is_of_list(
    sentence: str, label: NamedLabel, labels: Sequence[NamedLabel],
    owners: Sequence[Sequence[NamedLabel]],
) -> bool:  # fmt: skip
    """Whether a name is one of a list that has no numbers for the others: theirs together, "Wind
    and Coal account for over 60%", or anything else of them."""
    owned = {own[0] for own in owners if own}
    others = [one for one in labels if not one.series and one not in owned]
    return any(
        _JOINED.fullmatch(_text_between(sentence, label, other)) is not None for other in others
    )


def _text_between(sentence: str, one: NamedLabel, other: NamedLabel) -> str:
    first, second = sorted((one, other), key=lambda label: label.start)
    return sentence[first.end : second.start]


#: What another clause says is of something else.
_ASIDE = re.compile(
    r", (?:indicating|reflecting|suggesting|while|whereas|but|which|marking|compared)\b|;"
)


def _between(sentence: str, one: Number, label: NamedLabel) -> str:
    """What stands between a number and a label."""
    low, high = (one.end, label.start) if one.start < label.start else (label.end, one.start)
    return sentence[low:high]


def _distance(sentence: str, one: Number, label: NamedLabel) -> float:
    """Characters between, with a penalty for a clause boundary."""
    between = _between(sentence, one, label)
    breaks = sum(between.count(mark) for mark in (";", ",", " and ", " to ", " while ", " but "))
    follows = 0 if one.start > label.start else 4
    return len(between) + 12 * breaks + follows


def _candidates(
    marks: Sequence[FoundMark], named: Sequence[NamedLabel], labels: Sequence[NamedLabel]
) -> list[FoundMark]:
    """Marks of the named category, within the series that the sentence names, if it does."""
    found = [mark for label in named for mark in at_label(marks, label)]
    return narrowed(found, labels) if found else []


def _against(
    sentence: str, one: Number, candidates: Sequence[FoundMark], tolerance: Tolerance,
    claim: ChartClaim,
) -> ChartCheck:  # fmt: skip
    best = min(candidates, key=lambda found: off_by(one, found.value))
    off = off_by(one, best.value)
    width = tolerance.width(best.value, best.extent, best.mark.tolerance, one.hedged)
    far = off / max(width, rounding(one, best.value), 1e-9)
    if far <= 1:
        return ChartCheck(claim, ClaimOutcome.TRUE, far, cells=(best.cell,))
    if is_within(one, best.value):
        return ChartCheck(claim, ClaimOutcome.UNDECIDED, far, cells=(best.cell,))
    right = in_unit(best, one)
    rationale = f"{best.name} is at {right}{one.unit}, not {one.said}."
    clearly = 1.2 if one.hedged else _CLEARLY
    if (not best.mark.printed and far <= clearly) or _is_cut(one, best):
        return ChartCheck(claim, ClaimOutcome.UNDECIDED, far, cells=(best.cell,))
    edits = (number_edit(sentence, one, right),)
    stated = scaled(one, best.value)
    scale = stated / one.value if one.value else 1.0
    return ChartCheck(claim, ClaimOutcome.FALSE, far, rationale, (best.cell,), edits, stated, scale)


def _is_cut(one: Number, found: FoundMark) -> bool:
    """Whether OCR may have lost a digit of the number that the sentence has: 7 of 77."""
    said, there = f"{one.value:g}", f"{found.value:g}"
    lost = len(said) == len(there) + 1
    return found.mark.printed and lost and (said.startswith(there) or said.endswith(there))


def in_unit(found: FoundMark, one: Number) -> str:
    """A mark's value as the sentence would write it: in thousands where it counts them."""
    scale = scaled(one, found.value) / one.value if one.value else 1.0
    return said(found.value / scale, found.mark.tolerance / scale, found.mark.printed)


def _anywhere(
    sentence: str, one: Number, marks: Sequence[FoundMark], printed: frozenset[float],
    tolerance: Tolerance,
) -> ChartCheck:  # fmt: skip
    """A number without a category: it must be some mark's value, or be printed in the image."""
    if one.percent and marks and max(found.value for found in marks) > HIGHEST_SHARE:
        return ChartCheck(ChartClaim.NUMBER, ClaimOutcome.UNDECIDED)
    if one.value in printed:
        return ChartCheck(ChartClaim.NUMBER, ClaimOutcome.TRUE)
    if not marks:
        return ChartCheck(ChartClaim.NUMBER, ClaimOutcome.UNDECIDED)
    near = _against(sentence, one, marks, tolerance, ChartClaim.NUMBER)
    if near.outcome is ClaimOutcome.TRUE:
        return near
    highest = max(found.value for found in marks)
    if is_derived(one.value, marks, marks):
        return ChartCheck(ChartClaim.NUMBER, ClaimOutcome.UNDECIDED, near.off)
    if scaled(one, highest) > 1.25 * highest and not any(_is_cut(one, m) for m in marks):
        top = max(marks, key=lambda found: found.value)
        ranks = _OF_HIGHEST.search(sentence)
        edits = (number_edit(sentence, one, in_unit(top, one)),) if ranks else ()
        return ChartCheck(
            ChartClaim.NUMBER, ClaimOutcome.FALSE, near.off,
            f"No value is as high as {one.said}: the highest is {top.said}.", (top.cell,),
            edits,
        )  # fmt: skip
    return ChartCheck(ChartClaim.NUMBER, ClaimOutcome.UNDECIDED, near.off)
