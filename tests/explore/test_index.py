"""The explorer's index: what is found, in which order, and a second run beside the first."""

from __future__ import annotations

import json

import pytest
from explored import rows_of, write_run

from revise_captions.errors import UserError
from revise_captions.pipelines.explore.comparison import compare, sentence_pairs
from revise_captions.pipelines.explore.index import RunFile, open_index
from revise_captions.pipelines.explore.query import PAGE, Query, find


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path, 60, pictures=False)


def opened(path):
    return open_index(RunFile(str(path)))


def sentences(path):
    return [row["revision"]["sentences"] for row in rows_of(path)]


def test_worst_first_is_by_the_lowest_p_and_unjudged_ones_come_last(run):
    ps = [[s["p_factual"] for s in row if s["p_factual"] is not None] for row in sentences(run)]
    expected = sorted(range(60), key=lambda k: (not ps[k], min(ps[k], default=0), k))
    index = opened(run)
    shown = [n for page in (1, 2, 3) for n in find(index, Query(sort="worst", page=page)).ids]
    assert shown == expected


def test_least_sure_is_nearest_to_the_threshold(run):
    def distance(row):
        known = [s[k] for s in row for k in ("p_factual", "p_after") if s[k] is not None]
        return min((abs(p - 0.5) for p in known), default=9)

    rows = sentences(run)
    expected = min(range(60), key=lambda k: (distance(rows[k]), k))
    assert find(opened(run), Query(sort="unsure")).ids[0] == expected


def test_most_changed_leads_and_the_unchanged_end(run):
    index = opened(run)
    changed = [row["caption"] != row["revised_caption"] for row in rows_of(run)]
    found = [n for page in (1, 2, 3) for n in find(index, Query(sort="changed", page=page)).ids]
    assert [changed[n] for n in found] == sorted(changed, reverse=True)


def test_filters_are_of_the_rows(run):
    index, rows = opened(run), rows_of(run)
    of_model = [k for k, row in enumerate(rows) if row["model"] == "Molmo 72B"]
    offered = dict(index.about["offered"]["model"])
    found = find(index, Query(model=rows[0]["model"]))
    expected = [k for k, row in enumerate(rows) if row["model"] == rows[0]["model"]]
    assert (found.ids, found.total) == (expected[:PAGE], len(expected))
    assert offered[rows[0]["model"]] == len(expected)
    assert of_model == []
    assert find(index, Query(model="Molmo 72B")).total == 0
    refused = [
        k
        for k, row in enumerate(sentences(run))
        if any(a["why"] == "leaked prompt or markup" for s in row for a in s["attempts"])
    ]
    assert find(index, Query(reason="leaked prompt or markup")).total == len(refused) > 0
    kinds = dict(index.about["offered"]["kind"])
    assert find(index, Query(kind="object")).total == kinds["object"] > 0
    bakery = [k for k, row in enumerate(rows) if "BAKERY" in row["caption"]]
    assert find(index, Query(q=" bakery ")).total == len(bakery) > 0
    assert find(index, Query(q="%")).total == 0


def test_quarantined_rows_are_there_too(run):
    line = {"file": "in.jsonl", "line": 7, "reason": "image_truncated", "detail": "x", "text": "{}"}
    run.with_name("revised.quarantine.jsonl").write_text(json.dumps(line) + "\n")
    index = opened(run)
    found = find(index, Query(outcome="quarantined"))
    assert found.ids == [60]
    assert find(index, Query(reason="image_truncated")).ids == [60]
    assert index.about["summary"]["records"]["quarantined"] == 1


def test_an_index_is_built_once_and_anew_for_another_file(run, cache):
    told = []
    for _ in range(2):
        open_index(RunFile(str(run)), told.append)
    assert len(told) == 1
    write_run(run.parent, 3, pictures=False)
    assert find(open_index(RunFile(str(run)), told.append), Query()).total == 3
    assert len(told) == 2
    assert len(list((cache / "revise-captions/explore").iterdir())) == 1  # the old one is gone


def test_what_is_no_run_is_one_line(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"image": "a.png", "caption": "A."}\n')
    with pytest.raises(UserError, match="there is no `revision`"):
        opened(path)
    path.write_text("")
    with pytest.raises(UserError, match="no `revision`"):
        opened(path)
    assert list(tmp_path.glob("cache/**/*.partial")) == []


def test_a_query_from_anywhere_is_a_query():
    given = {"sort": ["no; DROP TABLE"], "page": ["-3"], "q": ["a", "b"], "x": ["1"]}
    assert Query.of(given) == Query(q="b")
    assert Query.of({"page": ["9999999999999999"]}).page == 1


def other_run(run):
    """The same captions without the third, the first with no flag, at another threshold."""
    rows = rows_of(run)
    del rows[2]
    wrong = next(s for s in rows[0]["revision"]["sentences"] if s["label"] == "nonfactual")
    wrong |= {"label": "factual", "p_factual": 0.99, "p_after": 0.99, "attempts": []}
    wrong |= {"rationale": None, "rewrite": None, "accepted": None, "dropped": False}
    for row in rows:
        row["revision"] |= {"signature": "critic:other|threshold:0.4", "threshold": 0.4}
    path = run.with_name("other.jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_two_runs_side_by_side(tmp_path):
    run = write_run(tmp_path, 30, pictures=False, start=3)
    index = opened(run)
    found = compare(index, opened(other_run(run)))
    assert found.how == {"missing": 1, "flagged": 1, "alike": 28}
    assert found.sentences["here"] == 1
    assert found.sentences["there"] == 0
    assert ("threshold", "0.5", "0.4") in found.settings
    assert find(index, Query(differs="flagged")).ids == [0]
    assert find(index, Query(differs="missing")).ids == [2]
    assert find(index, Query(sort="different")).ids[0] == 0
    (pair,) = sentence_pairs(index, found, 0)
    assert (pair.here["label"], pair.there["label"]) == ("nonfactual", "factual")
    assert sentence_pairs(index, found, 2) == []


def test_runs_of_other_captions_cannot_stand_beside(tmp_path):
    one = write_run(tmp_path, 3, pictures=False)
    two = write_run(tmp_path, 3, name="two.jsonl", start=50, pictures=False)
    with pytest.raises(UserError, match="no caption in common"):
        compare(opened(one), opened(two))


def test_a_sort_by_difference_needs_two_runs(run):
    assert find(opened(run), Query(sort="different")).ids == list(range(PAGE))
