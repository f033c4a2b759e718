"""Claims of sentences about a chart of five years and one of two groups, decided by hand."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from revise_captions.charts import Chart, ChartAxis, ChartMark, ChartSeries
from revise_captions.charts.claims import ClaimOutcome, check_sentence
from revise_captions.charts.claims.mentions import numbers_in
from tests.support.growth import is_linear


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
SEVERAL = Chart(
    "line", "Students by state",
    series=(
        series("Oregon", {"2000": 193.0, "2005": 177, "2010": 228, "2015": 200}, printed=False),
        series("Ohio", {"2000": 94.0, "2005": 101, "2010": 111, "2015": 120}, printed=False),
    ),
)  # fmt: skip
WAGES = Chart("line", "Wages", series=(series("", {"2010": 10.0, "2012": 30, "2014": 30.9}),))
PERU = Chart("bar", "Jobs", series=(series("", {"Peru": 1986.0, "Chile": 900}),))
LARGE = Chart("bar", "Jobs", series=(series("", {"Coal": 12000.0, "Wind": 30500, "Solar": 20000}),))


LATEST_FIRST = Chart(
    "bar", "% who are bothered",
    series=(
        series("Not bothered", {"June 2018": 73.0, "March 2006": 61, "July 1993": 54}),
        series("Bothered", {"June 2018": 26.0, "March 2006": 38, "July 1993": 45}),
    ),
)  # fmt: skip
PARTIES = Chart(
    "bar", "% who follow the news",
    series=(
        series("Very closely", {"Republican": 19.0, "Democrat": 46}),
        series("Fairly closely", {"Republican": 33.0, "Democrat": 42}),
    ),
)  # fmt: skip
MILLIONS = Chart(
    "line", "Expenses of the Cubs (in million U.S. dollars)",
    series=(series("", {"2001": 82.0, "2010": 157, "2019": 228}, printed=False),),
)  # fmt: skip
INDEX = Chart("area", "CAC 40 index", series=(series("", {"1995": 1900.0, "2007": 5600}),))
INDEX = replace(INDEX, y=ChartAxis("Index points"))
MONTHS = Chart("bar", "Exports", series=(series("", {"Jan": 575.0, "Feb": 540, "Jul": 930}),))
KINDS = Chart("bar", "%", series=(
    series("", {"Are abusive toward others": 11.0, "Seem false": 15, "Are old": 19}),
))  # fmt: skip
FAVOR = Chart("bar", "% who agree", series=(series("", {"Men": 40.0, "Women": 61, "All": 50}),))
TWICE = Chart("bar", "Jobs", series=(
    ChartSeries("", "", tuple(map(ChartMark, ("Coal", "Wind", "Coal"), (3.0, 5.0, 9.0)))),
))  # fmt: skip


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
        ("Almost two-thirds of women favor it.", GROUPS, ["false"]),
        ("Just over two-thirds of ages 18-29 favor it.", GROUPS, ["true"]),
        ("Men oppose it, slightly more than half.", GROUPS, ["true"]),
        ("40% of men favor it, and 55% oppose it.", GROUPS, ["true", "true"]),
        ("Men and women are at 40% and 61%, respectively.", GROUPS, ["true", "true"]),
        ("70% of ages 18-29 favor it.", GROUPS, ["true"]),
        ("Wind has 30.5 thousand jobs.", LARGE, ["true"]),
        ("The lowest numbers are those of Solar and Coal.", LARGE, ["true"]),
        ("The lowest number is that of Solar.", LARGE, ["false"]),
        ("The lowest numbers are those of Wind and Coal.", LARGE, ["false"]),
        ("Wages were stable from 2012 to 2014.", WAGES, ["true"]),
        ("Wages were not stable from 2012 to 2014.", WAGES, []),
        ("Wages remain the same from 2010 to 2012.", WAGES, ["false"]),
        ("Wages stayed fairly level from 2012 to 2014.", WAGES, ["true"]),
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
        # a direction with the years that it is given
        ("Cases fell until 2012 and then rose.", YEARS, ["true", "true"]),
        ("Cases rose until 2012 and then fell.", YEARS, ["false"]),
        ("Cases fell until 2012, before falling again.", YEARS, ["true", "false"]),
        ("Cases dropped from 2010 to 2012 and rose from 2012 to 2013.", YEARS, ["true", "true"]),
        ("Since 2013, cases have declined.", YEARS, ["true"]),
        ("Since 2012, cases have declined.", YEARS, ["false"]),
        ("After this peak, cases rose until 2014.", YEARS, []),
        ("Cases went on without any significant increase.", YEARS, []),
        ("There was a small dip in 2013.", YEARS, []),
        # a part of the chart's years is no wrong period
        ("The chart shows cases from 2011 to 2013.", YEARS, ["undecided"]),
        ("The chart shows cases from 2013 to 2019.", YEARS, ["false"]),
        ("The chart shows students from 2003 to 2018.", SEVERAL, ["false"]),
        ("The chart shows students from 2001 to 2015.", SEVERAL, ["true"]),
        ("The chart shows students from 2002 to 2013.", SEVERAL, ["undecided"]),
        # how far a direction goes
        ("Cases fell slightly from 2010 to 2011.", YEARS, ["true"]),
        ("Cases fell slightly from 2010 to 2012.", YEARS, ["true"]),
        ("There was a slight increase in students in Oregon.", SEVERAL, ["true"]),
        ("Wages rose slightly from 2010 to 2012.", WAGES, ["false"]),
        ("Wages rose sharply from 2012 to 2014.", WAGES, ["false"]),
        ("Wages rose without interruption.", WAGES, ["true"]),
        # what the chart is about
        ("Cases in Sweden fell until 2012.", YEARS, ["true", "false"]),
        ("Cases in the kingdom of Norway fell.", YEARS, ["true"]),
        ('The chart is titled "Cases in Norway".', YEARS, ["true"]),
        ('The chart is titled "Rents and wages".', YEARS, []),
        ("The chart compares five years.", YEARS, ["true"]),
        ("The chart compares eight years.", YEARS, ["false"]),
        ("The chart compares six years.", YEARS, ["undecided"]),
        ("The chart shows two states.", SEVERAL, []),
        ("Values range from 254 to 423.", YEARS, ["true", "true", "true", "true"]),
        ("Values range from 254 to 330.", YEARS, ["true", "undecided", "true", "false"]),
        ("In 2012, it was 35.2 years.", WAGES, ["false"]),
        ("Values range from 254 to 460.", YEARS, ["true", "undecided", "true", "undecided"]),
        # what a number or a rank is of
        ("It was lowest since 2010.", YEARS, ["undecided"]),
        ("In 2010 and 2012, both at 420, cases were counted.", YEARS, ["undecided"]),
        ("Cases stood at 3001 in 2014.", YEARS, ["undecided"]),
        ("Cases were few, with 254, indicating a fall from 2010.", YEARS, ["true", "true"]),
        ("30% of non-women oppose it.", GROUPS, ["true"]),
        ("45% of non-women oppose it.", GROUPS, ["undecided"]),
        ("By 2014, cases had declined by 10 points.", YEARS, ["undecided", "true"]),
        # comparisons and factors
        ("Oregon in 2000 has less than Oregon in 2005.", SEVERAL, ["false"]),
        ("Oregon in 2005 is higher than Ohio in 2005.", SEVERAL, ["true"]),
        ("Ohio in 2005 is higher than Oregon in 2005.", SEVERAL, ["false"]),
        ("In 2005, people believed in higher beings.", SEVERAL, []),
        ("Wind is slightly higher than Coal.", LARGE, ["true", "false"]),
        ("Wind is considerably higher than Coal.", LARGE, ["true", "true"]),
        ("Wind is more than twice as high as Coal.", LARGE, ["true"]),
        ("Wind is more than three times as high as Coal.", LARGE, ["false"]),
        # values of one series among several, and of none that is named
        ("In 2005, the number for Oregon was 101.", SEVERAL, ["false"]),
        ("In 2005, the number was 140.", SEVERAL, ["undecided"]),
        # ranks of listed categories, of turns, and of both ends
        ("The lowest are Coal and Solar.", LARGE, ["true"]),
        ("The lowest are Coal and Wind.", LARGE, ["true"]),
        ("The highest are Coal and Wind.", LARGE, ["false"]),
        ("A second peak was reached in 2013.", YEARS, []),
        ("The chart presents the most common jobs.", LARGE, []),
        ("Cases were at their peak, near the maximum, in 2010.", YEARS, ["true"]),
        ("Wind has the highest share and the lowest cost.", LARGE, ["true", "undecided"]),
    ],
)
def test_decides(sentence, chart, expected):
    assert outcomes(sentence, chart) == expected


def test_a_refuted_value_says_what_the_chart_has_and_where():
    sentence = "In 2012, there were 202 cases."
    (check,) = check_sentence(sentence, [YEARS])
    assert check.rationale == "2012 is at 254, not 202."
    (edit,) = check.edits
    assert (edit.span.of(sentence), edit.right) == ("202", "254")
    assert check.cells == ((0, 0, 2),)


def test_a_measured_value_has_the_tolerance_of_its_reading():
    loose = Chart("bar", series=(series("", {"2012": 254.0}, printed=False, tolerance=30.0),))
    (check,) = check_sentence("In 2012, there were 275 cases.", [loose])
    assert check.outcome is ClaimOutcome.TRUE


def test_a_value_in_a_rationale_is_not_taken_for_a_year():
    (check,) = check_sentence("Peru has 1,200.", [PERU])
    assert check.rationale == "Peru is at 1,986, not 1,200."
    assert [edit.right for edit in check.edits] == ["1,986"]


def test_a_number_that_is_printed_in_the_image_is_not_refuted():
    (check,) = check_sentence("It rests on 9,999 answers.", [YEARS], ["N = 9,999"])
    assert check.outcome is ClaimOutcome.TRUE


def test_nothing_is_decided_without_a_reading():
    assert check_sentence("Cases increased from 2010 to 2014.", []) == ()


def test_a_sentence_of_thousands_of_numbers_takes_no_time():
    def find(count: int) -> None:
        assert len(numbers_in("from 1 to " * count, ())) == count

    assert is_linear(find, 300, 3000)  # not, where each looks at all before it


def test_a_mark_without_a_name_is_not_named():
    marks = (ChartMark("Oslo", 20.0), ChartMark("", 90.0), ChartMark("Bergen", 30.0))
    chart = Chart("bar", "Cases", series=(ChartSeries("", "", marks),))
    (check,) = check_sentence("Oslo has the highest number.", [chart])
    assert check.rationale == "another is the highest, at 90; Oslo is at 20."
    assert not any(c.rationale for c in check_sentence("Kiel has the highest number.", [chart]))


def test_a_chart_of_ten_thousand_marks_takes_no_time():
    def judge(count: int) -> None:
        years = series("", {str(1000 + k): float(k % 977) for k in range(count)})
        chart = Chart("line", "Cases", series=(years,))
        assert outcomes("In 1500, there were 254 cases.", chart) == ["false"]
        assert outcomes("In 1500, there were 500 cases.", chart) == ["true"]

    assert is_linear(judge, 1000, 10_000)


@pytest.mark.parametrize("text", ["cases were highest in 2011, ", "from 1 to ", "rose until 2011 "])
def test_no_text_takes_long(text):
    began = time.thread_time()
    check_sentence(text * (1900 // len(text)), [YEARS])
    assert check_sentence(text * 3000, [YEARS]) == ()
    assert time.thread_time() - began < 20


@pytest.mark.parametrize(
    ("sentence", "chart", "expected"),
    [
        # the last year on top; "not" within a name
        ("The share who are not bothered has grown since 1993.", LATEST_FIRST, ["true"]),
        ("The share who are not bothered has shrunk since 1993.", LATEST_FIRST, ["false"]),
        # names in another number or manner
        ("46% of Democrats follow very closely.", PARTIES, ["true"]),
        ("42% of Democrats follow very closely.", PARTIES, ["false"]),
        # a value of the other series; one that no series has
        ("Republican: Very closely 19%, Fairly closely 33%.", PARTIES, ["true", "true"]),
        ("Republican: Very closely 33%, Fairly closely 33%.", PARTIES, ["undecided", "true"]),
        ("71% of Republicans follow the news.", PARTIES, ["false"]),
        # what values make together is none that the chart would have to print
        ("In total, 88% of Democrats follow very or fairly closely.", PARTIES, ["undecided"]),
        ("52% follow very closely.", PARTIES, ["undecided"]),
        # units
        ("In 2001, expenses were about $82 million.", MILLIONS, ["true"]),
        ("In 2001, expenses were about $82 billion.", MILLIONS, ["true", "false"]),
        ("In 2007, the index stood at 5,600 points.", INDEX, ["true"]),
        ("In 2007, the index stood at 3,600 points.", INDEX, ["false"]),
        ("The chart is about the CAC 40.", INDEX, []),
        # factors over time, and between two
        ("Expenses almost tripled between 2001 and 2019.", MILLIONS, ["true"]),
        ("Expenses almost doubled between 2001 and 2019.", MILLIONS, ["false"]),
        ("Twice as many Coal as Wind jobs exist.", LARGE, ["false"]),
        ("Expenses soared from 2010 to 2010.", MILLIONS, []),
        ("Wages soared from 2012 to 2014.", WAGES, ["false"]),
        # comparisons of two years behind "higher"
        ("Cases were higher in 2010 than in 2014.", YEARS, ["true"]),
        ("Cases were higher in 2014 than in 2010.", YEARS, ["false"]),
        # one of several peaks; months in full; counts of anything
        ("A first peak was reached in 2013.", YEARS, []),
        ("February has the lowest exports.", MONTHS, ["true"]),
        ("January has the lowest exports.", MONTHS, ["false"]),
        ("In total, three months are compared.", MONTHS, ["true"]),
        ("The chart shows nine nationalities.", MONTHS, ["false"]),
        # the name behind "but" is nearer than the one before it
        ("It is 40% among men but 40% among women.", FAVOR, ["true", "undecided"]),
        # at most, and no more than anything differs by
        ("Wind is less than three times as high as Coal.", LARGE, ["true"]),
        ("Wind is less than twice as high as Coal.", LARGE, ["false"]),
        ("This corresponds to a decrease of 160.", YEARS, ["undecided", "true"]),
        ("This corresponds to a decrease of 360.", YEARS, ["false", "true"]),
        # people are counted, and points of an index are no difference
        ("Wind has about 20,000 people.", LARGE, ["false"]),
        ("In 2010, 4,500 points were reached.", PERU, ["false"]),
        # an answer that begins with a verb
        ("Content that is abusive toward others is at 12%.", KINDS, ["false"]),
        # what ranks in its own clause, with its value between, by any of one name
        ("The largest group, at 61%, are women, while 40% of men agree.", FAVOR, ["true"] * 3),
        ("It rose from 254 in 2012 to a peak of 423 in 2010.", YEARS, ["true"] * 3 + ["false"]),
        ("It is best to ask men.", GROUPS, []),
        ("Coal is highest.", TWICE, ["true"]),
        ("The women were highest where they favor it.", GROUPS, ["undecided"]),
    ],
)
def test_decides_what_todays_models_write(sentence, chart, expected):
    assert outcomes(sentence, chart) == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The survey was conducted in May 2018.", ["true"]),
        ("The survey was conducted in May 2016.", ["false"]),
        ("The survey was conducted in May.", []),
    ],
)
@pytest.mark.parametrize("end", [".", ", among 2,018 people"])
def test_the_year_of_a_survey_is_that_of_the_source(sentence, expected, end):
    texts = [f"Source: Survey of U.S. adults conducted May 29-June 11, 2018{end}"]
    found = check_sentence(sentence, [GROUPS], texts)
    assert [check.outcome.value for check in found] == expected
    assert all(edit.right == "2018" for check in found for edit in check.edits)
