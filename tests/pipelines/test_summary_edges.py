"""The tally at its edges: many rows, many groups, shards of them, and one kind of sentence each."""

from __future__ import annotations

import pytest
from tallied import DELETED, FINE, FIXED, LATER, MOOD, REFUSED, SPEECHLESS, STRANGE, row, tally_of

from revise_captions.pipelines.output.outcomes import Outcome
from revise_captions.pipelines.output.shares import COLUMN
from revise_captions.pipelines.report.counts import Counts
from revise_captions.pipelines.report.summary import MAX_GROUPS, OTHER, Tally


def test_the_seed_is_nought_and_named():
    tally = tally_of(row(FINE, FIXED))
    assert tally.to_json()["bootstrap"] == {
        "unit": "record", "replicates": 1000, "level": 0.95, "seed": 0,
    }  # fmt: skip
    assert Tally().seed == 0


def test_the_quarantine_is_counted_by_reason():
    tally = tally_of(row(FINE))
    for reason in ("image_not_found", "image_not_found", "invalid_json"):
        tally.quarantine(reason)
    found = tally.to_json()
    assert found["records"]["quarantined_by_reason"] == {"image_not_found": 2, "invalid_json": 1}
    assert found["outcomes"][str(Outcome.QUARANTINED)] == 3
    assert (found["records"]["read"], found["records"]["written"]) == (4, 1)


@pytest.mark.parametrize("rows", [1, 255, 256, 257, 1000])
def test_many_rows_are_counted_once_each(rows):
    found = tally_of(*[row(FINE, REFUSED)] * rows).to_json()
    assert found["sentences"]["total"] == 2 * rows
    assert found["sentences"]["scored"] == 2 * rows
    assert sum(found["experts"][""]["histogram"]["before"]) == 2 * rows
    assert found["factuality"]["all"]["before"]["numerator"] == rows
    assert found["factuality"]["all"]["before"]["records"] == rows


def grouped(names) -> Tally:
    tally = Tally(group_by="model")
    for line, name in enumerate(names):
        tally.add(row(FINE, REFUSED), line=line, group=name)
    return tally


def test_groups_of_shards_add_up_and_the_last_ones_share_a_row():
    first = grouped(f"g{k:04}" for k in range(MAX_GROUPS))
    assert OTHER not in first.groups
    second = grouped(["g0000", "new", None, "newer"])
    first += second
    assert first.groups["g0000"].records == 2
    assert first.groups[OTHER].records == 3
    assert first.groups[OTHER].sentences == 6
    assert "new" not in first.groups
    known = grouped(["a", "b"])
    known += grouped(["b", "c"])
    assert {name: group.records for name, group in known.groups.items()} == {
        "a": 1, "b": 2, "c": 1,
    }  # fmt: skip
    (made,) = [r for r in known.to_json()["groups"]["rows"] if r["name"] == "b"]
    assert made["records"] == 2
    assert made["critic_on_flagged"]["of_flagged"]["denominator"] == 2


def test_shards_of_other_settings_do_not_add_up():
    for other in (
        Tally(seed=1),
        Tally(group_by="x"),
    ):
        tally = Tally()
        with pytest.raises(ValueError, match="do not add up"):
            tally += other


def test_flows_come_most_frequent_first_then_by_name():
    counts = Counts()
    for sentences in ([REFUSED], [REFUSED], [FIXED], [DELETED], [SPEECHLESS]):
        counts.add_caption(row(*sentences)["revision"])
    flow = counts.flow_json()
    assert [item["sentences"] for item in flow] == [2, 1, 1, 1]
    rest = [(item["step"], item["end"]) for item in flow[1:]]
    assert rest == sorted(rest)
    histogram = counts.histograms[""]
    assert histogram.before.dtype == histogram.after.dtype == "int64"


def test_a_caption_of_nothing_judged_is_not_clean():
    """Columns: captions with a judged sentence, and those with nothing wrong."""
    columns = slice(11, 15)
    for sentences, wanted in (
        ([STRANGE], [0, 0, 0, 0]),
        ([FINE, STRANGE], [1, 1, 1, 1]),
        ([FINE, LATER], [1, 1, 1, 0]),
        ([REFUSED, FINE], [1, 0, 1, 0]),
        ([FIXED, MOOD], [1, 0, 1, 1]),
        ([DELETED], [1, 0, 0, 0]),
        ([], [0, 0, 0, 0]),
    ):
        counts, changed = Counts().add_caption(row(*sentences)["revision"])
        assert [int(value) for value in counts[columns]] == wanted, sentences
        assert changed == any(s in (FIXED, DELETED) for s in sentences)


def test_every_accepted_rewrite_of_a_caption_counts():
    columns, changed = Counts().add_caption(row(FIXED, FIXED, FINE)["revision"])
    assert (columns[COLUMN["rewritten_after"]], columns[COLUMN["kept_after"]]) == (2, 1)
    assert changed
