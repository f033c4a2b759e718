"""What a chart does not refute for sure, told by hand of charts that are misread in known ways."""

from __future__ import annotations

import pytest

from revise_captions.charts import Chart, ChartMark, ChartSeries
from revise_captions.charts.claims import ClaimOutcome, check_sentence
from revise_captions.charts.claims.edits import with_fixes
from revise_captions.critic.charts.places import NumberPlace
from revise_captions.critic.charts.rationale import rationale_of
from revise_captions.records import Fix

TITLE = "Cases of measles in Norway"
LINES = (TITLE, "2004", "2005", "2006", "2007")
REFUTED, NOWHERE = "every claim is refuted", "a number that is printed nowhere"


def chart(values: dict[str, float], kind: str = "line", printed: bool = False) -> Chart:
    own = tuple(ChartMark(name, value, printed=printed) for name, value in values.items())
    return Chart(kind, TITLE, series=(ChartSeries("", "", own),))


SPIKE = {"2003": 2400.0, "2004": 9800, "2005": 11700, "2006": 5200, "2007": 3000}
TURN = {"2003": 50.0, "2004": 80, "2005": 100, "2006": 90, "2007": 70}


def fixes(sentence: str, of: Chart, p: float = 0.3, places=(), lines=LINES) -> tuple[Fix, ...]:
    return tuple(f for f in rationale_of(sentence, (of,), lines, places, p, 1.0).fixes if f.certain)


@pytest.mark.parametrize(
    ("sentence", "values", "kind", "after"),
    [
        # half of the step to 2006 is 3,250
        ("Cases stood at 14,500 in 2005.", SPIKE, "line", None),
        ("Cases stood at 16,000 in 2005.", SPIKE, "line", "Cases stood at about 11,700 in 2005."),
        ("Cases stood at 14,500 in 2005.", SPIKE, "bar", "Cases stood at about 11,700 in 2005."),
        # a year between two ticks may be the one before
        ("Cases were highest in 2004.", SPIKE, "line", None),
        ("Cases were highest in 2007.", SPIKE, "line", "Cases were highest in 2005."),
        ("Cases were highest in 2004.", SPIKE, "bar", "Cases were highest in 2005."),
        # since the peak, they had
        ("By 2007, cases had fallen.", TURN, "line", None),
        ("By 2005, cases had fallen.", TURN, "line", "By 2005, cases had risen."),
        ("From 2003 to 2007, cases fell.", TURN, "line", "From 2003 to 2007, cases rose."),
    ],
)
def test_a_measured_curve_refutes_what_no_misplaced_year_would_bear_out(
    sentence, values, kind, after
):
    found = fixes(sentence, chart(values, kind))
    assert (with_fixes(sentence, found) if found else None) == after


GROWTH = chart({"Oslo-1": 163.2, "Oslo-2": 110.3, "Bergen-4": 59.0}, "bar", printed=True)
COLUMN = (NumberPlace(125.0, frozenset({"berge", "voter"})),)


@pytest.mark.parametrize("told", ["125,000", "125"])
def test_another_column_s_number_is_not_the_mark_s(told):
    sentence = f"Bergen-4 has the most voters of all, with {told}."
    lines = (TITLE, "Oslo-1", "Oslo-2", "Bergen-4", "163.2", "110.3", "59.0", "125", "voters")
    assert fixes(sentence, GROWTH, 0.3, COLUMN, lines) == ()
    assert fixes(sentence, GROWTH, 0.3, (), lines) != ()


def test_hardly_any_marks_refute_nothing():
    sentence = "Cases stood at 50 in 2005, as a spokesman told Norway."
    whole, rest = chart(TURN), chart({"2004": 80.0, "2005": 100.0})
    assert [one.basis for one in fixes(sentence, whole)] == [REFUTED]
    assert fixes(sentence, rest) == ()


@pytest.mark.parametrize(
    ("kind", "printed", "goes"),
    [("line", False, False), ("bar", False, True), ("line", True, True)],
)
def test_a_curve_has_what_is_between_its_marks(kind, printed, goes):
    sentence = "Cases of measles moved between 31 and 112 in Norway."
    assert bool(fixes(sentence, chart(TURN, kind, printed), 0.25)) is goes


@pytest.mark.parametrize(("p", "basis"), [(0.19, [NOWHERE]), (0.21, [])])
def test_a_sum_that_is_printed_nowhere_goes_where_it_is_unlikely(p, basis):
    """130 is 50 and 80."""
    sentence = "Cases of measles stood at 130 in Norway, and at 100 in 2005."
    found = fixes(sentence, chart(TURN, "bar", True), p, lines=(*LINES, "50", "80", "100", "90"))
    assert [one.basis for one in found] == basis


@pytest.mark.parametrize(("p", "goes"), [(0.19, True), (0.21, False)])
def test_what_may_be_a_remark_goes_where_it_is_unlikely(p, goes):
    sentence = "The temperature plays a greater role for this development."
    assert bool(fixes(sentence, chart(TURN), p)) is goes


def test_a_percentage_is_told_in_the_unit_of_shares():
    sentence = "Coal stands at 30% of the cases."
    of = chart({"Coal": 0.12, "Wind": 0.31, "Solar": 0.2}, "bar")
    found = fixes(sentence, of, 0.1, lines=(TITLE, "Coal", "Wind", "Solar"))
    assert with_fixes(sentence, found) == "Coal stands at about 12% of the cases."


@pytest.mark.parametrize(
    ("sentence", "refuted"),
    [
        ("The y-axis goes up to 15,000.", False),
        ("The vertical axis rises from 0 to 15,000.", False),
        ("The number goes up from 2003 to 2007.", True),
    ],
)
def test_an_axis_is_no_mark(sentence, refuted):
    falling = chart({"2003": 4000.0, "2004": 3000, "2005": 2500, "2006": 2000, "2007": 1000})
    outcomes = {one.outcome for one in check_sentence(sentence, (falling,))}
    assert (ClaimOutcome.FALSE in outcomes) is refuted


@pytest.mark.parametrize(
    ("sentence", "refuted"),
    [
        ("Cases exceeded 80 in 2003.", True),
        ("Cases never exceeded 80 in 2003.", False),
        ("Cases did not pass 80 in 2003.", False),
        ("Cases never exceeded 30 in 2003.", True),
        ("Cases never fell below 30 in 2003.", False),
    ],
)
def test_a_bound_that_is_denied(sentence, refuted):
    outcomes = {one.outcome for one in check_sentence(sentence, (chart(TURN),))}
    assert (ClaimOutcome.FALSE in outcomes) is refuted


@pytest.mark.parametrize(
    ("sentence", "refuted"),
    [
        ("In 2005, cases jumped to 100.", False),
        ("Cases fell to 100 in 2005.", True),  # every earlier year had fewer
        ("In 2007, cases rose to 70.", False),  # than in 2003
        ("In 2007, cases dropped back to 70.", False),
        ("By 2007, cases had fallen.", False),
        ("Until 2007, cases had fallen.", True),  # from the first year on
    ],
)
def test_a_direction_from_no_year_that_is_said(sentence, refuted):
    outcomes = {one.outcome for one in check_sentence(sentence, (chart(TURN),))}
    assert (ClaimOutcome.FALSE in outcomes) is refuted


@pytest.mark.parametrize(
    ("unit", "said", "after"),
    [
        ("millíon", "billion", "million"),  # as OCR reads it
        ("billion", "million", "billion"),
        ("million", "million", None),
    ],
)
def test_a_unit_that_the_title_does_not_have(unit, said, after):
    own = tuple(
        ChartMark(str(year), value) for year, value in ((2003, 50.0), (2004, 80), (2005, 99))
    )
    of = Chart("line", f"Costs in {unit} dollars", series=(ChartSeries("", "", own),))
    sentence = f"Costs were about 80 {said} dollars in 2004."
    found = fixes(sentence, of, lines=(of.title,))
    fixed = with_fixes(sentence, found) if found else None
    assert fixed == (after and f"Costs were about 80 {after} dollars in 2004.")
