"""`captions finetune-metric`: scores with gradients equal the metrics', and training moves them."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tinycritic
import tinytowers
import torch
from commands import outcome, program
from PIL import Image
from safetensors import SafetensorError

from revise_captions.errors import UserError
from revise_captions.finetune.metric import cli
from revise_captions.finetune.metric.data import WorsePair, read_pairs
from revise_captions.finetune.metric.scorers import SimilarityScorer, load_scorer
from revise_captions.finetune.metric.settings import JointSettings
from revise_captions.finetune.metric.train import (
    figures,
    fitted,
    joint_loss,
    train,
)
from revise_captions.metrics import MetricInput, load_metric, scored

main = program(cli.finetune_metric)

WORDS = ("a man", "a black dog", "a dog runs", "a red barn", "a photo", "grass", "a dog on grass")


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    """An export of twelve originals on six images, each with two worse versions."""
    folder = tmp_path_factory.mktemp("export")
    (folder / "images").mkdir()
    rng = np.random.default_rng(0)
    rows = []
    for k in range(12):
        image = f"images/{k // 2}.png"
        pixels = rng.integers(0, 256, (16, 16, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / image)
        text = WORDS[k % len(WORDS)]
        row = {"id": str(k), "of": str(k), "check": "", "image": image, "caption": text,
               "context": "a page about farms", "references": []}  # fmt: skip
        rows.append(row | {"scores": {"overall": 1 + k % 5, "odd": 99}})
        worse = {"exact repetition": f"{text} {text}", "shuffled descriptions": WORDS[k % 3 - 1]}
        rows += [row | {"id": f"{k}#{c}", "check": c, "caption": t} for c, t in worse.items()]
    rows.append(rows[1] | {"of": "nobody"})
    (folder / "variants.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    critic = tinycritic.saved(tmp_path_factory.mktemp("critic"))
    (critic / "words.txt").unlink()  # it takes any language
    return {
        "clip": tinytowers.save("clip", tmp_path_factory.mktemp("clip")),
        "siglip": tinytowers.save("siglip", tmp_path_factory.mktemp("siglip")),
        "blip2": tinytowers.save("blip2", tmp_path_factory.mktemp("blip2")),
        "critic": critic,
    }


def test_an_export_becomes_pairs(export):
    data = read_pairs(export, "overall")
    assert (len(data.pairs), len(data.originals)) == (24, 12)
    assert data.left_out == {"its original is missing": 1}
    assert data.pairs[0].worse.text == "a man a man"
    assert data.pairs[0].rating == 1
    assert read_pairs(export, "odd").left_out["rating outside the scale"] == 12
    with pytest.raises(UserError, match=r"no ratings on the axis 'x'\n.*odd, overall"):
        read_pairs(export, "x")
    with pytest.raises(UserError, match="holds no variants"):
        read_pairs(export / "images", "overall")


@pytest.mark.parametrize(
    ("name", "model"),
    [("clipscore", "clip"), ("contextual-clipscore", "clip"), ("contextual-clipscore", "siglip"),
     ("blip2", "blip2"), ("contextual-clipscore", "blip2"),
     ("critic", "critic"), ("contextual-critic", "critic")],
)  # fmt: skip
def test_scores_with_gradients_are_the_metrics(export, models, name, model):
    items = [given for given, _ in read_pairs(export, "overall").originals][:5]
    scorer = load_scorer(f"{name}={models[model]}", "cpu")
    scorer.model.eval()
    values = scorer.scores(items)
    wanted = [score.value for score in scored(load_metric(f"{name}={models[model]}"), items)]
    shown = [max(v, 0) for v in values.tolist()] if name == "clipscore" else values.tolist()
    assert shown == pytest.approx(wanted, abs=2e-4)
    values.sum().backward()
    assert any(w.grad is not None and w.grad.abs().sum() > 0 for w in scorer.model.parameters())


class Slope:
    """Scores a text by a weight times its length."""

    def __init__(self):
        self.model = torch.nn.Linear(1, 1, bias=False)
        torch.nn.init.constant_(self.model.weight, 0.5)

    def scores(self, items):
        return self.model(torch.tensor([[float(len(item.text))] for item in items]))[:, 0]


def test_the_loss_is_the_formula_at_the_top_of_the_module():
    pairs = [
        WorsePair("c", MetricInput("aaaa"), MetricInput("aa"), 3.0),
        WorsePair("c", MetricInput("a"), MetricInput("aaa"), None),
    ]
    loss, left_out = joint_loss(Slope(), pairs, slope=2.0, offset=1.0, rating_weight=0.2)
    first = np.log1p(np.exp(2 * (1.0 - 2.0))) + 0.2 * (2 * 2.0 + 1 - 3) ** 2
    second = np.log1p(np.exp(2 * (1.5 - 0.5)))
    assert (float(loss.detach()), left_out) == (pytest.approx(first + second), 0)


@pytest.mark.parametrize(
    ("name", "model"), [("contextual-clipscore", "siglip"), ("contextual-critic", "critic")]
)
def test_checks_pass_more_often_and_the_correlation_does_not_fall(export, models, name, model):
    """On the training data itself: that the objective reaches the weights, not that it carries."""
    data = read_pairs(export, "overall")
    scorer = load_scorer(f"{name}={models[model]}", "cpu")
    slope, _ = fitted(scorer, data)
    assert slope > 0
    before = figures(scorer, data)
    lines = []
    done = train(
        scorer, data, JointSettings(epochs=30, learning_rate=2e-3, batch_size=8), lines.append
    )
    after = figures(scorer, data)
    assert done["pairs"] == 30 * 24

    def mean(own):
        return np.mean([share["value"] for share in own.lower.values()])

    assert mean(after) > mean(before) + 0.1
    assert after.pearson["value"] > before.pearson["value"]


def test_the_command_writes_a_model_that_the_metric_loads(export, models, tmp_path, capsys):
    def call(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main([str(a) for a in arguments])
        return stopped.value.code

    for name, model in (("clipscore", "clip"), ("critic", "critic")):
        out = tmp_path / name
        options = ["--out", out, "--axis", "overall", "--test", export, "--epochs", 1]
        assert call(f"{name}={models[model]}", export, *options) == 0
        found = json.loads((out / "joint_training.json").read_text())
        assert set(found["before"]["lower"]) == {"exact repetition", "shuffled descriptions"}
        assert "measured on other images" in capsys.readouterr().out
        items = [given for given, _ in read_pairs(export, "overall").originals][:2]
        assert all(score.value is not None for score in scored(load_metric(f"{name}={out}"), items))
        assert call(f"{name}={models[model]}", export, *options) == 2  # not over the first
    options = ["--out", tmp_path / "new", "--axis", "overall"]
    assert call("posh", export, *options) == 2
    assert "posh cannot be trained" in capsys.readouterr().err


def test_a_disk_that_is_full_leaves_nothing_under_the_models_name(
    export, models, tmp_path, capsys, monkeypatch
):
    out = tmp_path / "new/out"
    left = tmp_path / "new/out.0123abcd.partial"
    left.mkdir(parents=True)  # as a kill leaves it
    given = [f"clipscore={models['clip']}", export, "--axis", "overall", "--epochs", 0.1]

    def no_room(scorer, folder):
        (folder / "half").write_text("x")
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    with monkeypatch.context() as full:
        full.setattr(SimilarityScorer, "save", no_room)
        code, _, err = outcome(main, capsys, *given, "--out", out)
    assert (code, "make room, then train it again" in err) == (2, True)
    assert list(out.parent.iterdir()) == []
    out.mkdir()
    (tmp_path / "link").symlink_to(out)
    assert outcome(main, capsys, *given, "--out", tmp_path / "link")[0] == 0
    assert (out / "joint_training.json").is_file()
