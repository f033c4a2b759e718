"""All claims of a sentence, decided."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from revise_captions.charts.chart import Chart
from revise_captions.charts.claims.check import ChartCheck, ClaimOutcome, Tolerance, undecided
from revise_captions.charts.claims.comparisons import (
    check_comparisons,
    check_degrees,
    check_ratios,
)
from revise_captions.charts.claims.counts import check_counts, check_range, check_unit
from revise_captions.charts.claims.extremes import check_extremes
from revise_captions.charts.claims.grid import marks_of
from revise_captions.charts.claims.mentions import (
    NamedLabel,
    Number,
    labels_in,
    numbers_in,
    years_in,
)
from revise_captions.charts.claims.shares import check_shares
from revise_captions.charts.claims.subjects import check_subject, speaks_of_others
from revise_captions.charts.claims.trends import check_period, check_trends
from revise_captions.charts.claims.values import check_numbers

#: Characters; longer text is no sentence, and nothing that it claims is decided.
LONGEST = 2000
_DIGITS = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


def check_sentence(
    sentence: str,
    charts: Sequence[Chart],
    texts: Sequence[str] = (),
    tolerance: Tolerance | None = None,
) -> tuple[ChartCheck, ...]:
    """Decides what the sentence claims, from what was read.

    Args:
        sentence: One sentence.
        charts: The charts of its image.
        texts: All text in the image, where known: numbers that stand there are not refuted unless
            the sentence gives them to a mark that has another.
        tolerance: How far a value may be off.

    Returns:
        A check for each number, sum, count, superlative, trend and comparison found; none where
        the sentence claims nothing of these kinds, or is longer than `LONGEST`.
    """
    if len(sentence) > LONGEST:
        return ()
    limits = tolerance or Tolerance()
    marks = marks_of(charts)
    labels = all_labels(sentence, charts)
    numbers = [
        _in_points(n, charts)
        for n in numbers_in(sentence, labels)
        if not _is_of_name(sentence, n, charts)
    ]
    shares = check_shares(sentence, numbers, labels, marks, limits)
    printed = printed_numbers(charts, texts)
    checks = (
        *check_numbers(sentence, shares.rest, labels, marks, printed, limits),
        *shares.checks,
        *check_counts(sentence, charts),
        *check_extremes(sentence, labels, marks, limits),
        *check_trends(sentence, labels, marks, limits),
        *check_period(sentence, marks, printed),
        *check_comparisons(sentence, labels, marks, limits),
        *check_ratios(sentence, labels, marks),
        *check_degrees(sentence, labels, marks),
        *check_range(sentence, shares.rest, labels, marks, limits),
        *check_subject(sentence, charts, texts),
        *check_unit(sentence, numbers, charts),
    )
    if speaks_of_others(sentence, charts) or _OF_AXIS.match(sentence):
        return tuple(undecided(c) if c.outcome is ClaimOutcome.FALSE else c for c in checks)
    return checks


#: An axis goes "up to 200" where no mark does.
_OF_AXIS = re.compile(
    r"\W*(?:the |its |both )?(?:(?:[xy]|vertical|horizontal|left|right)[ -])?ax[ie]s\b",
    re.IGNORECASE,
)


def _in_points(number: Number, charts: Sequence[Chart]) -> Number:
    """A number of points, which is a value where the chart counts points, else a difference."""
    counts = any("point" in f"{one.title} {one.y.label} {one.x.label}".lower() for one in charts)
    is_value = counts and number.unit.strip() in ("point", "points")
    return replace(number, change=False) if is_value else number


_NAME = re.compile(r"[A-Z][\w’'-]* $")


def _is_of_name(sentence: str, number: Number, charts: Sequence[Chart]) -> bool:
    """Whether a number is part of a name in a chart's title: "CAC 40"."""
    name = _NAME.search(sentence[: number.start])
    said = sentence[name.start() : number.end] if name else ""
    return bool(said) and any(said in chart.title for chart in charts)


def all_labels(sentence: str, charts: Sequence[Chart]) -> list[NamedLabel]:
    """Categories, series and years that the sentence names, in order, without overlaps."""
    found: list[NamedLabel] = []
    every = [label for chart in charts for label in labels_in(sentence, chart)]
    every.sort(key=lambda label: label.start - label.end)
    for label in [*every, *years_in(sentence)]:
        if all(label.end <= other.start or other.end <= label.start for other in found):
            found.append(label)
    return sorted(found, key=lambda label: label.start)


def printed_numbers(charts: Sequence[Chart], texts: Sequence[str]) -> frozenset[float]:
    """Every number that stands in the image."""
    parts = [*texts]
    for chart in charts:
        parts += [chart.title, chart.source, *chart.notes, chart.x.label, chart.y.label]
        parts += [mark.category for one in chart.series for mark in one.marks]
    found = (match for part in parts for match in _DIGITS.findall(part))
    return frozenset(float(text.replace(",", "")) for text in found)
