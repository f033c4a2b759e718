"""Claims of sentences about a chart of five years and one of two groups, decided by hand."""

from __future__ import annotations

import pytest

from revise_captions.charts import Chart, ChartMark, ChartSeries
from revise_captions.charts.claims import ClaimOutcome, check_sentence


def series(name: str, values: dict[str, float], **more) -> ChartSeries:
    return ChartSeries(name, "", tuple(ChartMark(c, v, **more) for c, v in values.items()))


YEARS = Chart(
    "bar", "Cases in Norway from 2010 to 2014",
    series=(series("", {"2010": 423.0, "2011": 400, "2012": 254, "2013": 380, "2014": 300}),),
)  # fmt: skip
GROUPS = Chart(
    "bar", "% who agree",
    series=(
        series("Favor", {"Men": 40.0, "Women": 61, "Ages 18-29": 70}),
        series("Oppose", {"Men": 55.0, "Women": 30, "Ages 18-29": 21}),
    ),
)  # fmt: skip
LARGE = Chart("bar", "Jobs", series=(series("", {"Coal": 12000.0, "Wind": 30500, "Solar": 20000}),))


def outcomes(sentence: str, chart: Chart) -> list[str]:
    return [check.outcome.value for check in check_sentence(sentence, [chart])]


@pytest.mark.parametrize(
    ("sentence", "chart", "expected"),
    [
        ("In 2012, there were 254 cases.", YEARS, ["true"]),
        ("In 2012, there were 202 cases.", YEARS, ["false"]),
        ("In 2012, there were about 250 cases.", YEARS, ["true"]),
        ("It fell from 423 in 2010 to 300 in 2014.", YEARS, ["true", "true", "true"]),
        ("The number was highest in 2010.", YEARS, ["true"]),
        ("The number was highest in 2013.", YEARS, ["false"]),
        ("The lowest number was recorded in 2012, at 254.", YEARS, ["true", "true"]),
        ("Cases increased from 2010 to 2014.", YEARS, ["false"]),
        ("Cases decreased from 2010 to 2014.", YEARS, ["true"]),
        ("Cases fluctuated between 2010 and 2014.", YEARS, ["true"]),
        ("The chart shows cases from 2007 to 2014.", YEARS, ["false"]),
        ("2013 was higher than 2012.", YEARS, ["true"]),
        ("2012 was higher than 2013.", YEARS, ["false"]),
        ("The difference between 2010 and 2011 is 23.", YEARS, ["true"]),
        ("The difference between 2010 and 2011 is 90.", YEARS, ["false"]),
        ("2010 is 123 cases higher than 2014.", YEARS, ["true", "true"]),
        ("From 2010 to 2014, the highest number was in 2011.", YEARS, ["false"]),
        ("In 2012, some counted 100 cases, some 130.", YEARS, ["undecided", "undecided"]),
        ("In 2010 it is certain at the 90% confidence level.", YEARS, []),
        ("The weather was pleasant.", YEARS, []),
        ("Six-in-ten women favor it.", GROUPS, ["true"]),
        ("About half of women favor it.", GROUPS, ["false"]),
        ("40% of men favor it, and 55% oppose it.", GROUPS, ["true", "true"]),
        ("Men and women are at 40% and 61%, respectively.", GROUPS, ["true", "true"]),
        ("70% of ages 18-29 favor it.", GROUPS, ["true"]),
        ("Wind has 30.5 thousand jobs.", LARGE, ["true"]),
        ("Wind is about three times as high as Coal.", LARGE, ["undecided"]),
        ("Wind is about four times as high as Coal.", LARGE, ["false"]),
        ("Wind is about two and a half times as high as Coal.", LARGE, []),
        ("Solar is almost twice as high as Coal.", LARGE, ["undecided"]),
        ("Solar has more jobs than Coal.", LARGE, ["true"]),
        ("Coal has more jobs than Solar.", LARGE, ["false"]),
        ("No source has 95,000 jobs.", LARGE, ["false"]),
        ("The peak was in 2010.", YEARS, ["true"]),
        ("There was another peak in 2013.", YEARS, ["undecided"]),
        ("The largest gap was seen in 2012.", YEARS, []),
        ("Nuclear power has the most jobs.", LARGE, ["undecided"]),
        ("The vertical axis runs from 0 to 900.", YEARS, []),
        ("There were 254.4 cases in 2012.", YEARS, ["true"]),
    ],
)
def test_decides(sentence, chart, expected):
    assert outcomes(sentence, chart) == expected


def test_a_refuted_value_says_what_the_chart_has_and_where():
    sentence = "In 2012, there were 202 cases."
    (check,) = check_sentence(sentence, [YEARS])
    assert check.rationale == "2012 is at 254, not 202."
    assert sentence[slice(*check.wrong)] == "202"
    assert check.right == "254"
    assert check.cells == ((0, 0, 2),)


def test_a_measured_value_has_the_tolerance_of_its_reading():
    loose = Chart("bar", series=(series("", {"2012": 254.0}, printed=False, tolerance=30.0),))
    (check,) = check_sentence("In 2012, there were 275 cases.", [loose])
    assert check.outcome is ClaimOutcome.TRUE


def test_a_number_that_is_printed_in_the_image_is_not_refuted():
    (check,) = check_sentence("It rests on 9,999 answers.", [YEARS], ["N = 9,999"])
    assert check.outcome is ClaimOutcome.TRUE


def test_nothing_is_decided_without_a_reading():
    assert check_sentence("Cases increased from 2010 to 2014.", []) == ()
