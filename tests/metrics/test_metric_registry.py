"""Metrics by name: the protocol, our own entry points, and a package of somebody else's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import program
from PIL import Image

from revise_captions.critic.scripted import ScriptedCritic
from revise_captions.critic_metric.metric import CriticMetric
from revise_captions.errors import UserError
from revise_captions.metrics import (
    MetricInput,
    MetricOptions,
    MetricScore,
    Needs,
    StoredImage,
    load_metric,
    scored,
)
from revise_captions.metrics.registry import expect_critic
from revise_captions.pipelines.metrics import cli
from revise_captions.posh.scoring import Pair, score_captions
from revise_captions.records import ImageRef, Verdict
from revise_captions.registry import METRICS, load, names

main = program(cli.evaluate_metric)

HERE = Path(__file__).parent


class Halves:
    """A metric that breaks its protocol as `broken` says."""

    name, settings = "halves", {"halves": "1"}

    def __init__(self, needs=frozenset(), broken=""):
        self.needs, self.broken = needs, broken

    def score(self, items):
        values = [float("nan") if self.broken == "nan" else len(i.text) / 2 for i in items]
        if self.broken == "bare":
            return values
        return [MetricScore(v) for v in values[1 if self.broken == "short" else 0 :]]


def stored(tmp_path: Path, name: str) -> StoredImage:
    return StoredImage(ImageRef(path=name), tmp_path)


def test_what_lacks_something_is_unscored_with_the_reason(tmp_path):
    Image.new("RGB", (8, 8)).save(tmp_path / "good.png")
    (tmp_path / "bad.png").write_bytes(b"no image")
    items = [
        MetricInput("ab", stored(tmp_path, "good.png"), "A page."),
        MetricInput("ab", stored(tmp_path, "bad.png"), "A page."),
        MetricInput("ab", None, "A page."),
        MetricInput("ab", stored(tmp_path, "good.png"), " \n"),
        MetricInput("  ", stored(tmp_path, "good.png"), "A page."),
    ]
    found = scored(Halves(frozenset({Needs.IMAGE, Needs.CONTEXT})), items)
    assert found[0] == MetricScore(1.0)
    assert [score.value for score in found[1:]] == [None] * 4
    assert found[1].reason.startswith("image: image_unreadable")
    assert [s.reason for s in found[2:]] == ["no image", "no context", "the text is empty"]


def test_a_metric_that_breaks_the_protocol_is_caught():
    items = [MetricInput("ab"), MetricInput("abcd")]
    with pytest.raises(UserError, match="gave 1 scores for 2 texts"):
        scored(Halves(broken="short"), items)
    with pytest.raises(UserError, match=r"metric halves gave 1\.0, which is no MetricScore"):
        scored(Halves(broken="bare"), items)
    assert scored(Halves(broken="nan"), items)[0] == MetricScore(None, "the score is nan")


def test_there_is_no_such_metric():
    with pytest.raises(UserError, match=r"no metric 'luck'\n  installed are: .*length"):
        load_metric("luck")


def test_our_own_metrics_are_declared_and_say_what_they_are():
    found = names(METRICS)
    assert {"cosine", "critic", "likelihood", "posh", "clipscore", "blip2"} <= set(found)
    for name in found:
        assert (load(METRICS, name).__doc__ or "").strip()


def test_cosine_is_that_of_the_nearest_reference():
    cosine = load_metric("cosine")
    text, near, far = "A dog on a sofa.", "A dog lies on a couch.", "Stock prices fell."
    score = cosine.score([MetricInput(text, references=(far, near, " "))])[0]
    a, b, c = cosine.encoder([text, near, far])
    assert score.value == pytest.approx(max(a @ b, a @ c))
    assert np.argmax([a @ c, a @ b]) == 1
    assert score.truncated == 0
    long = cosine.score([MetricInput("dog " * 300, references=(near,))])[0]
    assert long.truncated == 300 + 2 - 256  # [CLS] and [SEP]


def test_posh_is_what_score_posh_computes():
    posh = load_metric("posh")
    found = scored(posh, [MetricInput("A dog on a sofa.", references=("A cat on a sofa.",))])
    pair = Pair("A dog on a sofa.", ("A cat on a sofa.",))
    assert found[0].value == next(score_captions([pair], posh.judge)).overall


def test_a_critics_score_is_the_mean_of_its_sentences(tmp_path):
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    says = {"A dog.": 0.9, "A cat.": 0.2, "A page.": 0.0}
    critic = ScriptedCritic({text: Verdict(p) for text, p in says.items()})
    item = MetricInput("A dog. A cat.", stored(tmp_path, "a.png"), "A page.")
    plain, contextual = CriticMetric(critic), CriticMetric(critic, contextual=True)
    assert scored(plain, [item])[0].value == pytest.approx(0.55)
    assert scored(contextual, [item])[0].value == pytest.approx(0.55)  # the page is not judged
    assert scored(contextual, [MetricInput("A dog.", item.image)])[0].reason == "no context"


def test_options_reach_the_metric():
    with pytest.raises(UserError, match="takes no argument"):
        load_metric("length=3", MetricOptions())


def test_a_critics_profile_needs_a_critic(tmp_path):
    expect_critic(["metric:critic=bundled"], tmp_path)
    expect_critic(["contextual-critic"], tmp_path)
    expect_critic(["cosine"], None)
    with pytest.raises(UserError, match="no metric here uses a critic"):
        expect_critic(["metric:cosine", "floor:length"], tmp_path)
