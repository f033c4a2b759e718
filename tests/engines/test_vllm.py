"""The vLLM engine's requests and how its outputs are read. vLLM is imitated (`fake_vllm`);
scripts/checks/vllm_text.py and scripts/checks/vllm_vision.py ask vLLM itself.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import fake_vllm
import pytest
import tinyvlm
import torch
from PIL import Image

from revise_captions.critic import chat_prompts
from revise_captions.critic.instruct import InstructCritic
from revise_captions.critic.load import load_critic
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.protocol import JudgeRequest
from revise_captions.engines.load import EngineUse
from revise_captions.engines.model_spec import Placement, resolve_model
from revise_captions.engines.protocol import (
    AnswerScores,
    Data,
    Failed,
    Picture,
    Prompt,
    Sampling,
    Template,
)
from revise_captions.engines.vllm.engine import VllmEngine, load_engine
from revise_captions.engines.vllm.requests import CacheCounts
from revise_captions.errors import EngineDead, UserError
from revise_captions.records import Unscored
from revise_captions.text.sentences import split

TEXT = "There is a red circle. Two people walk. A sign reads <|im_end|> <image>."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tinyvlm.saved(tmp_path_factory.mktemp("vlm"), "idefics3")


@pytest.fixture(scope="module")
def tokenizer(folder):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


@pytest.fixture
def fake(tokenizer, monkeypatch):
    """Answers that depend on every token of the prompt and on how many pictures there are."""
    size = len(tokenizer)

    def network(ids, pictures):
        seed = hash((*ids, len(pictures))) % 2**31
        noise = torch.randn(size, generator=torch.Generator().manual_seed(seed))
        for token, number in tokenizer.get_vocab().items():
            noise[number] += 8 * (token.strip("Ġ").casefold() in ("yes", "no"))
        return noise.log_softmax(-1)

    made = fake_vllm.Fake(network, list, eos=tokenizer.eos_token_id, decode=tokenizer.decode)
    return fake_vllm.installed(monkeypatch, made)


def loaded(folder, option: str = "--critic", *, scores: bool = False, **options) -> VllmEngine:
    spec = resolve_model(str(folder), Placement(engine="vllm", dtype="float32"), option=option)
    return load_engine(spec, EngineUse(option, scores=scores), **options)


def prompts(image):
    spans = tuple(split(TEXT))
    return [chat_prompts.classification(image, TEXT, spans, k) for k in range(len(spans))]


def test_answers_are_asked_for_by_id_all_spellings_summed(folder, tokenizer, fake):
    engine = loaded(folder, scores=True)
    image = Image.new("RGB", (60, 40), (200, 10, 10))
    found = engine.answer_logprobs(prompts(image), ("Yes", "No"))
    sent, options = fake.asked[-1]
    spelled = [
        sorted(i for t, i in tokenizer.get_vocab().items() if t.strip("Ġ").casefold() == word)
        for word in ("yes", "no")
    ]
    assert min(map(len, spelled)) > 1
    assert sorted(options.logprob_token_ids) == sorted(spelled[0] + spelled[1])
    assert (options.temperature, options.max_tokens) == (0.0, 1)
    assert len(found) == len(sent) == 3
    for answer, request in zip(found, sent, strict=True):
        assert request["multi_modal_data"] == {"image": [image]}
        whole = fake.network(request["prompt_token_ids"], [image]).double()
        masses = [math.log(sum(math.exp(whole[i]) for i in ids)) for ids in spelled]
        assert isinstance(answer, AnswerScores)
        assert answer.logprobs == pytest.approx(masses, abs=1e-5)
        assert answer.answer_mass == pytest.approx(sum(map(math.exp, masses)), abs=1e-5)
    assert (options_of(fake)["limit_mm_per_prompt"]) == {"image": 1}
    assert engine.settings["engine"] == "vllm"


def options_of(fake):
    ((_, options),) = fake.started
    return options


def test_a_prompt_holds_one_picture_and_data_stays_data(folder, tokenizer, fake):
    engine = loaded(folder)
    engine.answer_logprobs(prompts(Image.new("RGB", (60, 40))), ("Yes", "No"))
    sent = [request["prompt_token_ids"] for request in fake.asked[-1][0]]
    picture, end = (tokenizer.convert_tokens_to_ids(t) for t in ("<image>", "<|im_end|>"))
    for ids in sent:
        assert ids.count(picture) == 1  # vLLM puts the image's tokens in its place
        assert ids.count(end) == 1
    assert "A sign reads <|im_end|> <image>." in tokenizer.decode(sent[2])
    # what the prompts of a caption share: image, question and context
    counts = engine.vllm.counts
    assert counts.cached > 2 * (sent[0].index(picture) // fake_vllm.BLOCK) * fake_vllm.BLOCK
    assert counts.best == counts.cached  # the trial question is about another picture


def test_the_best_that_a_prefix_cache_can_save_is_counted():
    def output(ids, cached=0):
        return SimpleNamespace(prompt_token_ids=ids, num_cached_tokens=cached)

    counts = CacheCounts()
    trunk = list(range(10))
    batch = [output([*trunk, 50, 51]), output([*trunk, 60, 61, 62], 8), output([*trunk, 50, 51])]
    counts.add(batch, ["one", "one", "another"], 4)
    # Two whole blocks of the second prompt; the third is about another picture.
    assert (counts.tokens, counts.cached, counts.best) == (37, 8, 8)
    counts.add([output(trunk), output(trunk)], ["one", "one"], 5)
    assert counts.best == 8 + 5  # a prompt's last token is always computed


def test_texts_and_prompts_that_fail(folder, tokenizer, fake):
    engine = loaded(folder, max_model_len=200)
    image = Image.new("RGB", (60, 40))
    word = Template("Is this ")
    asked = [
        Prompt((Picture(image), word, Data("true?"))),
        Prompt((Picture(image), word, Data("bad?"))),
        Prompt((Picture(image), word, Data("long " * 300))),
        Prompt((Picture(image), word, Data("red?"))),
    ]
    refuse = lambda ids: "bad?" in tokenizer.decode(ids)  # noqa: E731
    fake.refuse = lambda ids: ValueError("cannot\nbe") if refuse(ids) else None
    found = engine.generate(asked, 6)
    assert found[1] == Failed(Unscored.ENGINE_ERROR, "cannot")
    assert found[2] == Failed(Unscored.TOO_LONG, "over the model's 200 tokens")
    for k in (0, 3):
        ids = engine.encoder.unexpanded(asked[k])
        for _ in range(6):
            ids.append(int(fake.network(ids, [image]).argmax()))
        assert found[k].text == tokenizer.decode(ids[-6:]).strip()
        assert not found[k].complete
    fake.refuse = lambda ids: fake_vllm.EngineDeadError("gone")
    with pytest.raises(EngineDead, match="gone"):
        engine.generate(asked, 6)


def test_an_instruct_model_is_a_critic_through_vllm(folder, fake):
    critic = load_critic(str(folder), CriticOptions(Placement(engine="vllm", dtype="float32")))
    assert isinstance(critic, InstructCritic)
    image = Image.new("RGB", (60, 40))
    (found,) = critic.judge([JudgeRequest(image, TEXT, tuple(split(TEXT)))])
    answers = critic.engine.answer_logprobs(prompts(image), ("Yes", "No"))
    for verdict, answer in zip(found, answers, strict=True):
        assert verdict.p_factual == pytest.approx(
            math.exp(answer.logprobs[0]) / answer.answer_mass, abs=1e-4
        )
    assert len({v.p_factual for v in found}) == 3


def test_images_that_see_all_of_themselves_are_not_computed_on_a_cpu(folder, fake):
    """vLLM does so for Gemma 3 on a GPU; its CPU backend is causal, and does not say it."""
    fake.prefix_lm = True
    with pytest.raises(UserError, match="does not compute attention within an image"):
        loaded(folder)
    fake.started.clear()
    loaded(folder, hf_overrides={"is_mm_prefix_lm": 0})


def test_each_prompt_is_sampled_with_a_seed_of_its_own(folder, tokenizer, fake):
    engine = loaded(folder, "--policy")
    image = Image.new("RGB", (60, 40))
    asked = [Prompt((Picture(image), Template(word))) for word in ("red", "bad", "red")]
    fake.refuse = lambda ids: ValueError("no") if "bad" in tokenizer.decode(ids) else None
    fake.asked.clear()
    found = engine.generate(asked, 4, Sampling(0.9, 0.7, seed=10))
    assert found[1] == Failed(Unscored.ENGINE_ERROR, "no")
    # the batch is halved until the bad prompt is alone; seeds stay with their prompts
    alone = {
        tokenizer.decode(prompt["prompt_token_ids"]): []
        for prompts, _ in fake.asked
        for prompt in prompts
    }
    for prompts, options in fake.asked:
        for prompt, one in zip(prompts, options, strict=True):
            assert (one.temperature, one.top_p, one.max_tokens) == (0.9, 0.7, 4)
            alone[tokenizer.decode(prompt["prompt_token_ids"])].append(one.seed)
    (red,), (bad,) = ([v for k, v in alone.items() if w in k] for w in ("red", "bad"))
    assert set(red) == {10, 12}
    assert set(bad) == {11}
