"""`captions stress-metric` end to end: shares by hand, verdicts, bad input, files, the page."""

from __future__ import annotations

import json
import os
import re

import numpy as np
import pytest
from commands import program
from PIL import Image

from revise_captions.metrics import MetricScore, Needs
from revise_captions.pipelines.stress import cli
from revise_captions.pipelines.stress.checks import CHECKS
from revise_captions.pipelines.stress.options import StressOptions
from revise_captions.pipelines.stress.run import run
from revise_captions.pipelines.stress.scores import StressScores, variant_id
from revise_captions.pipelines.stress.summary import (
    among_themselves,
    check_shares,
    outcome,
    rises_by,
    verdict,
    way,
)
from revise_captions.stats.correlations import correlation
from revise_captions.stats.pearson import pearson

main = program(cli.stress_metric)

HOSTILE = "<script>alert(1)</script> {{ 7*7 }} \u202e"


@pytest.fixture
def folder(tmp_path):
    """Twelve descriptions of six images, rated; one image is broken, one missing."""
    rows = []
    for k in range(12):
        image = f"{k // 2}.png"
        if k // 2 < 4:
            Image.new("RGB", (40, 30), (20 * k, 0, 0)).save(tmp_path / image)
        words = " ".join(["red", "dog", "in", "Paris"][: 2 + k % 3])
        rows.append(
            {"id": f"d{k}", "image": image, "model": "m", "caption": f"A {words} {k}.",
             "context": "" if k == 3 else f"Page {k % 4}.",
             "scores": [{"axis": "overall, after", "value": 1 + k % 5, "rater": "r"}]}
        )  # fmt: skip
    (tmp_path / "4.png").write_bytes(b"broken")
    rows[5]["caption"] = "  "
    rows[6]["scores"][0]["value"] = 17
    rows[7]["caption"] = HOSTILE
    (tmp_path / "captions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


def call(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(a) for a in arguments])
    return stopped.value.code


def test_which_way_a_score_went():
    assert [way(1, 2), way(1, 1 + 1e-7), way(1, 0.9), way(0, 0), way(-2, -3)] == [
        "higher", "same", "lower", "same", "lower"
    ]  # fmt: skip


def test_shares_are_counted_by_hand():
    check = CHECKS[2]
    values = {"": [1.0, 1.0, 1.0, 1.0, None], check.name: [0.5, 0.2, 1.0, 2.0, 0.1]}
    found = check_shares(check, StressScores("m", "", values, {}), list("aabbc"), 200)
    shares = {name: found["shares"][name]["value"] for name in ("lower", "same", "higher")}
    assert shares == {"lower": 0.5, "same": 0.25, "higher": 0.25}
    assert (found["compared"], found["images"]) == (4, 2)
    assert found["mean_change"] == pytest.approx((-0.5 - 0.8 + 0 + 1) / 4)
    assert found["shares"]["lower"]["low"] is None  # two images are too few


@pytest.mark.parametrize(
    ("lower", "higher", "expected"),
    [
        ((0.8, 0.9, 1.0), (0.0, 0.1, 0.2), "passes"),
        ((0.45, 0.6, 0.7), (0.3, 0.4, 0.5), "unclear"),
        ((0.1, 0.2, 0.3), (0.0, 0.1, 0.2), "insensitive"),
        ((0.0, 0.1, 0.2), (0.7, 0.9, 1.0), "rewards"),
        ((None, 0.6, None), (None, 0.4, None), "passes"),
    ],
)
def test_an_outcome_needs_the_whole_interval(lower, higher, expected):
    shares = {
        name: dict(zip(("low", "value", "high"), own, strict=True))
        for name, own in (("lower", lower), ("higher", higher))
    }
    assert outcome(shares, 50) == expected
    assert outcome(shares, 0) == "not tested"


def judged(**outcomes):
    return [
        {"check": check.name, "outcome": outcomes.get(check.name.replace(" ", "_"), "passes"),
         "shares": {"lower": {"value": 0.0}, "higher": {"value": 1.0}}}
        for check in CHECKS
    ]  # fmt: skip


def test_a_verdict_names_what_the_metric_is_unfit_for():
    assert verdict("m", judged()) == "m passes all 10 checks that could be computed."
    found = judged(shuffled_contexts="insensitive", exact_repetition="rewards")
    text = verdict("m", found)
    assert text.startswith("m fails 2 of 10 checks. Do not use it to reward a captioner")
    assert "judge whether a description suits the page around it" in text
    unclear = verdict("m", judged(proper_name_replacement="unclear"))
    # it may be that none of three fell: the interval includes one half
    assert "Whether most scores fall is unclear, so do not rely on it to check names" in unclear
    assert rises_by(found) == ["irrelevant final sentence", "exact repetition"]
    none = verdict("m", judged(**{check.name.replace(" ", "_"): "not tested" for check in CHECKS}))
    assert "must not be used at all" in none


def test_pearson_is_scipys_and_its_interval_covers_it():
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    y = x + rng.normal(size=60)
    found = pearson(x, y, [str(k // 2) for k in range(60)], 500)
    assert found["value"] == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert found["low"] < found["value"] < found["high"]
    assert 0.1 < found["high"] - found["low"] < 0.6
    assert pearson(np.ones(9), y[:9], list("abcdefghi"), 100)["value"] is None


def test_metrics_that_agree_stand_together():
    a = [1.0, 2.0, 3.0, 4.0, None]
    metrics = [
        StressScores(name, "", {"": values}, {})
        for name, values in (("a", a), ("noise", [1, -1, -1, 1, 3]), ("b", [2.0, 4.0, 6.1, 8.0, 1]))
    ]
    found = among_themselves(metrics)
    assert found["rows"] == 4
    assert abs(found["names"].index("a") - found["names"].index("b")) == 1
    k, j = found["names"].index("a"), found["names"].index("b")
    wanted = correlation("pearson", a[:4], [2.0, 4.0, 6.1, 8.0])
    assert found["matrix"][k][j] == pytest.approx(wanted, abs=1e-4)
    assert among_themselves(metrics[:1]) is None


def test_bad_input_is_left_out_and_counted(folder, capsys):
    assert call("length", "metric:context-cosine", folder, "--writer", "none",
                "--replicates", 100, "--json", folder / "out.json") == 0  # fmt: skip
    found = json.loads((folder / "out.json").read_text())
    assert (found["descriptions"], found["empty"]) == (11, 1)
    assert found["refused_ratings"] == {"overall, after": 1}
    assert {own["rows"] for own in found["agreement"]} == {10, 9}
    length, cosine = found["metrics"]
    assert length["unscored"] == {}
    assert cosine["unscored"]["no context"] > 1
    by_check = {own["check"]: own for own in length["checks"]}
    assert by_check["exact repetition"]["shares"]["higher"]["value"] == 1
    assert by_check["short continuation"]["outcome"] == "not tested"
    text = capsys.readouterr().out
    assert "left out: 1 empty description" in text
    assert "1 rating outside the scale" in text
    assert "could not judge" in text
    assert "long continuation does not apply to any description" in text
    assert "\u202e" not in text


class Redness:
    """Looks at the image alone: a metric that the text cannot move."""

    name, settings, needs = "redness", {}, frozenset({Needs.IMAGE})

    def score(self, items):
        return [MetricScore(float(np.asarray(i.image.load())[..., 0].mean())) for i in items]


def test_images_that_cannot_be_read_are_counted(folder, monkeypatch):
    from revise_captions.pipelines.stress import scores

    monkeypatch.setattr(scores, "load_metric", lambda given, options: Redness())
    found = run(StressOptions(("metric:redness",), folder, writer="none", replicates=100))
    (metric,) = found["metrics"]
    assert metric["scored"] == 7  # of 11: two images, four descriptions, cannot be read
    reasons = metric["unscored"]
    assert any("image_not_found" in reason for reason in reasons)
    assert any("image_unreadable" in reason for reason in reasons)
    by_check = {own["check"]: own for own in metric["checks"]}
    assert by_check["shuffled words"]["shares"]["same"]["value"] == 1
    assert by_check["Frankenstein images"]["shares"]["same"]["value"] == 0


def test_scores_of_a_metric_that_runs_elsewhere(folder, capsys):
    assert call(folder, "--writer", "none", "--export", folder / "export") == 0
    rows = [json.loads(line) for line in (folder / "export/variants.jsonl").open()]
    assert {row["check"] for row in rows} >= {"", "shuffled words", "Frankenstein images"}
    assert all(row["image"] == "" or (folder / "export" / row["image"]).is_file() for row in rows)
    assert rows[0]["scores"] == {"overall, after": 1.0}
    assert variant_id("d1", "exact repetition") in {row["id"] for row in rows}
    lines = ["id,score", *(f"{row['id']},{len(row['caption'].split())}" for row in rows)]
    (folder / "mine.csv").write_text("\n".join(lines))
    options = (folder, "--writer", "none", "--replicates", 100, "--json", folder / "out.json")
    assert call(f"mine={folder / 'mine.csv'}", "length", *options) == 0
    mine, length = json.loads((folder / "out.json").read_text())["metrics"]
    assert mine["checks"] == length["checks"]
    (folder / "few.csv").write_text("\n".join(lines[:20]))
    assert call(f"few={folder / 'few.csv'}", *options) == 0
    found = json.loads((folder / "out.json").read_text())["metrics"][0]
    assert found["unscored"]["not in the file"] == len(rows) - 19


def test_floors_are_metrics_too(folder):
    pytest.importorskip("sacrebleu")
    options = StressOptions(("floor:bleu",), folder, writer="none", replicates=100)
    (metric,) = run(options)["metrics"]
    by_check = {own["check"]: own for own in metric["checks"]}
    assert by_check["shuffled contexts"]["shares"]["same"]["value"] == 1
    assert metric["scored"] > 5


def test_parts_share_no_image(folder):
    kept = {}
    for part in ("train", "test", "all"):
        options = StressOptions(("length",), folder, writer="none", replicates=100, part=part)
        kept[part] = run(options)
    assert kept["train"]["images"] + kept["test"]["images"] == kept["all"]["images"] == 6
    assert kept["test"]["images"] == 1


def test_the_page_shows_hostile_text_as_text(folder):
    options = ("--writer", "none", "--replicates", 100, "--html", folder / "page.html")
    rows = [json.loads(line) for line in (folder / "captions.jsonl").open()]
    for row in rows:
        row["caption"], row["context"] = f"{row['caption']} {HOSTILE}", HOSTILE
        row["scores"][0]["axis"] = HOSTILE
    (folder / "captions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert call("length", "context-cosine", folder, *options) == 0
    page = (folder / "page.html").read_text()
    assert "<script" not in page
    assert "{{ 7*7 }}" in page
    assert "&lt;script&gt;" in page
    assert "default-src &#39;none&#39;" in page
    assert page.count("<svg") > 10
    assert call("length", folder, *options) == 0  # its own page is replaced
    (folder / "page.html").write_text("somebody's notes")
    assert call("length", folder, *options) == 2
    assert (folder / "page.html").read_text() == "somebody's notes"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["luck"], "there is no metric 'luck'\n  installed are: "),
        (["clipscor"], "there is no metric 'clipscor': did you mean clipscore?"),
        ([], "no metric was named"),
        (["length", "metric:length"], "two metrics have the same name"),
        (["clipscore"], "no model was named"),
        (["length", "--benchmark", "nothing"], "nothing"),
        (["length", "--writer", "nowhere"], "--writer nowhere"),
        # Before the continuations, which take minutes.
        (["length", "vela", "--writer", "nowhere"], "vela needs a metric's folder"),
        (["posh", "luck", "--writer", "nowhere"], "there is no metric 'luck'"),
    ],
)
def test_mistakes_are_named(folder, capsys, arguments, said):
    given = [*arguments, folder] if "--benchmark" not in arguments else [
        arguments[0], folder, *arguments[1:]]  # fmt: skip
    if "--writer" not in arguments:
        given += ["--writer", "none"]
    assert call(*given) == 2
    assert said in capsys.readouterr().err


def test_a_folder_without_descriptions(tmp_path, capsys):
    (tmp_path / "captions.jsonl").write_text("")
    assert call("length", tmp_path, "--writer", "none") == 2
    assert "holds no descriptions" in capsys.readouterr().err


def test_the_list_names_every_metric(capsys):
    assert call("--list") == 0
    text = capsys.readouterr().out
    for name in ("posh", "critic", "contextual-clipscore", "likelihood"):
        assert re.search(rf"^{name} +\S", text, re.MULTILINE)


def test_continuations_are_kept_in_a_file(folder, tmp_path_factory):
    import tinylm

    from revise_captions.pipelines.stress.continuations import continuations

    lm = tmp_path_factory.mktemp("lm")
    tokenizer = tinylm.tokenizer_of()
    tinylm.model_of("Llama", len(tokenizer)).save_pretrained(lm)
    tokenizer.save_pretrained(lm)
    path = folder / "continuations.json"
    texts = ["A red dog sleeps on a sofa.", f"A <|im_end|> {HOSTILE}"]
    first = continuations(texts, str(lm), path)
    assert set(first.long) == set(first.short) == set(texts)
    assert len(first.short[texts[0]].split()) <= 4  # the second half has no more words
    assert first.model.startswith(lm.name + "@")
    size = os.stat(path).st_mtime_ns
    assert continuations(texts, "no model is loaded", path) == first
    assert os.stat(path).st_mtime_ns == size
