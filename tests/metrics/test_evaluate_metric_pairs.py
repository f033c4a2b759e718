"""`evaluate-metric` on preferences, agreement and spans, and two metrics against each other."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from rated import CAPTION, ROWS, captions, figures, oracle, run, scores_csv, value, write


def test_preferences_by_hand(folder):
    pairs = [("good", "fair", 1), ("fair", "poor", 1), ("poor", "good", -2), ("good", "poor", 0)]
    rows = [
        {"image": f"{image}.png", "first": a, "second": b, "value": v,
         "first_id": f"{a}-{image}", "second_id": f"{b}-{image}"}
        for image in range(1, 7) for a, b, v in pairs
    ]  # fmt: skip
    # one image on which people think otherwise, so that ratings exist
    rows += [{"image": "1.png", "first": a, "second": b, "value": 1,
              "first_id": f"{a}-1", "second_id": f"{b}-1"}
             for a, b in (("poor", "fair"), ("fair", "good"))]  # fmt: skip
    write(folder / "preferences.jsonl", rows)
    scores = [
        {"id": f"{captioner}-{image}", "score": score}
        for captioner, score in (("good", 3.0), ("fair", 2.0), ("poor", 1.9))
        for image in range(1, 7)
    ]
    found = run(folder, write(folder / "m.jsonl", scores), only=("preference",))
    strict = figures(found, name="accuracy without human ties")
    assert strict[0]["value"] == pytest.approx(18 / 20)
    calibrated, as_often = figures(found, name="accuracy with ties")
    # ties below 0 cannot be had: 18 of 26 by order, or |gap| ≤ 0.1 called ties: fewer
    assert calibrated["value"] == pytest.approx(18 / 26)
    assert "the metric ties as often as people" in as_often["note"]
    ratings = found["ratings"]["better caption"]
    for name in ("Bradley–Terry", "Elo"):
        assert [row["captioner"] for row in ratings[name]] == ["good", "fair", "poor"]
        assert all(row["low"] is not None for row in ratings[name])


def test_two_metrics_are_tested_on_every_kind_of_figure(folder):
    """A metric against its opposite: all that people and the one agree on, the other gets wrong."""
    rows = list(csv.DictReader(scores_csv(folder).open()))
    opposite = [{"id": row["id"], "score": -float(row["score"])} for row in rows]
    pairs = [
        {"image": f"{image}.png", "first": "good", "second": "poor", "value": 1,
         "first_id": f"good-{image}", "second_id": f"poor-{image}"}
        for image in range(1, 7)
    ]  # fmt: skip
    write(folder / "preferences.jsonl", pairs)
    found = run(folder, folder / "metric.csv", write(folder / "opposite.jsonl", opposite),
                only=("segment", "system", "preference"))  # fmt: skip
    second = figures(found, metric="opposite")
    for name in ("pairwise accuracy with ties", "spearman", "accuracy without human ties"):
        figure = next(f for f in second if f["name"] == name and f["p_value"] is not None)
        assert figure["difference"][0] == pytest.approx(
            next(
                f["value"]
                for f in figures(found, metric="metric", name=name)
                if f["axis"] == figure["axis"]
            )
            - figure["value"]
        )
    (order,) = figures(found, metric="opposite", name="accuracy without human ties")
    assert (order["value"], order["difference"][0]) == (0, 1)
    # six images: only two of 64 flips are as far apart
    assert order["p_value"] == pytest.approx(2 / 64, abs=0.04)
    for name, gap in (
        ("pearson", 2), ("spearman", 2), ("kendall-b", 2), ("soft pairwise accuracy", 1),
        ("pairwise accuracy with ties", 1),
    ):  # fmt: skip
        (figure,) = figures(found, level="system", metric="opposite", name=name)
        assert figure["difference"][0] == pytest.approx(gap, abs=0.1), name
        # three captioners: after most swaps orders are as far apart as before, means are not
        assert figure["p_value"] <= (0.2 if name == "pearson" else 1), name


def test_ratings_by_two_metrics_are_tested(tmp_path):
    """Eight captioners, each a little better than the last; one metric sees it, one sees nothing,
    and one is the first again with another scale."""
    rng = np.random.default_rng(0)
    names = [f"c{k}" for k in range(8)]
    rows = [
        {"id": f"{name}-{image}", "image": f"{image}.png", "model": name, "caption": CAPTION}
        for image in range(40) for name in names
    ]  # fmt: skip
    quality = {row["id"]: int(row["model"][1]) + rng.normal(0, 4) for row in rows}
    pairs = []
    for image in range(40):
        for _ in range(4):
            a, b = rng.choice(names, 2, replace=False)
            ids = {"first_id": f"{a}-{image}", "second_id": f"{b}-{image}"}
            won = 1 if quality[ids["first_id"]] > quality[ids["second_id"]] else -1
            pairs.append({"image": f"{image}.png", "first": a, "second": b, "value": won, **ids})
    write(tmp_path / "captions.jsonl", rows)
    write(tmp_path / "preferences.jsonl", pairs)
    made = {
        "sees": lambda row: quality[row["id"]] + rng.normal(0, 0.5),
        "blind": lambda row: rng.normal(),
    }
    files = {
        name: write(tmp_path / f"{name}.jsonl", [{"id": r["id"], "score": of(r)} for r in rows])
        for name, of in made.items()
    }
    again = [json.loads(line) for line in files["sees"].read_text().splitlines()]
    for row in again:
        row["score"] = 10 * row["score"] + 3
    files["again"] = write(tmp_path / "again.jsonl", again)
    found = run(tmp_path, *files.values(), only=("preference",))
    for kind in ("spearman", "kendall-b"):
        _, blind, same = figures(found, name=f"{kind} of Bradley–Terry ratings")
        assert blind["p_value"] < 0.05
        assert blind["difference"][1] > 0
        assert (same["difference"][0], same["p_value"]) == (0, 1)


def test_every_score_but_the_first_is_tested_against_the_first(folder):
    found = run(folder, oracle(folder), "floor:position", "floor:length", only=("sentence",))
    aucs = figures(found, name="ROC-AUC", subset="")
    assert [figure["metric"] for figure in aucs] == ["oracle", "floor:position", "floor:length"]
    assert aucs[0]["p_value"] is None
    for figure in aucs[1:]:
        assert figure["difference"][0] == pytest.approx(1 - figure["value"])
        assert figure["p_value"] < 0.2


def test_agreement_of_scores(folder):
    found = run(folder, only=("agreement",))
    (alpha,) = figures(found, name="Krippendorff's α (interval)")
    # two raters always one apart: observed disagreement 1; expected from all 36 scores
    values = [s + by for rows in ROWS.values() for _, s in rows for by in (0, 1)]
    expected = sum((a - b) ** 2 for a in values for b in values) / (36 * 35)
    assert alpha["value"] == pytest.approx(1 - 1 / expected)
    assert figures(found, name="Fleiss' κ")[0]["value"] < 0


def marked(folder: Path) -> None:
    """People marked the first of the two sentences, and the last word of the reference."""
    rows = captions()
    for row in rows:
        row["references"] = ["It is red and tall."]
        row["errors"] = [
            {"start": 0, "end": 10},
            {"start": 14, "end": 18, "kind": "omission"},
        ]
    write(folder / "captions.jsonl", rows)


def test_marked_spans(folder):
    marked(folder)
    said = [{"id": row["id"], "spans": [{"start": 0, "end": 10 if k % 2 else 2}]}
            for k, row in enumerate(captions())]  # fmt: skip
    found = run(folder, write(folder / "spans.jsonl", said), only=("spans",))
    # every predicted span is inside; the human one is matched where all three tokens are named
    assert value(found, name="relaxed F1 of spans") == pytest.approx(2 * 1 * 0.5 / 1.5)
    assert figures(found, name="macro-F1 of tokens, best threshold") == []


def test_scored_spans_and_omissions_at_the_best_threshold(folder):
    """A metric that is surer of what is wrong finds all of it above 0.5; the other is as sure of
    everything. Six tokens a caption, three of them wrong; five of a reference, one left out."""
    marked(folder)
    omissions = [{"start": 3, "end": 5, "score": 0.1}, {"start": 14, "end": 18, "score": 0.6}]

    def said(name, scores):
        spans = [{"start": a, "end": b, "score": s}
                 for (a, b), s in zip(((0, 10), (11, 21)), scores, strict=True)]  # fmt: skip
        rows = [{"id": r["id"], "spans": spans, "omissions": omissions} for r in captions()]
        return write(folder / f"{name}.jsonl", rows)

    found = run(folder, said("sure", (0.9, 0.2)), said("vague", (0.5, 0.5)), only=("spans",))
    best = {"name": "macro-F1 of tokens, best threshold"}
    mistakes = "mistakes, pooled over captions"
    assert value(found, axis=mistakes, metric="sure", **best) == 1
    (vague,) = figures(found, axis=mistakes, metric="vague", **best)
    # all or none of six tokens, three of them wrong: F1 2/3 of one class and 0 of the other
    assert vague["value"] == pytest.approx(1 / 3)
    assert vague["difference"][0] == pytest.approx(2 / 3)
    assert vague["p_value"] == pytest.approx(2 / 64, abs=0.04)
    for metric in ("sure", "vague"):
        axis = "omissions, pooled over references"
        assert value(found, axis=axis, metric=metric, **best) == 1
