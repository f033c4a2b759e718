"""DePlot's measures on tables small enough to work them out by hand."""

from __future__ import annotations

import pytest

from scripts.research.charts.table_metrics import (
    TablePoint,
    edit_distance,
    relative_distance,
    rms,
    rnss,
    text_similarity,
)

TRUTH = [TablePoint("2010", "men", 40.0), TablePoint("2011", "men", 50.0)]


def test_a_perfect_table_scores_one_even_transposed():
    assert rms(TRUTH, TRUTH) == (1.0, 1.0, 1.0)
    turned = [TablePoint(point.column, point.row, point.value) for point in TRUTH]
    assert rms(turned, TRUTH) == (1.0, 1.0, 1.0)
    assert rnss([50.0, 40.0], [40.0, 50.0]) == 1.0


def test_a_missing_cell_costs_recall_and_an_additional_one_precision():
    precision, recall, f1 = rms(TRUTH[:1], TRUTH)
    assert (precision, recall) == (1.0, 0.5)
    assert f1 == pytest.approx(2 / 3)
    precision, recall, _ = rms([*TRUTH, TablePoint("total", "", 9.0)], TRUTH)
    assert (precision, recall) == (pytest.approx(2 / 3), 1.0)


def test_an_error_of_a_value_counts_up_to_a_tenth_of_it():
    near = [TablePoint("2010", "men", 42.0), TRUTH[1]]
    assert rms(near, TRUTH)[0] == pytest.approx((0.95 + 1) / 2)
    far = [TablePoint("2010", "men", 44.0), TRUTH[1]]
    assert rms(far, TRUTH)[0] == pytest.approx(0.5)


def test_an_error_of_a_header_counts_by_its_edit_distance():
    named = [TablePoint("2010", "Man", 40.0), TRUTH[1]]
    # "2010 man" and "2010 men" differ in one of eight letters; case does not count
    assert rms(named, TRUTH)[0] == pytest.approx((7 / 8 + 1) / 2)
    assert text_similarity("abcd", "wxyz") == 0.0
    assert text_similarity("", "") == 1.0
    assert edit_distance("kitten", "sitting") == 3


def test_numbers_are_compared_as_sets():
    # 40 and 44 differ by a tenth; by the definition, a number without a partner adds no distance
    assert rnss([44.0], [40.0]) == pytest.approx(0.9)
    assert rnss([44.0], [40.0, 50.0]) == pytest.approx(0.95)
    assert rnss([], []) == 1.0
    assert rnss([], [1.0]) == 0.0
    assert relative_distance(5.0, 0.0) == 1.0


def test_nothing_read_scores_nothing():
    assert rms([], TRUTH) == (0.0, 0.0, 0.0)
    assert rms([], []) == (1.0, 1.0, 1.0)
