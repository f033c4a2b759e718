"""`captions train-vela` and `captions vela` end to end, on tiny backbones of real classes."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import numpy as np
import pytest
import tinyvela
from click.testing import CliRunner

from revise_captions.command_line import extras
from revise_captions.errors import UserError
from revise_captions.metrics import MetricInput, StoredImage, load_metric
from revise_captions.records import ImageRef
from revise_captions.runs.training_folder import mark_run_folder
from revise_captions.vela.cli import score_vela
from revise_captions.vela.feature_cache import FeatureCache
from revise_captions.vela.training.cli import train_vela
from revise_captions.vela.training.data import RatedCaption, split


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vela")
    (folder / "data").mkdir()
    tinyvela.language(folder / "lm")
    tinyvela.towers(folder / "clip")
    tinyvela.rows(folder / "data", 60)
    return folder


def train(home: Path, out: str, *more: str, data: str = "data/rated.jsonl"):
    options = ["--out", home / out, "--language", home / "lm", "--pair", home / "clip"]
    options += ["--learning-rate", "0.01", "--epochs", "4", "--patience", "9", "--device", "cpu"]
    options += ["--cache", home / "features.sqlite", "--replicates", "100"]
    return CliRunner().invoke(
        train_vela, [str(o) for o in (home / data, *options, *more)], catch_exceptions=False
    )


def score(home: Path, metric: str, source: str, out: str, *more: str):
    arguments = [home / metric, home / source, home / out, "--device", "cpu", *more]
    return CliRunner().invoke(score_vela, [str(a) for a in arguments], catch_exceptions=False)


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def trained(home):
    found = train(home, "metric")
    assert found.exit_code == 0, found.output
    return home / "metric", found.output


def test_a_missing_peft_is_named_before_anything_is_read(home, monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="--lora-rank needs the library peft"):
        train(home, "without", "--lora-rank", "4", "--language", "nowhere")
    assert not (home / "without").exists()


def test_training_writes_weights_card_and_test_scores(trained):
    folder, output = trained
    card = json.loads((folder / "vela.json").read_text())
    assert card["perspectives"] == ["descriptiveness", "relevance", "fluency"]
    assert card["language"]["settings"]["prompts"] == "appendix-J"
    assert "@" in card["pair"]["settings"]["pair"]
    assert card["training"]["settings"]["batch_size"] == 4
    assert sum(card["training"]["captions"].values()) == 60
    assert (folder / "vela.safetensors").stat().st_size < 20_000
    figures = card["training"]["figures"]
    assert f"{figures['test']['fluency']['kendall-c'][0]:.3f}" in output
    assert "caption length: " in output


def test_it_learns_what_the_words_tell_and_turns_it_where_raters_do(trained):
    folder, _ = trained
    figures = json.loads((folder / "vela.json").read_text())["training"]["figures"]["test"]
    for name in ("descriptiveness", "relevance", "fluency"):
        assert figures[name]["kendall-c"][0] > 0.8


def test_scores_are_those_of_the_test_split(home, trained):
    folder, _ = trained
    found = score(home, "metric", "data/rated.jsonl", "scores.jsonl")
    assert found.exit_code == 0, found.output
    rows = {row["id"]: row for row in lines(home / "scores.jsonl")}
    assert len(rows) == 60
    for name in ("descriptiveness", "relevance", "fluency"):
        for row in lines(folder / "training" / f"test-{name}.jsonl"):
            assert rows[row["id"]][name] == pytest.approx(row["score"], abs=1e-4)
    assert all("metric:vela@" in row["signature"] for row in rows.values())
    assert "descriptiveness" in found.output


def test_batches_change_nothing(home, trained):
    score(home, "metric", "data/rated.jsonl", "one.jsonl")
    score(home, "metric", "data/rated.jsonl", "other.jsonl", "--batch-size", "3")
    for one, other in zip(lines(home / "one.jsonl"), lines(home / "other.jsonl"), strict=True):
        assert one.keys() == other.keys()
        assert one["relevance"] == pytest.approx(other["relevance"], abs=2e-5)


def test_features_come_from_the_cache(home, trained, monkeypatch):
    from revise_captions.vela.language import LanguageBranch

    monkeypatch.setattr(LanguageBranch, "_computed", lambda *_: pytest.fail("computed again"))
    assert train(home, "again").exit_code == 0
    first, again = (json.loads((home / m / "vela.json").read_text()) for m in ("metric", "again"))
    assert first == again
    weights = [(home / m / "vela.safetensors").read_bytes() for m in ("metric", "again")]
    assert weights[0] == weights[1]


def test_the_best_seed_on_validation_is_kept_and_all_have_a_mean_and_deviation(home, trained):
    """By hand, from as many trainings of one seed each."""
    rows = (home / "data/rated.jsonl").read_text().splitlines(keepends=True)
    for name, part in (("train", rows[:30]), ("validation", rows[30:45]), ("test", rows[45:])):
        (home / f"data/{name}.jsonl").write_text("".join(part))
    short = ["--epochs", "1", "--learning-rate", "0.001", "--language", "none"]
    found = train(home, "seeds", "--seeds", "3", *short, data="data")
    assert found.exit_code == 0
    ones = []
    for seed in "012":
        assert train(home, f"seed-{seed}", "--seed", seed, *short, data="data").exit_code == 0
        ones.append(json.loads((home / f"seed-{seed}/vela.json").read_text())["training"])
    own = json.loads((home / "seeds/vela.json").read_text())["training"]
    values = [one["figures"]["test"]["fluency"]["kendall-b"][0] for one in ones]
    mean, deviation = own["over seeds"]["test"]["fluency"]["kendall-b"]
    assert (mean, deviation) == pytest.approx((np.mean(values), statistics.stdev(values)))
    assert deviation > 0
    assert f"τ-b {mean:.3f} ± {deviation:.3f}  (3 seeds)" in found.output
    best = int(np.argmax([np.mean(one["epochs"][0]["validation"]) for one in ones]))
    assert own["figures"] == ones[best]["figures"]
    assert own["settings"]["seed"] == best
    weights = [(home / m / "vela.safetensors").read_bytes() for m in ("seeds", f"seed-{best}")]
    assert weights[0] == weights[1]


@pytest.mark.parametrize(
    ("name", "options", "width"),
    [
        ("text", ["--pair", "none"], 64),
        ("image", ["--language", "none"], 32),
        ("free", ["--reference-free"], 96),
        ("single", ["--perspective", "overall=relevance"], 96),
    ],
)
def test_branches_references_and_perspectives_are_switches(home, name, options, width):
    from safetensors.numpy import load_file

    found = train(home, name, *options)
    assert found.exit_code == 0, found.output
    weight = load_file(home / name / "vela.safetensors")["weight"]
    assert weight.shape == (1 if name == "single" else 3, width)
    found = score(home, name, "data/rated.jsonl", f"{name}.jsonl")
    assert found.exit_code == 0, found.output
    row = lines(home / f"{name}.jsonl")[0]
    assert ("overall" in row) == (name == "single")


def test_a_reference_free_metric_needs_no_reference_and_the_others_say_so(home, trained):
    (home / "bare.jsonl").write_text('{"image": "data/0.png", "caption": "a man"}\n')
    train(home, "free2", "--reference-free")
    assert score(home, "free2", "bare.jsonl", "bare-free.jsonl").exit_code == 0
    assert "relevance" in lines(home / "bare-free.jsonl")[0]
    assert score(home, "metric", "bare.jsonl", "bare-with.jsonl").exit_code == 0
    assert "no reference" in lines(home / "bare-with.jsonl")[0]["unscored"]


def test_an_adapter_is_trained_saved_and_loaded(home):
    pytest.importorskip("peft")
    options = ["--lora-rank", "2", "--epochs", "1", "--perspective", "fluency", "--seeds", "2"]
    found = train(home, "lora", *options)
    assert found.exit_code == 0, found.output
    card = json.loads((home / "lora" / "vela.json").read_text())
    assert card["adapter"] is True
    from safetensors.numpy import load_file

    tensors = load_file(home / "lora" / "adapter" / "adapter_model.safetensors")
    assert any(np.abs(t).max() > 0 for n, t in tensors.items() if "lora_B" in n)
    found = score(home, "lora", "data/rated.jsonl", "lora.jsonl")
    assert found.exit_code == 0, found.output
    rows = {row["id"]: row for row in lines(home / "lora.jsonl")}
    for row in lines(home / "lora" / "training" / "test-fluency.jsonl"):
        assert rows[row["id"]]["fluency"] == pytest.approx(row["score"], abs=1e-4)


def test_a_run_that_was_cut_before_its_first_epoch_is_resumed(home, trained):
    mark_run_folder(home / "cut", "captions train-vela")
    with pytest.raises(UserError, match="add --resume"):
        train(home, "cut")
    assert train(home, "cut", "--resume").exit_code == 0
    weights = (home / name / "vela.safetensors" for name in ("cut", "metric"))
    assert len({path.read_bytes() for path in weights}) == 1


def test_bad_rows_are_counted_and_the_run_goes_on(home):
    good = (home / "data" / "rated.jsonl").read_text().splitlines()
    row = json.loads(good[0])
    bad = [
        "{broken",
        json.dumps({**row, "image": "missing.png", "id": "b1"}),
        json.dumps({**row, "image": "rated.jsonl", "id": "b2"}),
        json.dumps({**row, "scores": {"fluency": 7}, "id": "b3"}),
        json.dumps({**row, "scores": {"fluency": "good"}, "id": "b4"}),
        json.dumps({**row, "scores": {"fluency": float("nan")}, "id": "b5"}),
        json.dumps({**row, "scores": {}, "id": "b6"}),
        json.dumps({**row, "references": [], "id": "b7"}),
        json.dumps({**row, "references": [3], "id": "b8"}),
        json.dumps({k: v for k, v in row.items() if k != "scores"}),
    ]
    (home / "data" / "mixed.jsonl").write_text("\n".join([*bad, *good]) + "\n")
    found = train(home, "mixed", data="data/mixed.jsonl")
    assert found.exit_code == 0, found.output
    reasons = [r["reason"] for r in lines(home / "mixed" / "training" / "quarantine.jsonl")]
    assert len(reasons) == len(bad)
    assert reasons.count("rating_out_of_range") == 1
    assert "10 rows cannot be used" in found.output
    found = score(home, "mixed", "data/mixed.jsonl", "mixed.jsonl")
    assert found.exit_code == 0, found.output
    assert len(lines(home / "mixed.quarantine.jsonl")) == 3
    assert len(lines(home / "mixed.jsonl")) == 60 + len(bad) - 3


def test_long_captions_are_cut_and_counted(home, trained):
    text = "a dog runs on grass. " * 600
    row = {"image": "data/0.png", "caption": text, "references": ["a man"]}
    (home / "long.jsonl").write_text(json.dumps(row) + "\n")
    found = score(home, "metric", "long.jsonl", "long-scores.jsonl")
    assert "1 captions: the prompt was too long" in found.output
    assert "1 captions: the text tower read only their beginning" in found.output
    cut = lines(home / "long-scores.jsonl")[0]["truncated_tokens"]
    assert cut["prompt"] > 1000
    assert cut["pair"] > 2000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--language", "none", "--pair", "none"], "both branches are off"),
        (["--perspective", "depth"], "no ratings “depth”"),
        (["--scale", "1", "1"], "the lowest rating comes first"),
        (["--scale", "8", "9"], "give the scale"),
        (["--limit", "5"], "too few"),
        (["--language", "none", "--lora-rank", "2"], "--lora-rank adapts"),
        (["--lora-rank", "2", "--lora-targets", "nothing"], "no LoRA on nothing"),
    ],
)
def test_mistakes_are_explained(home, options, message):
    with pytest.raises(UserError) as caught:
        train(home, f"wrong{len(message)}", *options)
    assert message in str(caught.value)


def test_a_metric_is_not_overwritten_unless_told(home, trained):
    with pytest.raises(UserError, match="holds a training run"):
        train(home, "metric")
    (home / "mine").mkdir()
    (home / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(UserError, match="not empty"):
        train(home, "mine", "--force")


def test_another_backbone_is_refused(home, trained, tmp_path):
    other = tinyvela.language(tmp_path / "other", "Llama")
    with pytest.raises(UserError, match="trained with language"):
        score(home, "metric", "data/rated.jsonl", "x.jsonl", "--language", str(other))
    with pytest.raises(UserError, match=r"there is no vela\.json"):
        score(home, "lm", "data/rated.jsonl", "x.jsonl")
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "vela.json").write_text("[]")
    (broken / "vela.safetensors").write_bytes(b"x")
    with pytest.raises(UserError, match=r"vela\.json is not a VELA metric's card"):
        score(home, str(broken), "data/rated.jsonl", "x.jsonl")


def test_it_is_in_the_registry_of_metrics(home, trained):
    folder, _ = trained
    metric = load_metric(f"vela={folder}#relevance")
    image = StoredImage(ImageRef(path=str(home / "data" / "0.png")))
    (found,) = metric.score([MetricInput("a man", image, references=("a man",))])
    (row,) = [r for r in lines(home / "scores.jsonl") if r["id"] == "1"]
    assert found.value == pytest.approx(row["relevance"], abs=1e-4)
    assert {str(need) for need in metric.needs} == {"image", "references"}
    with pytest.raises(UserError, match="not 'beauty'"):
        load_metric(f"vela={folder}#beauty")


def test_splits_never_share_an_image():
    items = [RatedCaption(str(k), "a", (), ImageRef(), f"{k % 40}.png", {}) for k in range(200)]
    found = split(items, 0.2, 0.3, seed=0)
    homes: dict[str, set[str]] = {}
    for item in found:
        homes.setdefault(item.image_name, set()).add(item.split)
    assert all(len(splits) == 1 for splits in homes.values())
    assert {item.split for item in found} == {"train", "validation", "test"}
    moved = split(items[::-1], 0.2, 0.3, seed=0)
    assert {i.id: i.split for i in moved} == {i.id: i.split for i in found}
    clash = [RatedCaption("1", "a", (), ImageRef(), "x.png", {}, "train"),
             RatedCaption("2", "b", (), ImageRef(), "x.png", {}, "test")]  # fmt: skip
    with pytest.raises(UserError, match=r"in two splits, such as x\.png"):
        split(clash, 0.1, 0.1, seed=0)


def test_a_cache_in_use_by_two_holds_both(tmp_path):
    path = tmp_path / "features"
    vector = np.arange(4, dtype=np.float32)
    with FeatureCache(path) as one, FeatureCache(path) as other:
        one.put({b"1": vector})
        other.put({b"2": vector + 1})
        assert sorted(one.get([b"1", b"2", b"3"])) == [b"1", b"2"]
        assert other.get([b"1"])[b"1"].tolist() == [0, 1, 2, 3]
