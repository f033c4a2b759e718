"""DCScore's formulas (2503.07906, equations 1 and 2), worked out by hand, and their open cases."""

from __future__ import annotations

import pytest

from revise_captions.dcscore.score import CaptionScore, score, verdicts_of
from revise_captions.dcscore.units import InformationUnit, UnitMatch, UnitVerdict
from revise_captions.records import Span

YES, NO = UnitVerdict(True), UnitVerdict(False)
UNSCORED = UnitVerdict(None, unscored="no answer")
NONE = UnitMatch()


def units(*texts: str, descriptive: bool = True) -> list[InformationUnit]:
    return [InformationUnit(text, 0, Span(0, 1), descriptive) for text in texts]


def matched(*references: int) -> UnitMatch:
    return UnitMatch(references)


def test_worked_example():
    """|P| = 4, three true, two of them matched, |O| = 5: s_p 3/4, s_r (2+1)/(5+1), F their F1."""
    found = score(
        units("a", "b", "c", "d"),
        [YES, YES, YES, NO],
        units("a", "b", "x", "y", "z"),
        [matched(0), matched(1), NONE, NONE],
    )
    assert found.all.precision == 3 / 4
    assert found.all.recall == 3 / 6
    assert found.all.f1 == pytest.approx(2 * 0.75 * 0.5 / 1.25)
    assert found.value == pytest.approx(0.6)


def test_the_papers_recall_and_the_released_one():
    """a and b share a fact, c has one, d and e are denied, f is true and not in the reference."""
    given = (
        units("a", "b", "c", "d", "e", "f"),
        [YES, YES, YES, NO, NO, YES],
        units(*"stuvwxyz"),
        [matched(0), matched(0), matched(1), matched(2, 5), matched(3), NONE],
    )
    paper, released = score(*given), score(*given, protocol="released")
    assert paper.all.precision == released.all.precision == 4 / 6
    assert paper.all.recall == (5 + 1) / (8 + 1)  # s, t, u, v, x
    assert released.all.recall == (1 / 2 + 1 / 2 + 1 + 1) / (8 + 1)
    assert round(released.value, 3) == 0.444


def test_descriptive_half():
    """The second half leaves out "It feels calm." (false, and matched by nothing)."""
    own = [*units("a", "b"), *units("It feels calm.", descriptive=False)]
    found = score(own, [YES, YES, NO], units("a", "b"), [matched(0), matched(1), NONE])
    assert (found.all.precision, found.all.recall, found.all.f1) == (2 / 3, 1, 0.8)
    assert (found.descriptive.precision, found.descriptive.f1) == (1, 1)
    assert found.value == pytest.approx(0.9)


def test_no_units_of_the_caption():
    """It leaves everything out: recall and F are 0, precision is undefined."""
    found = score([], [], units("a", "b"), [])
    assert found.all.precision is None
    assert (found.all.recall, found.all.f1, found.value) == (0, 0, 0)


def test_a_caption_of_which_nothing_could_be_read():
    """It is not one that says nothing: no score, and in no mean."""
    found = score([], [], units("a"), [], unread=1)
    assert (found.all.recall, found.value) == (None, None)
    assert score(units("a"), [YES], units("a"), [matched(0)], unread=1).value == 1


def test_no_units_of_the_reference():
    """0/0 would be a perfect recall: there is none, and no F."""
    found = score(units("a"), [YES], [], [NONE])
    assert found.all.precision == 1
    assert (found.all.recall, found.all.f1, found.value) == (None, None, None)


def test_no_reference():
    """Only precision can be had."""
    found = score(units("a", "b"), [YES, NO])
    assert found.all.precision == 0.5
    assert (found.all.references, found.all.added, found.value) == (None, 0, None)


def test_no_unit_is_true():
    found = score(units("a", "b"), [NO, NO], units("c"), [NONE, NONE])
    assert (found.all.precision, found.all.recall, found.value) == (0, 0, 0)


def test_matched_unit_that_the_verifier_denies():
    """It is in Q, not in P_true: s_p 1/2, s_r 2/2."""
    found = score(units("a", "b"), [YES, NO], units("a", "b"), [matched(0), matched(1)])
    assert (found.all.precision, found.all.recall, found.all.denied) == (0.5, 1, 1)


def test_the_same_unit_twice():
    """Counted once, on both sides, with the first verdict and match."""
    found = score(
        units("The dog is red.", "the dog is  red", "x"),
        [YES, NO, NO],
        units("The dog is red.", "The dog is red", "y"),
        [matched(1), NONE, NONE],
    )
    assert (found.all.units, found.all.true) == (2, 1)
    assert (found.all.references, found.all.matched, found.all.added) == (2, 1, 0)


def test_two_units_that_match_one_of_the_reference():
    """|Q| counts it once, and the second unit adds nothing: recall stays at most 1."""
    found = score(units("a", "also a"), [YES, YES], units("a", "b"), [matched(0), matched(0)])
    assert (found.all.matched, found.all.added, found.all.recall) == (1, 0, 0.5)


def test_one_unit_that_says_two_of_the_reference():
    found = score(units("a red dog"), [YES], units("dog", "red", "cat"), [matched(0, 1)])
    assert (found.all.matched, found.all.recall) == (2, pytest.approx(2 / 3))


def test_unscored_units_are_left_out_and_counted():
    found = score(
        units("a", "b", "c"),
        [YES, UNSCORED, YES],
        units("a", "b"),
        [matched(0), matched(1), UnitMatch(unscored="prose")],
    )
    assert (found.all.units, found.all.true, found.all.unscored) == (2, 2, 1)
    assert (found.all.matched, found.all.added, found.all.unmatched) == (2, 0, 1)


def test_nothing_could_be_verified():
    """No precision is not a precision of 0."""
    found = score(units("a"), [UNSCORED], units("a"), [matched(0)])
    assert (found.all.precision, found.all.f1, found.value) == (None, None, None)


def test_without_a_verifier_true_is_what_the_reference_says():
    matches = [matched(0), NONE, UnitMatch(unscored="prose")]
    verdicts = verdicts_of(matches)
    assert [v.correct for v in verdicts] == [True, False, None]
    found: CaptionScore = score(units("a", "b", "c"), verdicts, units("a", "d"), matches)
    assert (found.all.precision, found.all.recall) == (0.5, 0.5)


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="shorter"):
        score(units("a", "b"), [YES])
