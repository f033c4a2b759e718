"""The engine in this process: data stays data, one bad prompt costs one answer, memory runs out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import every_family
import numpy as np
import pytest
import tinyvlm
import torch
from PIL import Image
from scripted_engine import ScriptedEngine, data_of

from revise_captions.critic.instruct import InstructCritic, factual, rationale_in
from revise_captions.critic.load import load_critic
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.paligemma.critic import PaliGemmaCritic
from revise_captions.critic.protocol import JudgeRequest
from revise_captions.engines.answer_words import answer_of, word_ids
from revise_captions.engines.load import load_engine
from revise_captions.engines.model_spec import Placement
from revise_captions.engines.protocol import (
    AnswerScores,
    Completion,
    Data,
    Failed,
    Picture,
    Prompt,
    Template,
)
from revise_captions.engines.transformers import token_tree
from revise_captions.engines.transformers.engine import TransformersEngine
from revise_captions.errors import EngineDead, UserError
from revise_captions.records import Unscored, Verdict
from revise_captions.text.sentences import split

WORDS = ("Yes", "No")
PICTURE = Image.new("RGB", (60, 60), (200, 40, 40))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tinyvlm.saved(tmp_path_factory.mktemp("models") / "vlm", "idefics3")


@pytest.fixture(scope="module")
def engine(folder) -> TransformersEngine:
    loaded = load_engine(str(folder), Placement(batch_size=8, device="cpu"))
    assert isinstance(loaded, TransformersEngine)
    return loaded


def prompt(text: str, image: Image.Image = PICTURE) -> Prompt:
    parts = (Picture(image), Template("Given the image"), Template(" and: "), Data(text))
    return Prompt((*parts, Template("\nYes or No?")), shared=2)


def ids_of(engine: TransformersEngine, text: str) -> list[int]:
    return engine.encoder.rows([prompt(text)])[0].ids


def test_no_data_becomes_a_token_of_the_chat_format(engine):
    vocabulary = engine.encoder.tokenizer.get_added_vocab()
    special = sorted(vocabulary.values())

    def count(ids: list[int]) -> list[int]:
        return [ids.count(number) for number in special]

    plain = count(ids_of(engine, "A dog."))
    for token in vocabulary:
        for text in (token, f"A {token} dog.", f"{token}{token}", f"<{token}"):
            assert count(ids_of(engine, text)) == plain, text
    ids = ids_of(engine, "A <image> dog<|im_end|>.")
    assert "A <image> dog<|im_end|>." in engine.encoder.tokenizer.decode(ids)


def test_a_bad_prompt_costs_its_own_answer_only(engine, monkeypatch):
    asked = [prompt("one"), prompt("x" * 9000), prompt("two"), prompt("three")]
    alone = [engine.answer_logprobs([p], WORDS)[0] for p in asked]
    assert alone[1] == Failed(Unscored.TOO_LONG, "over the model's 2,048 tokens")
    real = engine.encoder.processor.__class__.__call__

    def poisoned(self: Any, images: Any = None, **others: Any) -> Any:
        if images and images[0][0].size == (3, 3):
            raise ValueError("this image has no channels\nat all")
        return real(self, images=images, **others)

    monkeypatch.setattr(engine.encoder.processor.__class__, "__call__", poisoned)
    asked.append(prompt("four", Image.new("RGB", (3, 3))))
    found = engine.answer_logprobs(asked, WORDS)
    assert found[4] == Failed(Unscored.ENGINE_ERROR, "this image has no channels")
    for one, many in zip(alone, found, strict=False):
        if isinstance(one, AnswerScores):
            assert isinstance(many, AnswerScores)
            np.testing.assert_allclose(one.logprobs, many.logprobs, atol=1e-4)
    assert sum(isinstance(a, AnswerScores) for a in found) == 3


def test_a_batch_that_does_not_fit_is_halved(engine, monkeypatch):
    asked = [prompt(f"sentence {k} of some") for k in range(8)]
    expected = engine.answer_logprobs(asked, WORDS)
    sizes: list[int] = []
    real = engine.model.forward

    def small(**inputs: Any) -> Any:
        sizes.append(len(inputs["input_ids"]))
        if sizes[-1] > 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB")
        return real(**inputs)

    monkeypatch.setattr(engine.model, "forward", small)
    found = engine.answer_logprobs(asked, WORDS)
    assert sizes == [8, 4, 2, 2, 4, 2, 2]
    for one, other in zip(expected, found, strict=True):
        assert isinstance(one, AnswerScores)
        assert isinstance(other, AnswerScores)
        np.testing.assert_allclose(one.logprobs, other.logprobs, atol=1e-4)


def test_a_device_that_is_gone_stops_the_run(engine, monkeypatch):
    def gone(**_: Any) -> Any:
        raise RuntimeError("CUDA error: device-side assert triggered")

    monkeypatch.setattr(engine.model, "forward", gone)
    with pytest.raises(EngineDead, match="device-side"):
        engine.answer_logprobs([prompt("a")], WORDS)


def test_only_the_logits_behind_the_prompt_are_computed(engine, monkeypatch):
    rows: list[int] = []
    head = engine.model.get_output_embeddings()
    handle = head.register_forward_hook(lambda m, i, out: rows.append(out.shape[1]))
    engine.answer_logprobs([prompt("a"), prompt("a longer sentence")], WORDS)
    handle.remove()
    assert rows == [2]  # one column for each length


def test_a_picture_is_prepared_once(engine, monkeypatch):
    calls: list[int] = []
    real = engine.encoder.processor.__class__.__call__

    def counted(self: Any, **inputs: Any) -> Any:
        calls.append(1)
        return real(self, **inputs)

    monkeypatch.setattr(engine.encoder.processor.__class__, "__call__", counted)
    engine.answer_logprobs([prompt(f"{k}") for k in range(7)], WORDS)
    assert len(calls) == 1


def test_a_language_model_writes_through_the_same_protocol(tmp_path):
    from tinylm import model_of, tokenizer_of

    tokenizer = tokenizer_of()
    model_of("Qwen3", len(tokenizer)).save_pretrained(tmp_path / "llm")
    tokenizer.save_pretrained(tmp_path / "llm")
    asked = [Prompt((Data(f"Say {k} <|im_end|>"),), system="You are brief.") for k in range(5)]
    loaded = load_engine(str(tmp_path / "llm"), Placement(device="cpu", batch_size=3))
    alone = [loaded.generate([p], 12)[0] for p in asked]
    assert loaded.generate(asked, 12) == alone
    assert all(isinstance(w, Completion) for w in alone)
    assert len(set(map(str, alone))) > 1
    assert loaded.settings["model"].startswith("llm@")


def test_models_that_are_not_there_are_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError, match="no such folder"):
        load_engine("/no/such/folder", option="--critic")
    (tmp_path / "readme.txt").write_text("x")
    with pytest.raises(UserError, match=r"no config.json \(found readme.txt\)"):
        load_engine(str(tmp_path), option="--critic")
    with pytest.raises(UserError) as caught:
        load_engine("no-such-owner/no-such-model", option="--critic")
    assert "no-such-owner/no-such-model" in caught.value.message
    assert "\n" not in caught.value.message


def test_a_model_that_lacks_a_package_names_it(tmp_path):
    """Qwen's processor needs torchvision, which this environment may not have."""
    from transformers.utils import is_torchvision_available

    if is_torchvision_available():
        pytest.skip("torchvision is installed")
    config = {"model_type": "qwen2_5_vl", "architectures": ["Qwen2_5_VLForConditionalGeneration"]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "processor_config.json").write_text('{"processor_class": "Qwen2_5_VLProcessor"}')
    kind = '{"image_processor_type": "Qwen2VLImageProcessor"}'
    (tmp_path / "preprocessor_config.json").write_text(kind)
    tinyvlm.tokenizer_of("qwen2_5_vl").save_pretrained(tmp_path)
    with pytest.raises(UserError) as caught:
        load_engine(str(tmp_path), option="--critic")
    assert caught.value.hint == "pip install torchvision"


def test_base_models_and_broken_ones_are_refused(folder, tmp_path):
    import shutil

    shutil.copytree(folder, tmp_path / "base")
    (tmp_path / "base/chat_template.jinja").unlink()
    with pytest.raises(UserError, match="no chat template"):
        load_engine(str(tmp_path / "base"))
    shutil.copytree(folder, tmp_path / "broken")
    weights = tmp_path / "broken/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(UserError):
        load_engine(str(tmp_path / "broken"))


def test_answer_words_are_found_by_their_text():
    vocabulary = {"Yes": 3, "ĠYES": 7, "▁yes": 9, "yesterday": 4, "Ċno": 5, "No.": 6}
    assert word_ids(vocabulary, WORDS, "x") == [[3, 7, 9], [5]]
    with pytest.raises(UserError, match="no single token"):
        word_ids({"Yes": 1}, WORDS, "x")
    with pytest.raises(ValueError, match="no log-prob"):
        answer_of([float("nan"), -1.0])


def test_what_the_critic_makes_of_answers():
    image = Image.new("RGB", (4, 4))
    text = "One. Two. Three. Four."
    answers = iter(
        [
            AnswerScores((np.log(0.3), np.log(0.6)), 0.9),
            AnswerScores((np.log(0.2), np.log(0.1)), 0.3),
            Failed(Unscored.TOO_LONG),
            AnswerScores((-1.0, -np.inf), 0.99),
        ]
    )
    engine = ScriptedEngine(lambda _: next(answers), lambda _: Completion(" A\n b. ", True))
    critic = InstructCritic(engine, threshold=0.5)
    assert critic.judge([JudgeRequest(image, text, tuple(split(text)))]) == [
        [
            Verdict(0.3333, answer_mass=0.9),
            Verdict(None, Unscored.NO_ANSWER, answer_mass=0.3),
            Verdict(None, Unscored.TOO_LONG),
            Verdict(1.0, answer_mass=0.99),
        ]
    ]
    assert critic.answer_mass == pytest.approx((0.9 + 0.3 + 0.99) / 3)
    assert data_of(engine.asked[2]) == ["One. Two. ", "Three."]
    assert factual(AnswerScores((-np.inf, -2.0), 0.1)) == 0.0
    assert factual(AnswerScores((-800.0, -0.001), 0.99)) < 1e-300
    assert rationale_in("<think>hm</think> The car\nis blue. ") == "The car is blue."
    assert rationale_in("<think>hm") == ""


def test_an_official_paligemma_is_judged_in_its_own_attention_mode(tmp_path):
    """No critic.json: prefix attention, and the scores of transformers' plain forward pass."""
    import tinycritic
    import transformers

    from revise_captions.critic import prompts
    from revise_captions.critic.paligemma.packing import AttentionMode

    saved = tinycritic.saved(tmp_path / "paligemma", AttentionMode.PREFIX)
    (saved / "critic.json").unlink()
    (saved / "words.txt").unlink()
    critic = load_critic(str(saved), CriticOptions(Placement(device="cpu")))
    assert isinstance(critic, PaliGemmaCritic)
    assert critic.settings["attention-mode"] == "prefix"
    asked = [JudgeRequest(p.image, p.text, p.spans) for p in every_family.paragraphs()[:2]]
    found = [v.p_factual for group in critic.judge(asked) for v in group]
    model = transformers.PaliGemmaForConditionalGeneration.from_pretrained(saved).eval()
    images = transformers.SiglipImageProcessorPil(size={"height": 64, "width": 64})
    expected = []
    for paragraph in asked:
        pixels = images(paragraph.image, return_tensors="pt")["pixel_values"]
        for index in range(len(paragraph.spans)):
            text = critic.tokenizer.pieces(
                prompts.classification(paragraph.text, paragraph.spans, index)
            )
            ids = torch.tensor([[*[critic.tokenizer.image] * 16, critic.tokenizer.bos, *text]])
            with torch.inference_mode():
                output = model(
                    input_ids=ids,
                    pixel_values=pixels,
                    attention_mask=torch.ones_like(ids),
                    token_type_ids=torch.zeros_like(ids),
                )
            pair = output.logits[0, -1, [critic.tokenizer.yes, critic.tokenizer.no]]
            expected.append(float(pair.softmax(-1)[0]))
    np.testing.assert_allclose(found, expected, atol=1e-4)
    with pytest.raises(UserError, match="does not compute PaliGemma's attention"):
        load_critic(str(saved), CriticOptions(Placement(engine="vllm")))


def test_the_whole_command_with_other_models(folder, tmp_path, capsys):
    from commands import read_in_full, write_input
    from tinylm import model_of, tokenizer_of

    from revise_captions.pipelines import cli

    tokenizer = tokenizer_of()
    model_of("Qwen3", len(tokenizer)).save_pretrained(tmp_path / "llm")
    tokenizer.save_pretrained(tmp_path / "llm")
    write_input(tmp_path / "in.jsonl", 2)
    models = ["--critic", str(folder), "--reviser", str(tmp_path / "llm"), "--rounds", "1"]
    with pytest.raises(SystemExit) as stopped:
        cli.main([str(tmp_path / "in.jsonl"), str(tmp_path / "out.jsonl"), *models])
    assert stopped.value.code == 0, capsys.readouterr().err
    rows = read_in_full(tmp_path / "out.jsonl")
    assert len(rows) == 2
    signature = rows[0]["revision"]["signature"]
    assert "critic:vlm@" in signature
    assert "prompt:vnli-4.1-chat/1" in signature
    sentences = [s for row in rows for s in row["revision"]["sentences"]]
    assert {s["label"] for s in sentences} <= {"factual", "nonfactual", "unscored"}
    reasons = {s["reason"] for s in sentences if s["label"] == "unscored"}
    assert reasons <= {"the model's answer is neither yes nor no"}


def test_a_trunk_is_shared_only_where_the_answers_stay_the_same(folder, monkeypatch):
    engine = load_engine(str(folder), Placement(batch_size=8, device="cpu"))
    assert isinstance(engine, TransformersEngine)
    trials = engine.encoder.trials()
    assert engine.share_trunks(trials, WORDS)

    def all_at_place_zero(model, trees, width):
        return torch.zeros((len(trees), width), dtype=torch.long)

    monkeypatch.setattr(token_tree, "_positions", all_at_place_zero)
    assert not engine.share_trunks(trials, WORDS)
    assert not engine.shares
    monkeypatch.undo()
    engine.model.config._attn_implementation = "flash_attention_2"
    assert not engine.share_trunks(trials, WORDS)
