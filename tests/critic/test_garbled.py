"""Signs of garbled sentences, in the manner of captioners, and whole ones that resemble them."""

from __future__ import annotations

import pytest

from revise_captions.critic.charts.garbled import is_garbled
from revise_captions.critic.charts.rationale import GARBLED, NO_SENSE, rationale_of


@pytest.mark.parametrize(
    "sentence",
    [
        "Sales of of cars rose.",
        "The share of users users users was 4%.",
        "In most large cities of Europe people in most large cities of Europe vote.",
        "The least popular in May was the least popular in May was the least popular in May.",
        "In Spain, the share of homes with solar panels is higher than that in Spain.",
        "Those with little German are more likely to leave than those with little German.",
        "The difference between Poland and Poland is 4.",
        "The average rent in the",
        "Spain has the.",
        "The share was on0% of couples.",
        "The group|||||| grew.",
        "2012 has a for better policies than 2011.",
        "The fewest of was Men.",
        "On the other hand, point in The fewest reached was 2014.",
        "Men 57 50 44 36 women.",
        "Men 57 50 women.",
        "than Spain lower France. is.",
        "Milan h the l value.",
        "The rents fo Milan wi gardens stand at 4.",
        "5.",
        "In comparison, 4.",
    ],
)
def test_garbled(sentence):
    assert is_garbled(sentence)
    why = rationale_of(sentence, (), ())
    assert why.text == NO_SENSE
    removed = [(fix.span.of(sentence), fix.right, fix.kind) for fix in why.fixes]
    assert removed == [(sentence, "", GARBLED)]


@pytest.mark.parametrize(
    "sentence",
    [
        "2014 had 5.",
        "In Spain, 4 voted.",
        "Women stand at 61.",
        "According to the chart, the chart compares four groups.",
        "Men are about twice as high as High earners.",
        "49% say it is better to keep the law in place, while 45% say it is better to keep out.",
        "Rents rose from 1.9 million euros in Rome in 2014 to 3.2 million euros in Rome in 2020.",
        "Disapproval ratings are higher than approval ratings.",
        "Years include 1990, 1995, 2000, 2001 and 2003.",
        "The table presents activities that individuals engage in.",
        "The dating app with the most users is in the U.S. market vs. the EU.",
        "It covers the in-between years, and the x axis shows them.",
        "Sales of cars by region",
        "Of these, each of which is in 2012 254 times as high, none is alike.",
        "The plan b option had 30 votes, option c and group d had 20.",
        "Vitamin d levels rose, and z stays.",
        "What he had had was 4.",
        "Die Zahl der Fälle, die die Behörde meldet, stieg.",
        "The chart shows 2010 2011 2012 on its axis.",
        "Between 2010 and 2010/11 it rose.",
        "Men (40%), women (61%); both rose!!!",
        "sales rose in 2010. they fell in 2012.",
        "approx. half say so, approx. a third do not",
        "High school or less in 2007 is ahead of High school or less in 2011.",
        "More people own a house than a car.",
    ],
)
def test_whole(sentence):
    assert not is_garbled(sentence)
