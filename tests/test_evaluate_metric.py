"""`evaluate-metric` on small data worked by hand, on published values, and on wrong input."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from revise_captions.benchmarks.published import TABLE_4
from revise_captions.errors import UserError
from revise_captions.pipelines.metrics import cli
from revise_captions.pipelines.metrics.evaluate import Job, as_text, evaluate
from revise_captions.pipelines.metrics.scores import read_scores

DATA = Path(__file__).parents[2] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the folder of public data is not here")
CAPTION = "It is red. It is big."
#: (captioner, labels of the two sentences, score by people) of images 1, 2, …
ROWS = {
    "good": [("ff", 5), ("ff", 4), ("fn", 4), ("ff", 5), ("ff", 3), ("ff", 5)],
    "fair": [("fn", 3), ("ff", 4), ("fn", 2), ("nf", 3), ("ff", 3), ("fn", 2)],
    "poor": [("nn", 1), ("fn", 2), ("nn", 1), ("nn", 2), ("nf", 1), ("nn", 1)],
}


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def captions() -> list[dict[str, object]]:
    return [
        {
            "id": f"{captioner}-{image}", "image": f"{image}.png", "model": captioner,
            "caption": CAPTION,
            "sentences": [
                {"start": start, "end": end,
                 "label": "factual" if label == "f" else "nonfactual"}
                for (start, end), label in zip(((0, 10), (11, 21)), labels, strict=True)
            ],
            "scores": [{"axis": "quality", "value": score + by, "rater": str(by)} for by in (0, 1)],
        }
        for captioner, of_images in ROWS.items()
        for image, (labels, score) in enumerate(of_images, start=1)
    ]  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "captions.jsonl", captions())
    return tmp_path


def figures(found, **wanted):
    return [
        figure
        for figure in found["figures"]
        if all(figure[key] == value for key, value in wanted.items())
    ]


def value(found, **wanted):
    (figure,) = figures(found, **wanted)
    return figure["value"]


def run(folder: Path, *scores: Path | str, only: tuple[str, ...], **more):
    job = Job("plain", folder, tuple(map(str, scores)), only, replicates=100, **more)
    found = evaluate(job)
    as_text(found)
    return found


def oracle(folder: Path, wrong: float = 0.2, right: float = 0.9) -> Path:
    """Scores of every sentence that follow the labels."""
    rows = [
        {"id": row["id"], "sentence": k, "score": right if s["label"] == "factual" else wrong}
        for row in captions()
        for k, s in enumerate(row["sentences"])
    ]
    return write(folder / "oracle.jsonl", rows)


# --- sentences ------------------------------------------------------------------------------------


def test_a_rater_that_is_always_right(folder):
    found = run(folder, oracle(folder), only=("sentence",))
    whole = {"level": "sentence", "subset": "", "metric": "oracle"}
    assert value(found, name="ROC-AUC", **whole) == 1
    assert value(found, name="macro-F1 at 0.5", **whole) == 1
    assert value(found, name="average precision of wrong", **whole) == 1
    factual = "".join(labels for rows in ROWS.values() for labels, _ in rows).count("f")
    assert (factual, 36 - factual) == (21, 15)
    # 21 factual sentences at 0.9, 15 wrong ones at 0.2
    error = value(found, name="calibration error", **whole)
    assert error == pytest.approx((21 * 0.1 + 15 * 0.2) / 36)
    floor = value(found, metric="floor: one class", subset="")
    assert floor == pytest.approx((2 * 21 / (36 + 21)) / 2)
    assert value(found, name="ROC-AUC", subset="poor", metric="oracle") == 1


def test_what_was_not_judged_is_counted_and_in_no_figure(folder):
    rows = [json.loads(line) for line in oracle(folder).read_text().splitlines()]
    rows[0] |= {"score": None, "reason": "too dark"}
    path = write(folder / "some.jsonl", rows[:-1])
    found = run(folder, path, only=("sentence",))
    assert found["unscored"] == {"some": {"too dark": 1, "not in the file": 1}}
    (share,) = figures(found, name="share judged")
    assert share["value"] == pytest.approx(34 / 36)
    (auc,) = figures(found, name="ROC-AUC", subset="")
    assert (auc["value"], auc["rows"]) == (1, 34)
    for row in rows:
        row["score"] = None
    found = run(folder, write(folder / "none.jsonl", rows), only=("sentence", "segment"))
    assert value(found, name="ROC-AUC", subset="") is None
    assert {f["note"] for f in figures(found, metric="none", level="sentence")} >= {
        "nothing was judged"
    }


def revision(*sentences: tuple[int, int, float | None]) -> dict[str, object]:
    return {
        "signature": "critic:x|threshold:0.3|revise-captions:1",
        "sentences": [
            {"span": [a, b], "p_factual": p, "reason": None if p is not None else "too long"}
            for a, b, p in sentences
        ],
    }


def test_what_the_main_command_judged_is_joined_by_its_spans(folder):
    rows = [
        {"id": "good-1", "revision": revision((0, 10, 0.8), (11, 21, 0.25))},
        {"id": "good-2", "revision": revision((0, 21, 0.6))},  # one sentence there, two here
        {"id": "good-3", "revision": revision((0, 5, 0.9), (6, 10, 0.1), (11, 21, None))},
        {"id": "somebody else's", "revision": revision((0, 10, 0.8))},
    ]
    path = write(folder / "judged.jsonl", rows)
    from revise_captions.benchmarks.catalog import benchmark

    scores = read_scores(str(path), list(benchmark("plain").read(folder)))
    assert scores.threshold == 0.3
    joined = {
        key: p for key, p in scores.sentences.items() if key[0] in ("good-1", "good-2", "good-3")
    }
    assert list(joined.values()) == [0.8, 0.25, 0.6, 0.6, 0.1, None]
    assert scores.reasons["too long"] == 1
    found = run(folder, path, only=("sentence",))
    assert figures(found, name="macro-F1 at 0.3 (stored)", subset="")
    rows[1]["revision"]["signature"] = "critic:y|threshold:0.3"
    with pytest.raises(UserError, match="mixes answers with different signatures"):
        run(folder, write(path, rows), only=("sentence",))


def test_floors_need_no_file_and_make_no_probabilities(folder):
    found = run(folder, "floor:position", "floor:length", only=("sentence",))
    first, second = (value(found, name="ROC-AUC", metric=m, subset="")
                     for m in ("floor:position", "floor:length"))  # fmt: skip
    # of the 21 × 15 pairs of a factual and a wrong sentence
    firsts = "".join(labels[0] for rows in ROWS.values() for labels, _ in rows)
    factual_first, wrong_first = firsts.count("f"), firsts.count("n")
    wins = factual_first * (15 - wrong_first)
    ties = factual_first * wrong_first + (21 - factual_first) * (15 - wrong_first)
    assert first == pytest.approx((wins + ties / 2) / 315)
    assert second == 0.5  # both sentences have ten characters
    assert figures(found, name="macro-F1 at 0.5", metric="floor:position") == []
    (compared,) = figures(found, name="ROC-AUC", metric="floor:length", subset="")
    assert compared["difference"][0] == pytest.approx(first - second)
    assert 0 < compared["p_value"] <= 1


# --- captions and captioners ----------------------------------------------------------------------


def scores_csv(folder: Path) -> Path:
    """A metric: the people's mean, but 0.5 lower for the images 1 to 3."""
    path = folder / "metric.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "score"])
        for captioner, rows in ROWS.items():
            for image, (_, score) in enumerate(rows, start=1):
                writer.writerow([f"{captioner}-{image}", score + (0 if image <= 3 else 0.5)])
    return path


def test_segments_are_correlated_as_scipy_does_it(folder):
    stats = pytest.importorskip("scipy.stats")
    found = run(folder, scores_csv(folder), only=("segment",))
    people = [score + 0.5 for rows in ROWS.values() for _, score in rows]
    metric = [score + (0 if image <= 3 else 0.5)
              for rows in ROWS.values() for image, (_, score) in enumerate(rows, 1)]  # fmt: skip
    axis = "pooled over captions, quality"
    for name, wanted in (
        ("pearson", stats.pearsonr(metric, people).statistic),
        ("spearman", stats.spearmanr(metric, people).statistic),
        ("kendall-b", stats.kendalltau(metric, people).statistic),
        ("kendall-c", stats.kendalltau(metric, people, variant="c").statistic),
    ):
        (figure,) = figures(found, name=name, axis=axis)
        assert figure["value"] == pytest.approx(wanted)
        assert figure["low"] <= figure["value"] <= figure["high"]
        assert (figure["rows"], figure["units"]) == (18, 6)
    # within an image the metric is people's own order: all pairs, ties too
    assert value(found, axis="within images, quality") == 1
    each = run(folder, scores_csv(folder), only=("segment",), each=True)
    (figure,) = figures(each, name="pearson")
    assert (figure["axis"], figure["rows"]) == ("pooled over ratings, quality", 36)
    assert figure["value"] < value(found, name="pearson", axis=axis)


def test_the_floor_of_captions_is_that_the_longer_is_better(folder):
    rows = captions()
    for row in rows[:6]:
        row["caption"] += " It is here too."
    write(folder / "captions.jsonl", rows)
    found = run(folder, "floor:length", "floor:position", only=("system", "segment"))
    assert value(found, level="segment", name="pearson", metric="floor:length") > 0.5
    assert figures(found, metric="floor:position") == []
    assert found["captioners"]["quality"][0]["floor:length"] == 10


def test_systems_are_means_over_images(folder):
    found = run(folder, scores_csv(folder), only=("system",))
    assert value(found, level="system", name="spearman") == 1
    assert value(found, name="pairwise accuracy with ties") == 1
    assert value(found, name="soft pairwise accuracy") == pytest.approx(1, abs=0.02)
    (rows,) = found["captioners"].values()
    assert [row["captioner"] for row in rows] == ["good", "fair", "poor"]
    assert rows[0]["people"] == pytest.approx(26 / 6 + 0.5)
    assert rows[0]["metric"] == pytest.approx(26 / 6 + 0.25)


def test_without_human_scores_a_caption_counts_by_its_sentences(folder):
    write(folder / "captions.jsonl", [row | {"scores": []} for row in captions()])
    found = run(folder, oracle(folder, wrong=0.0, right=1.0), only=("system", "segment"))
    assert value(found, level="segment", name="pearson") == pytest.approx(1)
    (rows,) = found["captioners"].values()
    assert [row["people"] for row in rows] == pytest.approx([11 / 12, 8 / 12, 2 / 12])


@needs_data
def test_tifas_published_kendall_through_the_command(tmp_path):
    file = DATA / "tifa_correlation/human_annotations_with_scores.json"
    rows = [{"id": k, "score": row["meteor"]} for k, row in json.loads(file.read_text()).items()]
    scores = write(tmp_path / "meteor.jsonl", rows)
    job = Job("tifa", file.parent, (str(scores),), ("segment",), replicates=100)
    found = evaluate(job)
    assert value(found, name="kendall-b") == pytest.approx(0.27407599432086477, abs=1e-10)
    assert value(found, name="pearson") == pytest.approx(0.33965916777485317, abs=1e-10)


# --- preferences, agreement, spans ----------------------------------------------------------------


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


# --- the rest -------------------------------------------------------------------------------------


@needs_data
def test_the_published_table_is_the_csv():
    with (DATA / "published/sentence_factuality_auc_f1.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["model"] for row in rows] == list(TABLE_4)
    for row in rows:
        assert [cell or "–" for key, cell in row.items() if key != "model"] == list(
            TABLE_4[row["model"]]
        )


def test_the_signature_names_scores_and_ties(folder):
    found = run(folder, scores_csv(folder), only=("segment",))
    for part in (
        "benchmark:plain",
        "scores metric:sha256 ",
        "ties:",
        "ratings:mean",
        "images, 100",
    ):
        assert part in found["signature"]


@pytest.fixture
def command(capsys):
    def call(*arguments: object) -> tuple[int, str, str]:
        try:
            cli.main([*map(str, arguments), "--replicates", "100"])
            code = 0
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def test_the_command_prints_and_writes(command, folder):
    out = folder / "out.json"
    code, text, _ = command(
        "plain", folder, f"critic={oracle(folder)}", "floor:position", "--json", out
    )
    assert code == 0
    assert "sentence: pooled over sentences" in text
    assert "first − this" in text
    assert "captioners: mean quality, and rank" in text
    stored = json.loads(out.read_text())
    assert {figure["level"] for figure in stored["figures"]} == {
        "sentence", "segment", "system", "agreement",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"id": "x", "score": 1}], "none of the scores of s is of this benchmark (1 other ids)"),
        ([{"id": "good-1", "sentence": 2, "score": 1}], "there is no sentence 2: good-1 has 2"),
        ([{"id": "good-1", "score": "high"}], "`score` is 'high'; expected a number"),
        ([{"id": "good-1"}], "has no field `score`"),
        ([{"score": 1}], "has no field `id`"),
    ],
)
def test_wrong_scores_are_a_mistake_that_is_named(command, folder, rows, said):
    code, _, err = command("plain", folder, write(folder / "s.jsonl", rows))
    assert code == 2
    assert said in err


def test_other_mistakes(command, folder):
    assert "floor:length" in command("plain", folder, "floor:luck")[2]
    assert "there are no scores nowhere.csv" in command("plain", folder, "nowhere.csv")[2]
    assert "one name" in command("plain", folder, *["floor:length"] * 2)[2]
    assert "there is no benchmark “plane”" in command("plane", folder)[2]


@needs_data
def test_chocolate_whole_with_a_rater_that_abstains_and_floors(tmp_path):
    """Every sentence is in the denominators of what was not judged; no figure is made up."""
    from revise_captions.benchmarks.catalog import benchmark

    examples = list(benchmark("chocolate").read(DATA / "chocolate"))
    nothing = {"p_factual": None, "reason": "outside the model's domain"}
    judged = [
        {
            "id": example.id,
            "revision": {
                "signature": "critic:x|threshold:0.4",
                "sentences": [{"span": list(s.span), **nothing} for s in example.sentences],
            },
        }
        for example in examples
    ]
    critic = write(tmp_path / "critic.jsonl", judged)
    scores, levels = (str(critic), "floor:length"), ("sentence", "system")
    found = evaluate(Job("chocolate", DATA / "chocolate", scores, levels, replicates=100))
    assert found["unscored"]["critic"] == {"outside the model's domain": 3706}
    assert {f["value"] for f in figures(found, metric="critic")} == {None, 0.0}
    assert value(found, name="share judged", metric="critic") == 0
    auc = figures(found, name="ROC-AUC", metric="floor:length")
    assert [figure["subset"] for figure in auc] == [
        "", "chartt5", "deplot", "gpt4v", "matcha", "unichart",
    ]  # fmt: skip
    assert auc[0]["value"] == pytest.approx(0.505, abs=5e-4)
    ranking = found["captioners"]["factual share"]
    assert [row["captioner"] for row in ranking] == [
        "gpt4v", "deplot", "unichart", "matcha", "chartt5",
    ]  # fmt: skip
    assert {row["critic"] for row in ranking} == {None}
    text = as_text(found)
    assert "critic could not judge: 3,706 outside the model's domain" in text
    assert "0.73 / 0.68  VNLI-Critique, ROC-AUC / macro-F1" in text
