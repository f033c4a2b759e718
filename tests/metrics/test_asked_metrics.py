"""Metrics that ask a chat model, chance, and means over sentences, against counts by hand."""

from __future__ import annotations

import json
from math import log

import pytest
from PIL import Image
from scripted_engine import ScriptedEngine, data_of, text_of

from revise_captions.engines.protocol import AnswerScores, Completion, Failed
from revise_captions.errors import UserError
from revise_captions.metrics import MetricInput, StoredImage, load_metric, scored
from revise_captions.metrics.asked import VQA, AskedScore, read_question
from revise_captions.metrics.plain import Length, SentenceMean
from revise_captions.metrics.registry import scored_parts
from revise_captions.records import ImageRef, Span, Unscored


@pytest.fixture
def image(tmp_path):
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    return StoredImage(ImageRef(path="a.png"), tmp_path)


def test_vqascore_is_p_yes_of_the_papers_question(image):
    engine = ScriptedEngine(lambda prompt: AnswerScores((log(0.6), log(0.1)), 0.7))
    metric = AskedScore("vqascore", engine, VQA, "")
    (score,) = scored(metric, [MetricInput("a red barn", image)])
    assert score.value == pytest.approx(0.6)  # not 0.6 / 0.7: other tokens count
    (prompt,) = engine.asked
    assert text_of(prompt) == (
        '<image>Does this figure show "a red barn"? Please answer yes or no.'
    )
    assert data_of(prompt) == ["a red barn"]
    parts = scored_parts(metric, [MetricInput("It is red. It is big.", image)], [[Span(11, 21)]])
    assert [len(own) for own in parts] == [1]
    assert data_of(engine.asked[-1]) == ["It is big."]


def question(tmp_path, **more):
    path = tmp_path / "question.json"
    prompt = "References: {references} Caption: {caption} Score it."
    path.write_text(json.dumps({"prompt": prompt, **more}))
    return read_question(path)


def test_a_judges_score_is_the_mean_of_its_first_token(image, tmp_path):
    shares = (0.1, 0.0, 0.0, 0.3, 0.4)
    logs = tuple(log(p) if p else float("-inf") for p in shares)
    engine = ScriptedEngine(lambda prompt: AnswerScores(logs, 0.8))
    metric = AskedScore("asked", engine, question(tmp_path, answers=[1, 2, 3, 4, 5]), "")
    (score,) = scored(metric, [MetricInput("a barn", image, references=("one", "two"))])
    assert score.value == pytest.approx((0.1 * 1 + 0.3 * 4 + 0.4 * 5) / 0.8)
    assert data_of(engine.asked[0]) == ["one\ntwo", "a barn"]
    assert scored(metric, [MetricInput("a barn", image)])[0].reason == "no references"
    nothing = ScriptedEngine(lambda prompt: AnswerScores((log(1e-9),) * 5, 5e-9))
    metric = AskedScore("asked", nothing, metric.question, "")
    (score,) = scored(metric, [MetricInput("a barn", image, references=("one",))])
    assert (score.value, score.reason) == (None, "the answer is none of the numbers asked for")


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("Score: 0.85, as it is a barn", 0.85),
        ("<think>9 or 0.2?</think>\n0.4", 0.4),
        ("85", None),
        ("good", None),
    ],
)
def test_a_written_number_counts_within_its_scale(image, tmp_path, said, value):
    engine = ScriptedEngine(write=lambda prompt: Completion(said, True))
    metric = AskedScore("asked", engine, question(tmp_path, low=0, high=1), "")
    (score,) = scored(metric, [MetricInput("a barn", image, references=("one",))])
    assert score.value == value
    assert bool(score.reason) == (value is None)


def test_what_the_engine_cannot_answer_has_its_reason(image):
    engine = ScriptedEngine(lambda prompt: Failed(Unscored.TOO_LONG, "9 tokens"))
    (score,) = scored(AskedScore("vqascore", engine, VQA, ""), [MetricInput("a", image)])
    assert score.value is None
    assert "9 tokens" in score.reason


@pytest.mark.parametrize("text", ["no JSON", "[]", '{"prompt": "Score it."}', '{"system": ""}'])
def test_files_that_ask_nothing(tmp_path, text):
    (tmp_path / "q.json").write_text(text)
    with pytest.raises(UserError, match=r"q\.json"):
        read_question(tmp_path / "q.json")
    for name in ("asked=model", "vqascore"):
        with pytest.raises(UserError, match="needs a model"):
            load_metric(name)


def test_the_mean_over_sentences_and_chance():
    mean = SentenceMean(Length())
    scores = scored(mean, [MetricInput("It is red. It is a very big barn."), MetricInput("One.")])
    assert [score.value for score in scores] == [(3 + 6) / 2, 1]
    texts = [MetricInput(f"text {k}") for k in range(2000)]
    drawn = [score.value for score in scored(load_metric("random"), texts)]
    assert drawn == [score.value for score in scored(load_metric("random=0"), texts)]
    assert drawn != [score.value for score in scored(load_metric("random=1"), texts)]
    assert sum(drawn) / 2000 == pytest.approx(0.5, abs=4 * (1 / 12 / 2000) ** 0.5)
    assert 0 <= min(drawn) < max(drawn) < 1
