"""What a reading looks like as text, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json

from revise_captions.charts import (
    Chart,
    ChartAxis,
    ChartMark,
    ChartSeries,
    as_csv,
    as_json,
    as_text,
    from_json,
)
from revise_captions.charts.chart import number

CHART = Chart(
    "bar",
    title="Visitors",
    y=ChartAxis("Visitors", "thousand", ("0", "100"), (-0.5, 100.0)),
    series=(
        ChartSeries(
            "Museum",
            "#4c78a8",
            (
                ChartMark("2013", 202.0),
                ChartMark("2014", 254.318, False, 2.1, 1.0, (10, 20, 30, 40)),
                ChartMark("2015", None),
            ),
        ),
    ),
    notes=("No count in 2015.",),
    source="the museum",
    box=(0, 0, 100, 80),
    unread=("a value of 2015",),
)


def test_text_for_a_prompt_tells_printed_measured_and_unread_values_apart():
    assert as_text(CHART) == (
        "bar: Visitors\n"
        "y: Visitors (thousand)\n"
        "Museum | 2013: 202; 2014: ~254; 2015: ?\n"
        "note: No count in 2015.\n"
        "source: the museum\n"
        "not read: a value of 2015"
    )


def test_json_comes_back_as_the_same_chart():
    assert from_json(json.loads(json.dumps(as_json(CHART)))) == CHART


def test_no_name_in_csv_hides_text_or_is_a_formula():
    bad = Chart("bar", series=(ChartSeries("=1+1", "", (ChartMark("a\u202eb\x07", 1.0),)),))
    (row,) = csv.DictReader(io.StringIO(as_csv({"\x1b[2J.png": [bad]})))
    named = row["image"], row["series"], row["category"]
    assert named == ("U+001B[2J.png", "'=1+1", "aU+202EbU+0007")


def test_csv_has_a_row_per_mark():
    rows = list(csv.DictReader(io.StringIO(as_csv({"a, b.png": [CHART]}))))
    assert [row["value"] for row in rows] == ["202", "254", ""]
    assert {row["image"] for row in rows} == {"a, b.png"}
    assert [row["printed"] for row in rows] == ["yes", "no", "yes"]


def test_numbers_have_the_digits_that_their_tolerance_warrants():
    assert number(0.12345, 0.001) == "0.123"
    assert number(-0.2, 3.0) == "0"
    assert number(1234567.0) == "1234567"
    assert not Chart("unknown", unread=("no text",)).readable
    assert CHART.readable
