"""What changes with a fix: the words around a number, articles, and the forms of verbs."""

from __future__ import annotations

import pytest

from revise_captions.charts.claims.edits import number_edit, with_fixes
from revise_captions.charts.claims.mentions import numbers_in
from revise_captions.records import Fix, Span


def put(sentence: str, wrong: str, right: str) -> str:
    start = sentence.index(wrong)
    return with_fixes(sentence, [Fix(Span(start, start + len(wrong)), right)])


@pytest.mark.parametrize(
    ("sentence", "right", "expected"),
    [
        ("Peru has about 90.", "about 120", "Peru has about 120."),
        ("Peru has 90.", "about 120", "Peru has about 120."),
        ("Peru has just about 90.", "120", "Peru has 120."),
        ("Peru has slightly about 90.", "120", "Peru has 120."),
        ("It had over $4 million.", "about 3.21", "It had about $3.21 million."),
        ("It had €4 million.", "3.2", "It had €3.2 million."),
        ("It fell by --0.05 a year.", "about -0.07", "It fell by about -0.07 a year."),
        ("Sales are dropping below 4 units.", "about 9", "Sales are dropping to about 9 units."),
        ("It has a rate slightly above 100.", "about 119", "It has a rate of about 119."),
        ("It starts off just under 500.", "about 367", "It starts off at about 367."),
        ("Half or more of men do.", "20", "20% of men do."),
        ("Nearly half (48%) of men do.", "20", "Nearly 20% of men do."),
        ("More than 60% of men do.", "20", "20% of men do."),
        ("40% or more of men do.", "20", "20% of men do."),
    ],
)
def test_a_number_in_the_place_of_another(sentence, right, expected):
    (one,) = numbers_in(sentence, ())
    edit = number_edit(sentence, one, right)
    assert with_fixes(sentence, [Fix(edit.span, edit.right)]) == expected


@pytest.mark.parametrize(
    ("sentence", "wrong", "right", "expected"),
    [
        ("It continues to decline.", "decline", "growth", "It continues to grow."),
        ("A decline followed.", "decline", "growth", "A growth followed."),
        ("There was a decrease.", "decrease", "increase", "There was an increase."),
        ("An increase came.", "increase", "decrease", "A decrease came."),
        ("It has slowly risen.", "risen", "fell", "It has slowly fallen."),
        ("There was a slight increase.", "slight", "", "There was an increase."),
        ("Sharp falls came.", "Sharp", "", "Falls came."),
        ("It rose sharply then.", "sharply", "", "It rose then."),
        ("It has red cars.", "red ", "", "It has cars."),
        ("A law was passed.", "A law was passed.", "", ""),
        ("- On top,\nit rose.", "it ", "", "- On top,\nrose."),
        ("Now \nit fell.", "Now ", "", "\nit fell."),
        ("It rose then", "then", "", "It rose"),
        ("Now XX rose.", "Now ", "", "XX rose."),
        ("It is MAX now.", "now", "", "It is MAX."),
        ("more than 9 have it.", "more than 9", "about 4", "About 4 have it."),
        ("It is a 20% share.", "20", "80", "It is an 80% share."),
    ],
)  # fmt: skip
def test_what_stands_around_it_agrees(sentence, wrong, right, expected):
    assert put(sentence, wrong, right) == expected


def test_fixes_go_in_from_right_to_left():
    sentence = "It fell from 9 in 2001 to 900 in 2010."
    fixes = [Fix(Span(3, 7), "rose"), Fix(Span(13, 14), "12,000"), Fix(Span(26, 29), "4")]
    assert with_fixes(sentence, fixes) == "It rose from 12,000 in 2001 to 4 in 2010."
