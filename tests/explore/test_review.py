"""What is left to review, in which order, beside what, and what becomes of it in the data."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest
from explored import ask, rows_of, serving, write_run

from revise_captions.pipelines.annotate.tasks.decided import decidable
from revise_captions.pipelines.explore.query import Query, find
from revise_captions.pipelines.explore.session import applied_path
from revise_captions.pipelines.output.outcomes import needs_review


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return write_run(tmp_path, 18, start=3)


def post(server, path, **body):
    status, _, data = ask(
        server, f"/{server.token}/{path}", "POST", json.dumps(body), Content_Type="application/json"
    )
    return status, json.loads(data) if status == 200 else None


def shown(session, **query):
    return find(session.index, Query(**query)).ids


def gain(row) -> float:
    """By hand: the probability that what stands in a decidable sentence's place is wrong."""
    total = 0.0
    for k in decidable(row["revision"]):
        s = row["revision"]["sentences"][k]
        p = s["p_factual"] if s["dropped"] else s["p_after"]
        total += 0.5 if p is None else p if s["dropped"] else 1 - p
    return total


def test_what_is_left_is_shown_and_grows_less(run):
    rows = rows_of(run)
    places = [(n, k) for n, row in enumerate(rows) for k in decidable(row["revision"])]
    with serving(run) as server:
        session = server.session
        by_gain = shown(session, sort="gain")
        assert [gain(rows[n]) for n in by_gain] == sorted(map(gain, rows), reverse=True)
        review = [n for n, row in enumerate(rows) if needs_review(row["revision"])]
        assert shown(session, only="needs_review") == review
        assert 0 < len(review) < len(rows)
        assert shown(session, only="undecided") == sorted({n for n, _ in places})
        first = [place for place in places if place[0] == places[0][0]]
        for at, (caption, sentence) in enumerate(first, 1):
            body = {"caption": caption, "sentence": sentence, "decision": "reject"}
            made = post(server, "decide", **body)
            assert made == (200, {"decided": at, "left": len(places) - at})
        assert shown(session, only="decided") == [first[0][0]]
        assert first[0][0] not in shown(session, only="undecided")
        _, _, page = ask(server, f"/{server.token}/?only=undecided&sort=gain")
        assert f"{len(places) - len(first)} left to decide".encode() in page
        assert ask(server, f"/{server.token}/?only=nothing")[0] == 400
    with serving(run) as server:  # somebody else goes on where they stopped
        assert shown(server.session, only="decided") == [first[0][0]]
        assert server.session.left() == len(places) - len(first)


def test_other_captions_of_an_image_stand_beside_each_other(run):
    rows = rows_of(run)
    for row in rows[1:7]:
        row["image"] = rows[0]["image"]
    run.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with serving(run) as server:
        same, others, _ = server.session.others(2)
        assert [row.caption for row in others] == [rows[n]["caption"] for n in (0, 1, 3, 4)]
        assert shown(server.session, same=same) == list(range(7))
        assert server.session.others(9)[1] == []
        _, _, page = ask(server, f"/{server.token}/?{urlencode({'same': same})}")
        text = page.decode()
        assert text.count('<article class="card"') == text.count("Other captions of this") == 7


def test_the_button_takes_decisions_into_the_data(run):
    new = run.with_name("revised.applied.jsonl")
    places = [(n, k) for n, row in enumerate(rows_of(run)) for k in decidable(row["revision"])]
    with serving(run) as server:
        assert "cannot read" in post(server, "apply", undecided="as-left")[1]["said"]
        caption, sentence = places[0]
        edit = {"caption": caption, "sentence": sentence, "decision": "edit", "text": "Mine."}
        assert post(server, "decide", **edit)[0] == 200
        assert post(server, "apply", undecided="all")[0] == 400
        status, found = post(server, "apply", undecided="as-came")
        assert (status, found["applied"]) == (200, True)
        assert found["said"] == f"18 records in {new}, with 1 decision"
        assert "Mine." in rows_of(new)[caption]["caption"]
        other = next(row for n, row in enumerate(rows_of(new)) if n not in (caption,))
        assert other["caption"] == other["caption_original"]
        assert post(server, "apply", undecided="as-left")[1]["applied"]  # what it wrote itself
    with serving(run) as server:  # another one does not know whose it is
        assert "exists" in post(server, "apply", undecided="as-left")[1]["said"]


def test_new_is_named_after_the_run():
    names = [applied_path(out) for out in ("a.v1.jsonl", "x/a.tar", "a.json.gz", "photos")]
    assert names == ["a.v1.applied.jsonl", "x/a.applied.tar", "a.applied.json.gz", "photos.applied"]
