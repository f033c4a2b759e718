"""Signs of garbled sentences, in the manner of captioners, and whole ones that resemble them."""

from __future__ import annotations

import pytest

from revise_captions.critic.charts.garbled import contradicts_itself, is_garbled
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
        "Many countries have99% of votes.",
        "The number1 of readers grew.",
        "The decline is likely to be..58% of homes.",
        "Many live in other countries.66% of them vote.",
        "There is a role of an, 88 of them in parties.",
        "Republicans are somewhat more likely than Republicans to favor the alliance.",
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
        "Of NO2 and SO2, homes had more in may2020 than over50s saw per100.",
        "It fell in .5% of homes, in the... 3 cities.",
        "Americans are more likely than Americans in Alaska to fly.",
        "Republicans are more likely than Democrats to favor it.",
    ],
)
def test_whole(sentence):
    assert not is_garbled(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "The cost rose from 11 million in 2000 to 7 million in 2019.",
        "The share has declined over the decade, from 58% to 59%.",
        "As costs rise, sales fell from about $1,200 to over $1,300.",
    ],
)
def test_a_direction_against_its_own_numbers(sentence):
    assert contradicts_itself(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "The cost rose from 7 million in 2000 to 11 million in 2019.",
        "The share rose from 2.3 to 2.3.",
        "Sales fell from 2 million to 500 thousand, then rose from 9% to 12.",
        "From 2012 to 2009 it rose, and it fell from 2009 to 2012.",
        "The belief that religion increases has decreased from 37% to 22%.",
        "The dollar strengthened from 120 to 110 yen.",
        "Unemployment improved from 9% to 5%.",
        "It grew among people from 18-24 to 10-12 hours.",
    ],
)
def test_directions_with_their_own_numbers(sentence):
    assert not contradicts_itself(sentence)
