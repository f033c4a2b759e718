"""`evaluate-metric` on small data worked by hand, on published values, and on wrong input."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from commands import outcome, program
from PIL import Image
from rated import ROWS, captions, figures, oracle, run, scores_csv, value, write

from revise_captions.benchmarks.catalog.published import TABLE_4
from revise_captions.benchmarks.catalog.table import benchmark
from revise_captions.benchmarks.types import LabeledSentence
from revise_captions.critic.scripted import ScriptedCritic
from revise_captions.critic_metric.metric import CriticMetric
from revise_captions.errors import UserError
from revise_captions.pipelines.metrics import cli
from revise_captions.pipelines.metrics.evaluate import as_text, evaluate
from revise_captions.pipelines.metrics.options import EvaluationOptions
from revise_captions.pipelines.metrics.scores import of_metric, read_scores
from revise_captions.records import Span, Verdict

main = program(cli.evaluate_metric)

DATA = Path(__file__).parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the folder of public data is not here")


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


def test_a_critic_judges_the_labeled_spans_as_they_are(folder, monkeypatch):
    examples = list(benchmark("plain").read(folder))
    labels = {(e.id, k): s for e in examples for k, s in enumerate(e.sentences)}
    asked = []

    def judge(request, index):
        asked.append(request.spans[index].of(request.text))
        return Verdict(0.9 if asked[-1].endswith("fine.") else 0.2)

    for example in examples:
        Image.new("RGB", (8, 8)).save(folder / example.image)
    metric = CriticMetric(ScriptedCritic(judge, threshold=0.3))
    scores = of_metric("critic", metric, examples, folder)
    assert asked == [s.span.of(e.caption) for e in examples for s in e.sentences]
    assert set(scores.sentences) == set(labels)
    assert (scores.threshold, scores.captions) == (0.3, {})
    split = replace(examples[0], sentences=(LabeledSentence(Span(2, 5), True),))
    assert list(of_metric("critic", metric, [split], folder).sentences) == [(split.id, 0)]
    assert asked[-1] == split.caption[2:5]


def test_captioners_by_the_papers_three_criteria(folder):
    """Against counts by hand: f is a factual sentence, n a wrong one, in `ROWS`."""
    found = run(folder, oracle(folder), only=("system",))
    for name, rows in ROWS.items():
        labels = [labels for labels, _ in rows]
        every = "".join(labels)
        expected = {
            "response": sum("n" not in one for one in labels) / len(labels),
            "overall": every.count("f") / len(every),
            "per_description": sum(one.count("f") / len(one) for one in labels) / len(labels),
        }
        for criterion, share in expected.items():
            (row,) = [r for r in found["criteria"][criterion] if r["captioner"] == name]
            assert row["people"] == pytest.approx(share)
            assert row["oracle"] == pytest.approx(share)
    shown = figures(found, level="autorater", name="spearman")
    assert [f["value"] for f in shown] == pytest.approx([1, 1, 1])


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


def revision(
    *sentences: tuple[int, int, float | None], threshold: float = 0.3
) -> dict[str, object]:
    return {
        "signature": "critic:x|threshold:0.3|revise-captions:1",
        "threshold": threshold,
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
    from revise_captions.benchmarks.catalog.table import benchmark

    scores = read_scores(str(path), list(benchmark("plain").read(folder)))
    assert scores.threshold == 0.3
    joined = {
        key: p for key, p in scores.sentences.items() if key[0] in ("good-1", "good-2", "good-3")
    }
    assert list(joined.values()) == [0.8, 0.25, 0.6, 0.6, 0.1, None]
    assert scores.reasons["too long"] == 1
    found = run(folder, path, only=("sentence",))
    assert figures(found, name="macro-F1 at 0.3 (stored)", subset="")
    rows[1]["revision"]["threshold"] = 0.6  # of a panel's other expert: none is that of all
    panel = run(folder, write(path, rows), only=("sentence",))
    assert not [f for f in figures(panel, subset="") if "(stored)" in f["name"]]
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
    assert value(found, name="sample-wise τ-b") == 1
    assert value(found, name="1 − R²") == pytest.approx(
        sum((p - m) ** 2 for p, m in zip(people, metric, strict=True))
        / sum((m - sum(metric) / 18) ** 2 for m in metric)
    )
    each = run(folder, scores_csv(folder), only=("segment",), ratings="each")
    (figure,) = figures(each, name="pearson")
    assert (figure["axis"], figure["rows"]) == ("pooled over ratings, quality", 36)
    assert figure["value"] < value(found, name="pearson", axis=axis)


def test_images_whose_scores_do_not_vary_are_left_out_and_counted(folder):
    rows = [{"id": row["id"], "score": k if "-1" in row["id"] else 0}
            for k, row in enumerate(captions())]  # fmt: skip
    path = write(folder / "flat.jsonl", rows)
    found = run(folder, scores_csv(folder), path, "floor:length", only=("segment",))
    first, flat, length = figures(found, name="sample-wise τ-b")
    assert (first["rows"], first["note"]) == (6, "")
    # in image 1 later rows score higher, and people's 5.5, 3.5, 1.5 fall
    assert (flat["value"], flat["rows"], flat["note"][:17]) == (-1, 1, "5 images left out")
    assert flat["difference"][0] == 2
    assert (length["value"], length["note"][:17]) == (None, "6 images left out")


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
    job = EvaluationOptions("tifa", file.parent, (str(scores),), ("segment",), replicates=100)
    found = evaluate(job)
    assert value(found, name="kendall-b") == pytest.approx(0.27407599432086477, abs=1e-10)
    assert value(found, name="pearson") == pytest.approx(0.33965916777485317, abs=1e-10)


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
        return outcome(main, capsys, *arguments, "--replicates", "100")

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
        "sentence", "segment", "system", "autorater", "agreement",
    }  # fmt: skip


def figure(subset, name, metric, value, p_value=None):
    low, high = (None, None) if value is None else (value - 0.1, value + 0.1)
    return {
        "level": "sentence", "axis": "pooled", "name": name, "metric": metric, "value": value,
        "low": low, "high": high, "rows": 7, "note": "", "subset": subset, "p_value": p_value,
        "least_p": 0.01, "difference": None if p_value is None else [0.1, 0.0, 0.2],
    }  # fmt: skip


def test_single_captioners_are_one_table():
    """A line each, beneath the figures of all; a star where the test says apart, and why."""
    figures = [figure("", "ROC-AUC", "critic", 0.9), figure("", "ROC-AUC", "length", 0.5, 0.02)]
    for name, p_value in (("molmo", 0.3), ("vila\x1b", 0.04)):
        figures.append(figure(name, "ROC-AUC", "critic", 0.8))
        figures.append(figure(name, "ROC-AUC", "length", 0.6, p_value))
        figures.append(figure(name, "macro-F1", "critic", None))
    found = {
        "benchmark": "b", "captions": 9, "preferences": 0, "unscored": {}, "left_out": {},
        "figures": figures, "published": {"CIDEr, τ-c": "43.9"}, "signature": "s",
        "note": "τ-c is of all ratings",
    }  # fmt: skip
    assert "43.9  CIDEr, τ-c\n  τ-c is of all ratings\n" in as_text(found)
    table = as_text(found).split("\n\n")[2].split("\n")
    assert [line.split("  ")[1] for line in table[:4]] == [
        "each captioner", "", "molmo", "vilaU+001B",
    ]  # fmt: skip
    assert table[0].split()[2:] == ["ROC-AUC", "macro-F1"]
    assert table[1].split() == ["critic", "length", "critic"]
    assert "0.800 (0.700 to 0.900)" in table[2]
    assert "0.600 (0.500 to 0.700) " in table[2]
    assert "0.600 (0.500 to 0.700) *" in table[3]
    assert [line.split()[-1] for line in table[2:4]] == ["none", "none"]
    assert table[4].startswith("  * p < 0.05 against the first")
    assert len({line.index("0.800") for line in table[2:4]}) == 1  # columns stand in columns


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"id": "x", "score": 1}], "no score of s belongs to this benchmark (1 unknown ids)"),
        ([{"id": "good-1", "sentence": 2, "score": 1}], "there is no sentence 2: good-1 has 2"),
        ([{"id": "good-1", "score": "high"}], "`score` is 'high'; expected a number"),
        ([{"id": "good-1"}], "has no field `score`"),
        ([{"score": 1}], "has no field `id`"),
        ([{"id": "good-1", "score": v} for v in (1, 0)], "row 2: 'good-1' already has a score"),
        ([{"id": "good-1", "sentence": 1, "score": 1}] * 2, "row 2: 'good-1' already has a score"),
    ],
)
def test_wrong_scores_are_a_mistake_that_is_named(command, folder, rows, said):
    code, _, err = command("plain", folder, write(folder / "s.jsonl", rows))
    assert code == 2
    assert said in err
    assert "published file" not in err  # it is the user's own


def test_captions_that_the_file_lacks_and_rows_that_belong_to_none_are_counted(folder, caplog):
    rows = [{"id": row["id"], "score": k} for k, row in enumerate(captions())]
    rows[0]["id"] = "stranger"
    found = run(folder, write(folder / "some.jsonl", rows), only=("segment",))
    assert found["unscored"] == {"some": {"not in the file": 1}}
    assert "some: 1 row not of this benchmark, left out" in caplog.text


def test_an_id_that_occurs_twice_is_a_mistake_that_is_named(command, folder):
    write(folder / "captions.jsonl", [*captions(), captions()[0]])
    code, _, err = command("plain", folder, "floor:length")
    assert (code, "`id` 'good-1' is that of an earlier row" in err) == (2, True)


def test_a_benchmark_without_labels_of_any_level_says_so(command, folder):
    rows = [{k: row[k] for k in ("id", "image", "model", "caption")} for row in captions()]
    write(folder / "captions.jsonl", rows)
    code, out, _ = command("plain", folder, "floor:length")
    assert code == 0
    assert "no figures: people's labels here are of no level that was asked for" in out


def test_the_list_names_metrics_as_this_command_takes_them(command):
    code, out, _ = command("--list")
    assert code == 0
    assert "metric:length                Number of words" in out


def test_other_mistakes(command, folder):
    assert "floor:length" in command("plain", folder, "floor:luck")[2]
    assert "there is no score file nowhere.csv" in command("plain", folder, "nowhere.csv")[2]
    assert "the metric is metric:length" in command("plain", folder, "length")[2]
    twice = command("plain", folder, "floor:length", "floor:length")[2]
    assert "two score files have the same name" in twice
    assert "there is no benchmark 'plane'" in command("plane", folder)[2]


@needs_data
def test_chocolate_whole_with_a_rater_that_abstains_and_floors(tmp_path):
    """Every sentence is in the denominators of what was not judged; no figure is made up."""
    from revise_captions.benchmarks.catalog.table import benchmark

    examples = list(benchmark("chocolate").read(DATA / "chocolate"))
    nothing = {"p_factual": None, "reason": "outside the model's domain"}
    judged = [
        {
            "id": example.id,
            "revision": {
                "signature": "critic:x|threshold:0.4",
                "threshold": 0.4,
                "sentences": [{"span": list(s.span), **nothing} for s in example.sentences],
            },
        }
        for example in examples
    ]
    critic = write(tmp_path / "critic.jsonl", judged)
    scores, levels = (str(critic), "floor:length"), ("sentence", "system")
    found = evaluate(
        EvaluationOptions("chocolate", DATA / "chocolate", scores, levels, replicates=100)
    )
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
