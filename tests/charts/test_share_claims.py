"""Claims about the slices of a pie: sums, counts, shares in words."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from revise_captions.chart_world.readings import exact_reading
from revise_captions.chart_world.shares import shares
from revise_captions.chart_world.tables import sample_table
from revise_captions.charts import Chart, ChartMark, ChartSeries
from revise_captions.charts.claims import ClaimOutcome, check_sentence

PIE = Chart(
    "pie",
    "How people get to work",
    series=(
        ChartSeries(
            "",
            "",
            (
                ChartMark("Bus", 45, tolerance=0.5),
                ChartMark("Train", 30, tolerance=0.5),
                ChartMark("Not at all by car", 25, tolerance=0.5),
            ),
        ),
    ),
)


def outcomes(sentence: str, chart: Chart = PIE) -> list[str]:
    return [check.outcome.value for check in check_sentence(sentence, [chart])]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Bus and Train together make up 75%.", ["true"]),
        ("Bus and Train combined come to 57%.", ["false"]),
        ("Bus and Train together make up more than 60%.", ["undecided"]),
        ("Bus and Train together make up less than 60%.", ["false"]),
        ("Train makes up about half of the pie.", ["false"]),
        ("Bus makes up more than a third of the pie.", ["undecided"]),
        ("Train makes up about a fifth of the pie.", ["false"]),
        ("Not at all by car makes up a quarter.", ["true"]),
        ("The pie is divided into three slices.", ["true"]),
        ("The pie is divided into 5 slices.", ["false"]),
        ("The chart compares slices of bread.", []),
    ],
)
def test_sums_counts_and_shares_in_words(sentence, expected):
    assert outcomes(sentence) == expected


def test_a_wrong_sum_and_count_are_put_right():
    sums, counts = (
        check_sentence(text, [PIE])[0]
        for text in ("Together, Bus and Train are at 57%.", "There are four slices.")
    )
    assert sums.rationale == "Bus and Train together are at 75%, not 57%."
    assert counts.rationale == "There are three slices, not four."
    assert [check.edits[0].right for check in (sums, counts)] == ["75", "three"]


def test_bars_that_may_have_been_overlooked_are_not_counted_against_a_sentence():
    bars = Chart("bar", series=PIE.series)
    assert outcomes("There are four bars.", bars) == ["undecided"]


def test_series_at_a_category_sum_up_too():
    stack = Chart(
        "stacked bar",
        series=tuple(
            ChartSeries(name, "", (ChartMark("Men", value), ChartMark("Women", 50 - value)))
            for name, value in (("Good", 31), ("Fair", 22))
        ),
    )
    assert outcomes("Among Men, Good and Fair together make up 53%.", stack) == ["true"]
    assert outcomes("Good and Fair together make up 53%.", stack) != ["true"]


def test_the_worlds_statements_about_shares_are_decided_as_they_say():
    counts: Counter[tuple[bool, bool]] = Counter()
    for number in range(1500):
        rng = random.Random(f"shares.{number}")
        table = sample_table(rng)
        for error in (None, "value", "label", "magnitude") if table.kind == "pie" else ():
            made = shares(rng, table, error)
            if made is not None:
                found = check_sentence(made.text, [exact_reading(table)])
                refuted = any(check.outcome is ClaimOutcome.FALSE for check in found)
                counts[made.error is None, refuted] += 1
    assert counts[True, True] == 0
    assert counts[False, True] > 0.9 * (counts[False, True] + counts[False, False]) > 100
