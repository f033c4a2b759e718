"""The charts that people published: how they are listed, and how a reading is counted."""

from __future__ import annotations

import json

from scripts.research.charts.published import HALVES, TABLES, score
from scripts.research.charts.table_metrics import TablePoint

ROW = {"tables": [{"columns": ["men", "women"], "rows": {"Oslo": [10, 20], "Rome": [30, None]}}]}


def test_each_image_has_a_table_or_a_reason_and_a_package_is_in_one_half():
    rows = [json.loads(line) for line in TABLES.read_text(encoding="utf-8").splitlines()]
    assert len({row["sha256"] for row in rows}) == len(rows) >= 60
    assert all(("tables" in row) != ("unscored" in row) for row in rows)
    halves = {(row["package"], row["half"]) for row in rows}
    assert len(halves) == len({package for package, _ in halves})
    assert {half for _, half in halves} == set(HALVES)


def test_a_value_is_off_by_the_span_of_its_table_and_a_strange_name_is_counted_apart():
    read = [
        TablePoint("Oslo", "men", 11.0),  # off by 1 of 30
        TablePoint("Rome", "men", 27.0),  # off by 3 of 30
        TablePoint("Bern", "", 10.0),
    ]
    found = score(ROW, read)
    assert (found.values, found.wrong, found.nameless) == (3, 1, 1)


def test_whatever_is_read_where_people_read_nothing_is_wrong():
    found = score({"unscored": "a scatter plot"}, [TablePoint("", "", 1.0)])
    assert (found.readable, found.values, found.wrong) == (False, 1, 1)
